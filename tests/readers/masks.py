#!/usr/bin/python3
"""Random CF data, mounted, and read by the programs that mask what is missing: each has to see what xarray makes of the store itself.

    tests/readers/masks.py [--seed N] [--variables M] [--readers NAME,...] DAEMON

Prints one line for each reader. Status 1 where one sees other values, or other cells as missing. The seed makes the same data again.
"""
import json
import os
import subprocess
import sys

import matrix
from matrix import DEBIAN, WIDTH, Row

# Readers are those of read_masked.py.
MATRIX = [
    Row("xarray 2023.01", DEBIAN, "xarray", "profile=xarray"),
    Row("xarray 2025.01, zarr-python 2", "zarr2", "xarray", "profile=xarray"),
    Row("xarray 2025.06, zarr-python 3", "zarr3", "xarray", "view=v3"),
    Row("netCDF4-python 1.6.2", DEBIAN, "netcdf", "profile=netcdf"),
    Row("netCDF4-python 1.7.5", "masks", "netcdf", "profile=netcdf"),
    Row("ncdump 4.9.0", DEBIAN, "ncdump", "profile=netcdf"),
    Row("cdo 2.1.1", DEBIAN, "cdo", "profile=netcdf"),
    Row("nco 5.1.4", DEBIAN, "nco", "profile=netcdf"),
    Row("GDAL 3.6", DEBIAN, "gdal", "profile=gdal"),
    Row("GDAL 3.6, mdim", DEBIAN, "gdal_mdim", "profile=gdal"),
    Row("rasterio 1.4", "masks", "rasterio", "profile=gdal"),
    Row("xarray 2023.01, default mount", DEBIAN, "xarray", ""),
    Row("netCDF4-python 1.6.2, default mount", DEBIAN, "netcdf", ""),
    Row("GDAL 3.6, default mount", DEBIAN, "gdal", ""),
]


# What a reader makes of ordinary netCDF-4 files, too: for which variables, and how its answer begins.
OWN_LIMITS = {
    "cdo": (lambda described: described["dtype"] == "<i8", "differs: 0 cells are missing"),  # it knows no missing value of 64-bit integers
}


def is_own_limit(reader, described, verdict):
    concerns, answer = OWN_LIMITS.get(reader, (lambda described: False, ""))
    return concerns(described) and verdict.startswith(answer)


def judge(row, verdicts, truth):
    counts, wrong = {"equal": 0, "not of zarrfs": 0, "wrong": 0}, []
    for group, verdict in verdicts.items():
        with open(os.path.join(truth, f"{group}.json")) as text:
            described = json.load(text)
        kind = "equal" if verdict == "equal" else "not of zarrfs" if is_own_limit(row.reader, described, verdict) else "wrong"
        counts[kind] += 1
        if kind == "wrong":
            wrong.append(f"    {group}: {verdict}: {described}")
    print(f"{row.label:{WIDTH}} variables {len(verdicts):5}  " + "  ".join(f"{key} {value:4}" for key, value in counts.items()), flush=True)
    print("".join(line + "\n" for line in wrong[:5]), end="", flush=True)
    return len(wrong) + (len(verdicts) == 0)


def read(made, row):
    with matrix.mounted(made, made.store, row.options) as mountpoint:
        command = [matrix.python_of(row.environment), *matrix.script("read_masked.py", row.reader, mountpoint, made.truth)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"{row.label:{WIDTH}} DIED: {done.stderr.strip()[-300:]}")
        return 1
    return judge(row, json.loads(done.stdout), made.truth)


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "variables", 25, MATRIX, matrix.make_with("make_masks.py"), read))
