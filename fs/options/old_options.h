// Options by the names that they had before: accepted for one version, with a word.
#pragma once

#include <string>
#include <vector>

#include "fs/options/options.h"

namespace zarrfs {

std::vector<MountOption> old_options();

/// What is said of an option `old`, which is `now` by now.
std::string old_spelling(const std::string& old, const std::string& now);

}  // namespace zarrfs
