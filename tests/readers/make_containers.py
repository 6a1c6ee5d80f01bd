"""Writes random files of other formats, and references and Icechunk repositories that lead to them: make_containers.py SEED COUNT STORE TRUTH

COUNT of each kind. STORE/sources.json lists them: {"name", "source", "virtual"}. What the format's own program reads of an array goes to
TRUTH/raw/NAME+ARRAY.npy, and to TRUTH/masked as xarray gives it. Who writes them: h5py, netCDF4-python (netCDF-4 and netCDF-3), tifffile and zarr-python;
who refers to them: kerchunk, VirtualiZarr and icechunk.
"""
import contextlib
import json
import os
import random
import sys
import warnings

import h5py
import icechunk
import netCDF4
import numpy as np
import tifffile
import xarray
import zarr
from fsspec.implementations.reference import LazyReferenceMapper
from kerchunk.combine import MultiZarrToZarr
from kerchunk.hdf import Hdf5FeatureNotSupported, SingleHdf5ToZarr
from kerchunk.netCDF3 import NetCDF3ToZarr
from kerchunk.tiff import tiff_to_zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser

warnings.simplefilter("ignore")
TYPES = ["i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<f4", "<f8", ">i2", ">i4", ">f4", ">f8"]
NETCDF3_TYPES = ["i1", "i2", "i4", "f4", "f8"]


class Maker:
    def __init__(self, seed, store, truth):
        self.choose, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.store, self.truth, self.sources = store, truth, []
        for folder in (store, os.path.join(truth, "raw"), os.path.join(truth, "masked")):
            os.makedirs(folder)

    def path(self, name):
        return os.path.join(self.store, name)

    def keep(self, kind, name, array, values):
        np.save(os.path.join(self.truth, kind, f"{name}+{array.replace('/', '+')}.npy"), values)

    def add(self, name, source, arrays, masked):
        """A source with the arrays {name: values}, and as xarray masks them."""
        self.sources.append({"name": name, "source": source, "virtual": self.store})
        for kind, found in (("raw", arrays), ("masked", masked)):
            for array, values in found.items():
                self.keep(kind, name, array, values)

    def write_references(self, name, refs, arrays):
        masked = by_xarray(refs) if "t" in arrays else {}
        whole = self.choose.random() < 0.3
        with open(self.path(f"{name}.json"), "w") as file:
            json.dump(refs["refs"] if whole and not refs.get("templates") and not refs.get("gen") else refs, file)
        self.add(name, self.path(f"{name}.json"), arrays, masked)
        told = refs.get("refs", refs)
        if not refs.get("templates") and not refs.get("gen"):
            self.write_parquet(f"parquet-of-{name}", told)
            self.add(f"parquet-of-{name}", self.path(f"parquet-of-{name}.parq"), arrays, masked)

    def write_parquet(self, name, refs):
        mapper = LazyReferenceMapper.create(self.path(f"{name}.parq"), record_size=self.choose.choice([1, 7, 10000]),
                                            engine=self.choose.choice(["fastparquet", "pyarrow"]), categorical_threshold=self.choose.choice([0, 10]))
        for key in sorted(refs):
            mapper[key] = refs[key]
        mapper.flush()

    def lengths(self):
        return [self.choose.randint(1, 40) for _ in range(self.choose.randint(1, 3))]

    def values(self, dtype, shape):
        values = self.numbers.integers(0, 100, shape) * (self.numbers.random(shape) < 0.8)
        return values.astype(dtype)

    def chunks(self, shape):
        return tuple(self.choose.randint(1, length) if self.choose.random() < 0.8 else length for length in shape)


def write_hdf5(make, path):
    """Arrays without the conventions of netCDF: also empty ones, scalars, and chunks that were never written."""
    with h5py.File(path, "w") as file:
        for number in range(4):
            shape, dtype = make.lengths(), make.choose.choice(TYPES)
            chunks = make.chunks(shape)
            if np.prod([-(-a // b) for a, b in zip(shape, chunks)]) > 400:
                chunks = tuple(shape)
            more = make.choose.choice([{}, {"compression": "gzip"}, {"compression": "gzip", "shuffle": True}, {"shuffle": True}, {"fletcher32": True}])
            array = file.create_dataset(make.choose.choice(["a", "group/a", "group/deep/a"]) + str(number), shape=shape, dtype=dtype, chunks=chunks,
                                        fillvalue=make.choose.randint(0, 9), **more)
            part = tuple(slice(0, make.choose.randint(0, length)) for length in shape)
            array[part] = make.values(dtype, array[part].shape)
        file["contiguous"] = make.values("<i4", (5, 6))
        file["scalar"] = np.float64(make.choose.random())


def contents(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node[...]}) if isinstance(node, h5py.Dataset) else None)
    return found


def write_netcdf(make, path, kind, begin=0):
    types = NETCDF3_TYPES if kind.startswith("NETCDF3") else TYPES
    with netCDF4.Dataset(path, "w", format=kind) as data:
        data.title = "Gr\u00fc\u00dfe"
        sizes = {"t": None, "y": make.choose.randint(2, 30), "x": make.choose.randint(2, 30)}
        for name, size in sizes.items():
            data.createDimension(name, size)
        times = data.createVariable("t", "f8", ("t",))
        times.units = "days since 2000-01-01"
        times[:] = np.arange(begin, begin + 4)
        for number, axes in enumerate([("t", "y", "x"), ("t", "y", "x"), ("y", "x"), ("x",)]):
            more = {}
            if kind == "NETCDF4":
                more = make.choose.choice([{}, {"zlib": True}, {"zlib": True, "shuffle": False}, {"fletcher32": True}])
                more["chunksizes"] = [make.choose.randint(1, sizes[axis] or 4) for axis in axes]
            dtype = make.choose.choice(types)
            fill = make.choose.choice([None, 7])
            variable = data.createVariable(f"v{number}", dtype, axes, fill_value=fill, **more)
            variable.set_auto_maskandscale(False)
            if make.choose.random() < 0.4 and np.dtype(dtype).kind == "i":
                variable.scale_factor, variable.add_offset = 0.5, 10.0
            variable[:] = make.values(dtype, [sizes[axis] or 4 for axis in axes])


def netcdf_contents(path):
    with netCDF4.Dataset(path) as data:
        data.set_auto_maskandscale(False)
        raw = {name: np.asarray(one[...]) for name, one in data.variables.items()}
    with xarray.open_dataset(path, decode_times=False, engine="netcdf4") as data:
        return raw, {name: np.asarray(one.values) for name, one in data.variables.items()}


def by_xarray(refs):
    """As users of references see it: xarray masks what has the fill value of .zarray."""
    with xarray.open_dataset(refs, engine="kerchunk", decode_times=False) as data:
        return {name: np.asarray(one.values) for name, one in data.variables.items()}


@contextlib.contextmanager
def virtual(path):
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    with open_virtual_dataset("file://" + path, registry=registry, parser=HDFParser(), loadable_variables=[], decode_times=False) as data:
        yield data


def repository(folder, prefix=None):
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 128
    if prefix:
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{prefix}/", icechunk.local_filesystem_store(prefix)))
    return icechunk.Repository.create(icechunk.local_filesystem_storage(folder), config=config)


def by_kerchunk(make, name, path, arrays):
    """Where it knows the filters: not Fletcher's checksums, which VirtualiZarr does."""
    inline = make.choose.choice([0, 100, 500])
    try:
        refs = SingleHdf5ToZarr(path, inline_threshold=inline, error="raise").translate()
    except Hdf5FeatureNotSupported as refused:
        print(f"{name}: {refused}", file=sys.stderr)
        return
    make.write_references(f"kerchunk-{name}", refs, arrays)


def hdf5(make, name):
    path = make.path(f"{name}.h5")
    write_hdf5(make, path)
    by_kerchunk(make, name, path, contents(path))


def netcdf4(make, name):
    path = make.path(f"{name}.nc")
    write_netcdf(make, path, "NETCDF4")
    raw, masked = netcdf_contents(path)
    by_kerchunk(make, name, path, raw)
    with virtual(path) as data:
        make.write_references(f"virtualizarr-{name}", data.vz.to_kerchunk(format="dict"), raw)
        folder = make.path(f"icechunk-of-{name}")
        session = repository(folder, make.store).writable_session("main")
        data.vz.to_icechunk(session.store, validate_containers=False)
        session.commit("virtual")
        make.add(f"icechunk-of-{name}", f"icechunk:{folder}?branch=main", raw, masked)


def combined(make, name):
    """Two files behind each other along their unlimited dimension."""
    state = make.choose.getstate()
    paths = [make.path(f"{name}-{number}.nc") for number in range(2)]
    for number, path in enumerate(paths):
        make.choose.setstate(state)
        write_netcdf(make, path, "NETCDF3_CLASSIC", 4 * number)
    refs = MultiZarrToZarr([NetCDF3ToZarr(path).translate() for path in paths], concat_dims=["t"], identical_dims=["v2", "v3"]).translate()
    both = [netcdf_contents(path)[0] for path in paths]
    raw = {array: np.concatenate([one[array] for one in both]) if array in ("t", "v0", "v1") else both[0][array] for array in both[0]}
    make.write_references(f"combined-{name}", refs, raw)


def netcdf3(make, name):
    path = make.path(f"{name}.nc")
    write_netcdf(make, path, make.choose.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"]))
    make.write_references(f"kerchunk-{name}", NetCDF3ToZarr(path, inline_threshold=make.choose.choice([0, 100])).translate(), netcdf_contents(path)[0])


def tiff(make, name):
    path = make.path(f"{name}.tif")
    values = make.values(make.choose.choice(["u1", "<u2", "<i4", "<f4"]), (make.choose.randint(20, 90), make.choose.randint(20, 90)))
    how = make.choose.choice([{}, {"compression": "zlib"}, {"compression": "zlib", "predictor": True}, {"compression": "lzw"}])
    tifffile.imwrite(path, values, tile=(32, 16) if make.choose.random() < 0.7 else None, metadata=None, **how)
    refs = {".zgroup": '{"zarr_format": 2}', **{f"image/{key}": one for key, one in tiff_to_zarr(path).items()}}
    make.write_references(f"kerchunk-{name}", {"version": 1, "refs": refs}, {"image": values})


def icechunk_of_zarr(make, name):
    folder = make.path(name)
    session = repository(folder).writable_session("main")
    group, arrays = zarr.group(store=session.store), {}
    for number in range(4):
        shape = make.lengths()
        inner = make.chunks(shape)
        outer = tuple(part * make.choose.randint(1, 3) for part in inner)
        dtype = make.choose.choice(TYPES).replace(">", "<")
        array = group.create_array(f"a{number}", shape=shape, chunks=inner, shards=outer if make.choose.random() < 0.7 else None, dtype=dtype, fill_value=3,
                                   compressors=make.choose.choice([None, "auto"]))
        part = tuple(slice(0, make.choose.randint(1, length)) for length in shape)
        array[part] = make.values(dtype, array[part].shape)
        arrays[f"a{number}"] = array[...]
    session.commit("arrays")
    make.add(name, f"icechunk:{folder}?branch=main", arrays, {})


KINDS = {"hdf5": hdf5, "netcdf4": netcdf4, "netcdf3": netcdf3, "combined": combined, "tiff": tiff, "icechunk": icechunk_of_zarr}


def main():
    seed, count, store, truth = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5]
    make = Maker(seed, os.path.abspath(store), os.path.abspath(truth))
    for kind, write in KINDS.items():
        for number in range(count):
            write(make, f"{kind}-{number}")
    with open(make.path("sources.json"), "w") as file:
        json.dump(make.sources, file)


main()
