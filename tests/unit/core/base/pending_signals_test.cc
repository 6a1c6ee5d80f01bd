#include "core/base/pending_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace zarrfs {
namespace {

/// The folder of processes, as far as it is needed, with one thread in it.
class PendingSignals : public ::testing::Test {
 protected:
  static constexpr pid_t kTask = 4711;

  static std::uint64_t set_of(int signal) {
    return signal == 0 ? 0 : std::uint64_t{1} << (signal - 1);
  }

  struct Signals {
    int waits = 0;
    int shared = 0;
    int blocked = 0;
    int ignored = 0;
    int handled = 0;
    char state = 'S';
  };

  bool told_to_end(const Signals& signals) {
    std::filesystem::create_directories(folder_ / std::to_string(kTask));
    std::ofstream(folder_ / std::to_string(kTask) / "status")
        << std::hex << "Name:\ttest\nState:\t" << signals.state << " (sleeping)\nSigQ:\t1/95731\n"
        << "SigPnd:\t" << set_of(signals.waits) << "\nShdPnd:\t" << set_of(signals.shared)
        << "\nSigBlk:\t" << set_of(signals.blocked) << "\nSigIgn:\t" << set_of(signals.ignored)
        << "\nSigCgt:\t" << set_of(signals.handled) << "\nCapInh:\t0\n";
    return is_told_to_end(kTask, folder_.c_str());
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "zarrfs_pending_signals";
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(PendingSignals, WhatEndsAProcessTellsItToEnd) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGSEGV, 64}) {
    EXPECT_TRUE(told_to_end({.waits = signal})) << signal;
    EXPECT_TRUE(told_to_end({.shared = signal})) << signal;
  }
}

TEST_F(PendingSignals, OfThoseThatAreHandledOnlyThatAskForIt) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    EXPECT_TRUE(told_to_end({.shared = signal, .handled = signal})) << signal;
  }
  for (const int signal : {SIGALRM, SIGUSR1, SIGPROF, SIGIO, SIGCHLD, 34}) {
    EXPECT_FALSE(told_to_end({.shared = signal, .handled = signal})) << signal;
  }
}

TEST_F(PendingSignals, WhatIsBlockedIgnoredOrEndsNobodyDoesNot) {
  EXPECT_FALSE(told_to_end({}));
  EXPECT_FALSE(told_to_end({.shared = SIGINT, .blocked = SIGINT}));
  EXPECT_FALSE(told_to_end({.shared = SIGINT, .ignored = SIGINT}));
  for (const int signal : {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGURG, SIGWINCH}) {
    EXPECT_FALSE(told_to_end({.waits = signal})) << signal;
  }
}

TEST_F(PendingSignals, WhoHasEndedOrIsNotSeenWaitsForNothing) {
  EXPECT_TRUE(told_to_end({.state = 'Z'}));
  EXPECT_TRUE(told_to_end({.state = 'X'}));
  EXPECT_TRUE(is_told_to_end(kTask + 1, folder_.c_str()));
  EXPECT_TRUE(is_told_to_end(0));
}

TEST_F(PendingSignals, ThisProcessGoesOn) { EXPECT_FALSE(is_told_to_end(::getpid())); }

}  // namespace
}  // namespace zarrfs
