"""bench_floor: a FUSE daemon that answers everything from memory, and so costs what the kernel and libfuse cost alone."""
import os
import subprocess

THREADS = 8  # as many as a mount has by default


class Floor:
    """It, mounted, as a context that gives the mount point."""

    def __init__(self, bench, names, size, listings="plain", transport="device"):
        self.point = os.path.join(bench.scratch, "floor")
        program = os.path.join(os.path.dirname(bench.reader), "bench_floor")
        self.command = [program, self.point, names, str(size), str(THREADS), listings, transport]

    def __enter__(self):
        os.makedirs(self.point, exist_ok=True)
        subprocess.run(self.command, check=True, stdin=subprocess.DEVNULL)
        return self.point

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-u", self.point], check=True)
