"""make_climate.py STORE [icechunk]: a sharded store of a temperature over time, latitude and longitude, with names that GDAL and netCDF know;
or an Icechunk repository with it in branch main."""
import sys

import numpy as np
import zarr

TIMES, ROWS, COLUMNS = 12, 90, 180
CRS = {"url": "http://www.opengis.net/def/crs/EPSG/0/4326"}

store, session = sys.argv[1], None
if sys.argv[2:] == ["icechunk"]:
    import icechunk

    session = icechunk.Repository.create(icechunk.local_filesystem_storage(store)).writable_session("main")
    store = session.store
group = zarr.create_group(store, zarr_format=3)
latitude = 89.0 - 2.0 * np.arange(ROWS)
longitude = -179.0 + 2.0 * np.arange(COLUMNS)
for name, values, units in (("lat", latitude, "degrees_north"), ("lon", longitude, "degrees_east"),
                            ("time", np.arange(TIMES, dtype=float), "months since 2020-01-01")):
    group.create_array(name, data=values, chunks=values.shape, dimension_names=(name,), attributes={"units": units}, compressors=None)

month = np.arange(TIMES)[:, None, None]
north, east = np.radians(latitude)[None, :, None], np.radians(longitude)[None, None, :]
season = np.cos(2 * np.pi * (month - 6.5) / 12)
kelvin = 248 + 52 * np.cos(north) ** 1.5 + 16 * np.sin(north) * season + 6 * np.sin(3 * east + 2 * north) * np.cos(north) + 2 * np.cos(7 * east)
group.create_array("temperature", data=kelvin.astype("f4"), chunks=(1, 30, 45), shards=(4, 90, 180), dimension_names=("time", "lat", "lon"),
                   compressors=zarr.codecs.GzipCodec(level=5), fill_value=0.0,
                   attributes={"units": "K", "long_name": "temperature", "_CRS": CRS})
if session is not None:
    session.commit("temperature")
