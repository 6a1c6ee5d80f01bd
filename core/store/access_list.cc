#include "core/store/access_list.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

namespace zarrfs {
namespace {

constexpr const char* kListName = "system.posix_acl_access";
constexpr std::size_t kMostBytes = std::size_t{1} << 16U;  // The kernel's own bound.
constexpr std::size_t kEntry = 8;
constexpr mode_t kBits = 7;
constexpr unsigned kGroupShift = 3;

/// The value of an attribute; nothing where there is none.
std::optional<Bytes> attribute_of(const std::string& path, const char* name) {
  Bytes value(kMostBytes);
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(size));
  return value;
}

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

void copy_attribute(const std::string& from, int to, const char* name) {
  const auto value = attribute_of(from, name);
  if (!value) return;
  // A file system without such attributes, or without room: the file is as good without.
  static_cast<void>(::fsetxattr(to, name, value->data(), value->size(), 0));
}

}  // namespace

mode_t mode_behind_list(mode_t mode, ByteView list) {
  const mode_t owner_only = mode & ~mode_t{077};
  if (list.size() < 4 || load_little<std::uint32_t>(list) != POSIX_ACL_XATTR_VERSION ||
      (list.size() - 4) % kEntry != 0) {
    return owner_only;
  }
  mode_t mask = kBits;
  mode_t group = 0;
  mode_t named_users = kBits;
  mode_t named_groups = kBits;
  for (list = list.subspan(4); !list.empty(); list = list.subspan(kEntry)) {
    const mode_t bits = load_little<std::uint16_t>(list.subspan(2)) & kBits;
    switch (load_little<std::uint16_t>(list)) {
      case ACL_USER: named_users &= bits; break;
      case ACL_GROUP: named_groups &= bits; break;
      case ACL_GROUP_OBJ: group = bits; break;
      case ACL_MASK: mask = bits; break;
      case ACL_USER_OBJ:
      case ACL_OTHER: break;
      default: return owner_only;
    }
  }
  const mode_t for_group = (group & named_users & mask) << kGroupShift;
  const mode_t for_others = mode & named_users & named_groups & kBits;
  return owner_only | for_group | for_others;
}

Result<mode_t> mode_with_access_list(int descriptor, mode_t mode, const std::string& name) {
  const auto list = attribute_of(path_of(descriptor), kListName);
  if (list) return mode_behind_list(mode, *list);
  if (errno == ENODATA || errno == EOPNOTSUPP) return mode;
  return fail(system_error(errno, name + ": reading its access list"));
}

void copy_attributes(int from, int to) {
  const std::string path = path_of(from);
  copy_attribute(path, to, kListName);
  std::vector<char> names(kMostBytes);
  const ssize_t size = ::listxattr(path.c_str(), names.data(), names.size());
  std::string_view rest(names.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('\0')));
    if (name.starts_with("user.")) copy_attribute(path, to, name.c_str());
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
}

}  // namespace zarrfs
