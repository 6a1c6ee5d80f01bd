"""Writes golden files of references, the HDF5 file that they lead to, and what h5py reads of it.

    build/venvs/references/bin/python tests/golden/make_references.py [FOLDER]

Without FOLDER it is tests/golden. Run it there only to add something: they are committed, so that the tests do not depend on what today's writers do.
kerchunk.json: as kerchunk writes them; inlined.json: with small chunks in it; virtualizarr.json: VirtualiZarr's; templates.json: with templates and gen;
v3.json: with a zarr.json, of a sharded array; fastparquet.parq and pyarrow.parq: inlined.json in Parquet, as kerchunk writes it by either library;
ways: one file of pyarrow.parq in other ways that Parquet has.
"""
import json
import os
import sys
import warnings

import h5py
import numpy as np
import zarr

PARQUET = ("fastparquet", "pyarrow")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "readers"))
from read_store import describe  # noqa: E402


def write_hdf5(path):
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "numbers"
        file["plain"] = np.arange(60, dtype="<i4").reshape(6, 10)
        file.create_dataset("chunked", data=np.arange(600, dtype="<f4").reshape(20, 30), chunks=(7, 10), fillvalue=-1)
        file.create_dataset("packed", data=random.integers(0, 1000, (40, 50)).astype("<i2"), chunks=(16, 16), compression="gzip", shuffle=True)
        file.create_dataset("big", data=np.arange(24, dtype=">f8").reshape(4, 6), chunks=(2, 3), compression="gzip")
        file["group/deep"] = np.arange(5, dtype="u1")
        sparse = file.create_dataset("sparse", shape=(20, 20), chunks=(5, 5), dtype="<i4", fillvalue=9)
        sparse[0:5, 5:10] = 3
        arrays = [node for node in file.values() if isinstance(node, h5py.Dataset)]
        for length in sorted({length for array in arrays for length in array.shape}):
            file[f"n{length}"] = np.arange(length, dtype="<i4")
            file[f"n{length}"].make_scale(f"n{length}")
        for array in arrays:
            for axis, length in enumerate(array.shape):
                array.dims[axis].attach_scale(file[f"n{length}"])


def contents(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: describe(node[...])}) if isinstance(node, h5py.Dataset) else None)
    return found


def by_kerchunk(path, threshold):
    from kerchunk.hdf import SingleHdf5ToZarr
    return SingleHdf5ToZarr(path, inline_threshold=threshold, error="raise").translate()["refs"]


def by_virtualizarr(path):
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    with open_virtual_dataset("file://" + path, registry=registry, parser=HDFParser(), loadable_variables=[]) as data:
        return data.vz.to_kerchunk(format="dict")["refs"]


def relative(refs, name):
    """With the file's name alone: relative to the file of references."""
    return {key: [name, *one[1:]] if isinstance(one, list) else one for key, one in refs.items()}


def with_templates(refs):
    """One row of chunks told by gen, where their places are in order; the file by a template."""
    places = [refs[f"chunked/0.{i}"] for i in range(3)]
    step = places[1][1] - places[0][1]
    assert [place[1:] for place in places] == [[places[0][1] + step * i, places[0][2]] for i in range(3)]
    kept = {key: ["{{f}}.h5", *one[1:]] if isinstance(one, list) else one for key, one in refs.items() if not key.startswith("chunked/0.")}
    gen = {"key": "chunked/0.{{i}}", "url": "{{name(letters='dat')}}.h5", "offset": "{{%d + i * %d}}" % (places[0][1], step), "length": str(places[0][2]),
           "dimensions": {"i": {"stop": 3}}}
    return {"version": 1, "templates": {"f": "data", "name": "{{letters}}a"}, "gen": [gen], "refs": kept}


def write_parquet(refs, folder, engine):
    """Several files for an array, and texts of both kinds: plain and by a dictionary."""
    from fsspec.implementations.reference import LazyReferenceMapper
    mapper = LazyReferenceMapper.create(folder, record_size=6, engine=engine, categorical_threshold=3)
    for key in sorted(refs):
        mapper[key] = refs[key]
    mapper.flush()


def write_other_ways(file, folder):
    import pyarrow.parquet as parquet
    table = parquet.read_table(file)
    os.makedirs(folder, exist_ok=True)
    for name, way in {"plain": {"use_dictionary": False}, "second": {"data_page_version": "2.0", "write_page_checksum": True}}.items():
        parquet.write_table(table, os.path.join(folder, f"{name}.parquet"), compression="none", write_statistics=False, store_schema=False, **way)


def sharded(folder):
    """References to the shards of a Zarr v3 array, in one file behind each other."""
    memory = {}
    array = zarr.create_array(memory, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="<u2", fill_value=7)
    array[:4] = np.arange(32).reshape(4, 8)
    refs, shards = {}, b""
    for key, value in sorted(memory.items()):
        text = value.to_bytes()
        refs[f"sharded/{key}"] = text.decode() if key == "zarr.json" else ["shards.bin", len(shards), len(text)]
        shards += b"" if key == "zarr.json" else text
    with open(os.path.join(folder, "shards.bin"), "wb") as file:
        file.write(shards)
    refs["zarr.json"] = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}})
    return {"version": 1, "refs": refs}, {"sharded": describe(array[...])}


def main(folder):
    warnings.simplefilter("ignore")
    place = os.path.join(folder, "references")
    os.makedirs(place, exist_ok=True)
    data = os.path.join(os.path.abspath(place), "data.h5")
    write_hdf5(data)
    kerchunk = relative(by_kerchunk(data, 0), "data.h5")
    v3, of_v3 = sharded(place)
    files = {"kerchunk": {"version": 1, "refs": kerchunk}, "inlined": {"version": 1, "refs": relative(by_kerchunk(data, 300), "data.h5")}, "version0": kerchunk,
             "virtualizarr": {"version": 1, "refs": relative(by_virtualizarr(data), "data.h5")},
             "templates": with_templates(kerchunk), "v3": v3}
    for name, told in files.items():
        with open(os.path.join(place, f"{name}.json"), "w") as file:
            json.dump(told, file, indent=1)
    for engine in PARQUET:
        write_parquet(files["inlined"]["refs"], os.path.join(place, f"{engine}.parq"), engine)
    write_other_ways(os.path.join(place, "pyarrow.parq/packed/refs.0.parq"), os.path.join(place, "ways"))
    everything = contents(data)
    top = {path: entry for path, entry in everything.items() if "/" not in path}
    expected = {name: {"v3": of_v3, "virtualizarr": top}.get(name, everything) for name in (*files, *PARQUET)}
    with open(os.path.join(folder, "references.json"), "w") as file:
        json.dump(expected, file, indent=1, sort_keys=True)
        file.write("\n")


main(sys.argv[1] if len(sys.argv) > 1 else HERE)
