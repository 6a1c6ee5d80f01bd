#include "core/present/profile_names.h"

#include <algorithm>

namespace zarrfs {

std::vector<std::string> split_profile_names(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty() || text == "none") return names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string join_profile_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
  return text.empty() ? "none" : text;
}

}  // namespace zarrfs
