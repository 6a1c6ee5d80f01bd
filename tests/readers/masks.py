#!/usr/bin/python3
"""Random CF data, mounted, and read by the programs that mask what is missing: each has to see what xarray makes of the store itself.

    tests/readers/masks.py [--seed N] [--variables M] [--readers NAME,...] DAEMON

Prints one line for each reader. Status 1 where one sees other values, or other cells as missing. The seed makes the same data again.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from run import DEBIAN, HERE, python_of

# name, Python (environment or path), reader of read_masked.py, mount options
MATRIX = [
    ("xarray 2023.01", DEBIAN, "xarray", "profile=xarray"),
    ("xarray 2025.01, zarr-python 2", "zarr2", "xarray", "profile=xarray"),
    ("xarray 2025.06, zarr-python 3", "zarr3", "xarray", "view=v3"),
    ("netCDF4-python 1.6.2", DEBIAN, "netcdf", "profile=netcdf"),
    ("netCDF4-python 1.7.5", "masks", "netcdf", "profile=netcdf"),
    ("ncdump 4.9.0", DEBIAN, "ncdump", "profile=netcdf"),
    ("cdo 2.1.1", DEBIAN, "cdo", "profile=netcdf"),
    ("nco 5.1.4", DEBIAN, "nco", "profile=netcdf"),
    ("GDAL 3.6", DEBIAN, "gdal", "profile=gdal"),
    ("GDAL 3.6, mdim", DEBIAN, "gdal_mdim", "profile=gdal"),
    ("rasterio 1.4", "masks", "rasterio", "profile=gdal"),
    ("xarray 2023.01, default mount", DEBIAN, "xarray", ""),
    ("netCDF4-python 1.6.2, default mount", DEBIAN, "netcdf", ""),
    ("GDAL 3.6, default mount", DEBIAN, "gdal", ""),
]

# What a reader makes of it in ordinary files, too: a part of its answer, and which variables that concerns.
OWN_LIMITS = {}


def needs(reader):
    return {"cdo": "cdo", "nco": "ncks", "ncdump": "ncdump"}.get(reader)


def judge(label, reader, verdicts, truth):
    counts = {"equal": 0, "not of zarrfs": 0, "wrong": 0}
    details = []
    for group, verdict in verdicts.items():
        with open(os.path.join(truth, f"{group}.json")) as text:
            attributes = json.load(text)
        known = [why for part, concerns, why in OWN_LIMITS.get(reader, []) if part in verdict and concerns(attributes)]
        kind = "equal" if verdict == "equal" else "not of zarrfs" if known else "wrong"
        counts[kind] += 1
        if kind == "wrong":
            details.append(f"    {group}: {verdict}: {attributes}")
    print(f"{label:36} variables {len(verdicts):5}  " + "  ".join(f"{key} {value:4}" for key, value in counts.items()), flush=True)
    for line in details[:5]:
        print(line, flush=True)
    return counts["wrong"] + (len(verdicts) == 0)


def read_mounted(daemon, work, store, truth, row):
    label, environment, reader, options = row
    python = python_of(environment)
    program = needs(reader)
    if python is None or (program and shutil.which(program) is None):
        print(f"{label:36} not installed ({environment if python is None else program})")
        return os.environ.get("ZARRFS_NO_SKIPS") == "1" and environment != "masks"
    mountpoint = tempfile.mkdtemp(dir=work)
    log = os.path.join(work, "log")
    subprocess.run([daemon, "mount", store, mountpoint, "-o", ",".join(filter(None, ["ro", options, f"log={log}"]))], check=True,
                   stderr=subprocess.DEVNULL)
    try:
        done = subprocess.run([python, os.path.join(HERE, "read_masked.py"), reader, mountpoint, truth], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
    finally:
        subprocess.run([daemon, "umount", mountpoint], check=True)
    if done.returncode != 0:
        print(f"{label:36} DIED: {done.stderr.strip()[-300:]}")
        return 1
    return judge(label, reader, json.loads(done.stdout), truth)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--variables", type=int, default=25)
    parser.add_argument("--readers", default="")
    parser.add_argument("daemon")
    options = parser.parse_args()
    maker = python_of("zarr3")
    if maker is None or not os.access("/dev/fuse", os.W_OK):
        print("skipped: " + ("run packaging/install-test-readers" if maker is None else "/dev/fuse may not be opened"))
        return 1 if os.environ.get("ZARRFS_NO_SKIPS") == "1" else 77
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="zarrfs-masks-") as work:
        store, truth = os.path.join(work, "store"), os.path.join(work, "truth")
        subprocess.run([maker, os.path.join(HERE, "make_masks.py"), str(options.seed), str(options.variables), store, truth], check=True)
        rows = [row for row in MATRIX if not options.readers or any(part in row[0] for part in options.readers.split(","))]
        failures = sum(read_mounted(os.path.realpath(options.daemon), work, store, truth, row) for row in rows)
    print(f"failures: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
