"""Several descriptors of one file, got at different moments of its life (before and after it was renamed, linked, closed, published), beside
those of a plain directory: appending, locking, truncating and reading by each gives the same.

ZARRFS_MODEL_SECONDS sets how long. The seed is printed; ZARRFS_SEED=N repeats a run.
"""
import fcntl
import os
import random
import subprocess
import sys
import time

import pytest
from conftest import DAEMON
from stores import document, write_json

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
SECONDS = float(os.environ.get("ZARRFS_MODEL_SECONDS", "20")) / 4
SIZE, MOST_OPEN = 64, 5


class Side:
    """What one of the two directories answers: a value, or the number of an error."""

    def __init__(self, folder):
        self.folder, self.open = str(folder), []

    def do(self, action, *arguments):
        try:
            return action(*arguments)
        except OSError as error:
            return f"errno {error.errno}"

    def path(self, name):
        return os.path.join(self.folder, name)

    def open_one(self, name, flags):
        self.open.append(os.open(self.path(name), flags, 0o644))
        return len(self.open)

    def close(self, at):
        os.close(self.open.pop(at))

    def append(self, at, data):
        return os.write(self.open[at], data)

    def write_at(self, at, data, place):
        return os.pwrite(self.open[at], data, place)

    def cut(self, at, size):
        os.ftruncate(self.open[at], size)

    def read(self, at):
        return os.pread(self.open[at], 4 * SIZE, 0), os.fstat(self.open[at]).st_size

    def lock(self, at):
        fcntl.flock(self.open[at], fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(self, at):
        fcntl.flock(self.open[at], fcntl.LOCK_UN)

    def rename(self, source, target):
        os.rename(self.path(source), self.path(target))

    def link(self, source, target):
        os.link(self.path(source), self.path(target))

    def unlink(self, name):
        os.unlink(self.path(name))

    def load(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def close_all(self):
        while self.open:
            self.close(0)


def changes(rng, names, kind, opened):
    """The next thing that programs do: a function's name and its arguments."""
    name, other = rng.choice(names), rng.choice(names)
    if not opened or (len(opened) < MOST_OPEN and rng.random() < 0.25):
        return "open_one", name, os.O_RDWR | os.O_CREAT | rng.choice([0, os.O_APPEND])
    at = rng.randrange(len(opened))
    data = rng.randbytes(rng.randrange(1, 8))
    usual = [("append", at, data), ("write_at", at, data, rng.randrange(SIZE - 8)), ("cut", at, rng.randrange(SIZE)), ("read", at), ("read", at),
             ("lock", at), ("lock", at), ("unlock", at), ("close", at), ("load", name), ("unlink", name)]
    if kind != "chunks":
        usual += [("rename", name, other), ("rename", name, other)]
    if kind == "files":  # what an array has no words for is not linked before the store has it
        usual.append(("link", name, other))
    return rng.choice(usual)


def run(mounted, mountpoint, plain, seed, names, kind):
    rng = random.Random(seed)
    sides, history = (Side(mounted), Side(plain)), []
    try:
        for _ in range(rng.randrange(5, 40)):
            if rng.random() < 0.05:
                history.append("sync")
                subprocess.run([DAEMON, "sync", mountpoint], capture_output=True, timeout=600, check=False)
            change = changes(rng, names, kind, sides[1].open)
            if kind == "chunks" and change[0] == "append" and os.fstat(sides[1].open[change[1]]).st_size > SIZE - 8:
                continue  # longer than a chunk can be
            history.append(change)
            shown, expected = (side.do(getattr(side, change[0]), *change[1:]) for side in sides)
            assert shown == expected, f"seed {seed}: {history}"
        for side in sides:
            side.close_all()
        for name in names:
            shown, expected = (side.do(side.load, name) for side in sides)
            assert shown == expected, f"seed {seed}: {name} after {history}"
            sides[0].do(sides[0].unlink, name)
            sides[1].do(sides[1].unlink, name)
    finally:
        for side in sides:
            side.close_all()


@pytest.mark.parametrize("kind", ["files", "files in an array", "chunks"])
def test_descriptors_of_one_file_agree(mount, tmp_path, kind):
    store = tmp_path / "store"
    write_json(str(store / "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(str(store / "a/zarr.json"), document((SIZE * 8,), (SIZE * 4,), (SIZE,), "uint8"))
    mounted = mount(store, "rw,validate=off,flush_after=0.02")
    os.mkdir(mounted / "x")
    (tmp_path / "plain").mkdir()
    folder = mounted / ("x" if kind == "files" else "a")
    names = ["0", "1"] if kind == "chunks" else ["log", "log.1", "other"]
    end, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        run(folder, mounted.path, tmp_path / "plain", SEED + count, names, kind)
        count += 1
    print(f"seed {SEED}: {count} sequences")
    assert count > 0


COUNT = r"""
import fcntl, os, re, sys
for _ in range(int(sys.argv[2])):
    descriptor = os.open(sys.argv[1], os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    text = os.pread(descriptor, 100, 0)
    count = re.search(rb"[0-9]{40}", text)
    os.pwrite(descriptor, text[:count.start()] + b"%040d" % (int(count[0]) + 1) + text[count.end():], 0)
    os.close(descriptor)
"""


@pytest.mark.parametrize("name, before, after", [("0", b"", b" " * 24), (".zattrs", b'{"count": "', b'"}\n')], ids=["chunk", "document"])
def test_processes_count_together_in_a_file_under_its_lock(mount, tmp_path, name, before, after):
    processes, rounds = 4, 60
    write_json(str(tmp_path / "store/zarr.json"), document((SIZE * 8,), (SIZE * 4,), (SIZE,), "uint8"))
    mounted = mount(tmp_path / "store", "rw,flush_after=0.02,profile=generic")
    with open(mounted / name, "wb") as file:
        file.write(before + b"%040d" % 0 + after)
    started = [subprocess.Popen([sys.executable, "-c", COUNT, mounted / name, str(rounds)], stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    for process in started:
        error = process.communicate(timeout=600)[1]
        assert process.returncode == 0, error
    with open(mounted / name, "rb") as file:
        assert b"%040d" % (processes * rounds) in file.read()
