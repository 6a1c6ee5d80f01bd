"""Programs that write with dask and zarr-python: several chunks in one call, by the workers of a cluster.

    dask_programs.py    for each line of JSON on standard input, [number, mount, [[array, chunk, value], ...]], writes these chunks; answers with [number, what went wrong or ""]

Needs packaging/install-test-readers cluster.
"""
import contextlib
import errno
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time

import shards
from processes import end_with_parent

PYTHON = pathlib.Path(os.environ.get("ZARRFS_VENVS", pathlib.Path(__file__).resolve().parents[2] / "build/venvs")) / "cluster/bin/python"
WORKERS = 2


class Cluster:
    """The process that has the workers. It outlives mounts, and who asks it, which may be killed: so each asks with numbers of its own, and
    reads and writes whole lines, which a pipe does not cut."""

    def __init__(self):
        self.process = subprocess.Popen([PYTHON, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def write(self, mount, writes, while_waiting=lambda: None):
        """What went wrong, or "" where all were written."""
        number = random.SystemRandom().getrandbits(50)
        os.write(self.process.stdin.fileno(), (json.dumps([number, mount, writes]) + "\n").encode())
        while True:
            while_waiting()
            if not select.select([self.process.stdout], [], [], 0.2)[0]:
                continue
            answers = os.read(self.process.stdout.fileno(), 1 << 16).decode().splitlines()
            if not answers:
                return "its workers have ended"
            for answered, wrong in map(json.loads, answers):
                if answered == number:
                    return wrong

    def workers(self):
        return [pid for pid in descendants(self.process.pid) if "spawn_main" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]

    def kill_worker(self, draw):
        """As of a machine: its work is done again by another."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, IndexError):
            os.kill(draw.choice(self.workers()), signal.SIGKILL)

    def close(self):
        self.process.kill()
        self.process.wait()


def descendants(pid):
    children = [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    return children + [one for child in children for one in descendants(child)]


class DaskSteps:
    """What makes a program (`faults`: Program) one that writes by a cluster: its chunks are told as begun before a call, and as ended after it."""

    def step(self, slot):
        places = [place for some, count in ((self.own, 3), (self.others, 2)) for place in self.random.sample(some, min(count, len(some)))]
        places = [place for place in places if place[0] != "g"]
        self.sequence += 1
        writes = [(*place, shards.value_of(self.worker, self.sequence, place)) for place in places]
        for *place, value in writes:
            self.tell("begin", self.number, slot, self.worker, *place, value, time.monotonic(), False)
        wrong = self.cluster.write(self.path, writes)
        for *_, value in writes:
            self.tell("end", value, wrong or "closed", time.monotonic())
        if wrong:
            return self.goes_on(wrong)
        for *place, value in writes:
            self.tell("count", "by dask", place[0])
            if tuple(place) in self.own:
                self.read_own(tuple(place), value)
        return True


def write(mount, writes):
    """What went wrong, as the user of such a program sees it."""
    import dask.array
    import zarr

    try:
        arrays = {name: zarr.open_array(f"{mount}/{name}", mode="r+") for name in {array for array, _, _ in writes}}
        cells = [dask.array.full(shards.CELLS, value, chunks=shards.CELLS, dtype="u8") for _, _, value in writes]
        regions = [(slice(chunk * shards.CELLS, (chunk + 1) * shards.CELLS),) for _, chunk, _ in writes]
        dask.array.store(cells, [arrays[array] for array, _, _ in writes], regions=regions, lock=False)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return ""


def serve():
    import distributed

    with distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None) as cluster, distributed.Client(cluster):
        while line := os.read(0, 1 << 16):
            for number, mount, writes in map(json.loads, line.decode().splitlines()):
                os.write(1, (json.dumps([number, write(mount, writes) if writes else ""]) + "\n").encode())


if __name__ == "__main__":
    serve()
