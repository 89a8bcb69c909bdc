#pragma once

#include <string>

#include "base/result.hpp"

namespace koordlet::store {

/// Walks a closed LMDB data file (format 1, 64 bit, little endian) and proves that every page that
/// LMDB would follow lies inside the file and is well formed. LMDB itself trusts the file: a
/// truncated one ends in SIGBUS, a damaged page in an assertion. Branch and leaf pages are read,
/// bodies of large values are not.
///
/// kNotFound: no file, or an empty one (LMDB starts it afresh). kParse: damaged, the text says
/// where. Other codes: the file cannot be read.
Result<void> check_lmdb_file(const std::string& path);

}  // namespace koordlet::store
