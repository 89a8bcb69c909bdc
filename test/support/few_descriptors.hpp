#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace koordlet::test {

/// Leaves room for `spare` more descriptors while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(int spare) {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (next < 0) return;  // there is none left as it is
    ::close(next);
    rlimit low = old_;
    low.rlim_cur = static_cast<rlim_t>(next + spare);
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit old_{};
};

}  // namespace koordlet::test
