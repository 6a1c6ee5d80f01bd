"""Reads a whole array with one program and prints the seconds, without its start, and a checksum of the values.

    read_array.py zarr|zarrs|tensorstore|gdal PATH     (zarr: as installed, zarr-python 2 or 3)
"""
import json
import os
import sys
import time
import zlib

program, path = sys.argv[1:]
if program in ("zarr", "zarrs"):
    import zarr
    if program == "zarrs":
        import zarrs  # noqa: F401
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    begin = time.perf_counter()
    values = zarr.open(path, mode="r")[...]
elif program == "tensorstore":
    import tensorstore
    driver = "zarr3" if os.path.exists(os.path.join(path, "zarr.json")) else "zarr"
    begin = time.perf_counter()
    store = tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": path}}, open=True).result()
    values = store.read().result()
else:
    from osgeo import gdal
    gdal.UseExceptions()
    begin = time.perf_counter()
    root = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    values = root.OpenMDArray(root.GetMDArrayNames()[0]).ReadAsArray()
seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "sum": zlib.crc32(memoryview(values).cast("B")), "shape": list(values.shape)}))
