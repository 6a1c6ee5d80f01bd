"""Histories: several processes change chunks at once, in every way that programs have, while the daemon is killed and mounted
again. Each value that is read must be one that some writer wrote, and that no later acknowledged one had replaced.

Every change of a chunk is made under its lock file outside of the mount, so that the order of acknowledged changes is known;
readers take no lock. A value is the number of its write, which is never used twice. A long run: ZARRFS_HISTORY_SECONDS=600.

The same while the array is renamed again and again, on a disk that is full now and then, with few descriptors, and where a rename
takes long.
"""
import bisect
import errno
import json
import os
import random
import subprocess
import sys
import time

import pytest
from conftest import Mount, kill
from disks import Disk
from stores import write_json

SECONDS = float(os.environ.get("ZARRFS_HISTORY_SECONDS", "3"))
WRITERS, READERS, CHUNKS = 3, 2, 6
# What a program that does not know the store is killed and mounted anew may meet.
ALWAYS_EXPECTED = ("ENOTCONN", "ECONNABORTED", "ECANCELED", "ENOENT", "EIO")

# Tells in a line of its own what it does: before ("try KEY VALUE") and after it was acknowledged ("done KEY VALUE").
CLIENT = r"""
import errno, fcntl, os, random, sys, time
directory, locks, seed, seconds, first, writes, keys = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6] == "w", sys.argv[7].split(",")
expected = [getattr(errno, name) for name in sys.argv[8].split(",")]
rng = random.Random(seed)
value, changes = first, 0
LEAST = 10  # changes of each writer, however slow the machine is
until = time.monotonic() + seconds

def tell(*words):
    os.write(1, (" ".join(map(str, (time.monotonic_ns(),) + words)) + "\n").encode())

def chunk(number):
    return number.to_bytes(8, "little") * 2

def in_directory(action):
    # Whether `action` found its name. While the store is not mounted, no chunk is missing: there is no directory.
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        action(folder)
        return True
    except FileNotFoundError:
        return False
    finally:
        os.close(folder)

def read(key):
    data = b""
    def load(folder):
        nonlocal data
        with open(os.open(key, os.O_RDONLY, dir_fd=folder), "rb") as file:
            data = file.read()
    if not in_directory(load):
        return 0
    if len(data) == 0:
        return -1  # between truncating and writing
    number = int.from_bytes(data[:8], "little")
    if data != chunk(number):
        return -2
    return number

def put(path, data, flags):
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        os.write(descriptor, data)
        if rng.random() < 0.1:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

def change(path, number):
    data, temporary = chunk(number), f"{path}.{number}.partial"
    way = rng.choice(["rename", "truncate", "place", "link", "lock"])
    if way == "truncate":
        put(path, data, os.O_CREAT | os.O_TRUNC)
    elif way == "place":
        put(path, data, os.O_CREAT)
    elif way == "rename":
        put(temporary, data, os.O_CREAT | os.O_EXCL)
        os.rename(temporary, path)
    elif way == "link":
        put(temporary, data, os.O_CREAT | os.O_EXCL)
        in_directory(lambda folder: os.unlink(os.path.basename(path), dir_fd=folder))
        os.link(temporary, path)
        os.unlink(temporary)
    else:
        descriptor = os.open(path + ".__lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, data, 0)
            os.fsync(descriptor)
            os.rename(path + ".__lock", path)
        finally:
            os.close(descriptor)

while time.monotonic() < until or writes and changes < LEAST:
    key = rng.choice(keys)
    path = os.path.join(directory, key)
    if not writes:
        began = time.monotonic_ns()
        try:
            tell("read", key, read(key), began)
        except OSError as error:
            if error.errno not in expected:
                raise
        continue
    with open(os.path.join(locks, key), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove = rng.random() < 0.15
        value += 1
        number = 0 if remove else value
        tell("try", key, number, "remove" if remove else "write")
        try:
            if remove:
                in_directory(lambda folder: os.unlink(key, dir_fd=folder))
            else:
                change(path, number)
            tell("done", key, number)
            changes += 1
        except OSError as error:
            tell("failed", key, number, error.errno)
            if error.errno not in expected:
                raise
            time.sleep(0.05)
    if rng.random() < 0.02:
        try:
            with open(os.path.join(directory, ".zattrs"), "w") as text:
                text.write('{"by": %d}' % number)
        except OSError:
            pass
"""


def array(index_location, form):
    bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
    index = [bytes_codec, {"name": "crc32c"}]

    def sharding(chunk, codecs):
        return {"name": "sharding_indexed", "configuration": {"chunk_shape": [chunk], "codecs": codecs, "index_codecs": index, "index_location": index_location}}

    codecs = [sharding(2, [bytes_codec])]
    if form == "nested":
        codecs = [sharding(4, [sharding(2, [bytes_codec])])]
    if form == "around":
        codecs = [sharding(2, [bytes_codec]), {"name": "gzip", "configuration": {"level": 1}}]
    return {"zarr_format": 3, "node_type": "array", "shape": [2 * CHUNKS], "data_type": "int64", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}}, "chunk_key_encoding": {"name": "default"},
            "codecs": codecs, "attributes": {}}


def check(history, key, final):
    """`history`: (time, client, words) of this key. What a read may give: the value of the last change that was acknowledged before it
    began, or of any change that was being made between then and its end (one that failed may have happened, then or later)."""
    changes, reads, wrong = [], [], []  # changes: [began, ended or None, value, certain]
    open_changes = {}
    for at, client, words in history:
        if words[0] == "try":
            open_changes[client] = [at, None, int(words[2]), False]
            changes.append(open_changes[client])
        elif words[0] in ("done", "failed"):
            open_changes[client][1] = at if words[0] == "done" else None
            open_changes[client][3] = words[0] == "done"
        else:
            reads.append((int(words[3]), at, int(words[2])))
    reads.append((history[-1][0] + 1, history[-1][0] + 2, final))
    # The lock makes changes of one chunk follow each other, so those that are certain are in one order by any time.
    certain = sorted((one for one in changes if one[3]), key=lambda one: one[1])
    uncertain = [one for one in changes if not one[3]]
    ends, begins = [one[1] for one in certain], [one[0] for one in certain]
    for began, ended, value in reads:
        first = max(bisect.bisect_left(ends, began) - 1, 0)  # the last that was over
        near = certain[first:bisect.bisect_left(begins, ended)] + [one for one in uncertain if one[0] < ended]
        last = certain[first][1] if certain and ends[first] < began else 0
        may = {one[2] for one in near if not one[3] or one[1] >= last}
        if last == 0:
            may.add(0)
        # While somebody writes in place or replaces by a link, a reader may see nothing, no chunk, or neither of two.
        written = any(one[1] is None or one[1] > began for one in near)
        if value not in may and not (written and value <= 0):
            wrong.append(f"chunk {key}: {value} was read at {began}..{ended}; possible were {sorted(may)[-8:]}")
    return wrong


class Run:
    """Clients on a directory; what they tell is the history."""

    def __init__(self, folder, directory, seed, expected=()):
        expected = ",".join((*ALWAYS_EXPECTED, *expected))
        self.locks = os.path.join(str(folder), "locks")
        os.makedirs(self.locks)
        self.keys = [str(number) for number in range(CHUNKS)]
        self.outputs = []
        self.clients = []
        for number in range(WRITERS + READERS):
            output = open(os.path.join(str(folder), f"client{number}"), "w+")  # noqa: SIM115
            words = [directory, self.locks, seed * 100 + number, SECONDS, (number + 1) * 10**9, "w" if number < WRITERS else "r", ",".join(self.keys), expected]
            self.outputs.append(output)
            self.clients.append(subprocess.Popen([sys.executable, "-c", CLIENT, *map(str, words)], stdout=output, stderr=subprocess.PIPE, text=True))

    def running(self):
        return any(client.poll() is None for client in self.clients)

    def wait(self):
        for client in self.clients:
            error = client.communicate(timeout=600 + SECONDS)[1]
            assert client.returncode == 0, error[-2000:]

    def check(self, directory):
        history = []
        for number, output in enumerate(self.outputs):
            output.seek(0)
            for line in output.read().splitlines():
                at, *words = line.split()
                history.append((int(at), number, words))
            output.close()
        history.sort()
        wrong, changes = [], 0
        for key in self.keys:
            mine = [one for one in history if one[2][1] == key]
            changes += sum(one[2][0] == "done" for one in mine)
            if not mine:
                continue
            path = os.path.join(directory, key)
            final = int.from_bytes(open(path, "rb").read()[:8], "little") if os.path.exists(path) else 0  # noqa: SIM115
            wrong += check(mine, key, final)
        assert changes > 10, "hardly anything was changed"
        assert not wrong, "\n".join(wrong[:10])
        return changes


@pytest.mark.parametrize("moved", [False, True])
def test_the_checker_passes_a_plain_directory(tmp_path, moved):
    directory, aside = tmp_path / "plain", tmp_path / "aside"
    directory.mkdir()
    run = Run(tmp_path, str(directory), 1)
    while moved and run.running():
        directory.rename(aside)
        aside.rename(directory)
        time.sleep(0.05)
    run.wait()
    run.check(str(directory))


def test_the_checker_notices_a_lost_write():
    history = [(10, 0, ["try", "0", "7", "write"]), (20, 0, ["done", "0", "7"]), (30, 0, ["try", "0", "8", "write"]),
               (40, 0, ["done", "0", "8"]), (60, 1, ["read", "0", "7", "50"])]
    assert check(history, "0", 8)
    assert not check([*history[:-1], (35, 1, ["read", "0", "7", "32"])], "0", 8)
    assert check(history[:-1], "0", 7), "an old value at the end"
    assert check(history[:-1], "0", 0), "a missing chunk at the end"


class Mounts:
    """One mount of the store after the other; the daemon of each is killed in the end."""

    def __init__(self, folder, store, prefix=()):
        self.folder, self.store, self.prefix, self.count = folder, store, prefix, 0
        self.now = self.mount()

    def mount(self, options="rw,flush_after=0.2"):
        self.count += 1
        return Mount(self.store, self.folder / "mnt", self.folder / f"log{self.count}", options, damaged=True, prefix=self.prefix)

    def kill(self):
        kill(self.now.statistics_process())
        subprocess.run(["umount", "-l", self.now.path], check=False)
        self.now = self.mount()


def make_store(store, index_location="end", form="flat"):
    write_json(str(store / "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(str(store / "a/zarr.json"), array(index_location, form))


def run_history(folder, store, prefix=(), meanwhile=lambda mounted: None, expected=()):
    """Clients change and read chunks while the daemon is killed at times; `meanwhile(mount)` is called again and again."""
    seed = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"ZARRFS_SEED={seed}")
    rng = random.Random(seed)
    mounts = Mounts(folder, store, prefix)
    run = Run(folder, mounts.now / "a", seed, expected)
    try:
        while run.running():
            until = time.monotonic() + rng.uniform(0.5, 2.0)
            while time.monotonic() < until:
                meanwhile(mounts.now)
                time.sleep(0.05)
            if rng.random() < 0.5 and run.running():
                mounts.kill()
        run.wait()
        mounts.now.unmount()
        mounts.now = mounts.mount("ro")
        changes = run.check(mounts.now / "a")
        print(json.dumps({"changes": changes, "mounts": mounts.count}))
    finally:
        for client in run.clients:
            client.kill()
            client.wait()
        mounts.now.close()


@pytest.mark.parametrize("index_location, form", [("end", "flat"), ("start", "flat"), ("end", "nested"), ("start", "around")])
def test_no_acknowledged_change_is_lost_or_comes_back(tmp_path, index_location, form):
    make_store(tmp_path / "store", index_location, form)
    run_history(tmp_path, tmp_path / "store")


def test_none_is_lost_while_the_array_is_renamed(tmp_path):
    make_store(tmp_path / "store")
    moves = []

    def move(mounted):
        os.rename(mounted / "a", mounted / "b")
        os.rename(mounted / "b", mounted / "a")
        moves.append(1)

    # ESTALE: what a writer opens was moved away and back twice since it was looked up.
    run_history(tmp_path, tmp_path / "store", meanwhile=move, expected=("ESTALE",))
    assert moves


def test_none_is_lost_where_the_disk_is_full_at_times(tmp_path):
    disk = Disk(tmp_path, "ext4", 16 << 20)
    disk.mount()
    filler = os.path.join(disk.path, "filler")
    full = []

    def fill(_):
        if os.path.exists(filler):
            os.unlink(filler)
            return
        try:
            with open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
        except OSError as error:
            assert error.errno == errno.ENOSPC
            full.append(1)

    try:
        store = tmp_path / "disk" / "store"
        make_store(store)
        run_history(tmp_path, store, meanwhile=fill, expected=("ENOSPC",))
        assert full
    finally:
        disk.unmount()


def test_none_is_lost_with_few_descriptors(tmp_path):
    make_store(tmp_path / "store")
    run_history(tmp_path, tmp_path / "store", prefix=("prlimit", "--nofile=64:64"))


SLOW_RENAME = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int renameat(int from, const char *name, int to, const char *new_name) {
  usleep(50000);  // others act before it
  int done = ((int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat"))(from, name, to, new_name);
  usleep(50000);  // and before it returns
  return done;
}
"""


def test_none_is_lost_where_a_rename_takes_long(tmp_path):
    (tmp_path / "slow.c").write_text(SLOW_RENAME)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    make_store(tmp_path / "store")
    run_history(tmp_path, tmp_path / "store", prefix=("env", f"LD_PRELOAD={tmp_path / 'slow.so'}"))
