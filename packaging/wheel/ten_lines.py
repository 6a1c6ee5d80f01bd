"""A sharded Zarr v3 store, read by two programs that do not know sharding: ten_lines.py STORE"""
import sys
import xarray, zarr, zarrfs

with zarrfs.mount(sys.argv[1], profile="xarray", ro=True) as path:
    by_zarr = zarr.open_group(path, mode="r")["0"][...]
    by_xarray = xarray.open_zarr(path, consolidated=False)["0"].values
assert (by_zarr == by_xarray).all()
print(f"zarr-python {zarr.__version__}, xarray {xarray.__version__}: {by_zarr.shape}, mean {by_zarr.mean():.3f}")
