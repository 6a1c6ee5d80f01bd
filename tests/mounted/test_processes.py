"""Several processes that write one array at once through a mount: the locks and the writers of TensorStore and zarr-python.
The same program on a plain directory must come out the same."""
import json
import os
import shutil
import subprocess

import pytest
from conftest import need, python_of

ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}

# Each process adds 1 to every element of columns that share their chunks with other processes.
TENSORSTORE = """
import json, sys
import numpy as np, tensorstore as ts
directory, driver, processes, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
array = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": directory}}).result()
for _ in range(rounds):
    for row in range(0, 8, 4):
        part = array[row:row + 4, int(sys.argv[5])::processes]
        part.write(part.read().result() + 1).result()
"""

MAKE = {
    "zarr": """
import sys, tensorstore as ts
ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": sys.argv[1]}, "create": True, "metadata": {
    "shape": [8, 12], "chunks": [4, 6], "dtype": "<i4", "compressor": {"id": "zstd", "level": 1}, "fill_value": 0}}).result()
""",
    "zarr3": """
import sys, tensorstore as ts
ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": sys.argv[1]}, "create": True, "metadata": {
    "shape": [8, 12], "data_type": "int32", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]}}).result()
""",
}

READ = """
import sys, json, tensorstore as ts
array = ts.open({"driver": sys.argv[2], "kvstore": {"driver": "file", "path": sys.argv[1]}}, read=True).result()
print(json.dumps(array.read().result().tolist()))
"""


def run(python, program, *words):
    done = subprocess.run([python, "-c", program, *map(str, words)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run_at_once(python, program, words):
    """One process for each list of `words`, all at the same time."""
    started = [subprocess.Popen([python, "-c", program, *map(str, each)], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
               for each in words]
    for process in started:
        error = process.communicate(timeout=600)[1]
        assert process.returncode == 0, error[-3000:]


def add_in_processes(python, driver, directory, processes, rounds):
    """How often each element was added to: `rounds` times, where no process undid what another one did."""
    run_at_once(python, TENSORSTORE, [(directory, driver, processes, rounds, number) for number in range(processes)])
    return json.loads(run(python, READ, directory, driver))


@pytest.mark.parametrize("driver, options", [("zarr", "view=v2"), ("zarr3", "view=v3")])
def test_tensorstore_in_several_processes_loses_no_update(mount, tmp_path, driver, options):
    python = python_of("zarr3")
    processes, rounds = 4, int(os.environ.get("ZARRFS_TENSORSTORE_ROUNDS", "25"))
    want = [[rounds] * 12] * 8
    plain = tmp_path / "plain"
    run(python, MAKE[driver], plain)
    assert add_in_processes(python, driver, plain, processes, rounds) == want
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, f"rw,{options}")
    run(python, MAKE[driver], mounted / "a")
    assert add_in_processes(python, driver, mounted / "a", processes, rounds) == want
    again = tmp_path / "copy"
    mounted.unmount()
    shutil.copytree(store, again)
    assert json.loads(run(python, READ, again / "a", "zarr3")) == want


XARRAY_APPEND = """
import sys, warnings, numpy as np, xarray as xr
warnings.simplefilter("ignore")
directory, version = sys.argv[1], int(sys.argv[2])
form = {"zarr_format": version, "consolidated": False}
def part(first, count):
    return xr.Dataset({"v": (("t", "x"), np.arange(first * 8, (first + count) * 8, dtype="f4").reshape(count, 8)),
                       "t": ("t", np.arange(first, first + count))}, coords={"x": np.arange(8.0)})
part(0, 4).to_zarr(directory, encoding={"v": {"chunks": (2, 4)}}, **form)
for first in (4, 8):
    part(first, 4).to_zarr(directory, append_dim="t", **form)
(part(2, 2).drop_vars("x") * 0).to_zarr(directory, region={"t": slice(2, 4)}, **form)
read = xr.open_zarr(directory, consolidated=False)
assert dict(read.sizes) == {"t": 12, "x": 8}, read.sizes
want = np.arange(96, dtype="f4").reshape(12, 8)
want[2:4] = 0
assert (read.v.values == want).all()
"""


@pytest.mark.parametrize("version, options", [(2, "view=v2"), (2, "view=v2,profile=xarray"), (3, "view=v3")])
def test_xarray_appends_and_writes_regions_and_dimensions_keep_their_names(mount, tmp_path, version, options):
    python = python_of("zarr3")
    found = subprocess.run([python, "-c", "import xarray"], capture_output=True, check=False)
    need(found.returncode == 0, "xarray for zarr-python 3 is missing: run packaging/install-test-readers")
    run(python, XARRAY_APPEND, tmp_path / "plain", version)
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, f"rw,{options}")
    run(python, XARRAY_APPEND, mounted / "a", version)
    mounted.unmount()
    names = {name: json.loads((store / "a" / name / "zarr.json").read_text()).get("dimension_names") for name in ("v", "t", "x")}
    assert names == {"v": ["t", "x"], "t": ["t"], "x": ["x"]}


ZARR_PYTHON = """
import sys, numpy as np, zarr
directory, number = sys.argv[1], int(sys.argv[2])
array = zarr.open_array(directory, mode="r+")
for round in range(4):
    for chunk in range(number, 16, 4):
        row, column = divmod(chunk, 4)
        array[4 * row:4 * row + 4, 4 * column:4 * column + 4] = chunk + 100 * round
"""
ZARR_MAKE = """
import sys, zarr
zarr.create_array(sys.argv[1], shape=(16, 16), chunks=(4, 4), dtype="int32", zarr_format=int(sys.argv[2]))
"""
@pytest.mark.parametrize("version", [2, 3])
def test_zarr_python_in_several_processes(mount, tmp_path, version):
    python = python_of("zarr3")
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, f"rw,view=v{version}")
    for directory in (tmp_path / "plain", mounted / "a"):
        run(python, ZARR_MAKE, directory, version)
        run_at_once(python, ZARR_PYTHON, [(directory, number) for number in range(4)])
        read = "import sys, zarr, json; print(json.dumps(zarr.open_array(sys.argv[1], mode='r')[:].tolist()))"
        rows = json.loads(run(python, read, directory))
        assert rows == [[row // 4 * 4 + column // 4 + 300 for column in range(16)] for row in range(16)]


# dask's own processes write the chunks of one array, first all of them and then a region; another one changes what was written.
DASK = """
import sys, warnings, numpy as np, dask, dask.array as da, zarr
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, set_forkserver_preload
warnings.simplefilter("ignore")

def main():
    directory, version = sys.argv[1], int(sys.argv[2])
    form = {"zarr_format": version} if int(zarr.__version__.split(".")[0]) >= 3 else {}
    values = da.arange(64 * 64, chunks=64 * 8, dtype="i4").reshape(64, 64).rechunk((8, 8))
    set_forkserver_preload(["dask.array", "zarr"])
    with ProcessPoolExecutor(4, get_context("forkserver")) as pool, dask.config.set(scheduler="processes", pool=pool):
        array = zarr.open_array(directory, mode="w", shape=(64, 64), chunks=(8, 8), dtype="i4", **form)
        da.store(values, array, lock=False)
        da.store(da.zeros((16, 64), chunks=(8, 8), dtype="i4"), array, regions=(slice(16, 32), slice(None)), lock=False)
        da.store(da.from_zarr(directory) + 1, array, lock=False)
        want = np.arange(64 * 64, dtype="i4").reshape(64, 64)
        want[16:32] = 0
        assert (da.from_zarr(directory).compute() == want + 1).all()

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("reader, version", [("zarr2.18", 2), ("zarr3", 2), ("zarr3", 3)])
def test_dask_writes_with_several_processes(mount, tmp_path, reader, version):
    python = python_of(reader)
    found = subprocess.run([python, "-c", "import dask.array"], capture_output=True, check=False)
    need(found.returncode == 0, f"dask for {reader} is missing: run packaging/install-test-readers")
    program = tmp_path / "program.py"
    program.write_text(DASK)
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, f"rw,view=v{version}")
    for directory in (tmp_path / "plain", mounted / "a"):
        done = subprocess.run([python, program, directory, str(version)], capture_output=True, text=True, timeout=600, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr[-3000:]
