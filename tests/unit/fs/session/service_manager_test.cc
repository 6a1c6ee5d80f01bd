// What a service manager hears, at a socket of the test's.
#include "fs/session/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/fd.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

/// A datagram socket at `name`, whose '@' stands for the zero byte of an abstract name.
Fd listen_at(const std::string& name) {
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  return socket;
}

std::string heard(const Fd& socket) {
  std::array<char, 256> text{};
  const ssize_t got = ::recv(socket.get(), text.data(), text.size(), 0);
  return got < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(got));
}

class ServiceManager : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("NOTIFY_SOCKET"); }
};

TEST_F(ServiceManager, HearsAtAPath) {
  const TempDir folder;
  const std::string path = (folder / "notify").string();
  const Fd socket = listen_at(path);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  tell_service_manager("READY=1\nMAINPID=7");
  EXPECT_EQ(heard(socket), "READY=1\nMAINPID=7");
}

TEST_F(ServiceManager, HearsAtAnAbstractName) {
  const std::string name = "@zarrfs-test-" + std::to_string(::getpid());
  const Fd socket = listen_at(name);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  tell_service_manager("STOPPING=1");
  EXPECT_EQ(heard(socket), "STOPPING=1");
}

TEST_F(ServiceManager, HearsNothingOfWhatCannotBeSent) {
  const TempDir folder;
  const Fd socket = listen_at((folder / "notify").string());
  tell_service_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", "", 1);
  tell_service_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", (folder / std::string(200, 'n')).c_str(), 1);
  tell_service_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", (folder / "nobody").c_str(), 1);
  tell_service_manager("READY=1");
  EXPECT_EQ(heard(socket), "nothing");
}

}  // namespace
}  // namespace zarrfs
