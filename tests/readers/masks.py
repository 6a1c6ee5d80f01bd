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


def judge(label, verdicts, truth):
    wrong = {group: verdict for group, verdict in verdicts.items() if verdict != "equal"}
    print(f"{label:{WIDTH}} variables {len(verdicts):5}  equal {len(verdicts) - len(wrong):5}  wrong {len(wrong):4}", flush=True)
    for group, verdict in list(wrong.items())[:5]:
        with open(os.path.join(truth, f"{group}.json")) as text:
            print(f"    {group}: {verdict}: {text.read()}", flush=True)
    return len(wrong) + (len(verdicts) == 0)


def read(made, row):
    with matrix.mounted(made, made.store, row.options) as mountpoint:
        command = [matrix.python_of(row.environment), *matrix.script("read_masked.py", row.reader, mountpoint, made.truth)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"{row.label:{WIDTH}} DIED: {done.stderr.strip()[-300:]}")
        return 1
    return judge(row.label, json.loads(done.stdout), made.truth)


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "variables", 25, MATRIX, matrix.make_with("make_masks.py"), read))
