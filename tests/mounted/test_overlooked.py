"""Readers that take every failure to find or open a chunk's file for a missing chunk, whatever the errno, must not read the
fill value where a shard is damaged."""
import os
import shutil
import subprocess

import pytest
from conftest import ROOT

READ = {
    "zarr-python 2": "import sys, zarr; zarr.open(sys.argv[1], 'r')['0'][1]",
    "GDAL": "import sys; from osgeo import gdal; gdal.UseExceptions(); assert gdal.Open(f'ZARR:\"{sys.argv[1]}\":/0:1:12').ReadAsArray() is not None",
}


@pytest.mark.parametrize("reader", READ)
def test_no_reader_reads_the_fill_value_of_a_damaged_shard(mount, tmp_path, reader):
    store = tmp_path / "hurt.ome.zarr"
    shutil.copytree(os.path.join(ROOT, "examples", "brain.ome.zarr"), store)
    os.truncate(store / "0/c/1/0/0/0", 100000)
    mounted = mount(store, "profile=gdal", damaged=True)
    done = subprocess.run(["/usr/bin/python3", "-W", "ignore", "-c", READ[reader], mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0, f"{reader} read a damaged shard without an error"
