#!/usr/bin/python3
"""Random volumes of other formats, written by their own programs and read through mounts by readers of Zarr.

    tests/readers/volumes.py [--seed N] [--volumes M] [--writers tensorstore,cloud-volume,wkw] [--keep DIRECTORY] DAEMON

M volumes of each writer. Prints one line for each reader, as run.py does. Status 1 where a value is wrong.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

import run

HOMES = {"tensorstore": "zarr3", "cloud-volume": "formats", "wkw": "formats"}
ROWS = [
    ("zarr-python 2.13", run.DEBIAN, "zarr2", "view=v2"),
    ("zarr-python 2.13, profile ome", run.DEBIAN, "zarr2", "view=v2,profile=ome"),
    ("zarr-python 3.1", "zarr3", "zarr3", "view=v3"),
    ("TensorStore v3", "zarr3", "tensorstore3", "view=v3"),
    ("GDAL 3.6", run.DEBIAN, "gdal", "view=v2,profile=gdal"),
    ("cp -a, zarr-python 2.13", run.DEBIAN, "zarr2", "view=v2", ["cp", "-a", "VIEW/.", "COPY"]),
]

run.KNOWN_REFUSALS["tensorstore3"] = ["numcodecs.lz4"]  # in which LZ4 blocks of wkw are told


def write(writers, options, store, truth):
    for home in dict.fromkeys(HOMES[writer] for writer in writers):
        python = run.python_of(home)
        if python is None:
            print(f"skipped: {home} is missing: run packaging/install-test-readers all")
            sys.exit(1 if os.environ.get("ZARRFS_NO_SKIPS") == "1" else 77)
        mine = ",".join(writer for writer in writers if HOMES[writer] == home)
        subprocess.run([python, os.path.join(run.HERE, "make_volumes.py"), mine, str(options.seed), str(options.volumes), store, truth], check=True,
                       stdin=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--volumes", type=int, default=20)
    parser.add_argument("--writers", default=",".join(HOMES))
    parser.add_argument("--keep", help="where the volumes are written and left")
    parser.add_argument("daemon")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    work = options.keep or tempfile.mkdtemp(prefix="zarrfs-volumes-")
    store, truth = os.path.join(work, "store"), os.path.join(work, "truth")
    try:
        write(options.writers.split(","), options, store, truth)
        names = sorted(name[:-len(".npy")].replace("+", "/") for name in os.listdir(truth))
        daemon = os.path.realpath(options.daemon)
        failures = sum(run.read_mounted(daemon, work, store, truth, names, row, limited=False) for row in ROWS)
    finally:
        if not options.keep:
            shutil.rmtree(work)
    print(f"failures: {failures}")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
