#include "core/store/store_links.h"

#include <algorithm>

namespace zarrfs {

bool leads_within(std::string_view path, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  auto up = std::count(path.begin(), path.end(), '/');
  bool down = false;  // into a directory that may be a link itself: what lies above that is unknown
  for (std::size_t at = 0; at <= target.size();) {
    const std::size_t slash = std::min(target.find('/', at), target.size());
    const std::string_view component = target.substr(at, slash - at);
    at = slash + 1;
    if (component.empty() || component == ".") continue;
    if (component != "..") down = true;
    if (component == ".." && (down || --up < 0)) return false;
  }
  return true;
}

Result<std::optional<Link>> link_at(Store& store, const std::string& path) {
  StoreLinks* links = links_of(store);
  return links == nullptr ? Result<std::optional<Link>>(std::nullopt) : links->link_at(path);
}

}  // namespace zarrfs
