#!/usr/bin/python3
"""Random volumes of other formats, written by their own programs and read through mounts by readers of Zarr.

    tests/readers/volumes.py [--seed N] [--volumes M] [--writers tensorstore,cloud-volume,wkw,blosc2] [--keep DIRECTORY] DAEMON

M volumes of each writer. Prints one line for each reader, as run.py does. Status 1 where a value is wrong. What blosc2 writes is
hidden where zarrfs was built without libblosc2.
"""
import os
import subprocess
import sys

import matrix
import run
from matrix import DEBIAN, Row

HOMES = {"tensorstore": "zarr3", "cloud-volume": "formats", "wkw": "formats", "blosc2": "formats"}
ROWS = [
    Row("zarr-python 2.13", DEBIAN, "zarr2", "view=v2"),
    Row("zarr-python 2.13, profile ome", DEBIAN, "zarr2", "view=v2,profile=ome"),
    Row("zarr-python 3.1", "zarr3", "zarr3", "view=v3"),
    Row("TensorStore v3", "zarr3", "tensorstore3", "view=v3"),
    Row("GDAL 3.6", DEBIAN, "gdal", "view=v2,profile=gdal"),
    Row("cp -a, zarr-python 2.13", DEBIAN, "zarr2", "view=v2", ["cp", "-a", "VIEW/.", "COPY"]),
]

run.KNOWN_REFUSALS["tensorstore3"] = ["numcodecs.lz4"]  # in which LZ4 blocks of wkw are told


def make(options, store, truth):
    for home in dict.fromkeys(HOMES[writer] for writer in options.writers.split(",")):
        python = matrix.python_of(home)
        if python is None:
            print(f"skipped: {home} is missing: run packaging/install-test-readers all")
            sys.exit(1 if matrix.NO_SKIPS else 77)
        mine = ",".join(writer for writer in options.writers.split(",") if HOMES[writer] == home)
        subprocess.run([python, *matrix.script("make_volumes.py", mine, options.seed, options.count, store, truth)], check=True, stdin=subprocess.DEVNULL)


def read(made, row):
    return run.read(made, row, limited=False)


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "volumes", 20, ROWS, make, read, {"writers": ",".join(HOMES)}))
