// Where a command writes: results to `out`, everything else to `err`. Exit codes, progress, and
// Ctrl-C. Progress is thread-safe; a Console belongs to one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/lock_order.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/cli/exit_code.h"

namespace zarrfs {
struct Streams;
}

namespace zarrfs::tools {

struct Console {
  /// Terminals are recognised where the streams are the process's own.
  explicit Console(const Streams& streams);
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;

  /// One line on `err`: "zarrfs: MESSAGE", whatever names of a store the message holds.
  void say(const std::string& message) const;
  /// Says the error and returns kUsage for kInvalid, kFound for kDamaged, kCouldNot for all others.
  [[nodiscard]] int failed(const Error& error) const;
  /// The same, of work whose status 1 says something else: damage that ends it is kCouldNot.
  [[nodiscard]] int could_not(const Error& error) const;
};

/// Whether Ctrl-C (or SIGTERM, SIGHUP) was received since a command began to watch for it.
bool interrupted();
/// While it lives, what this thread does in the rooms below ends after an interruption, at the
/// next check_wanted() (core/base/request.h).
class InterruptScope {
 public:
  InterruptScope();

 private:
  RequestScope scope_;
};
/// Of a command: from now on the first SIGINT, SIGTERM or SIGHUP (unless that is ignored) only sets
/// the flag, so that work ends at the next safe point. One that comes seconds later ends the
/// process at once. What a command does that only reads is ended after a second, wherever it is.
class InterruptWatch {
 public:
  enum class Work { kReads, kWrites };
  explicit InterruptWatch(Work work = Work::kReads);

 private:
  InterruptScope scope_;
};
/// The error of work that ended because of interrupted().
Error interruption();

/// A bar with rate and time left on a terminal; nothing elsewhere.
class Progress {
 public:
  /// `unit`: what is counted, such as "chunks".
  Progress(const Console& console, const std::string& what, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `amount` more is done. Cheap: draws at most ten times a second.
  void add(std::uint64_t amount);

 private:
  void draw(std::uint64_t done);

  const Console& console_;
  std::string what_;
  std::uint64_t total_;
  std::string unit_;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_draw_ms_{200};
  MessageMutex drawing_;
  bool drawn_ = false;
};

/// `text`, a message or a path, for a terminal: what printable() escapes is escaped, but for
/// backslashes, since parts of a message may be printable already.
std::string on_one_line(std::string_view text);
/// "1.5 MiB", "812 B".
std::string human_bytes(std::uint64_t bytes);
/// "12,345".
std::string human_count(std::uint64_t count);
/// "1 array", "12,345 arrays" of the noun "array".
std::string counted(std::uint64_t count, std::string_view noun);
/// "2:05", "1:00:07".
std::string human_seconds(double seconds);

}  // namespace zarrfs::tools
