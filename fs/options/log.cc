#include "fs/options/log.h"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/base/fd.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::size_t kLongestLine = 2000;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// Opens the log to append to it. Not what somebody else has put there: a link, a pipe, which would
/// be waited for, or another name of some file.
Result<Fd> open_file(const std::string& file) {
  Fd fd(::open(file.c_str(),
               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
               0644));
  const auto refuse = [&](const std::string& why) {
    return fail(Fault::kInvalid, "option log: " + printable(file) + why);
  };
  if (!fd.valid() && errno == ELOOP) return refuse(" is a symbolic link");
  if (!fd.valid() && errno == ENXIO) return refuse(" is not a regular file");
  if (!fd.valid()) return fail(system_error(errno, "option log: " + printable(file)));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail(system_error(errno, "option log: " + printable(file)));
  }
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) return refuse(" is not a regular file");
  if (S_ISREG(status.st_mode) && status.st_nlink != 1)
    return refuse(" has other names (hard links)");
  return fd;
}

std::shared_ptr<spdlog::sinks::sink> make_sink(LogTarget target, const std::string& file) {
  switch (target) {
    case LogTarget::kStandardError: {
      auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
      sink->set_pattern("zarrfs: %l: %v");
      return sink;
    }
    case LogTarget::kSystem:
      return std::make_shared<spdlog::sinks::syslog_sink_mt>("zarrfs", LOG_PID, LOG_DAEMON, false);
    case LogTarget::kFile: break;
  }
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z [%P] %l: %v");
  return sink;
}

}  // namespace

std::string message_class(std::string_view message) {
  const std::size_t colon = message.find(": ");
  const std::string_view said =
      colon == std::string_view::npos ? message : message.substr(colon + 2);
  std::string kind;
  kind.reserve(said.size());
  for (const char c : said) {
    if (c < '0' || c > '9') kind.push_back(c);
  }
  return kind;
}

RepeatFilter::Verdict RepeatFilter::judge(std::string_view message, Clock::time_point now) {
  std::string kind = message_class(message);
  if (classes_.size() >= kMostClasses && !classes_.contains(kind)) kind.clear();
  auto [place, is_new] = classes_.try_emplace(std::move(kind), Seen{now, 0});
  Seen& seen = place->second;
  Verdict verdict;
  if (!is_new && now - seen.since >= kPeriod) {
    verdict.suppressed_before = seen.count > kPassed ? seen.count - kPassed : 0;
    seen = Seen{now, 0};
  }
  seen.count += 1;
  verdict.pass = seen.count <= kPassed;
  return verdict;
}

Result<std::shared_ptr<Log>> Log::open(LogTarget target, LogLevel level, const std::string& file) {
  try {
    Fd opened;
    std::string path = file;
    if (target == LogTarget::kFile) {
      ZARRFS_TRY(opened, open_file(file));
      path =
          "/proc/self/fd/" + std::to_string(opened.get());  // this file, whatever has its name now
    }
    auto logger = std::make_shared<spdlog::logger>("zarrfs", make_sink(target, path));
    logger->set_level(spdlog_level(level));
    logger->flush_on(spdlog::level::debug);
    return std::shared_ptr<Log>(new Log(std::move(logger)));
  } catch (const std::exception& problem) {
    return fail(Fault::kInvalid, "option log: " + printable(file) + ": " + problem.what());
  }
}

Log::Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
Log::~Log() = default;

void Log::write(LogLevel level, std::string_view message) noexcept {
  try {
    const std::string line = printable(message, kLongestLine);
    if (level < LogLevel::kWarning) return write_line(level, line);
    RepeatFilter::Verdict verdict;
    {
      const std::lock_guard lock(mutex_);
      verdict = repeats_.judge(line, RepeatFilter::Clock::now());
    }
    if (verdict.suppressed_before != 0) {
      write_line(level, std::to_string(verdict.suppressed_before) +
                            " more messages like the next one were not written");
    }
    if (verdict.pass) write_line(level, line);
  } catch (const std::exception&) {
    // Out of memory or disk: the line is lost, the file system goes on.
    return;
  }
}

void Log::write_line(LogLevel level, const std::string& line) {
  logger_->log(spdlog_level(level), spdlog::string_view_t(line));
}

}  // namespace zarrfs
