#include "fs/requests/publish.h"

#include <sys/xattr.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <thread>

#include "core/base/printable.h"
#include "core/view/view.h"
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

/// Empty where the daemon does not answer: one that was stopped never does.
std::string asked_patiently(const std::function<std::string()>& ask) {
  constexpr std::chrono::seconds kPatience{2};
  auto told = std::make_shared<std::promise<std::string>>();
  auto answer = told->get_future();
  std::thread([told, ask] { told->set_value(ask()); }).detach();
  return answer.wait_for(kPatience) == std::future_status::ready ? answer.get() : std::string();
}
}  // namespace

Result<void> publish_mount(const std::string& mountpoint) {
  const std::string name(kPublishAttribute);
  if (::setxattr(mountpoint.c_str(), name.c_str(), "", 0, 0) == 0) return {};
  return fail(system_error(errno, printable(mountpoint) + ": publishing what was written"));
}

std::string unpublished_of_mount(const std::string& mountpoint) {
  return attribute_of(mountpoint, std::string(kUnpublishedAttribute));
}

std::string refused_of_mount(const std::string& mountpoint) {
  return asked_patiently([mountpoint] { return attribute_of(mountpoint, kRefusedAttribute); });
}

std::string statistics_of_mount(const std::string& mountpoint) {
  return asked_patiently([mountpoint] {
    std::ifstream file(mountpoint + "/.zarrfs/stats.json");
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
}

}  // namespace zarrfs
