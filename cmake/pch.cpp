// Owns the precompiled header that the libraries above the kernel floor share.
