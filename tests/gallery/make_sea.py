"""make_sea.py STORE: a sea temperature with nothing on land, packed into 16 bits, as xarray writes it into a sharded Zarr v3 store."""
import sys

import numpy as np
import xarray

ROWS, COLUMNS = 90, 180
latitude, longitude = 89.0 - 2.0 * np.arange(ROWS), -179.0 + 2.0 * np.arange(COLUMNS)
north, east = np.radians(latitude)[:, None], np.radians(longitude)[None, :]
celsius = 28 * np.cos(north) ** 1.5 - 2 + 2 * np.sin(5 * east) * np.cos(north)
celsius[np.abs(celsius) < 0.4] = 0.0  # zero degrees are no missing cells
land = np.sin(2 * east) * np.cos(1.5 * north) + 0.4 * np.sin(5 * east + 3 * north) > 0.45
sea = xarray.Dataset(
    {"sst": (("lat", "lon"), np.where(land, np.nan, celsius), {"units": "degC", "long_name": "sea surface temperature"})},
    {"lat": ("lat", latitude, {"units": "degrees_north"}), "lon": ("lon", longitude, {"units": "degrees_east"})},
    {"Conventions": "CF-1.8"},
)
packed = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 0.0, "_FillValue": -32768, "chunks": (30, 45), "shards": (90, 180)}
sea.to_zarr(sys.argv[1], mode="w", zarr_format=3, consolidated=False, encoding={"sst": packed})
print(int(land.sum()))
