// The daemon's log: lines to standard error, the journal (syslog) or a file. Lines that say the
// same of many objects are written a few times and then counted, so that a damaged store cannot
// fill a disk. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/base/result.h"

namespace spdlog {
class logger;
}

namespace zarrfs {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Where the lines go.
enum class LogTarget { kStandardError, kSystem, kFile };

/// What a message says, without the object it says it of: the text after the first ": ", digits
/// dropped.
std::string message_class(std::string_view message);

/// Lets the first few messages of a class pass in each period, and counts the others. One thread at
/// a time.
class RepeatFilter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kPassed = 5;  ///< Messages of a class passed in each period.
  static constexpr std::chrono::seconds kPeriod{60};
  static constexpr std::size_t kMostClasses = 1024;  ///< Beyond these everything is one class.

  struct Verdict {
    bool pass = false;
    std::uint64_t suppressed_before = 0;  ///< Of the same class, in the period that has just ended.
  };
  Verdict judge(std::string_view message, Clock::time_point now);

 private:
  struct Seen {
    Clock::time_point since;
    std::uint64_t count = 0;
  };
  std::unordered_map<std::string, Seen> classes_;
};

class Log {
 public:
  /// kInvalid or a system fault, naming the file, where it cannot be written.
  static Result<std::shared_ptr<Log>> open(LogTarget target, LogLevel level,
                                           const std::string& file);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// One line. Control characters are escaped. Warnings and errors that repeat are counted instead.
  void write(LogLevel level, std::string_view message) noexcept;

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger);
  void write_line(LogLevel level, const std::string& line);

  std::shared_ptr<spdlog::logger> logger_;
  MessageMutex mutex_;
  RepeatFilter repeats_;  ///< Guarded by mutex_.
};

}  // namespace zarrfs
