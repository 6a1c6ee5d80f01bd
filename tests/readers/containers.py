#!/usr/bin/python3
"""Random netCDF, HDF5 and TIFF files by references, and Icechunk repositories, read through mounts and by `zarrfs serve` as their own programs read them.

    tests/readers/containers.py [--seed N] [--files M] [--readers NAME,...] [--keep DIRECTORY] DAEMON

M files of each kind (tests/readers/make_containers.py). Prints one line for each reader, as run.py does. Status 1 where a value is wrong.
"""
import contextlib
import json
import os
import subprocess
import sys

import matrix
import run
from matrix import DEBIAN, Row

sys.path.insert(0, os.path.join(matrix.HERE, "..", "mounted"))
os.environ["ZARRFS_DAEMON"] = os.path.realpath(sys.argv[-1])
from serving import Served  # noqa: E402

# What comes last is what copies the view, or "serve" for what reads by HTTP.
ROWS = [
    Row("zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic"),
    Row("zarr-python 2.18", "zarr2", "zarr2", "view=v2,profile=generic"),
    Row("xarray 2023.01", DEBIAN, "xarray", "view=v2,profile=xarray"),
    Row("xarray 2025.01", "zarr2", "xarray", "view=v2,profile=xarray"),
    Row("GDAL 3.6", DEBIAN, "gdal", "view=v2,profile=gdal"),
    Row("netCDF 4.9.0", DEBIAN, "netcdf", "view=v2,profile=netcdf"),
    Row("ncdump 4.9.0", DEBIAN, "ncdump", "view=v2,profile=netcdf"),
    Row("cdo 2.1.1", DEBIAN, "cdo", "view=v2,profile=netcdf"),
    Row("gdalinfo, gdal_translate", DEBIAN, "gdal_translate", "view=v2,profile=gdal"),
    Row("zarr-python 3.1", "zarr3", "zarr3", "view=v3"),
    Row("zarr-python 3.1 of v2", "zarr3", "zarr3of2", "view=v2,profile=generic"),
    Row("TensorStore v3", "zarr3", "tensorstore3", "view=v3"),
    Row("zarr-python 2.16, served", "ome", "zarr2", "view=v2,profile=generic", "serve"),
    Row("zarr-python 3.1, served", "remote", "zarr3", "view=v3", "serve"),
    Row("cp -a, zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic,materialise=list", ["cp", "-a", "VIEW/.", "COPY"]),
]

LIBRARIES = ("icechunk", "kerchunk", "fastparquet", "pyarrow", "virtualizarr", "h5py", "netCDF4", "tifffile", "imagecodecs", "scipy", "xarray", "zarr")

run.KNOWN_REFUSALS["cdo"] = ["not read by this test"]
run.KNOWN_REFUSALS["tensorstore3"] = ["codecs"]  # it has none of numcodecs


def missing_in(python):
    """The first library of make_containers.py that the environment has not, as one of an earlier packaging/install-test-readers; or nothing."""
    look = "import importlib.util, sys; print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name) is None][:1])"
    done = subprocess.run([python, "-c", look, *LIBRARIES], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip()


def make(options, store, truth):
    python = matrix.python_of("references")
    lacking = "references" if python is None else missing_in(python)
    if lacking:
        print(f"skipped: {lacking} is missing: run packaging/install-test-readers all")
        sys.exit(77)  # with ZARRFS_NO_SKIPS, too: only `all` installs it
    subprocess.run([python, *matrix.script("make_containers.py", options.seed, options.count, store, truth)], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=None if options.keep else subprocess.DEVNULL)


def sources(made):
    with open(os.path.join(made.store, "sources.json")) as text:
        return json.load(text)


@contextlib.contextmanager
def all_mounted(made, row):
    """A directory with a mount of each source."""
    top = os.path.join(made.work, "mnt")
    with contextlib.ExitStack() as stack:
        for one in sources(made):
            mountpoint = os.path.join(top, one["name"])
            os.makedirs(mountpoint, exist_ok=True)
            stack.enter_context(matrix.mounted(made, one["source"], f"{row.options},virtual={one['virtual']}", mountpoint))
        yield top


def read_served(made, row, truth):
    verdicts = {}
    for one in sources(made):
        served = Served(one["source"], os.path.join(made.work, "log"), options=f"{row.options},virtual={one['virtual']}")
        try:
            done = subprocess.run([matrix.python_of(row.environment), *matrix.script("read_store.py", row.reader, served.url + one["name"], truth)],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
        finally:
            served.stop()
        verdicts.update(json.loads(done.stdout))
    return verdicts


def hidden_below(top, made):
    return {os.path.normpath(os.path.join(one["name"], path)): reason
            for one in sources(made) for path, reason in run.hidden_reasons(os.path.join(top, one["name"])).items()}


def read(made, row):
    truth = os.path.join(made.truth, "masked" if row.reader in ("xarray", "cdo") else "raw")
    with all_mounted(made, row) as top:
        hidden = hidden_below(top, made)
        if row.extra == "serve":
            verdicts = read_served(made, row, truth)
            verdicts = {name: verdict for name, verdict in verdicts.items() if name not in hidden}
        else:
            verdicts = run.run_reader(matrix.python_of(row.environment), row.reader, run.copied(top, made.work, row.extra) if row.extra else top, truth)
    return run.judge(row, verdicts, hidden, made.store, run.array_names(truth), {}, set())


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "files", 3, ROWS, make, read))
