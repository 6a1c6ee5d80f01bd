"""Reads every variable of a tree with one reader, as its user sees it: unpacked, and without the cells that are missing.

    read_masked.py READER DIRECTORY TRUTH

Prints {group: "equal", "differs: ..." or "error: ..."}: compared with TRUTH/GROUP.npz, where missing cells are NaN.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.simplefilter("ignore")


def unpacked(values, missing, attributes):
    values = np.asarray(values, "float64") * attributes.get("scale_factor", 1) + attributes.get("add_offset", 0)
    values[missing] = np.nan
    return values


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(f"{command[0]}: status {done.returncode}: {done.stderr.strip()[:200]}")
    return done.stdout


def of_netcdf(path):
    return f"file://{path}#mode=zarr,file"


def read_xarray(path, attributes):
    import xarray

    with xarray.open_zarr(path, consolidated=False, decode_times=False) as data:
        return data["v"].values.astype("float64")


def masked_variable(name):
    import netCDF4

    with netCDF4.Dataset(name) as data:
        values = data.variables["v"][...]
        return np.ma.filled(values.astype("float64"), np.nan)


def read_netcdf(path, attributes):
    return masked_variable(of_netcdf(path))


def read_ncdump(path, attributes):
    text = run("ncdump", "-p", "9,17", "-v", "v", of_netcdf(path))
    text = text[text.index("data:"):]
    words = [word.strip() for word in text[text.index(" v =") + 4:].split(";")[0].split(",")]
    values = np.array([np.nan if word in ("_", "NaNf") else float(word) for word in words]).reshape(6, 10)
    return unpacked(values, np.isnan(values), attributes)


def read_cdo(path, attributes):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.nc")
        run("cdo", "-s", "-f", "nc4", "-b", "F64", "copy", "-selname,v", of_netcdf(path), copy)
        return masked_variable(copy)


def read_nco(path, attributes):
    """ncks' copy; and ncwa's mean has to be that of the cells that are not missing."""
    with tempfile.TemporaryDirectory() as folder:
        copy, mean = os.path.join(folder, "copy.nc"), os.path.join(folder, "mean.nc")
        run("ncks", "-O", "-4", "-v", "v", of_netcdf(path), copy)
        values = masked_variable(copy)
        run("ncwa", "-O", "-v", "v", of_netcdf(path), mean)
        got = masked_variable(mean)
        there = values[~np.isnan(values)]
        whole = "scale_factor" in attributes or np.dtype(attributes["dtype"]).kind != "f"  # ncwa cuts the mean to an integer
        if there.size and not np.isnan(got) and abs(got - there.mean()) > (1 if whole else 1e-3):
            raise ValueError(f"ncwa's mean is {got}, that of its cells {there.mean()}")
        return values


def gdal_mask(values, nodata):
    missing = np.isnan(values.astype("float64"))
    if nodata is not None:
        missing |= values == nodata
    return missing


def read_gdal_mdim(path, attributes):
    from osgeo import gdal

    gdal.UseExceptions()
    root = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    array = root.OpenMDArray("v")
    values = array.ReadAsArray()
    scale = {"scale_factor": array.GetScale() or 1, "add_offset": array.GetOffset() or 0}
    return unpacked(values, gdal_mask(values, array.GetNoDataValueAsDouble()), scale)


def read_gdal(path, attributes):
    """The band; and its statistics have to be those of the cells that are not missing."""
    from osgeo import gdal

    gdal.UseExceptions()
    raster = gdal.Open(f'ZARR:"{path}":/v')
    band = raster.GetRasterBand(1)
    values = band.ReadAsArray()
    missing = gdal_mask(values, band.GetNoDataValue())
    if not missing.all():
        mean = band.ComputeStatistics(False)[2]
        wanted = values[~missing].astype("float64").mean()
        if abs(mean - wanted) > 1e-3:
            raise ValueError(f"the band's mean is {mean}, that of its cells {wanted}")
    scale = {"scale_factor": band.GetScale() or 1, "add_offset": band.GetOffset() or 0}
    return unpacked(values, missing, scale)


def read_rasterio(path, attributes):
    import rasterio

    with rasterio.open(f'ZARR:"{path}":/v') as raster:
        values = raster.read(1, masked=True)
        missing = np.ma.getmaskarray(values) | np.isnan(values.data.astype("float64"))
        scale = {"scale_factor": raster.scales[0] or 1, "add_offset": raster.offsets[0] or 0}
        return unpacked(values.data, missing, scale)


READERS = {
    "xarray": read_xarray, "netcdf": read_netcdf, "ncdump": read_ncdump, "cdo": read_cdo, "nco": read_nco, "gdal": read_gdal,
    "gdal_mdim": read_gdal_mdim, "rasterio": read_rasterio,
}


def compare(values, truth):
    if values.shape != truth.shape:
        return f"differs: shape {values.shape}, not {truth.shape}"
    missing, wanted = np.isnan(values), np.isnan(truth)
    if (missing != wanted).any():
        return f"differs: {missing.sum()} cells are missing, not {wanted.sum()}"
    return "equal" if np.allclose(values, truth, rtol=1e-6, equal_nan=True) else f"differs: mean {np.nanmean(values)}, not {np.nanmean(truth)}"


def main():
    reader, directory, truth = sys.argv[1:4]
    verdicts = {}
    for name in sorted(os.listdir(truth)):
        if not name.endswith(".npz"):
            continue
        group = name.removesuffix(".npz")
        with open(os.path.join(truth, f"{group}.json")) as text:
            attributes = json.load(text)
        try:
            values = READERS[reader](os.path.join(directory, group), attributes)
            verdicts[group] = compare(values, np.load(os.path.join(truth, name))["values"])
        except Exception as error:  # whatever a reader raises is its answer
            verdicts[group] = f"error: {type(error).__name__}: {error}".splitlines()[0][:300]
    json.dump(verdicts, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
