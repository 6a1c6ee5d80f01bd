#include "fs/requests/publish.h"

#include <sys/xattr.h>

#include <cerrno>

#include "core/base/json.h"
#include "fs/requests/front_end.h"

namespace zarrfs {

namespace {
constexpr std::size_t kLongestList = std::size_t{1} << 16U;
}

Result<void> publish_mount(const std::string& mountpoint) {
  const std::string name(kPublishAttribute);
  if (::setxattr(mountpoint.c_str(), name.c_str(), "", 0, 0) == 0) return {};
  return fail(system_error(errno, printable(mountpoint) + ": publishing what was written"));
}

std::string unpublished_of_mount(const std::string& mountpoint) {
  std::string text(kLongestList, '\0');
  const std::string name(kUnpublishedAttribute);
  const ssize_t size = ::getxattr(mountpoint.c_str(), name.c_str(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

}  // namespace zarrfs
