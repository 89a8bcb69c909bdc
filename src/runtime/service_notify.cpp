#include "runtime/service_notify.hpp"

#include <systemd/sd-daemon.h>

namespace koordlet::runtime {

void notify_service(const char* state) { ::sd_notify(0, state); }

}  // namespace koordlet::runtime
