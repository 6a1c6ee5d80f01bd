"""Processes that end with the script, and what they tell."""
import ctypes
import json
import os
import signal
import sys
import traceback

PR_SET_PDEATHSIG = 1


class Told:
    """What processes told, a line each, in a file of a file system that no fault touches."""

    def __init__(self, place):
        self.place = place

    def teller(self):
        file = open(self.place / f"told-{os.getpid()}", "a")

        def tell(*words):
            file.write(json.dumps(words) + "\n")
            file.flush()
        return tell

    def all(self, kind):
        for path in self.place.glob("told-*"):
            for line in path.read_text().splitlines():
                first, *words = json.loads(line)
                if first == kind:
                    yield words


def child(work):
    """The pid of a process that does `work`, and ends with this one."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # Python forgets in a child what came before it was one
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    else:
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            end_with_parent()
            work()
            status = 0
        except OSError as error:
            print(f"a process ends: {error}", file=sys.stderr)
        except Exception:  # nobody else would tell it
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


class Child:
    """As a subprocess.Popen, of a `child`."""

    def __init__(self, work):
        self.pid, self.returncode = child(work), None

    def poll(self):
        if self.returncode is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
