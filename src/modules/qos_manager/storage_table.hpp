#pragma once

#include "kernel/storage.hpp"
#include "model/storage.hpp"

namespace koordlet {

/// The part of the machine's storage that IO limits need; mounts of pod volumes only. Pure.
StorageTable storage_table(const kernel::StorageInfo& info);

}  // namespace koordlet
