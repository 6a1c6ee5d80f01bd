#!/usr/bin/python3
"""Trees of many shapes (groups, DataTrees, dimensions of several lengths, plates with labels), mounted, and walked by real programs:
each has to find every array, with its shape and values.

    tests/readers/trees.py [--seed N] [--trees M] [--readers NAME,...] DAEMON

Prints one line for each reader. Status 1 where one finds something else. The seed makes the same trees again.
"""
import json
import os
import subprocess
import sys

import matrix
from matrix import DEBIAN, WIDTH, Row

ALL = ["groups", "datatree", "lengths", "plate"]
# Readers are those of read_tree.py; the kinds of trees that each reads come last.
MATRIX = [
    Row("zarr-python 2.13", DEBIAN, "zarr", "profile=generic", ALL),
    Row("zarr-python 2.13, default mount", DEBIAN, "zarr", "", ALL),
    Row("zarr-python 2.13, .zmetadata", DEBIAN, "consolidated", "profile=ome", ALL),
    Row("zarr-python 3.1", "zarr3", "zarr", "view=v3", ALL),
    Row("xarray 2025.01, DataTree", "zarr2", "xarray", "profile=xarray", ["datatree"]),
    Row("xarray 2025.01, default mount", "zarr2", "xarray", "", ["datatree"]),
    Row("xarray 2025.06, v3", "zarr3", "xarray", "view=v3", ["datatree"]),
    Row("netCDF4-python 1.6.2", DEBIAN, "netcdf", "profile=netcdf", ["groups", "datatree", "lengths"]),
    Row("netCDF4-python 1.7.5", "masks", "netcdf", "profile=netcdf", ["groups", "datatree", "lengths"]),
    Row("GDAL 3.6, mdim", DEBIAN, "gdal", "profile=gdal", ALL),
    Row("ome-zarr 0.8, plates", "ome", "plate", "profile=ome", ["plate"]),
    Row("ome-zarr 0.8, default mount", "ome", "plate", "", ["plate"]),
]


def shown_names(truth, options):
    """The arrays as the view calls them: levels in plates by number, for OME-Zarr readers."""
    numbered = truth["kind"] == "plate" and ("profile=ome" in options or not options)
    names = {}
    for path, array in truth["arrays"].items():
        parent, _, name = path.rpartition("/")
        shown = name.removeprefix("s") if numbered and "labels" not in parent else name
        names[f"{parent}/{shown}".strip("/")] = array
    return names


def whole_plate(truth):
    """What the levels of a plate's picture hold: the first image of each well, which is all that ome-zarr puts there; without labels."""
    sums = {}
    for path, array in truth["arrays"].items():
        field, level = path.split("/")[2:4]
        if "labels" not in path and field == "0":
            level = level.removeprefix("s")
            sums[level] = sums.get(level, 0) + array["sum"]
    return sums


def verdict_of(reader, found, truth, options):
    if "error" in found:
        return found["error"]
    if reader == "plate":
        sums = {level: one["sum"] for level, one in found.items()}
        return "equal" if sums == whole_plate(truth) else f"levels hold {sums}, not {whole_plate(truth)}"
    wanted = shown_names(truth, options)
    if sorted(found) != sorted(wanted):
        return f"found {sorted(set(found) ^ set(wanted))[:6]} more or less"
    for path, array in wanted.items():
        if found[path]["shape"] != array["shape"] or abs(found[path]["sum"] - array["sum"]) > 1e-3:
            return f"{path}: {found[path]}, not {array}"
    return "equal"


def read_tree(made, tree, row):
    with matrix.mounted(made, os.path.join(made.store, tree), row.options) as mountpoint:
        command = [matrix.python_of(row.environment), *matrix.script("read_tree.py", row.reader, mountpoint)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": f"the reader died, status {done.returncode}"}


def truths_of(made):
    truths = {}
    for name in sorted(os.listdir(made.truth)):
        with open(os.path.join(made.truth, name)) as text:
            truths[name.removesuffix(".json")] = json.load(text)
    return truths


def read(made, row):
    truths = {tree: truth for tree, truth in truths_of(made).items() if truth["kind"] in row.extra}
    verdicts = {tree: verdict_of(row.reader, read_tree(made, tree, row), truth, row.options) for tree, truth in truths.items()}
    wrong = {tree: verdict for tree, verdict in verdicts.items() if verdict != "equal"}
    print(f"{row.label:{WIDTH}} trees {len(verdicts):4}  equal {len(verdicts) - len(wrong):4}  wrong {len(wrong):4}", flush=True)
    for tree, verdict in list(wrong.items())[:4]:
        print(f"    {tree} ({truths[tree]['kind']}): {verdict}", flush=True)
    return len(wrong)


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "trees", 8, MATRIX, matrix.make_with("make_trees.py"), read))
