// The words of a command line. Every user of the machine can read them in /proc/PID/cmdline.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// The words in `argv`. What is secret in their URLs (what stands behind '?', and before '@' in
/// front of the host) is overwritten in `argv` itself. A word `url-file:FILE` stands for the URL in
/// the first line of FILE: kInvalid where there is none. Before other threads begin.
/// Source: proc(5), /proc/PID/cmdline.
Result<std::vector<std::string>> take_arguments(int argc, char** argv);

}  // namespace zarrfs
