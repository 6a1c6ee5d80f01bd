"""The life of a mount, over io_uring and over /dev/fuse: who waits for a daemon that ends, in whatever way, gets an error, the daemon is
gone, and sync(2) ends. Only in a virtual machine (tests/vm/run): a fault here hangs the whole machine."""
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import MOUNTED

ROOT = os.path.dirname(os.path.dirname(MOUNTED))
DAEMON = os.environ["ZARRFS_DAEMON"]
LOAD, CHANGE = (os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("load.py", "change.py"))
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ENOENT}
PATIENCE = 60  # the machine may be an emulated one
TRANSPORTS = ("io_uring", "device")


def within(check, seconds=PATIENCE):
    for _ in range(seconds * 20):
        if check():
            return
        time.sleep(0.05)
    pytest.fail(f"not so within {seconds} s")


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **more)


class Mount:
    def __init__(self, folder, transport, options="ro,timeout=0"):
        self.path, self.log, self.transport = str(folder / "mnt"), str(folder / "log"), transport
        os.makedirs(self.path, exist_ok=True)
        store = folder / "store"
        if not store.exists():
            shutil.copytree(os.path.join(ROOT, "examples", "brain.ome.zarr"), store)
        use = {"io_uring": "on", "device": "off"}[transport]
        done = run(DAEMON, "mount", str(store), self.path, "-o", f"{options},io_uring={use},log={self.log}")
        assert done.returncode == 0, done.stderr
        self.process = int(os.getxattr(self.path, "user.zarrfs.process"))
        self.connection = f"/sys/fs/fuse/connections/{os.stat(self.path).st_dev & 0xff}"

    def load(self, threads=8, count=None):
        """Readers, which have begun."""
        words = [sys.executable, LOAD, self.path, str(threads)] + ([str(count)] if count else [])
        readers = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert readers.stdout.readline() == "begun\n"
        return readers

    def count(self, number):
        done = run(DAEMON, "stats", self.path)
        return next(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith(f"{number} "))

    def requests(self, transport):
        return self.count(f"requests_by_{transport}")

    def is_gone(self):
        return not os.path.exists(f"/proc/{self.process}")


def outcome(readers):
    """The errno at which readers end."""
    text, _ = readers.communicate(timeout=PATIENCE)
    assert readers.returncode == 0
    return int(text)


@pytest.fixture(params=TRANSPORTS)
def mount(request, tmp_path):
    made = Mount(tmp_path, request.param)
    yield made
    run("umount", "-l", made.path)
    within(made.is_gone)
    assert run("sync").returncode == 0


def abort(mount):
    pathlib.Path(mount.connection, "abort").write_text("1")


def test_requests_come_as_they_should(mount):
    assert outcome(mount.load(count=20)) == 0
    other = next(one for one in TRANSPORTS if one != mount.transport)
    assert mount.requests(mount.transport) > mount.requests(other)


def test_bytes_are_those_of_the_other_transport(tmp_path):
    sums = []
    for transport in TRANSPORTS:
        mount = Mount(tmp_path, transport)
        sums.append(run("sh", "-c", f"cd {mount.path} && find . -type f ! -path './.zarrfs/*' | sort | xargs md5sum").stdout)
        assert run(DAEMON, "umount", mount.path).returncode == 0
        within(mount.is_gone)
    assert sums[0] == sums[1] and sums[0].count("\n") > 50


def test_more_readers_than_threads(mount):
    assert outcome(mount.load(threads=60, count=5)) == 0


def test_kill_under_load(mount):
    readers = mount.load()
    time.sleep(0.5)  # they read
    os.kill(mount.process, signal.SIGKILL)
    within(mount.is_gone)
    assert outcome(readers) in GONE


def test_abort_under_load(mount):
    readers = mount.load()
    time.sleep(0.5)  # they read
    abort(mount)
    assert outcome(readers) in GONE
    within(mount.is_gone)


def test_stopped_readers_wait_and_go_on(mount):
    readers = mount.load(count=40)
    os.kill(mount.process, signal.SIGSTOP)
    time.sleep(1)  # they would have ended
    assert readers.poll() is None
    os.kill(mount.process, signal.SIGCONT)
    assert outcome(readers) == 0


def test_stopped_and_killed(mount):
    readers = mount.load()
    os.kill(mount.process, signal.SIGSTOP)
    time.sleep(0.5)  # each reader comes to wait for it
    assert readers.poll() is None
    os.kill(mount.process, signal.SIGKILL)
    within(mount.is_gone)
    assert outcome(readers) in GONE


@pytest.mark.parametrize("then", [signal.SIGCONT, signal.SIGKILL])
def test_stopped_and_aborted(mount, then):
    """Over io_uring abort alone may not release who waits: what a stopped thread was given only that thread gives up."""
    readers = mount.load()
    os.kill(mount.process, signal.SIGSTOP)
    time.sleep(0.5)  # each reader comes to wait for it
    abort(mount)
    os.kill(mount.process, then)
    assert outcome(readers) in GONE
    within(mount.is_gone)


def test_readers_that_are_killed_while_it_is_stopped(mount):
    readers = mount.load()
    os.kill(mount.process, signal.SIGSTOP)
    time.sleep(0.5)  # each reader comes to wait for it
    readers.kill()
    os.kill(mount.process, signal.SIGCONT)
    readers.wait(PATIENCE)
    assert outcome(mount.load(count=5)) == 0


def test_out_of_memory(mount):
    readers = mount.load()
    pathlib.Path(f"/proc/{mount.process}/oom_score_adj").write_text("1000")
    pathlib.Path("/proc/sysrq-trigger").write_text("f")
    within(mount.is_gone)
    assert outcome(readers) in GONE


def test_unmount_ends_it(mount):
    assert outcome(mount.load(count=20)) == 0
    assert run(DAEMON, "umount", mount.path).returncode == 0
    within(mount.is_gone)


def test_terminated(mount):
    assert outcome(mount.load(count=20)) == 0
    os.kill(mount.process, signal.SIGTERM)
    within(mount.is_gone)
    assert not os.path.ismount(mount.path)


def test_terminated_under_load(mount):
    readers = mount.load()
    os.kill(mount.process, signal.SIGTERM)
    within(mount.is_gone)
    assert outcome(readers) in GONE


def test_busy_unmount_is_refused(mount):
    with open(os.path.join(mount.path, ".zattrs")) as held:
        assert run("umount", mount.path).returncode != 0
        assert os.path.ismount(mount.path)
        assert held.read()
    assert outcome(mount.load(count=5)) == 0


def test_lazy_unmount_goes_on_serving(mount):
    folder = os.open(mount.path, os.O_RDONLY | os.O_DIRECTORY)
    assert run("umount", "-l", mount.path).returncode == 0
    for _ in range(3):
        inner = os.open("0", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
        assert os.listdir(inner)
        os.close(inner)
    assert not mount.is_gone()
    os.close(folder)
    within(mount.is_gone)


def test_processor_goes_and_comes(mount):
    switch = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not switch.exists():
        pytest.skip("the second processor cannot be switched off")
    readers = mount.load(count=40)
    switch.write_text("0")
    try:
        assert outcome(mount.load(count=10)) == 0
    finally:
        switch.write_text("1")
    assert outcome(readers) == 0
    assert outcome(mount.load(count=10)) == 0


@pytest.fixture(params=TRANSPORTS)
def changing(request, tmp_path):
    """A mount whose store is watched, with readers and a program that replaces its shards: the daemon calls names back while it is asked."""
    mount = Mount(tmp_path, request.param, "ro")
    changes = subprocess.Popen([sys.executable, CHANGE, str(tmp_path / "store")], stdout=subprocess.PIPE, text=True)
    assert changes.stdout.readline() == "begun\n"
    yield mount
    changes.kill()
    changes.wait(PATIENCE)
    run("umount", "-l", mount.path)
    within(mount.is_gone)
    assert run("sync").returncode == 0


def stats_of_all(mount):
    """A program that asks for the status of every chunk by its name, for ever, and so has them lent."""
    script = f"names=$(find {mount.path}/0 {mount.path}/1 -type f -name '*[0-9]'); while :; do stat $names; done"
    return subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


WAYS = {"kill": lambda mount: os.kill(mount.process, signal.SIGKILL), "abort": abort, "terminate": lambda mount: os.kill(mount.process, signal.SIGTERM),
        "stop and kill": lambda mount: [os.kill(mount.process, which) for which in (signal.SIGSTOP, signal.SIGKILL)]}


def test_names_are_called_back_under_load(changing):
    asking = stats_of_all(changing)
    time.sleep(1)  # names are known by now
    before = changing.count("requests.lookup") + changing.count("requests.getattr")
    time.sleep(5)  # what is asked in it is counted
    assert changing.count("requests.lookup") + changing.count("requests.getattr") > before + 100  # lent, they would cost none
    os.killpg(asking.pid, signal.SIGKILL)
    asking.wait(PATIENCE)
    assert outcome(changing.load(count=5)) in {0, errno.ESTALE}


@pytest.mark.parametrize("way", WAYS)
def test_the_end_while_names_are_called_back(changing, way):
    asking, readers = stats_of_all(changing), changing.load()
    time.sleep(1)  # names are known by now
    WAYS[way](changing)
    within(changing.is_gone)
    os.killpg(asking.pid, signal.SIGKILL)
    asking.wait(PATIENCE)
    assert outcome(readers) in GONE | {errno.ESTALE}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_end_of_a_mount_namespace(transport, tmp_path):
    """As a container ends: its first process is killed, and with it the daemon, the readers, and the only mount namespace that has the mount."""
    shutil.copytree(os.path.join(ROOT, "examples", "brain.ome.zarr"), tmp_path / "store")
    os.mkdir(tmp_path / "mnt")
    use = {"io_uring": "on", "device": "off"}[transport]
    script = f"""{DAEMON} mount {tmp_path}/store {tmp_path}/mnt -o ro,timeout=0,io_uring={use},log={tmp_path}/log &&
        {sys.executable} {LOAD} {tmp_path}/mnt 8 & sleep 1000"""
    before = set(os.listdir("/sys/fs/fuse/connections"))
    outside = subprocess.Popen(["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "private", "sh", "-c", script],
                               stdout=subprocess.PIPE, text=True)
    assert outside.stdout.readline() == "begun\n"
    assert set(os.listdir("/sys/fs/fuse/connections")) != before
    outside.kill()
    outside.wait(PATIENCE)
    within(lambda: set(os.listdir("/sys/fs/fuse/connections")) == before)
    assert run("sync").returncode == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_users_mount(transport, tmp_path):
    store = tmp_path / "store"
    for folder in [tmp_path, *tmp_path.parents]:
        os.chmod(folder, os.stat(folder).st_mode | 0o755)
    shutil.copytree(os.path.join(ROOT, "examples", "brain.ome.zarr"), store)
    os.mkdir(tmp_path / "mnt")
    run("chown", "-R", "nobody", str(tmp_path))
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    use = {"io_uring": "on", "device": "off"}[transport]
    done = run(*user, DAEMON, "mount", str(store), f"{tmp_path}/mnt", "-o", f"ro,io_uring={use},log={tmp_path}/log")
    assert done.returncode == 0, done.stderr
    listed = run(*user, "find", f"{tmp_path}/mnt", "-type", "f")
    assert listed.stdout.count("\n") > 50
    process = int(run(*user, "getfattr", "--only-values", "-n", "user.zarrfs.process", f"{tmp_path}/mnt").stdout)
    os.kill(process, signal.SIGKILL)
    within(lambda: not os.path.exists(f"/proc/{process}"))
    assert "not connected" in run(*user, "ls", f"{tmp_path}/mnt").stderr
    assert run(*user, "fusermount3", "-u", f"{tmp_path}/mnt").returncode == 0


@pytest.mark.parametrize("round_number", range(int(os.environ.get("ZARRFS_LIVES", "3"))))
def test_short_lives(round_number, tmp_path):
    """Mounted, read, and ended at once, in turn by each way."""
    mount = Mount(tmp_path, "io_uring")
    readers = mount.load(threads=4)
    time.sleep(0.05 * round_number)  # ended at another moment each time
    ways = (lambda: os.kill(mount.process, signal.SIGKILL), lambda: abort(mount), lambda: os.kill(mount.process, signal.SIGTERM))
    ways[round_number % 3]()
    within(mount.is_gone)
    assert outcome(readers) in GONE
    run("umount", "-l", mount.path)
    assert run("sync").returncode == 0
