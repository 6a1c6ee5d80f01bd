"""Machines of workers of dask, each in a network of its own, and what happens to them."""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import threading

from networks import Network, ip

HUB = "198.19.255.1"  # of scheduler and bucket, seen from each machine


class Machine:
    """A network with a nanny and two workers in it."""

    def __init__(self, number, work, scheduler):
        self.network, self.number, self.work, self.scheduler, self.process = Network(number), number, work, scheduler, None
        ip("-n", self.network.name, "link", "set", "lo", "up")
        ip("-n", self.network.name, "route", "add", f"{HUB}/32", "via", self.network.here)

    def start(self):
        log = open(f"{self.work}/machine{self.number}.log", "a")
        self.process = subprocess.Popen(
            [*self.network.prefix(), sys.executable, "-m", "dask", "worker", self.scheduler, "--nworkers", "2", "--nthreads", "1", "--no-dashboard",
             "--local-directory", f"{self.work}/machine{self.number}"], stdout=log, stderr=log, start_new_session=True)

    def keep_up(self):
        """A nanny whose scheduler gave it up ends, and is started again by whatever has started it."""
        if self.process.poll() is not None:
            self.start()

    def processes(self):
        return {*map(int, subprocess.run(["pgrep", "--session", str(self.process.pid)], capture_output=True, text=True).stdout.split())}

    def parts(self):
        """The programs that make parts here: (process, the worker that has started it)."""
        for process in self.processes():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{process}/exe").endswith("/bin/zarrfs") and b"--part" in words_of(process):
                    with open(f"/proc/{process}/stat") as stat:
                        yield process, int(stat.read().rpartition(")")[2].split()[1])

    def kill(self):
        """All of its processes at once, as a machine that loses its power."""
        kill(*self.processes(), self.process.pid)
        self.process.wait()

    def remove(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.network.remove()


def kill(*processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def words_of(process):
    with open(f"/proc/{process}/cmdline", "rb") as line:
        return line.read().split(b"\0")


def writes_a_shard(process):
    """Whether it has a file open that is not complete."""
    for link in glob.glob(f"/proc/{process}/fd/*"):
        with contextlib.suppress(OSError):
            if "/.zarrfs-new" in os.readlink(link):
                return True
    return False


class Trouble(threading.Thread):
    """While a conversion runs: workers are killed with their programs, all of one machine is killed, and the link of the other is cut.

    `in_piece(process)`: whether a program has a piece half made; only then is it killed. It is stopped while it is looked at.
    """

    def __init__(self, machines, in_piece, kills, cuts, cut_seconds):
        super().__init__()
        self.machines, self.in_piece, self.kills, self.cuts, self.cut_seconds = machines, in_piece, kills, cuts, cut_seconds
        self.killed, self.cut, self.dead, self.done = 0, 0, 0, threading.Event()

    def run(self):
        while not self.done.wait(0.2):
            for machine in self.machines:
                machine.keep_up()
            if self.killed < self.kills:
                self.kill_one(self.machines[self.killed % 2])
            elif not self.dead:
                self.kill_machine(self.machines[1])
            elif self.cut < self.cuts:
                self.cut_one(self.machines[0].network)

    def kill_one(self, machine):
        for process, worker in machine.parts():
            with contextlib.suppress(ProcessLookupError), stopped(process):
                if self.in_piece(process):
                    kill(worker, process)
                    self.killed += 1
                    self.done.wait(2)
                    return

    def kill_machine(self, machine):
        if any(self.in_piece(process) for process, _ in machine.parts()):
            machine.kill()
            self.dead = 1
            self.done.wait(5)

    def cut_one(self, network):
        network.set("down")
        self.done.wait(self.cut_seconds)
        network.set("up")
        self.cut += 1
        self.done.wait(5)

    def told(self):
        return f"{self.killed} workers killed in mid-piece, {self.dead} machines killed, {self.cut} links cut for {self.cut_seconds} s"

    def all_came(self):
        return (self.killed, self.dead, self.cut) == (self.kills, 1, self.cuts)


@contextlib.contextmanager
def stopped(process):
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
