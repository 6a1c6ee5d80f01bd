"""Writers of the matrix of writing: each writes a data set of make_sets.py as its users do, WRITERS[name](data, path, plan).

A plan says how: "order" (at once, over another data set, variable by variable, appended along time, in regions), "cut" (where time is cut), "mode" of
netCDF-C, "consolidated", "zlib", "changes" (attributes that are changed afterwards). Each runs in the environment that has the program.
"""
import os
import shutil
import subprocess
import tempfile

import numpy as np

from make_sets import array_of, attribute_of


def attributes_of(spelled):
    return {name: attribute_of(value) for name, value in spelled.items()}


def parts_of(data, plan):
    """Slices of time, in the order in which they are written."""
    length, cut = data["dims"]["time"], plan["cut"]
    return [slice(0, cut), slice(cut, length)]


def whole_of(variable):
    return array_of(variable["data"])


# xarray


def xarray_dataset(data):
    import xarray

    variables = {v["name"]: xarray.Variable(v["dims"], whole_of(v), attributes_of(v["attributes"])) for v in data["variables"]}
    raw = xarray.Dataset(variables, attrs=attributes_of(data["attributes"]))
    dates = all(a["attributes"]["calendar"][1] in ("standard", "proleptic_gregorian") for a in data["variables"] if a["kind"] == "times")
    return xarray.decode_cf(raw, decode_times=dates)


def without_time(dataset):
    return [name for name, variable in dataset.variables.items() if "time" not in variable.dims]


def other_values(dataset):
    """The same variables with their first value everywhere along time, to be overwritten."""
    copy = dataset.copy(deep=True)
    for name, variable in dataset.variables.items():
        if "time" in variable.dims and name != "time":
            copy[name].values[...] = np.take(variable.values, [0], variable.dims.index("time"))
    return copy


def lay_out(dataset, plan, length_of_chunk):
    """Sets how the variables are stored. to_zarr(encoding=) would take the place of what decode_cf has found, scale_factor and all."""
    for variable in dataset.variables.values():
        if variable.ndim and length_of_chunk:
            variable.encoding["chunks"] = tuple(length_of_chunk(dim, size) for dim, size in variable.sizes.items())
        if not plan["compress"]:
            variable.encoding["compressor" if is_zarr_2() else "compressors"] = None
    return dataset


def write_xarray(data, path, plan):
    dataset, order, mode = xarray_dataset(data), plan["order"], "w-"
    halves = (lambda dim, size: max(1, size // 2)) if plan["chunks"] else None
    lay_out(dataset, plan, one_of_time if order == "regions" else halves)
    more = {"consolidated": plan["consolidated"], **plan["formats"]}
    parts = [dataset.isel(time=part) for part in parts_of(data, plan)]
    if order == "appended":
        parts[0].to_zarr(path, mode=mode, **more)
        second = parts[1].drop_vars(without_time(dataset)) if plan["drop"] else parts[1]
        clear_encoding(second)
        second.to_zarr(path, append_dim="time", **more)
    elif order == "regions":
        other_values(dataset).to_zarr(path, mode=mode, **more)
        for part, values in zip(parts_of(data, plan), parts):
            values = values.drop_vars(without_time(dataset))
            clear_encoding(values)
            values.to_zarr(path, region={"time": part}, **plan["formats"])
    elif order == "by variable":
        names = list(dataset.data_vars)
        dataset[names[:1]].to_zarr(path, mode=mode, **more)
        if names[1:]:
            dataset[names[1:]].to_zarr(path, mode="a", **more)
    else:
        if order == "over":
            dataset.isel(time=slice(0, 2)).rename({"time": "t"}).to_zarr(path, mode=mode, **more)
        dataset.to_zarr(path, mode="w" if order == "over" else mode, **more)
    for name, inner in data["groups"].items():
        lay_out(xarray_dataset({**inner, "groups": {}}), plan, halves).to_zarr(path, group=name, mode="a", **more)
    change_with_zarr(path, plan, plan["consolidated"])


def clear_encoding(dataset):
    for variable in dataset.variables.values():
        variable.encoding = {}


def one_of_time(dim, size):
    """Chunks such that no region shares one with another."""
    return 1 if dim == "time" else size


# zarr-python


def change_with_zarr(path, plan, consolidate):
    """Attributes as a program changes them in a store that is there already."""
    import zarr

    for change in plan["changes"]:
        node = zarr.open(os.path.join(path, change["node"]) if change["node"] else path, mode="r+")
        if change["do"] == "remove" and change["name"] in node.attrs:
            del node.attrs[change["name"]]
        elif change["do"] == "set":
            value = attribute_of(change["value"])
            node.attrs[change["name"]] = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if plan["changes"] and consolidate:
        zarr.consolidate_metadata(path)


def json_attributes(spelled):
    return {name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value for name, value in attributes_of(spelled).items()}


def is_zarr_2():
    import zarr

    return zarr.__version__.startswith("2")


def create_zarr(group, name, values, chunks, plan, fill, dimension_names=None, separator="."):
    if is_zarr_2():
        more = {} if plan["compress"] else {"compressor": None}
        array = group.create_dataset(name, shape=values.shape, chunks=chunks, dtype=values.dtype, fill_value=fill, dimension_separator=separator, **more)
    else:
        v3 = plan["formats"]["zarr_format"] == 3
        key = {"name": "default" if v3 else "v2", "separator": separator}
        more = {"dimension_names": dimension_names} if v3 and dimension_names else {}
        more.update({} if plan["compress"] else {"compressors": None})
        array = group.create_array(name, shape=values.shape, chunks=chunks, dtype=values.dtype, fill_value=fill, chunk_key_encoding=key, **more)
    if dimension_names and not (plan["formats"] or {}).get("zarr_format") == 3:
        array.attrs["_ARRAY_DIMENSIONS"] = list(dimension_names)
    array[...] = values
    return array


def write_zarr(data, path, plan):
    """Plain arrays, which have no CF; images by hand, as many programs write them."""
    import zarr

    root = zarr.open_group(path, mode="a", **({} if is_zarr_2() else plan["formats"]))
    if data["kind"] == "image":
        write_image(data, root, plan)
    else:
        root.attrs.update(json_attributes(data["attributes"]))
        for variable in data["variables"]:
            values = whole_of(variable)
            if values.dtype == object:
                values = values.astype("<U20")
            array = create_zarr(root, variable["name"], values, tuple(max(1, n // 2) for n in values.shape), plan, plan["fill"] if values.dtype.kind in "iuf" else None)
            array.attrs.update(json_attributes(variable["attributes"]))
    change_with_zarr(path, plan, False)


def multiscales(data, plan):
    kinds = {"t": "time", "c": "channel"}
    units = {"t": {"unit": "second"}, "c": {}}
    axes = [{"name": axis, "type": kinds.get(axis, "space"), **units.get(axis, {"unit": "micrometer"})} for axis in data["axes"]]
    datasets = []
    for level in range(len(data["levels"])):
        scale = [step * 2**level if axis in "yx" else step for axis, step in zip(data["axes"], data["scale"])]
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    return [{"version": "0.4", "name": data["name"], "axes": axes, "datasets": datasets}]


def write_image(data, root, plan):
    late = plan["order"] == "appended"  # the attributes that tell what the arrays are come last
    if not late:
        root.attrs["multiscales"] = multiscales(data, plan)
    for number, level in enumerate(data["levels"]):
        values = array_of(level)
        chunks = tuple(4 if axis in "yx" else 1 for axis in data["axes"])
        create_zarr(root, str(number), values, chunks, plan, 0, list(data["axes"]) if data["dimension_names"] else None, data["separator"])
    if late:
        root.attrs["multiscales"] = multiscales(data, plan)
    root.attrs["omero"] = {"channels": [{"label": data["name"], "color": "FF0000", "window": {"start": 0, "end": 60, "min": 0, "max": 255}, "active": True}]}


# netCDF-C


def netcdf_attributes(spelled, plan):
    """netCDF4-python makes strings of text that is not ASCII; as bytes it is characters, as C programs write it."""
    found = attributes_of(spelled)
    if plan["strings"]:
        return found
    return {name: value.encode() if isinstance(value, str) else value for name, value in found.items() if not isinstance(value, list)}


def can_deflate():
    """Whether netCDF-C finds its filters: netCDF4's wheel comes without."""
    import netCDF4

    with tempfile.TemporaryDirectory() as folder, netCDF4.Dataset(f"file://{folder}/try#mode=zarr,file", "w") as target:
        target.createDimension("x", 2)
        try:
            target.createVariable("v", "i2", ["x"], zlib=True)
        except RuntimeError:
            return False
        return True


def create_netcdf(target, data, plan, groups=True):
    import netCDF4

    for name, length in data["dims"].items():
        target.createDimension(name, None if name in data.get("unlimited", ()) else length)
    for name, value in netcdf_attributes(data["attributes"], plan).items():
        target.setncattr(name, value)
    for variable in data["variables"]:
        if variable["kind"] == "words" and not plan["strings"]:
            continue
        values, attributes = whole_of(variable), netcdf_attributes(variable["attributes"], plan)
        if values.dtype == bool:
            values, attributes = values.astype("i1"), {**attributes, "dtype": "bool"}
        kind = str if values.dtype.kind in "OU" else values.dtype
        dims = variable["dims"]
        if values.dtype.kind == "S" and values.dtype.itemsize > 1:  # as netCDF has characters
            length = values.dtype.itemsize
            if f"string{length}" not in target.dimensions:
                target.createDimension(f"string{length}", length)
            values, kind, dims = netCDF4.stringtochar(values), np.dtype("S1"), dims + [f"string{length}"]
        more = {"zlib": True} if plan["zlib"] and kind is not str and dims and can_deflate() else {}
        if plan["chunks"] and dims and kind is not str:
            more["chunksizes"] = [max(1, n // 2) for n in values.shape]
        made = target.createVariable(variable["name"], kind, dims, fill_value=attributes.pop("_FillValue", None), **more)
        made.set_auto_maskandscale(False)
        made.set_auto_chartostring(False)
        for name, value in attributes.items():
            made.setncattr(name, value)
        put_netcdf(made, values, dims, data, plan)
    for name, inner in data.get("groups", {}).items():
        create_netcdf(target.createGroup(name), inner, {**plan, "order": "at once"})


def put_netcdf(made, values, dims, data, plan):
    if made.dtype is str:
        values = values.astype(object)
    if not dims:
        made[...] = values
    elif plan["order"] in ("regions", "appended") and dims[0] == "time":
        for part in parts_of(data, plan):
            if plan["order"] == "regions" or part.start == 0:
                made[part] = values[part]
    else:
        made[...] = values


def append_netcdf(target, data, plan):
    import netCDF4

    part = parts_of(data, plan)[1]
    for variable in data["variables"]:
        if variable["dims"][:1] == ["time"] and variable["name"] in target.variables:
            made, values = target.variables[variable["name"]], whole_of(variable)
            made.set_auto_maskandscale(False)
            made.set_auto_chartostring(False)
            values = values.astype("i1") if values.dtype == bool else values
            values = netCDF4.stringtochar(values) if values.dtype.kind == "S" and values.dtype.itemsize > 1 else values
            made[part] = values.astype(object)[part] if made.dtype is str else values[part]


def change_netcdf(target, plan):
    for change in plan["changes"]:
        node = target.variables.get(change["node"], target)
        if change["do"] == "remove":
            if change["name"] in node.ncattrs():
                node.delncattr(change["name"])
        else:
            node.setncattr(change["name"], netcdf_attributes({"it": change["value"]}, plan)["it"])


def write_netcdf(data, path, plan):
    import netCDF4

    # netCDF4-python makes a store anew that it is asked to open for changes, so all is done while it is open
    with netCDF4.Dataset(f"file://{path}#mode={plan['mode']}", "w") as target:
        create_netcdf(target, data, plan)
        if plan["order"] == "appended":
            target.sync()
            append_netcdf(target, data, plan)
        if plan["changes"]:
            target.sync()
            change_netcdf(target, plan)


def netcdf_file(data, plan, folder):
    import netCDF4

    source = os.path.join(folder, "source.nc")
    with netCDF4.Dataset(source, "w") as target:
        create_netcdf(target, data, {**plan, "order": "at once"})
    return source


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: status {done.returncode}: {done.stderr.strip()[:300]}")


def write_nccopy(data, path, plan):
    with tempfile.TemporaryDirectory() as folder:
        run("nccopy", netcdf_file(data, plan, folder), f"file://{path}#mode={plan['mode']}")


# GDAL


def write_gdal(data, path, plan):
    """gdalmdimtranslate, of the netCDF file of the data set; attributes are changed by GDAL's own update."""
    from osgeo import gdal

    gdal.UseExceptions()
    with tempfile.TemporaryDirectory() as folder:
        # netCDF's strings and characters as text are beyond GDAL 3.6's Zarr driver
        plain = {**data, "variables": [v for v in data["variables"] if v["kind"] not in ("words", "letters")], "groups": {}}
        source = netcdf_file(plain, plan, folder)
        made = gdal.MultiDimTranslate(path, source, format="Zarr")
        made = None  # noqa: F841  the file is closed so
    if plan["changes"]:
        opened = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
        root = opened.GetRootGroup()
        for change in plan["changes"]:
            if change["do"] == "set" and change["value"][0] == "text":
                node = root.OpenMDArray(change["node"]) if change["node"] else root
                names = [one.GetName() for one in node.GetAttributes() or []]
                attribute = node.GetAttribute(change["name"]) if change["name"] in names else node.CreateAttribute(change["name"], [], gdal.ExtendedDataType.CreateString())
                attribute.Write(change["value"][1])
        attribute = node = root = opened = None


def write_gdal_translate(data, path, plan):
    """gdal_translate, of a raster with a nodata value, scale and offset."""
    from osgeo import gdal

    gdal.UseExceptions()
    variable = next(v for v in data["variables"] if v["kind"] in ("packed", "masked", "floats", "counts") and len(v["dims"]) >= 2)
    values, attributes = whole_of(variable), attributes_of(variable["attributes"])
    values = values.reshape(-1, *values.shape[-2:])[0]
    kinds = {"u1": gdal.GDT_Byte, "i2": gdal.GDT_Int16, "u2": gdal.GDT_UInt16, "i4": gdal.GDT_Int32, "f4": gdal.GDT_Float32, "f8": gdal.GDT_Float64}
    raster = gdal.GetDriverByName("MEM").Create("", values.shape[1], values.shape[0], 1, kinds.get(values.dtype.str[1:], gdal.GDT_Float64))
    raster.SetGeoTransform([10, 0.5, 0, 50, 0, -0.5])
    band = raster.GetRasterBand(1)
    if "_FillValue" in attributes:
        band.SetNoDataValue(float(attributes["_FillValue"]))
    if "scale_factor" in attributes:
        band.SetScale(0.5)
        band.SetOffset(10)
    band.WriteArray(values)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source.tif")
        gdal.GetDriverByName("GTiff").CreateCopy(source, raster)
        run("gdal_translate", "-q", "-of", "Zarr", source, path)


# Images


def write_ome_zarr(data, path, plan):
    import zarr
    from ome_zarr.io import parse_url
    from ome_zarr.writer import write_multiscale

    os.makedirs(path, exist_ok=True)
    root = zarr.group(store=parse_url(path, mode="w").store)
    described = multiscales(data, plan)[0]
    transformations = [dataset["coordinateTransformations"] for dataset in described["datasets"]]
    write_multiscale([array_of(level) for level in data["levels"]], root, axes=described["axes"], coordinate_transformations=transformations,
                     storage_options={"chunks": tuple(4 if axis in "yx" else 1 for axis in data["axes"])}, name=data["name"])
    root.attrs["omero"] = {"channels": [{"label": data["name"], "color": "00FF00", "window": {"start": 0, "end": 60, "min": 0, "max": 255}, "active": True}]}
    change_with_zarr(path, plan, False)


def write_ngff_zarr(data, path, plan):
    import ngff_zarr

    image = ngff_zarr.to_ngff_image(array_of(data["levels"][0]), dims=list(data["axes"]), scale=dict(zip(data["axes"], data["scale"])), name=data["name"])
    levels = ngff_zarr.to_multiscales(image, scale_factors=[2] if len(data["levels"]) > 1 else [], chunks=8)
    ngff_zarr.to_ngff_zarr(path, levels, version="0.4")


def write_copy(data, path, plan):
    """A plain directory that another writer made, copied file by file in any order."""
    for name in plan["files"]:
        target = os.path.join(path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(plan["source"], name), target)


WRITERS = {"xarray": write_xarray, "zarr": write_zarr, "netcdf": write_netcdf, "nccopy": write_nccopy, "gdal": write_gdal, "gdal_translate": write_gdal_translate,
           "ome_zarr": write_ome_zarr, "ngff_zarr": write_ngff_zarr, "copy": write_copy}
