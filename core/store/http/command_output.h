// What a program prints, for credential_process.
#pragma once

#include <chrono>
#include <string>

#include "core/base/result.h"

namespace zarrfs {

/// Runs `command` by /bin/sh and waits for at most `patience`, and no longer than somebody waits
/// for it (core/base/request.h), then kills it. kDenied, calling it `name`, where it fails, takes
/// longer, or prints more than 64 KiB. What it prints may be secret and is in no message.
Result<std::string> command_output(const std::string& command, const std::string& name,
                                   std::chrono::milliseconds patience);

}  // namespace zarrfs
