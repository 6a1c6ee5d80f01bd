"""What every mounted test stands on: a real daemon under /dev/fuse, its log read for errors, nothing left behind.

`tests/mounted/run DAEMON` starts pytest with ZARRFS_DAEMON set. Nothing here sleeps: `zarrfs mount` returns when the
mount answers, and `zarrfs umount` when the daemon is gone. What comes later by itself is waited for, see `within`.
"""
import errno
import functools
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import weakref

import pytest
from warm_python import run_warm

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(ROOT, "tests", "golden")
CORPUS = os.environ.get("ZARRFS_CORPUS", os.path.join(ROOT, "..", "shared", "corpus"))
VENVS = os.environ.get("ZARRFS_VENVS", os.path.join(ROOT, "build", "venvs"))
DAEMON = os.environ.get("ZARRFS_DAEMON", os.path.join(ROOT, "build", "release", "zarrfs"))
READ_STORE = os.path.join(ROOT, "tests", "readers", "read_store.py")
sys.path.insert(0, os.path.dirname(READ_STORE))

SKIPS_FAIL = os.environ.get("ZARRFS_NO_SKIPS") == "1"


def need(condition, reason):
    """Skips with `reason`, or fails where skipping is not allowed (ZARRFS_NO_SKIPS=1)."""
    if not condition:
        (pytest.fail if SKIPS_FAIL else pytest.skip)(reason)


@functools.cache
def sanitized():
    """Whether a sanitizer is in the daemon: it takes memory of its own, and time."""
    with open(DAEMON, "rb") as program:
        return re.search(b"__asan_|__tsan_", program.read()) is not None


def need_own_memory():
    if sanitized():
        pytest.skip("a sanitizer takes memory of its own")


def within(seconds, check):
    """Asks again until `check` holds. What is bounded is the number of questions, at least as many as fit into the time: a
    machine that stands still for a while, or is slow, is no failure."""
    pause = 0.01
    for _ in range(int(seconds / pause)):
        if check():
            return
        time.sleep(pause)
    pytest.fail(f"not so within {seconds} s")


class Watched:
    """A running process: another one that gets its number later is not taken for it."""

    def __init__(self, process):
        descriptor = os.pidfd_open(process)
        weakref.finalize(self, os.close, descriptor)
        self.end = select.poll()
        self.end.register(descriptor, select.POLLIN)

    def has_ended(self, within=0):
        """Now, or within so many seconds; also if its parent has not asked for it yet."""
        return bool(self.end.poll(within * 1000))


def is_of_killed(error, log):
    """Whether the kernel tells this of a mount whose daemon was killed: by the device, by io_uring, and, of a request that the daemon
    had begun to take, EIO. Of its own ones the daemon's log tells."""
    if error == errno.EIO:
        with open(log, errors="replace") as text:
            return not re.search(r"\] error: (lookup|getattr|setattr|open|create|unlink|write|flush|fsync|release): ", text.read())
    return error in (errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED)


def kill(process):
    """Kills the process and waits until it has ended, which takes as long as what it has just asked of the disk."""
    watched = Watched(process)
    os.kill(process, signal.SIGKILL)
    assert watched.has_ended(within=120), f"process {process} was killed and has not ended"


def python_of(reader):
    """The Python that has `reader` of tests/readers/read_store.py. What only `packaging/install-test-readers all` makes may be missing anywhere."""
    if reader in ("zarr2", "xarray", "gdal", "netcdf"):
        return "/usr/bin/python3"
    environment = {"zarr2.18": "zarr2", "ome": "ome", "zarr3.4": "zarr34"}.get(reader, "zarr3")
    python = os.path.join(VENVS, environment, "bin", "python")
    if environment not in ("zarr2", "zarr3") and not os.path.exists(python):
        pytest.skip(f"{environment} is missing: run packaging/install-test-readers all")
    need(os.path.exists(python), f"{environment} is missing: run packaging/install-test-readers")
    return python


def run_zarr(reader, program, *words, timeout=600):
    """What a program prints in `reader`'s Python, with its zarr imported already. One after the other: not from threads."""
    return run_warm(python_of(reader), ["zarr"], program, *words, timeout=timeout)


READ_ALL = "import runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rpartition('/')[0]); runpy.run_path(sys.argv[0], run_name='__main__')"


def read_all(reader, directory, truth=None):
    """{array path: what `reader` got}: see tests/readers/read_store.py."""
    return json.loads(run_zarr(reader, READ_ALL, READ_STORE, reader.split(".")[0], directory, *([truth] if truth else []), timeout=600))


class Mount:
    """A mounted store. `damaged=True` where the test expects error lines in the log; `prefix`: a command that starts the daemon."""

    def __init__(self, source, mountpoint, log, options="", damaged=False, prefix=()):
        self.source, self.path, self.log, self.damaged = str(source), str(mountpoint), str(log), damaged
        self.ends_open = False  # whether the daemon ends while files are open, which the kernel then releases nowhere
        os.makedirs(self.path, exist_ok=True)
        # Mounts write where they may; what only reads can be mounted many times.
        access = "" if "rw" in options.split(",") or "ro" in options.split(",") else "ro"
        # What is tested here is how chunks get through, whatever the store was made for: test_default_profile.py is about that.
        profile = "" if "profile=" in options else "profile=generic"
        every = ",".join(part for part in (f"log={self.log}", access, profile, options) if part)
        self.command = [*prefix, DAEMON, "mount", self.source, self.path, "-o", every]
        sanitizers = {f"{name}_OPTIONS": f"log_path={self.log}.sanitizer:print_stacktrace=1" for name in ("ASAN", "UBSAN", "TSAN", "LSAN")}
        sanitizers["ASAN_OPTIONS"] += ":verify_asan_link_order=0"  # a test has a library of its own before it
        sanitizers["LSAN_OPTIONS"] += f":suppressions={os.path.join(HERE, 'leaks')}:print_suppressions=0"
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=600, env={**os.environ, **sanitizers})
        assert done.returncode == 0, f"{self.command}: status {done.returncode}: {done.stderr}"
        assert os.path.ismount(self.path)

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def log_text(self):
        with open(self.log, errors="replace") as text:
            return text.read()

    def statistics(self):
        with open(self / ".zarrfs/stats.json") as text:
            return json.load(text)

    def statistics_process(self):
        """The daemon's process id."""
        found = []

        def walk(node):
            for key, value in node.items():
                if key == "process":
                    found.append(value)
                elif isinstance(value, dict):
                    walk(value)

        walk(self.statistics())
        return int(found[0])

    def report(self):
        with open(self / ".zarrfs/report.json") as text:
            return json.load(text)

    def unmount(self):
        if not os.path.ismount(self.path):
            return
        done = subprocess.run([DAEMON, "umount", self.path], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            subprocess.run(["umount", "-l", self.path], check=False)
        assert done.returncode == 0, f"umount: status {done.returncode}: {done.stderr}"
        assert not os.path.ismount(self.path)

    def check_log(self):
        for report in glob.glob(self.log + ".sanitizer*"):
            with open(report, errors="replace") as text:
                found = text.read()
            if not self.ends_open or "LeakSanitizer" not in found:
                pytest.fail(found[:4000])
        lines = self.log_text().splitlines()
        last = "\n".join(lines[-20:])  # pytest shortens a list
        assert not [line for line in lines if re.search(r"\] \w+: internal error: ", line)], last  # a server may tell of its own
        if not self.damaged:
            assert not [line for line in lines if re.search(r"\] (error|critical): ", line)], last

    def close(self):
        self.unmount()
        self.check_log()


def fuse_works():
    return os.path.exists("/dev/fuse") and os.access("/dev/fuse", os.R_OK | os.W_OK)


@pytest.fixture(scope="session", autouse=True)
def daemon():
    need(fuse_works(), "/dev/fuse is missing or may not be opened: nothing can be mounted here")
    need(os.path.exists(DAEMON), f"no daemon at {DAEMON}")
    return DAEMON


@pytest.fixture
def mount(tmp_path):
    """mount(source, options="", damaged=False, prefix=()) -> Mount; unmounted and its log checked when the test ends."""
    mounts = []

    def make(source, options="", damaged=False, prefix=()):
        number = len(mounts)
        mounts.append(Mount(source, tmp_path / f"mnt{number}", tmp_path / f"log{number}", options, damaged, prefix))
        return mounts[-1]

    yield make
    for one in mounts:
        one.close()


@pytest.fixture(scope="session")
def shared_mount(tmp_path_factory):
    """shared_mount(source, options): one read-only mount for all tests of a session that ask for the same."""
    mounts = {}

    def make(source, options=""):
        key = (str(source), options)
        if key not in mounts:
            folder = tmp_path_factory.mktemp("shared")
            mounts[key] = Mount(source, folder / "mnt", folder / "log", options)
        return mounts[key]

    yield make
    for one in mounts.values():
        one.close()


@pytest.fixture
def golden(tmp_path):
    """golden(store) -> a writable copy of a golden store."""

    def copy(store):
        target = tmp_path / store
        shutil.copytree(os.path.join(GOLDEN, "stores", store), target)
        return target

    return copy


# What takes longest begins first, so that nothing is waited for alone at the end, and may be shared by workers; other files are of one worker each.
LONGEST = ("test_store_suite.py", "test_missing_cells.py", "test_kept_listings.py", "test_memory.py", "test_processes.py", "test_remote.py",
           "test_azure.py", "test_copying.py", "test_request_counts.py", "test_references.py", "test_as_written.py", "test_shared.py",
           "test_shared_faults.py", "test_mounting.py", "test_killed.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group(name): tests of one worker, if there are several")


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.name if item.path.name in places else item.path.name))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    item.went_wrong = getattr(item, "went_wrong", False) or outcome.get_result().failed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    """All tests together leave 11 GB. What a test that failed has left is kept."""
    yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if folder is None or getattr(item, "went_wrong", True):
        return
    with open("/proc/self/mountinfo") as mounts:
        still_mounted = f" {folder}/" in mounts.read()
    if not still_mounted:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    terminalreporter.write_line(f"skipped: {len(skipped)}")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"  {count} x {reason}")
