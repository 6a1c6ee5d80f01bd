// Plays the kernel for a Session: sends requests of the FUSE protocol over a socket and takes the
// answers. Source: linux/fuse.h, version 7.
#pragma once

#include <linux/fuse.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/fd.h"

namespace zarrfs {

struct KernelAnswer {
  int error = 0;  ///< An errno; 0: none.
  std::string body;

  /// The body as the struct it begins with.
  template <class T>
  T as() const {
    if (body.size() < sizeof(T)) throw std::runtime_error("the answer is too short");
    T value;
    std::memcpy(&value, body.data(), sizeof(T));
    return value;
  }
};

class KernelPlayer {
 public:
  KernelPlayer() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::runtime_error("no socket pair");
    }
    kernel_ = Fd(ends[0]);
    daemon_ = Fd(ends[1]);
  }

  /// The end to give to Session::serve_connection.
  Fd take_connection() { return std::move(daemon_); }
  void hang_up() { kernel_ = Fd(); }

  template <class Body>
  static std::string bytes_of(const Body& body) {
    return {reinterpret_cast<const char*>(&body), sizeof body};
  }

  void send(std::uint32_t operation, std::uint64_t node, const std::string& body) {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.opcode = operation;
    header.unique = ++last_;
    header.nodeid = node;
    header.pid = task_;
    const std::string message = bytes_of(header) + body;
    if (::send(kernel_.get(), message.data(), message.size(), 0) < 0) {
      throw std::runtime_error("sending failed");
    }
  }

  KernelAnswer receive() {
    std::string message(std::size_t{1} << 18U, '\0');
    const ssize_t got = ::recv(kernel_.get(), message.data(), message.size(), 0);
    fuse_out_header header{};
    if (got < static_cast<ssize_t>(sizeof header)) throw std::runtime_error("no answer");
    std::memcpy(&header, message.data(), sizeof header);
    if (header.len != static_cast<std::uint32_t>(got)) throw std::runtime_error("a wrong length");
    if (header.unique != last_) throw std::runtime_error("an answer to another request");
    return {-header.error,
            message.substr(sizeof header, static_cast<std::size_t>(got) - sizeof header)};
  }

  KernelAnswer ask(std::uint32_t operation, std::uint64_t node, const std::string& body = "") {
    send(operation, node, body);
    return receive();
  }

  /// Which thread makes the requests from now on.
  void set_task(pid_t task) { task_ = static_cast<std::uint32_t>(task); }

  /// Whether an answer to anything waits.
  bool has_answer() const {
    char byte = 0;
    return ::recv(kernel_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }

  KernelAnswer greet(std::uint32_t flags) {
    fuse_init_in body{};
    body.major = FUSE_KERNEL_VERSION;
    body.minor = 38;
    body.max_readahead = 1U << 17U;
    body.flags = flags;
    return ask(FUSE_INIT, 0, bytes_of(body));
  }

  KernelAnswer lookup(std::uint64_t parent, const std::string& name) {
    return ask(FUSE_LOOKUP, parent, name + '\0');
  }
  KernelAnswer open(std::uint64_t node, std::uint32_t flags = 0) {
    fuse_open_in body{};
    body.flags = flags;
    return ask(FUSE_OPEN, node, bytes_of(body));
  }
  KernelAnswer read(std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
                    std::uint32_t size, std::uint32_t operation = FUSE_READ) {
    fuse_read_in body{};
    body.fh = handle;
    body.offset = offset;
    body.size = size;
    return ask(operation, node, bytes_of(body));
  }
  KernelAnswer release(std::uint64_t node, std::uint64_t handle,
                       std::uint32_t operation = FUSE_RELEASE) {
    fuse_release_in body{};
    body.fh = handle;
    return ask(operation, node, bytes_of(body));
  }

 private:
  Fd kernel_;
  Fd daemon_;
  std::uint64_t last_ = 0;
  std::uint32_t task_ = 0;
};

}  // namespace zarrfs
