"""Writing all chunks of an array through the mount beside the same into a plain directory, and the bytes that cost."""
import json
import os
import shutil
import subprocess
import time

from floor_daemon import Floor
from measure import Table, alternate, median, ratio

KIB = 1 << 10


def document(grid, shard, side):
    """An array of bytes, `grid` chunks of `side` bytes in a row along the second axis."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": [grid, side], "data_type": "uint8", "fill_value": 0, "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard, side]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, side], "index_location": "end", "codecs": [{"name": "bytes"}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]}


def write_all(directory, grid, data, how):
    """Seconds for every chunk, in order, by a writer of this kind."""
    begin = time.perf_counter()
    for number in range(grid):
        path = f"{directory}/{number}.0"
        name = path if how != "temporary, rename" else f"{path}.1f2e.partial"
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, data)
        if how == "in place, fsync":
            os.fsync(descriptor)
        os.close(descriptor)
        if name != path:
            os.replace(name, path)
    return time.perf_counter() - begin


def counters(point):
    with open(f"{point}/.zarrfs/stats.json") as text:
        return json.load(text)


def written(daemon, scratch, shape, data, how):
    """Seconds of all chunks through a mount of an empty array: until closed, until in their shards; and bytes written beside bytes given.
    `shape`: chunks, and those of a shard."""
    grid, shard = shape
    store, point = os.path.join(scratch, "written"), os.path.join(scratch, "writing")
    os.makedirs(os.path.join(store, "a"))
    os.makedirs(point, exist_ok=True)
    with open(os.path.join(store, "a/zarr.json"), "w") as text:
        json.dump(document(grid, shard, len(data)), text)
    subprocess.run([daemon, "mount", store, point, "-o", "rw,flush_after=3600"], check=True)
    closed = write_all(os.path.join(point, "a"), grid, data, how)
    log = counters(point)["log_bytes"]
    begin = time.perf_counter()
    subprocess.run([daemon, "sync", point], check=True)
    synced = closed + time.perf_counter() - begin
    after = counters(point)
    subprocess.run([daemon, "umount", point], check=True)
    shutil.rmtree(store)
    return {"closed": closed, "synced": synced,
            "amplification": (after["chunk_bytes_written"] + after["shard_bytes_rewritten"] + log) / (grid * len(data))}


def writes(bench):
    table = Table("Time through the mount / time in a plain directory, the same through a daemon that throws away what is written (floor), and bytes "
                  "written to the store / bytes given:",
                  ["chunks", "shard", "writer", "plain", "floor", "until closed", "until in the shards", "bytes"])
    sizes = ((4 * KIB, 2000, 1000), (64 * KIB, 1000, 250), (1024 * KIB, 128, 64))
    for size, grid, shard in sizes:
        grid = grid // 4 if bench.short else grid
        data = os.urandom(size)
        for how in ("in place", "temporary, rename", "in place, fsync"):
            def plain():
                path = os.path.join(bench.scratch, "plain")
                os.mkdir(path)
                seconds = write_all(path, grid, data, how)
                if "fsync" not in how:
                    begin = time.perf_counter()
                    os.sync()
                    synced = seconds + time.perf_counter() - begin
                else:
                    synced = seconds
                shutil.rmtree(path)
                return {"closed": seconds, "synced": synced}

            def mounted():
                return written(bench.daemon, bench.scratch, (grid, shard), data, how)

            def floor():
                with Floor(bench, os.devnull, 0, "write") as point:
                    seconds = write_all(point, grid, data, how)
                return {"closed": seconds, "synced": seconds}

            seconds = alternate({"plain": plain, "floor": floor, "mount": mounted}, bench.rounds)
            of = {(side, state): [one[state] for one in rounds] for side, rounds in seconds.items() for state in rounds[0]}
            amplification = sorted(of["mount", "amplification"])
            table.add(f"{grid} of {size // KIB} KiB", f"{shard} chunks", how, median(of["plain", "closed"], grid),
                      ratio(of["floor", "closed"], of["plain", "synced"]),
                      ratio(of["mount", "closed"], of["plain", "closed"]), ratio(of["mount", "synced"], of["plain", "synced"]),
                      f"{amplification[len(amplification) // 2]:.2f}")
    return [table]
