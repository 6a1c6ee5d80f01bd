"""Mounts that read each other: refused by name, or ended by themselves. A watchdog aborts their connections, since a circle outlives even kill -9."""
import os
import subprocess
import threading

import pytest
from conftest import DAEMON

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may abort what waits in a circle")

GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'
PATIENCE = 240  # seconds for a circle to be ended by the mounts themselves


def connections_of(root):
    """{mountpoint: number of its connection} of the mounts of zarrfs below `root`."""
    with open("/proc/self/mountinfo") as table:
        lines = [line.split() for line in table]
    return {words[4]: int(words[2].split(":")[1]) for words in lines if words[4].startswith(f"{root}/") and "fuse.zarrfs" in words}


class Stores:
    """Stores in `root`, each with a directory `in` that others are mounted on, and mounts that are gone at the end whatever happened."""

    def __init__(self, root):
        self.root, self.control, self.ended = root, root / "control", threading.Event()
        self.control.mkdir()
        subprocess.run(["mount", "-t", "fusectl", "fusectl", self.control], check=True)
        self.watchdog = threading.Thread(target=self.watch)
        self.watchdog.start()
        self.aborted = False

    def store(self, name):
        (self.root / name / "in").mkdir(parents=True)
        (self.root / name / "zarr.json").write_text(GROUP)
        return self.root / name

    def mount(self, source, mountpoint, options="", status=0, program=(DAEMON, "mount")):
        log = self.root / f"{mountpoint.parent.name}.log"
        done = subprocess.run([*program, str(source), str(mountpoint), "-o", f"log={log},{options}"], capture_output=True, text=True, timeout=600)
        assert done.returncode == status, done.stderr
        return log if status == 0 else done.stderr

    def abort(self):
        for number in connections_of(self.root).values():
            (self.control / str(number) / "abort").write_text("1")

    def watch(self):
        if not self.ended.wait(PATIENCE):
            self.aborted = True
            self.abort()

    def close(self):
        self.ended.set()
        self.watchdog.join()
        self.abort()
        for mountpoint in connections_of(self.root):
            subprocess.run(["umount", "-l", mountpoint], check=False)
        subprocess.run(["umount", self.control], check=True)
        assert not connections_of(self.root)


@pytest.fixture
def stores(tmp_path):
    made = Stores(tmp_path)
    yield made
    made.close()


def test_two_mounts_in_each_others_sources_are_refused(stores):
    a, b = stores.store("a"), stores.store("b")
    stores.mount(a, b / "in")
    told = stores.mount(b, a / "in", status=3)
    assert f"mountpoint {a}/in lies within {a}, which is mounted on {b}/in, which this mount reads" in told, told
    (stores.root / "elsewhere").mkdir()
    stores.mount(b, stores.root / "elsewhere")


def test_a_circle_of_three_is_refused(stores):
    a, b, c = (stores.store(name) for name in "abc")
    stores.mount(a, b / "in")
    stores.mount(b, c / "in")
    assert "each would wait for the other" in stores.mount(c, a / "in", status=3)


@pytest.mark.parametrize("name", ["zarrfs", "mount.zarrfs"])
def test_a_circle_that_links_hide_is_ended_by_the_mounts(stores, name):
    """Also by the name that mount(8) calls it by."""
    program = stores.root / name
    program.symlink_to(DAEMON)
    how = {"program": (program,) if name.startswith("mount.") else (program, "mount")}
    a, b = stores.store("a"), stores.store("b")
    (stores.root / "link").symlink_to("a")
    logs = [stores.mount(stores.root / "link", b / "in", "threads=1,ro", **how), stores.mount(b, a / "in", "threads=1,ro", **how)]
    problem = []

    def walk():
        try:
            os.stat(os.path.join(b, "in", *["in"] * 200))
        except OSError as error:
            problem.append(error)

    walker = threading.Thread(target=walk)
    walker.start()
    walker.join()
    assert not stores.aborted, "the mounts waited for each other, and did not end by themselves"
    assert problem
    told = "".join(log.read_text() for log in logs)
    assert "ending: requests of other mounts of zarrfs wait here" in told, told[-2000:]


def test_a_store_within_a_mount_that_writes_is_not_written(stores):
    a = stores.store("a")
    (a / "sub").mkdir()
    (a / "sub/zarr.json").write_text(GROUP)
    for name in ("m", "n"):
        (stores.root / name).mkdir()
    stores.mount(a, stores.root / "m", "rw")
    told = stores.mount(stores.root / "m/sub", stores.root / "n", "rw", status=3)
    assert f"lies within the mount of zarrfs on {stores.root}/m" in told, told
    stores.mount(stores.root / "m/sub", stores.root / "n")
    compacted = subprocess.run([DAEMON, "compact", stores.root / "m/sub"], capture_output=True, text=True, timeout=600)
    assert compacted.returncode == 3 and ".zarrfs" in compacted.stderr, compacted.stderr
