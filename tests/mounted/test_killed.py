"""The daemon is killed at random moments while a program writes; what close(2) had acknowledged must be there after the next mount.

ZARRFS_KILLS=N sets how often (CI: 100 by .ci/run's default of the tests; by hand: `ZARRFS_KILLS=2000 tests/mounted/run DAEMON -k killed`).
The seed is printed; ZARRFS_SEED=N repeats a run.
"""
import json
import os
import random
import subprocess
import threading
import time

from conftest import DAEMON, is_of_killed, kill, run_zarr, within
from stores import document, write_json

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
KILLS = int(os.environ.get("ZARRFS_KILLS", "30"))
SIDE, CHUNK = 8, 2  # chunks along each axis; elements of a chunk along each axis

CHECK = """
import sys, json, numpy as np, zarr
want = json.load(open(sys.argv[2]))
a = zarr.open_array(sys.argv[1], mode="r")[...]
for key, value in want.items():
    i, j = map(int, key.split("."))
    got = a[2 * i:2 * i + 2, 2 * j:2 * j + 2]
    assert (got == value).all(), f"chunk {key}: {got.tolist()}, not {value}"
"""


def chunk_bytes(value):
    return int(value).to_bytes(4, "little") * (CHUNK * CHUNK)


class Writer(threading.Thread):
    """Writes chunks until the mount dies, with random numbers of its own. `sure`: acknowledged; `open_question`: what the kill interrupted."""

    def __init__(self, mountpoint, rng, sure, counter):
        super().__init__()
        self.mountpoint, self.rng, self.sure, self.counter = mountpoint, random.Random(rng.random()), sure, counter
        self.open_question, self.written, self.error = None, 0, None

    def run(self):
        while True:
            key = f"{self.rng.randrange(SIDE)}.{self.rng.randrange(SIDE)}"
            value = 0 if self.rng.random() < 0.1 else next(self.counter)
            self.open_question = (key, value)
            try:
                self.change(key, value)
            except OSError as error:
                self.error = error.errno
                return
            self.sure[key] = value
            self.open_question = None
            self.written += 1

    def change(self, key, value):
        path = f"{self.mountpoint}/a/{key}"
        if value == 0:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            return
        way = self.rng.randrange(3)
        name = path if way == 0 else f"{path}.{value:x}.partial"
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(descriptor, chunk_bytes(value))
            if way == 2:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if way != 0:
            os.replace(name, path)


def count_from(start):
    while True:
        start += 1
        yield start


def verify(store, want, tmp_path):
    (tmp_path / "want.json").write_text(json.dumps(want))
    print(f"seed {SEED}")
    run_zarr("zarr3", CHECK, os.path.join(store, "a"), tmp_path / "want.json")


def test_what_was_acknowledged_survives_the_kill(tmp_path):
    rng = random.Random(SEED)
    store, mountpoint = str(tmp_path / "store"), str(tmp_path / "mnt")
    os.mkdir(mountpoint)
    write_json(os.path.join(store, "a/zarr.json"), document((SIDE * CHUNK,) * 2, (4 * CHUNK,) * 2, (CHUNK, CHUNK)))
    sure, counter, recovered, written = {}, count_from(0), 0, 0
    for round_number in range(KILLS):
        flush_after = rng.choice(["0.001", "0.01", "0.05", "3600"])
        log = str(tmp_path / f"log{round_number % 4}")
        done = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", f"rw,flush_after={flush_after},log={log}"],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"seed {SEED}, round {round_number}: {done.stderr}"
        try:
            for key, value in sure.items():
                path = f"{mountpoint}/a/{key}"
                got = open(path, "rb").read() if os.path.exists(path) else chunk_bytes(0)
                assert got == chunk_bytes(value), f"seed {SEED}, round {round_number}: chunk {key}"
            process = int(os.getxattr(mountpoint, "user.zarrfs.process"))
            writer = Writer(mountpoint, rng, sure, counter)
            writer.start()
            time.sleep(rng.random() * 0.06)  # killed at any moment
            least = (0, 2, 20)[round_number % 3]  # however slow the machine is
            within(60, lambda: writer.written >= least or not writer.is_alive())
            kill(process)
            writer.join(60)
            assert not writer.is_alive(), f"seed {SEED}, round {round_number}: a writer hangs"
            assert is_of_killed(writer.error, log), f"seed {SEED}, round {round_number}: {writer.error}"
        finally:
            subprocess.run(["umount", "-l", mountpoint], check=False)
        written += writer.written
        recovered += os.path.exists(os.path.join(store, ".zarrfs/log"))
        if writer.open_question:
            sure.pop(writer.open_question[0], None)  # either value will do
        if round_number % 10 == 9 or round_number == KILLS - 1:
            done = subprocess.run([DAEMON, "recover", store], capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, f"seed {SEED}, round {round_number}: {done.stderr}"
            assert not [n for f, d, n_ in os.walk(store) for n in n_ + d if n.startswith(".zarrfs")], f"seed {SEED}"
            verify(store, sure, tmp_path)
    print(f"seed {SEED}: {KILLS} kills, {written} changes acknowledged, {recovered} times something to recover")
    assert recovered > KILLS // 4 and written > KILLS


def write_attributes_until_the_mount_dies(mountpoint):
    number = 0
    try:
        while True:
            number += 1
            with open(f"{mountpoint}/a/.zattrs", "w") as file:
                json.dump({"k": number}, file)
            with open(f"{mountpoint}/a/other", "wb") as file:  # scratch, which is written out when it is synced
                file.write(b"x" * 100)
                os.fsync(file.fileno())
    except OSError:
        pass


def test_a_kill_while_documents_are_written_leaves_nothing_behind(tmp_path):
    rng, store, mountpoint = random.Random(SEED), str(tmp_path / "store"), str(tmp_path / "mnt")
    os.mkdir(mountpoint)
    write_json(os.path.join(store, "a/zarr.json"), document((SIDE * CHUNK,) * 2, (4 * CHUNK,) * 2, (CHUNK, CHUNK)))
    for _ in range(min(KILLS, 20)):
        done = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", f"rw,log={tmp_path}/log"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
        process = int(os.getxattr(mountpoint, "user.zarrfs.process"))
        writer = threading.Thread(target=write_attributes_until_the_mount_dies, args=[mountpoint])
        writer.start()
        time.sleep(0.02 + rng.random() * 0.05)  # killed at any moment
        kill(process)
        writer.join(60)
        subprocess.run(["umount", "-l", mountpoint], check=False)
    done = subprocess.run([DAEMON, "recover", store], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
    assert not [n for f, d, n_ in os.walk(store) for n in n_ + d if n.startswith(".zarrfs")], f"seed {SEED}"
