#include "tools/shared/console.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <utility>

#include "core/base/printable.h"
#include "core/cli/command.h"

namespace zarrfs::tools {
namespace {

constexpr std::time_t kPatience = 2;  // Seconds after which a second interruption ends all.
constexpr unsigned kToSafePoint = 1;  // Seconds for what only reads.

volatile std::sig_atomic_t interrupt_received = 0;
volatile std::time_t interrupted_at = 0;
volatile std::sig_atomic_t only_reads = 0;

/// timeout(1) and terminals may send two at a time: only one that comes later asks again.
void on_interrupt(int number) {
  const std::time_t now = std::time(nullptr);
  if (interrupt_received == 0) interrupted_at = now;
  if (interrupt_received == 0 && only_reads != 0) ::alarm(kToSafePoint);
  interrupt_received = 1;
  if (now - interrupted_at < kPatience) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_alarm(int /*number*/) {
  constexpr std::string_view kTold = "zarrfs: interrupted\n";
  static_cast<void>(::write(STDERR_FILENO, kTold.data(), kTold.size()) < 0);
  ::_exit(kCouldNot);
}

std::string formatted(const char* format, double number) {
  char text[64];
  (void)std::snprintf(text, sizeof text, format, number);
  return text;
}

}  // namespace

Console::Console(const Streams& streams)
    : out(streams.out),
      err(streams.err),
      out_is_terminal(&streams.out == &std::cout && ::isatty(STDOUT_FILENO) == 1),
      err_is_terminal(&streams.err == &std::cerr && ::isatty(STDERR_FILENO) == 1) {}

void Console::say(const std::string& message) const {
  err << "zarrfs: " << on_one_line(message) << '\n';
}

int Console::failed(const Error& error) const {
  say(interrupted() && error.fault == Fault::kGivenUp ? interruption().message : error.message);
  if (error.fault == Fault::kInvalid) return kUsage;
  return error.fault == Fault::kDamaged ? kFound : kCouldNot;
}

int Console::could_not(const Error& error) const {
  const int status = failed(error);
  return status == kFound ? kCouldNot : status;
}

bool interrupted() { return interrupt_received != 0; }

InterruptScope::InterruptScope()
    : scope_(std::nullopt, [](const void*) { return interrupted(); }) {}

InterruptWatch::InterruptWatch(Work work) {
  interrupt_received = 0;
  only_reads = work == Work::kReads ? 1 : 0;
  if (work == Work::kReads) std::signal(SIGALRM, on_alarm);
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  (void)sigaction(SIGINT, &action, nullptr);
  (void)sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  const bool stays = sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!stays) (void)sigaction(SIGHUP, &action, nullptr);  // nohup(1) ignores it
}

Error interruption() { return Error{Fault::kGivenUp, "interrupted"}; }

Progress::Progress(const Console& console, const std::string& what, std::uint64_t total,
                   std::string unit)
    : console_(console),
      what_(on_one_line(what)),
      total_(total),
      unit_(std::move(unit)),
      begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) console_.err << "\r\033[K" << std::flush;
}

void Progress::add(std::uint64_t amount) {
  const std::uint64_t done = done_.fetch_add(amount) + amount;
  if (!console_.err_is_terminal) return;
  const auto elapsed = std::chrono::steady_clock::now() - begin_;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
  std::int64_t due = next_draw_ms_.load();
  if (now < due || !next_draw_ms_.compare_exchange_strong(due, now + 100)) return;
  const HeldLock lock(drawing_);
  draw(done);
}

void Progress::draw(std::uint64_t done) {
  constexpr int kWidth = 30;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const double rate = static_cast<double>(done) / elapsed.count();
  const double part =
      total_ == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const int filled = static_cast<int>(part * kWidth);
  std::string line = "\r" + what_ + " [";
  line.append(filled, '#').append(kWidth - filled, '.');
  line += "] " + formatted("%3.0f%%", part * 100) + "  ";
  line += human_count(done) + " of " + human_count(total_) + " " + unit_ + ", " +
          human_count(static_cast<std::uint64_t>(rate)) + "/s";
  if (done > 0 && done < total_) {
    line += "  " + human_seconds(static_cast<double>(total_ - done) / rate) + " left";
  }
  console_.err << line << "\033[K" << std::flush;
  drawn_ = true;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  while (true) {
    const std::size_t end = text.find('\\');
    line += printable(text.substr(0, end), std::string::npos);
    if (end == std::string_view::npos) return line;
    line += '\\';
    text.remove_prefix(end + 1);
  }
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1023.95 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  return formatted("%.1f ", amount) + kUnits[unit];
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return human_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string human_seconds(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::min(seconds, 1e9));
  const std::uint64_t hours = whole / 3600;
  char text[64];
  if (hours > 0) {
    (void)std::snprintf(text, sizeof text, "%llu:%02u:%02u", static_cast<unsigned long long>(hours),
                        static_cast<unsigned>(whole / 60 % 60), static_cast<unsigned>(whole % 60));
  } else {
    (void)std::snprintf(text, sizeof text, "%u:%02u", static_cast<unsigned>(whole / 60),
                        static_cast<unsigned>(whole % 60));
  }
  return text;
}

}  // namespace zarrfs::tools
