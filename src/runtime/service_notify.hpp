#pragma once

namespace koordlet::runtime {

/// Tells the service manager (systemd, by $NOTIFY_SOCKET) "READY=1" or "STOPPING=1". Without one,
/// or when it does not listen, nothing happens: it is a courtesy.
void notify_service(const char* state);

}  // namespace koordlet::runtime
