"""The power is cut (an ext4 on a loop device is shut down) while a program writes; what fsync(2) had acknowledged must be there.
While a store is converted: the original, or the complete new store, must be there.

ZARRFS_CUTS=N sets how often. The seed is printed; ZARRFS_SEED=N repeats a run. Skipped where no loop device can be mounted.
"""
import errno
import json
import os
import random
import shutil
import subprocess
import threading
import time

import pytest
from conftest import DAEMON, kill, run_zarr, within
from disks import Disk, run
from stores import document, write_json

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
CUTS = int(os.environ.get("ZARRFS_CUTS", "10"))
SIDE, CHUNK = 6, 2
MARKER = ".zarrfs-conversion"

READ = "import sys, json, zarr; print(json.dumps(zarr.open_array(sys.argv[1], mode='r')[...].tolist()))"


class Writer(threading.Thread):
    """`allowed`: chunk -> the values it may have after a cut: the last synced one, and all written since."""

    def __init__(self, mountpoint, rng, allowed, start, off):
        super().__init__()
        self.mountpoint, self.rng, self.allowed, self.value, self.off = mountpoint, random.Random(rng.random()), allowed, start, off
        self.error, self.synced = None, 0

    def run(self):
        try:
            while True:
                self.write()
        except OSError as error:
            self.error = error.errno

    def write(self):
        key, self.value = f"{self.rng.randrange(SIDE)}.{self.rng.randrange(SIDE)}", self.value + 1
        self.allowed.setdefault(key, {0}).add(self.value)
        path, way = f"{self.mountpoint}/a/{key}", self.rng.choice(["no", "no", "by its writer", "by a reader"])
        self.done(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, self.value.to_bytes(4, "little") * CHUNK**2, way == "by its writer")
        if way == "by a reader":  # as sync(1) does
            self.done(path, os.O_RDONLY, b"", True)
        if way != "no" and not self.off.is_set():
            self.allowed[key] = {self.value}
            self.synced += 1

    @staticmethod
    def done(path, flags, data, sync):
        descriptor = os.open(path, flags, 0o644)
        try:
            if data:
                os.write(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


@pytest.fixture
def disk(tmp_path):
    one = Disk(tmp_path, "ext4", 64 << 20)
    one.mount()
    yield one
    subprocess.run(["umount", "-l", str(tmp_path / "mnt")], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["umount", "-l", one.path], stderr=subprocess.DEVNULL, check=False)


def test_what_was_synced_survives_the_power_cut(tmp_path, disk):
    rng = random.Random(SEED)
    store, mountpoint = os.path.join(disk.path, "store"), str(tmp_path / "mnt")
    os.mkdir(mountpoint)
    write_json(os.path.join(store, "a/zarr.json"), document((SIDE * CHUNK,) * 2, (3 * CHUNK,) * 2, (CHUNK, CHUNK)))
    disk.sync()
    allowed, value, synced = {}, 0, 0
    for number in range(CUTS):
        done = run(DAEMON, "mount", store, mountpoint, "-o", f"rw,flush_after={rng.choice(['0.005', '0.05', '3600'])},log={tmp_path}/log")
        assert done.returncode == 0, f"seed {SEED}, cut {number}: {done.stderr}"
        writer = Writer(mountpoint, rng, allowed, value, disk.off)
        writer.start()
        least = rng.randrange(1, 16)  # however slow the disk is
        within(60, lambda: writer.synced >= least or not writer.is_alive())
        time.sleep(rng.random() * 0.02)  # cut at any moment
        disk.cut()
        writer.join(60)
        assert writer.error is not None, f"seed {SEED}, cut {number}: the writer hangs"
        assert writer.error in (errno.EIO, errno.EROFS, errno.ESTALE), f"seed {SEED}, cut {number}: {os.strerror(writer.error)}"
        kill(int(os.getxattr(mountpoint, "user.zarrfs.process")))
        run("umount", "-l", mountpoint)
        value, synced = writer.value, synced + writer.synced
        disk.unmount()
        disk.mount()
        done = run(DAEMON, "recover", store)
        assert done.returncode == 0, f"seed {SEED}, cut {number}: {done.stderr}"
        print(f"seed {SEED}, cut {number}")
        values = json.loads(run_zarr("zarr3", READ, os.path.join(store, "a")))
        for key, may in allowed.items():
            i, j = (CHUNK * int(part) for part in key.split("."))
            got = {values[i + a][j + b] for a in range(CHUNK) for b in range(CHUNK)}
            assert len(got) == 1 and got <= may, f"seed {SEED}, cut {number}: chunk {key} is {got}, not one of {may}"
            allowed[key] = got
    print(f"seed {SEED}: {CUTS} cuts, {value} chunks written, {synced} of them synced")
    assert synced >= CUTS


def zarrfs(*arguments):
    done = run(DAEMON, *map(str, arguments))
    return done.returncode, done.stderr + (done.stdout if done.returncode else "")


def make_plain(path, rng):
    """A group of two v3 arrays, of 4 x 8 chunks of 192 KiB (the disk begins with such early) and of 20 x 20 small ones."""
    write_json(str(path / "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    for name, side, counts in (("large", 256, (4, 8)), ("small", 8, (20, 20))):
        chunk = (side, side * 3)
        shape = [count * edge for count, edge in zip(counts, chunk)]
        write_json(str(path / name / "zarr.json"), {**document(shape, chunk, chunk, "uint8"), "codecs": [{"name": "bytes"}]})
        for i in range(counts[0]):
            folder = path / name / "c" / str(i)
            folder.mkdir(parents=True)
            for j in range(counts[1]):
                (folder / str(j)).write_bytes(rng.randbytes(side * side * 3))


def cut_while(disk, pause, *command):
    """Runs `zarrfs COMMAND` and cuts the power after `pause` seconds, or when it has ended. Whether it had ended well."""
    process = subprocess.Popen([DAEMON, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ended = process.wait(pause) == 0
    except subprocess.TimeoutExpired:
        ended = False
    disk.cut()
    process.wait(600)
    disk.unmount()
    disk.mount()
    return ended


@pytest.mark.parametrize("command", ["shard", "unshard"])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_conversion_survives_the_power_cut(tmp_path, disk, command, in_place):
    rng = random.Random(SEED)
    plain, sharded = tmp_path / "plain", tmp_path / "sharded"
    make_plain(plain, rng)
    form = ["--shard-chunks", "3"] if command == "shard" else []
    assert zarrfs("shard", plain, sharded, "--shard-chunks", "2") == (0, "")
    work, new = os.path.join(disk.path, "work"), os.path.join(disk.path, "new")
    ends = 0
    for number in range(CUTS):
        where = f"seed {SEED}, cut {number}"
        shutil.copytree(plain if command == "shard" else sharded, work)
        disk.sync()
        arguments = [command, work, *(["--in-place"] if in_place else [new]), *form]
        ended = cut_while(disk, rng.choice([rng.uniform(0, 0.2), 60]), *arguments)
        ends += ended
        status, said = zarrfs("diff", plain, work)
        assert status == 0 and (not said or (in_place and "is the unfinished result of a conversion: run that again" in said)), (where, said)
        names = os.listdir(new) if os.path.exists(new) else []
        complete = ended or (names and MARKER not in names)  # cut between the marker's removal and the end of the program
        if not complete:
            assert zarrfs(*arguments) == (0, ""), where
        result = work if in_place else new
        assert zarrfs("diff", plain, result) == (0, ""), where
        assert zarrfs("verify", result, "--decode") == (0, ""), where
        assert MARKER not in os.listdir(result), where
        shutil.rmtree(work)
        shutil.rmtree(new, ignore_errors=True)
    print(f"seed {SEED}: {CUTS} cuts, {ends} of them when all was done")
