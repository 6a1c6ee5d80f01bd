#include "fs/requests/publish.h"

#include <sys/xattr.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "core/base/printable.h"
#include "core/view/view.h"
#include "fs/mounts/daemon_state.h"
#include "fs/requests/front_end.h"

namespace zarrfs {

namespace {
constexpr std::size_t kLongestList = std::size_t{1} << 16U;

std::string attribute_of(const std::string& mountpoint, const std::string& name) {
  std::string text(kLongestList, '\0');
  const ssize_t size = ::getxattr(mountpoint.c_str(), name.c_str(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

/// What `ask` returns of each mount; empty where that does not come in time.
std::vector<std::string> told_by(const std::vector<std::string>& mountpoints,
                                 std::string (*ask)(const std::string& mountpoint)) {
  std::vector<Question> questions;
  questions.reserve(mountpoints.size());
  for (const std::string& mountpoint : mountpoints) {
    questions.emplace_back([&mountpoint, ask] { return say_aside(ask(mountpoint)); });
  }
  std::vector<std::string> texts;
  for (const auto& answer : ask_aside(questions, kAnswerPatience)) {
    texts.push_back(answer && answer->status == 0 ? answer->said : "");
  }
  return texts;
}
}  // namespace

Result<void> publish_mount(const std::string& mountpoint) {
  const std::string name(kPublishAttribute);
  if (::setxattr(mountpoint.c_str(), name.c_str(), "", 0, 0) == 0) return {};
  if (errno == ENOTCONN)
    return fail(Fault::kIo, printable(mountpoint) + ": its daemon " + kHasEnded);
  return fail(system_error(errno, printable(mountpoint) + ": publishing what was written"));
}

std::string unpublished_of_mount(const std::string& mountpoint) {
  return attribute_of(mountpoint, std::string(kUnpublishedAttribute));
}

std::vector<std::string> refused_of_mounts(const std::vector<std::string>& mountpoints) {
  return told_by(mountpoints, [](const std::string& mountpoint) {
    return attribute_of(mountpoint, kRefusedAttribute);
  });
}

std::vector<std::string> statistics_of_mounts(const std::vector<std::string>& mountpoints) {
  return told_by(mountpoints, [](const std::string& mountpoint) {
    std::ifstream file(mountpoint + "/.zarrfs/stats.json");
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
}

}  // namespace zarrfs
