// What a service manager is told: systemd's unit has Type=notify. Source: sd_notify(3).
#pragma once

#include <string>

namespace zarrfs {

/// Sends `state`, lines of NAME=VALUE, to the socket that NOTIFY_SOCKET names: a path, or '@' and
/// an abstract name. Does nothing where there is none. What cannot be sent is not: the manager then
/// waits and says so. Reads the environment.
void tell_service_manager(const std::string& state);

}  // namespace zarrfs
