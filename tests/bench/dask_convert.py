"""One conversion on a LocalCluster of two workers of one thread, after everything was imported there; prints what it took as JSON.

    dask_convert.py zarrfs|tasks|dask.array SOURCE TARGET [ZxYxX]     (the shape of shards; a file for each chunk if not given)

`tasks`: zarr-python 3, one task for each piece of the larger of both shards. `dask.array`: from_zarr, rechunk, to_zarr. Memory is what the workers and
their programs hold in memory at the same time, at most, above what they held before (proportional set size, looked at 20 times a second).
"""
import itertools
import json
import logging
import sys
import threading
import time

import dask
import dask.array
import distributed
import psutil
import zarr
from zarr.codecs import ZstdCodec


def processes(roots):
    for root in roots:
        try:
            yield root
            yield from root.children(recursive=True)
        except psutil.NoSuchProcess:
            pass


def used(roots):
    """Bytes of memory now."""
    total = 0
    for process in processes(roots):
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            pass  # it has ended
    return total


def processor_time(roots):
    times = [process.cpu_times() for process in roots]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


class Watch(threading.Thread):
    def __init__(self, roots):
        super().__init__(daemon=True)
        self.roots, self.most, self.done = roots, 0, threading.Event()

    def run(self):
        while not self.done.wait(0.05):
            self.most = max(self.most, used(self.roots))


def create(old, target, shards):
    return zarr.create_array(target, shape=old.shape, chunks=old.chunks, shards=shards, dtype=old.dtype, fill_value=0, compressors=[ZstdCodec(level=1)])


def step_of(old, shards):
    return tuple(max(a, b) for a, b in zip(old.shards or old.chunks, shards or (128, 256, 256)))


def copy(source, target, where):
    zarr.open_array(target, mode="r+")[where] = zarr.open_array(source, mode="r")[where]


def by_zarrfs(client, source, target, shards):
    import zarrfs
    if shards:
        (zarrfs.reshard if zarr.open_array(source, mode="r").shards else zarrfs.shard)(source, target, shard_shape=shards, client=client)
    else:
        zarrfs.unshard(source, target, client=client)


def by_tasks(client, source, target, shards):
    old = zarr.open_array(source, mode="r")
    create(old, target, shards)
    steps = step_of(old, shards)
    pieces = [tuple(slice(i, min(i + step, extent)) for i, step, extent in zip(at, steps, old.shape))
              for at in itertools.product(*(range(0, extent, step) for extent, step in zip(old.shape, steps)))]
    client.gather(client.map(lambda where: copy(source, target, where), pieces, pure=False))


def by_arrays(client, source, target, shards):
    old = zarr.open_array(source, mode="r")
    new = create(old, target, shards)
    dask.array.from_zarr(source).rechunk(step_of(old, shards)).store(new, lock=False)


WAYS = {"zarrfs": by_zarrfs, "tasks": by_tasks, "dask.array": by_arrays}


def warm_up():
    import zarrfs
    return zarr.__version__, dask.array.__name__, zarrfs.__name__


def main():
    way, source, target, *shape = sys.argv[1:]
    shards = tuple(map(int, shape[0].split("x"))) if shape else None
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR) as cluster, \
            distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        roots = [psutil.Process(process) for process in client.run(lambda: (warm_up(), __import__("os").getpid())[1]).values()]
        watch, before, cpu = Watch(roots), used(roots), processor_time(roots)
        watch.start()
        begin = time.perf_counter()
        WAYS[way](client, source, target, shards)
        seconds = time.perf_counter() - begin
        watch.done.set()
        watch.join()
        print(json.dumps({"seconds": seconds, "memory": max(0, watch.most - before), "processor": processor_time(roots) - cpu}))


if __name__ == "__main__":
    main()
