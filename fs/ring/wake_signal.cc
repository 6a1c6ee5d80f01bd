#include "fs/ring/wake_signal.h"

#include <csignal>
#include <initializer_list>

namespace zarrfs {
namespace {

constexpr int kWakeSignal = SIGUSR1;

void on_wake(int) {}

}  // namespace

void install_wake_signal() {
  struct sigaction action {};
  action.sa_handler = on_wake;
  sigemptyset(&action.sa_mask);
  sigaction(kWakeSignal, &action, nullptr);
}

void block_other_signals() {
  sigset_t signals;
  sigfillset(&signals);
  sigdelset(&signals, kWakeSignal);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&signals, fault);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

void wake(pthread_t thread) { pthread_kill(thread, kWakeSignal); }

}  // namespace zarrfs
