"""A shard that is an HDF5 or TIFF file as well is read, and never written to without a word."""
import errno
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import DAEMON, GOLDEN, need

VALUES = (np.arange(32 * 32) % 251 + 1).astype("u1").reshape(32, 32)


def read_by_gdal(path):
    gdal = pytest.importorskip("osgeo.gdal")
    opened = gdal.Open(path)
    need(opened is not None, f"GDAL has no driver for {path}")
    return opened.GetDriver().ShortName, opened.ReadAsArray()


def files_of(store):
    return {name: open(os.path.join(folder, name), "rb").read() for folder, _, names in os.walk(store) for name in names}


@pytest.fixture
def stores(tmp_path):
    shutil.copytree(os.path.join(GOLDEN, "foreign"), tmp_path / "data")
    return tmp_path / "data"


@pytest.mark.parametrize("name, driver", [("hdf5", ("HDF5", "HDF5Image", "netCDF")), ("tiff", ("GTiff", ))])
def test_a_shard_that_is_another_file_stays_one(mount, stores, name, driver):
    shard = str(stores / name / "c/0/0")
    before = open(shard, "rb").read()
    found, values = read_by_gdal(shard)
    assert found in driver and (values == VALUES).all()
    mounted = mount(stores, "view=v2,separator=.,rw")
    assert open(mounted / f"{name}/1.0", "rb").read() == VALUES[16:, :16].tobytes()
    with pytest.raises(OSError) as refused:
        with open(mounted / f"{name}/1.0", "wb") as file:
            file.write(bytes(256))
    assert refused.value.errno == errno.EROFS
    with pytest.raises(OSError) as refused:
        os.remove(mounted / f"{name}/0.0")
    assert refused.value.errno == errno.EROFS
    assert f"shard {name}/c/0/0 is a file of {name.upper()}" in str(mounted.report())
    mounted.unmount()
    assert open(shard, "rb").read() == before


def test_compact_leaves_it_and_says_so(mount, stores):
    before = files_of(stores)
    done = subprocess.run([DAEMON, "compact", stores], capture_output=True, text=True)
    assert "hdf5/c/0/0 is a file of HDF5, too, and left as it is" in done.stderr + done.stdout
    assert "tiff/c/0/0 is a file of TIFF, too, and left as it is" in done.stderr + done.stdout
    assert files_of(stores) == before
    subprocess.run([DAEMON, "compact", "--foreign-bytes", "drop", stores], check=True)
    assert os.path.getsize(stores / "tiff/c/0/0") == 4 * 256 + 4 * 16 + 4
    mounted = mount(stores, "view=v2,separator=.,rw")
    with open(mounted / "tiff/1.0", "wb") as file:
        file.write(bytes(256))
    assert open(mounted / "tiff/0.0", "rb").read() == VALUES[:16, :16].tobytes()


@pytest.mark.parametrize("name", ["hdf5", "tiff"])
def test_a_mount_may_be_told_to_make_it_a_shard_only(mount, stores, name):
    mounted = mount(stores, "view=v2,separator=.,rw,foreign_bytes=drop")
    with open(mounted / f"{name}/1.0", "wb") as file:
        file.write(bytes(256))
    mounted.unmount()
    assert os.path.getsize(stores / name / "c/0/0") == 4 * 256 + 4 * 16 + 4
    mounted = mount(stores, "view=v2,separator=.,rw")
    assert open(mounted / f"{name}/1.0", "rb").read() == bytes(256)
    assert open(mounted / f"{name}/0.0", "rb").read() == VALUES[:16, :16].tobytes()
    with open(mounted / f"{name}/0.0", "wb") as file:
        file.write(bytes(256))
