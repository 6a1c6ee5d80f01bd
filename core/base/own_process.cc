#include "core/base/own_process.h"

#include <fstream>

namespace zarrfs {

bool is_zarrfs_process(const std::string& pid) {
  std::string name;
  std::getline(std::ifstream("/proc/" + pid + "/comm"), name);
  return name.find("zarrfs") != std::string::npos;
}

}  // namespace zarrfs
