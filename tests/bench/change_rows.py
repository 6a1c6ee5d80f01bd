"""One chunk changed in each of many large shards, each made durable at once, beside zarr-python 3 changing the same (it syncs nothing)."""
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time

from measure import Table, alternate, file_system, median, ratio
from write_rows import document

CHUNK, PER_SHARD = 1 << 16, 512  # bytes; chunks in each shard of 32 MiB
INDEX = 16 * PER_SHARD + 4     # bytes
XFS_SIZE = 4 << 30
CLONE = 0x40049409  # FICLONE, _IOW(0x94, 9, int)

ZARR = """
import sys, time, numpy, zarr
array, shards, step, chunk = zarr.open_array(sys.argv[1], mode="r+"), *map(int, sys.argv[2:])
new = numpy.random.default_rng().integers(0, 256, chunk, "uint8")
begin = time.perf_counter()
for shard in range(shards):
    array[shard * step] = new
print(time.perf_counter() - begin)
"""


@contextlib.contextmanager
def mounted(bench, store, options):
    point = os.path.join(bench.scratch, "changing")
    os.makedirs(point, exist_ok=True)
    subprocess.run([bench.daemon, "mount", store, point, "-o", options], check=True)
    try:
        yield os.path.join(point, "a")
    finally:
        subprocess.run([bench.daemon, "umount", point], check=True)


def write(directory, numbers, data):
    for number in numbers:
        with open(f"{directory}/{number}.0", "wb", buffering=0) as file:
            file.write(data)


def make(bench, folder, shards):
    store = os.path.join(folder, "store")
    os.makedirs(f"{store}/a")
    with open(f"{store}/a/zarr.json", "w") as text:
        json.dump(document(shards * PER_SHARD, PER_SHARD, CHUNK), text)
    with mounted(bench, store, "rw") as array:
        for shard in range(shards):
            write(array, range(shard * PER_SHARD, (shard + 1) * PER_SHARD), os.urandom(CHUNK))
    return store


@contextlib.contextmanager
def xfs(bench):
    """A folder on an XFS of its own; nothing where none can be made."""
    image, point = os.path.join(bench.scratch, "xfs.image"), os.path.join(bench.scratch, "xfs")
    os.makedirs(point)
    with open(image, "wb") as file:
        file.truncate(XFS_SIZE)
    maker = shutil.which("mkfs.xfs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    made = maker and subprocess.run([maker, "-q", image]).returncode == 0
    made = made and subprocess.run(["mount", "-o", "loop", image, point]).returncode == 0
    try:
        yield point if made else None
    finally:
        if made:
            subprocess.run(["umount", point], check=True)
        os.remove(image)


def change_by_hand(path, new):
    """The system calls that such a change cannot do without: the next shard is a clone or a copy with the chunk and an index behind it,
    synced, takes the name of the present one, and that is synced. The index is the present one: the shard stays what it was."""
    next_path, size = path + ".next", os.path.getsize(path)
    with open(path, "rb") as present, open(next_path, "wb") as following:
        try:
            fcntl.ioctl(following, CLONE, present.fileno())
        except OSError:
            done = 0
            while done < size:
                done += os.copy_file_range(present.fileno(), following.fileno(), size - done, done, done)
        index = os.pread(present.fileno(), INDEX, size - INDEX)
        os.pwrite(following.fileno(), new, size)
        os.pwrite(following.fileno(), index, size + len(new))
        os.fsync(following.fileno())
    os.rename(next_path, path)
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def add_rows(bench, table, folder, python):
    shards = 5 if bench.short else 20
    store = make(bench, folder, shards)

    def through_the_mount():
        with mounted(bench, store, "rw,flush=close") as array:
            begin = time.perf_counter()
            write(array, range(0, shards * PER_SHARD, PER_SHARD), os.urandom(CHUNK))
            return time.perf_counter() - begin

    def by_zarr():
        command = [python, "-W", "ignore", "-c", ZARR, f"{store}/a", str(shards), str(PER_SHARD), str(CHUNK)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def by_hand():
        begin = time.perf_counter()
        for shard in range(shards):
            change_by_hand(f"{store}/a/c/{shard}/0", os.urandom(CHUNK))
        return time.perf_counter() - begin

    def after_a_sync(change):
        """What the side before it has left to the kernel would else be written while this one clones: the kernel writes a file before it shares its blocks."""
        def once():
            os.sync()
            return change()
        return once

    sides = {"zarr": by_zarr, "mount": through_the_mount, "hand": by_hand}
    seconds = alternate({side: after_a_sync(change) for side, change in sides.items()}, bench.rounds)
    table.add(file_system(folder), f"{shards} of 32 MiB", *(median(seconds[side], shards) for side in ("zarr", "mount", "hand")),
              ratio(seconds["zarr"], seconds["mount"]), ratio(seconds["mount"], seconds["hand"]))
    shutil.rmtree(store)


def changes(bench):
    python = bench.python("zarr3")
    if not python:
        bench.say("  zarr-python 3 is missing: run packaging/install-test-readers")
        return []
    table = Table("A chunk of 64 KiB changed in each shard, the shard rewritten and synced (flush=close), beside zarr-python 3, which syncs nothing, and "
                  "beside the same by hand: clone or copy, append chunk and index, fsync, rename, fsync of the directory:",
                  ["file system", "shards", "zarr-python 3, a shard", "mount, a shard", "by hand, a shard", "zarr-python 3 / mount", "mount / by hand"])
    add_rows(bench, table, bench.scratch, python)
    with xfs(bench) as folder:
        if folder:
            add_rows(bench, table, folder, python)
        else:
            bench.say("  no XFS can be made here: root and mkfs.xfs are needed")
    return [table]
