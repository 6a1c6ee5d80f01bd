"""What packaging/demo shows: the files in the store and in the mount, and what zarr-python 2 and GDAL read there."""
import json
import os
import sys

import numpy as np
import zarr
from osgeo import gdal

store, mount = sys.argv[1:3]


def tree(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


def show(title, names):
    print(f"\n{title}: {len(names)} files")
    for name in names[:5] + ["..."] + names[-2:]:
        print(f"  {name}")


show(f"In the store, {store}", [name for name in tree(store) if "/c/" in name or name.endswith("json")])
show(f"In the mount, {mount}", tree(mount))

with open(os.path.join(store, "0", "zarr.json")) as text:
    stored = json.load(text)
sharding = stored["codecs"][0]["configuration"]
print(f"\nStored  level 0: shape {stored['shape']}, {stored['data_type']}, shards {stored['chunk_grid']['configuration']['chunk_shape']}"
      f" of inner chunks {sharding['chunk_shape']}, Zarr v{stored['zarr_format']}")

image = zarr.open_group(mount, mode="r")
level = image["0"]
print(f"zarr-python {zarr.__version__} reads: shape {list(level.shape)}, {level.dtype}, chunks {list(level.chunks)}, Zarr v2,"
      f" OME-Zarr {image.attrs['multiscales'][0]['version']}")
by_zarr = level[...]

gdal.UseExceptions()
array = gdal.OpenEx(f'ZARR:"{os.path.abspath(mount)}/0"', gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("0")
by_gdal = array.ReadAsArray()
print(f"GDAL {gdal.__version__} reads:        shape {list(by_gdal.shape)}, {by_gdal.dtype}, chunks {array.GetBlockSize()}")

assert np.array_equal(by_zarr, by_gdal), "the two programs read different values"
print(f"Both read the same {by_zarr.size} values: minimum {by_zarr.min()}, maximum {by_zarr.max()}, mean {by_zarr.mean():.3f}")
