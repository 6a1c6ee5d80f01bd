// Connections: bytes of sockets to requests and answers. Boost.Asio tells of sockets, Boost.Beast
// reads requests; ranges of files are handed on by sendfile(2).
//
// Where the store is near, each thread serves connections of its own; where each answer may wait
// for a network, all threads serve all of them. A client that reads slowly holds no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "fs/serve/message.h"

namespace zarrfs {

struct ServerSettings {
  std::string host = "127.0.0.1";  ///< An address, or a name of one of this machine.
  std::uint16_t port = 8000;       ///< 0: any that is free.
  unsigned threads = 8;
  bool near = true;
  unsigned connections = 1024;  ///< At a time; who comes then is told to come again.
};

class Server {
 public:
  /// Answers to requests; called by several threads at once.
  using Handler = std::function<Answer(const Request&)>;

  /// Takes the address. kInvalid where the host is none of this machine, kBusy where another
  /// program has the port.
  static Result<std::unique_ptr<Server>> listen(const ServerSettings& settings, Handler handler);
  /// Ends what still runs.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "127.0.0.1:8000".
  [[nodiscard]] std::string address() const;
  [[nodiscard]] bool only_for_this_machine() const;
  void start();
  /// Takes no more connections, and ends those that there are.
  void stop();

  struct Counters {
    std::uint64_t connections = 0;  ///< Now.
    std::uint64_t accepted = 0;
    std::uint64_t turned_away = 0;
    std::uint64_t bytes_sent = 0;  ///< Of bodies and heads.
  };
  [[nodiscard]] Counters counters() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace zarrfs
