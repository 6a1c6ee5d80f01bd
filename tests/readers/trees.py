#!/usr/bin/python3
"""Trees of many shapes (groups, DataTrees, dimensions of several lengths, plates with labels), mounted, and walked by real programs:
each has to find every array, with its shape and values.

    tests/readers/trees.py [--seed N] [--trees M] [--readers NAME,...] DAEMON

Prints one line for each reader. Status 1 where one finds something else. The seed makes the same trees again.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from run import DEBIAN, HERE, python_of

ALL = ["groups", "datatree", "lengths", "plate"]
# name, Python (environment or path), reader of read_tree.py, mount options, kinds of trees
MATRIX = [
    ("zarr-python 2.13", DEBIAN, "zarr", "profile=generic", ALL),
    ("zarr-python 2.13, default mount", DEBIAN, "zarr", "", ALL),
    ("zarr-python 2.13, .zmetadata", DEBIAN, "consolidated", "profile=ome", ALL),
    ("zarr-python 3.1", "zarr3", "zarr", "view=v3", ALL),
    ("xarray 2025.01, DataTree", "zarr2", "xarray", "profile=xarray", ["datatree"]),
    ("xarray 2025.01, default mount", "zarr2", "xarray", "", ["datatree"]),
    ("xarray 2025.06, v3", "zarr3", "xarray", "view=v3", ["datatree"]),
    ("netCDF4-python 1.6.2", DEBIAN, "netcdf", "profile=netcdf", ["groups", "datatree", "lengths"]),
    ("netCDF4-python 1.7.5", "masks", "netcdf", "profile=netcdf", ["groups", "datatree", "lengths"]),
    ("netCDF4-python, default mount", DEBIAN, "netcdf", "", ["datatree", "lengths"]),
    ("GDAL 3.6, mdim", DEBIAN, "gdal", "profile=gdal", ALL),
    ("ome-zarr 0.8, plates", "ome", "plate", "profile=ome", ["plate"]),
    ("ome-zarr 0.8, default mount", "ome", "plate", "", ["plate"]),
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
    """What the levels of a plate's picture hold: all images of all wells, without labels."""
    sums = {}
    for path, array in truth["arrays"].items():
        if "labels" not in path:
            level = path.rpartition("/")[2].removeprefix("s")
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


def read_mounted(daemon, work, tree, python, reader, options):
    mountpoint = tempfile.mkdtemp(dir=work)
    given = ",".join(filter(None, ["ro", options, f"log={work}/log"]))
    subprocess.run([daemon, "mount", os.path.join(work, "stores", tree), mountpoint, "-o", given], check=True, stderr=subprocess.DEVNULL)
    try:
        done = subprocess.run([python, os.path.join(HERE, "read_tree.py"), reader, mountpoint], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": f"the reader died, status {done.returncode}"}
    finally:
        subprocess.run([daemon, "umount", mountpoint], check=True)


def read_all(daemon, work, truths, row):
    label, environment, reader, options, kinds = row
    python = python_of(environment)
    if python is None:
        print(f"{label:36} not installed ({environment})")
        return os.environ.get("ZARRFS_NO_SKIPS") == "1" and environment in ("zarr2", "zarr3")
    verdicts = {}
    for tree, truth in truths.items():
        if truth["kind"] in kinds:
            found = read_mounted(daemon, work, tree, python, reader, options)
            verdicts[tree] = verdict_of(reader, found, truth, options)
    wrong = {tree: verdict for tree, verdict in verdicts.items() if verdict != "equal"}
    print(f"{label:36} trees {len(verdicts):4}  equal {len(verdicts) - len(wrong):4}  wrong {len(wrong):4}", flush=True)
    for tree, verdict in list(wrong.items())[:4]:
        print(f"    {tree} ({truths[tree]['kind']}): {verdict}", flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--trees", type=int, default=8)
    parser.add_argument("--readers", default="")
    parser.add_argument("daemon")
    options = parser.parse_args()
    maker = python_of("zarr3")
    if maker is None or not os.access("/dev/fuse", os.W_OK):
        print("skipped: " + ("run packaging/install-test-readers" if maker is None else "/dev/fuse may not be opened"))
        return 1 if os.environ.get("ZARRFS_NO_SKIPS") == "1" else 77
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="zarrfs-trees-") as work:
        stores, truth = os.path.join(work, "stores"), os.path.join(work, "truth")
        subprocess.run([maker, os.path.join(HERE, "make_trees.py"), str(options.seed), str(options.trees), stores, truth], check=True)
        truths = {}
        for name in sorted(os.listdir(truth)):
            with open(os.path.join(truth, name)) as text:
                truths[name.removesuffix(".json")] = json.load(text)
        rows = [row for row in MATRIX if not options.readers or any(part in row[0] for part in options.readers.split(","))]
        failures = sum(read_all(os.path.realpath(options.daemon), work, truths, row) for row in rows)
    print(f"failures: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
