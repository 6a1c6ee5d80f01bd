"""A store that several mounts write, and what its tests do to it."""
import itertools
import errno
import os
import random
import subprocess
import sys
import threading

import numpy as np
from conftest import DAEMON, ROOT, is_of_killed, kill, run_zarr, within
from test_writers import CHECK

sys.path.insert(0, os.path.join(ROOT, "tests", "shared"))
import shards  # noqa: E402

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
KILLS = int(os.environ.get("ZARRFS_KILLS", "30"))
LONG = "rw,shared,flush_after=3600"  # nothing is put into a shard but by `zarrfs sync` and at the end
CHUNKS = [place for place in shards.ALL if place[0] == "a"]


class Shared:
    """A store, its mounts, and the last number that was written to each place."""

    def __init__(self, folder, mount):
        self.folder, self.path, self.mount, self.wanted, self.numbers = folder, f"{folder}/store", mount, {}, itertools.count(1)
        shards.make_store(self.path)

    def open(self, options="rw,shared,flush_after=0.05", damaged=False):
        return self.mount(self.path, options, damaged=damaged)

    def put(self, mounted, place, sync=False):
        """The number that the chunk has now."""
        value = shards.value_of(1, next(self.numbers), place)
        write(mounted, place, value, sync)
        self.wanted[place] = value
        return value

    def remove(self, mounted, place):
        os.unlink(name_of(mounted, place))
        del self.wanted[place]

    def stored(self):
        """{place: number} as it lies in the directory, read without zarrfs."""
        found = {}
        for file in shards.files():
            try:
                found.update(shards.read_file(self.path, file))
            except FileNotFoundError:
                continue
        return found

    def holds(self, wanted=None):
        assert self.stored() == (self.wanted if wanted is None else wanted), f"seed {SEED}"

    def is_left_whole(self):
        """After the last mount: every number, by other programs as well, and nothing of zarrfs's own."""
        self.holds()
        assert shards.own_files(self.path) == []
        for array, count in (("a", shards.SHARDS * shards.CHUNKS), ("u", shards.PLAIN)):
            want = np.repeat(np.array([self.wanted.get((array, chunk), 0) for chunk in range(count)], "u8"), shards.CELLS)
            np.save(f"{self.folder}/want.npy", want)
            run_zarr("zarr3", CHECK if array == "a" else CHECK.replace("assert a.shards", "assert a.chunks"), f"{self.path}/{array}", f"{self.folder}/want.npy")


def name_of(mounted, place):
    array, number = place
    return mounted / (f"g{number}/.zattrs" if array == "g" else f"{array}/{number}")


def write(mounted, place, value, sync=False):
    with open(name_of(mounted, place), "wb", buffering=0) as file:
        file.write(shards.bytes_of(value, place))
        if sync:
            os.fsync(file.fileno())


def read(mounted, place):
    """The number that a mount shows; 0: there is no such chunk."""
    try:
        with open(name_of(mounted, place), "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return 0
    return shards.number_in(text, place)


def process_of(mounted):
    return int(os.getxattr(mounted.path, "user.zarrfs.process"))


def die(mounted):
    kill(process_of(mounted))
    subprocess.run(["umount", "-l", mounted.path], check=True)


def zarrfs(*words, status=0):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def at_once(calls):
    """All of them, each in a thread; what one raises is raised."""
    errors = []

    def work(call, arguments):
        try:
            call(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)
    threads = [threading.Thread(target=work, args=(call, arguments)) for call, *arguments in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Writer(threading.Thread):
    """Writes chunks of its own until its mount dies. `sure`: acknowledged; `question`: of the call that the death interrupted."""

    def __init__(self, shared, mounted, places, sync=0.0):
        super().__init__()
        self.shared, self.mounted, self.places, self.sync, self.rng = shared, mounted, places, sync, random.Random(f"{SEED} {places}")
        self.question, self.error, self.written = None, None, 0

    def run(self):
        while self.error is None:
            place = self.rng.choice(self.places)
            value = shards.value_of(2, next(self.shared.numbers), place)
            self.question = (place, value)
            try:
                write(self.mounted, place, value, sync=self.rng.random() < self.sync)
                self.shared.wanted[place] = value
                self.written += 1
            except OSError as error:
                # Where the mount is gone before this thread has called again, there is only its empty directory.
                gone = error.errno == errno.ENOENT and not os.path.ismount(self.mounted.path)
                self.error = errno.ENOTCONN if gone else error.errno
                return

    def begun(self, least):
        within(120, lambda: self.written >= least or not self.is_alive())

    def settle(self, stored):
        """What the interrupted call did, or did not, is both right."""
        self.join(120)
        assert not self.is_alive() and is_of_killed(self.error, self.mounted.log), f"seed {SEED}: {self.error}"
        place, value = self.question
        if stored().get(place) == value:
            self.shared.wanted[place] = value
