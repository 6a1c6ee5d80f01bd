"""Readers of the matrix of writing: each tells all that it sees of a data set, as JSON: READERS[name](path, plan).

What they tell is made for comparing one directory with another as the same reader sees them: values with "_" where they are missing, types
without byte order, dimensions, attributes with their types.
"""
import collections
import json
import os
import subprocess
import tempfile

import numpy as np

import programs


def type_of(dtype):
    dtype = np.dtype(dtype)
    return dtype.str.lstrip("<>|=") if dtype.names is None else str(dtype)


def said_one(value):
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode("latin-1")
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def said(values):
    """Type, shape and values of an array; "_" is missing."""
    missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    plain = np.asarray(np.ma.getdata(values) if missing is not None else values)
    flat = plain.ravel() if plain.dtype.kind in "MmOSUV" else plain.ravel().tolist()
    told = [said_one(value) for value in flat]
    if missing is not None:
        told = ["_" if gone else value for gone, value in zip(missing.ravel().tolist(), told)]
    return {"type": type_of(plain.dtype), "shape": list(plain.shape), "values": told}


def said_attribute(value):
    """An attribute with its type. A list of one number is not the number."""
    if isinstance(value, (np.ndarray, np.generic)):
        return [type_of(value.dtype), [said_one(one) for one in np.asarray(value).ravel()], list(np.shape(value))]
    if isinstance(value, dict):
        return {name: said_attribute(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [said_attribute(inner) for inner in value]
    return [type(value).__name__, said_one(value)]


def said_attributes(attributes):
    return {name: said_attribute(value) for name, value in dict(attributes).items()}


def said_encoding(encoding):
    """What xarray took from the attributes; whether numbers there are Python's depends on the format, not on the data."""
    told = {"dtype": str(type_of(encoding["dtype"]))} if "dtype" in encoding else {}
    for key in ("_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar"):
        if key in encoding:
            told[key] = said_one(np.asarray(encoding[key]).ravel().tolist()[0])
    return told


def read_xarray(path, plan):
    import xarray

    found = {}
    for group in [None] + plan["groups"]:
        with xarray.open_zarr(path, group=group, decode_times=plan["dates"]) as data:
            data.load()
            found[group or ""] = {
                "attributes": said_attributes(data.attrs), "dimensions": dict(data.sizes), "coordinates": sorted(map(str, data.coords)),
                "variables": {name: {"dimensions": list(v.dims), "attributes": said_attributes(v.attrs), "data": said(v.values),
                                     "encoding": said_encoding(v.encoding)}
                              for name, v in data.variables.items()}}
    return found


def values_of(array):
    """zarr-python 2 leaves the memory of absent chunks as it is where the fill value is null."""
    import zarr

    if not zarr.__version__.startswith("2") or array.fill_value is not None:
        return array[...]
    values = np.zeros(array.shape, array.dtype)
    array.get_basic_selection(Ellipsis, out=values)
    return values


def read_zarr(path, plan):
    import zarr

    found = {}

    def walk(group, place):
        found[place] = {"attributes": said_attributes(group.attrs)}
        for name, array in group.arrays():
            dims = getattr(getattr(array, "metadata", None), "dimension_names", None)
            found[place + name] = {"attributes": said_attributes(array.attrs), "data": said(values_of(array)), "dimensions": dims and list(dims)}
        for name, inner in group.groups():
            walk(inner, f"{place}{name}/")

    walk(zarr.open_group(path, mode="r"), "")
    return found


def walk_netcdf(group, found, place):
    found[place or "/"] = {"dimensions": {name: [len(one), one.isunlimited()] for name, one in group.dimensions.items()},
                           "attributes": said_attributes({name: group.getncattr(name) for name in group.ncattrs()})}
    for name, variable in group.variables.items():
        attributes = said_attributes({key: variable.getncattr(key) for key in variable.ncattrs()})
        variable.set_auto_chartostring(False)
        variable.set_auto_maskandscale(False)
        raw = said(variable[...])
        variable.set_auto_maskandscale(True)
        found[f"{place}/{name}"] = {"dimensions": list(variable.dimensions), "type": str(variable.dtype), "attributes": attributes, "raw": raw,
                                    "data": said(variable[...])}
    for name, inner in group.groups.items():
        walk_netcdf(inner, found, f"{place}/{name}")
    return found


def address_of(path, plan):
    return f"file://{path}#mode={plan['mode']}"


def read_netcdf(path, plan):
    import netCDF4

    with netCDF4.Dataset(address_of(path, plan)) as data:
        return walk_netcdf(data, {}, "")


def run(*command):
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(f"{command[0]}: status {done.returncode}: {done.stderr.decode(errors='replace').strip()[:200]}")
    return done.stdout.decode(errors="backslashreplace")


def read_ncdump(path, plan):
    """Its lines without their order, which is that of the directory."""
    text = run("ncdump", "-p", "9,17", address_of(path, plan))
    return {"lines": dict(collections.Counter(line.strip() for line in text.splitlines()[1:]))}


def read_copy(command, path, plan):
    """What a program's copy as netCDF-4 holds."""
    import netCDF4

    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.nc")
        run(*command, address_of(path, plan), copy)
        with netCDF4.Dataset(copy) as data:
            found = walk_netcdf(data, {}, "")
    for name in ("history", "CDO", "CDI", "NCO"):  # the copy's own
        found["/"]["attributes"].pop(name, None)
    return found


def read_cdo(path, plan):
    return read_copy(["cdo", "-s", "-f", "nc4", "copy"], path, plan)


def read_nco(path, plan):
    return read_copy(["ncks", "-O", "-4"], path, plan)


def gdal_attributes(node):
    return {one.GetName(): [one.GetDataType().GetClass(), one.GetDataType().GetNumericDataType(), one.GetDimensionsSize(), str(one.Read())] for one in node.GetAttributes() or []}


def read_gdal_mdim(path, plan):
    from osgeo import gdal

    gdal.UseExceptions()
    found = {}

    def walk(group, place, outer):
        # whether a dimension is the group's or the same one of the group around it depends on the order in which GDAL comes to the arrays
        own = {one.GetName(): one.GetSize() for one in group.GetDimensions() or []}
        found[place] = {"attributes": gdal_attributes(group), "dimensions": {name: size for name, size in own.items() if outer.get(name) != size}}
        for name in group.GetMDArrayNames() or []:
            array = group.OpenMDArray(name)
            reference = array.GetSpatialRef()
            kind = array.GetDataType()
            values = said(np.asarray(array.ReadAsArray())) if kind.GetClass() == gdal.GEDTC_NUMERIC else {"values": array.Read()}
            found[place + name] = {"dimensions": [one.GetName() for one in array.GetDimensions()], "attributes": gdal_attributes(array), "data": values,
                                   "nodata": repr(array.GetNoDataValueAsDouble()), "scale": array.GetScale(), "offset": array.GetOffset(), "unit": array.GetUnit(),
                                   "class": kind.GetClass(), "reference": reference and reference.ExportToWkt()}
        for name in group.GetGroupNames() or []:
            walk(group.OpenGroup(name), f"{place}{name}/", {**outer, **own})

    walk(gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "/", {})
    return found


def read_gdal(path, plan):
    """Arrays of two dimensions and more, as rasters."""
    from osgeo import gdal

    gdal.UseExceptions()
    found = {}
    for name in plan["rasters"]:
        raster = gdal.Open(f'ZARR:"{path}":/{name}')
        if raster.RasterCount == 0:  # of three dimensions and more: a data set of its own for each plane
            raster = gdal.Open(raster.GetSubDatasets()[-1][0])
        band = raster.GetRasterBand(1)
        found[name] = {"data": said(band.ReadAsArray()), "nodata": repr(band.GetNoDataValue()), "scale": band.GetScale(), "offset": band.GetOffset(),
                       "unit": band.GetUnitType(), "metadata": {**raster.GetMetadata(), **band.GetMetadata()}, "place": raster.GetGeoTransform(can_return_null=True)}
    return found


def read_rasterio(path, plan):
    import rasterio

    found = {}
    for name in plan["rasters"]:
        with rasterio.open(f'ZARR:"{path}":/{name}') as top:
            address = top.subdatasets[-1] if top.subdatasets else top.name
        with rasterio.open(address) as raster:
            found[name] = {"data": said(raster.read(1, masked=True)), "scale": raster.scales[0], "offset": raster.offsets[0], "units": raster.units,
                           "tags": {**raster.tags(), **raster.tags(1)}, "nodata": repr(raster.nodata)}
    return found


def by_path(name):
    def read(path, plan):
        return {array: said(programs.READERS[name][0](os.path.join(path, array))) for array in plan["arrays"]}

    return read


def read_tensorstore(path, plan):
    import tensorstore

    found = {}
    for array in plan["arrays"]:
        opened = tensorstore.open({"driver": plan["driver"], "kvstore": {"driver": "file", "path": os.path.join(path, array) + "/"}}, read=True).result()
        found[array] = {"data": said(opened.read().result()), "labels": list(opened.domain.labels)}
    return found


def read_ome_zarr(path, plan):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    node = next(iter(Reader(parse_url(path))()))
    metadata = {key: json.loads(json.dumps(node.metadata.get(key), default=str)) for key in ("axes", "name", "channel_names", "coordinateTransformations", "visible",
                                                                                           "contrast_limits", "colormap")}
    return {"levels": [said(level.compute()) for level in node.data], "metadata": metadata}


def read_ngff_zarr(path, plan):
    import ngff_zarr

    read = ngff_zarr.from_ngff_zarr(path)
    return {"name": read.metadata.name, "axes": [[axis.name, axis.type, str(axis.unit)] for axis in read.metadata.axes],
            "levels": [{"dimensions": list(image.dims), "scale": image.scale, "translation": image.translation, "data": said(np.asarray(image.data))} for image in read.images]}


READERS = {
    "xarray": read_xarray, "zarr": read_zarr, "netcdf": read_netcdf, "ncdump": read_ncdump, "cdo": read_cdo, "nco": read_nco, "gdal": read_gdal,
    "gdal_mdim": read_gdal_mdim, "rasterio": read_rasterio, "zarrita": by_path("zarrita"), "zarrita3": by_path("zarrita3"), "zarrjs": by_path("zarrjs"),
    "jzarr": by_path("jzarr"), "tensorstore": read_tensorstore, "ome_zarr": read_ome_zarr, "ngff_zarr": read_ngff_zarr,
}

