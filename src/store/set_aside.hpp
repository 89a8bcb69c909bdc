#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet::store {

/// Moves what LMDB keeps in `folder` (data.mdb, lock.mdb) to a new folder
/// "<folder>.<reason>-<UTC yyyymmddThhmmssZ>", or to "<folder>/<reason>-<UTC ...>" when the folder
/// is a mount point or its parent cannot be written. An existing name gets "-2", "-3" ... The
/// environment must be closed. Returns the new folder.
Result<std::string> move_store_files(const std::string& folder, std::string_view reason);

}  // namespace koordlet::store
