"""Converts an array with zarr-python 3 or TensorStore and prints the seconds, without the program's start.

    convert_array.py zarr|tensorstore SOURCE TARGET [ZxYxX]     (the shape of shards; a file for each chunk if not given)
"""
import itertools
import json
import os
import sys
import time

program, source, target, *shape = sys.argv[1:]
shards = tuple(map(int, shape[0].split("x"))) if shape else None
if program == "zarr":
    import zarr
    from zarr.codecs import ZstdCodec
    begin = time.perf_counter()
    old = zarr.open_array(source, mode="r")
    new = zarr.create_array(target, shape=old.shape, chunks=old.chunks, shards=shards, dtype=old.dtype, fill_value=0,
                            compressors=[ZstdCodec(level=1)])
    # As large pieces as the larger of both shards: each is read and written once.
    steps = [max(a, b) for a, b in zip(old.shards or old.chunks, shards or (128, 256, 256))]
    for at in itertools.product(*(range(0, extent, step) for extent, step in zip(old.shape, steps))):
        where = tuple(slice(i, min(i + step, extent)) for i, step, extent in zip(at, steps, old.shape))
        new[where] = old[where]
else:
    import tensorstore
    begin = time.perf_counter()
    with open(os.path.join(source, "zarr.json")) as text:
        codecs = json.load(text)["codecs"]
    old = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": source}}, open=True).result()
    inner = codecs[0]["configuration"]["codecs"] if codecs[0]["name"] == "sharding_indexed" else codecs
    # TensorStore wants to be told what zarr-python leaves out.
    inner = [{**codec, "configuration": {"level": 1}} if codec["name"] == "zstd" else codec for codec in inner]
    chunk = list(old.chunk_layout.read_chunk.shape)
    wrapped = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk, "codecs": inner,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]
    new = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": target}, "metadata": {
        "shape": list(old.shape), "data_type": "uint16", "fill_value": 0, "chunk_key_encoding": {"name": "default"},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shards or chunk)}},
        "codecs": wrapped if shards else inner}}, create=True).result()
    new.write(old).result()
print(time.perf_counter() - begin)
