"""Writes the golden volumes of other formats beside this file, and volumes.json: what their own programs read of them.

    build/venvs/zarr3/bin/python tests/golden/make_volumes.py precomputed      TensorStore writes and reads
    build/venvs/formats/bin/python tests/golden/make_volumes.py cloud-volume wkw

Run it only to add volumes: they are committed, so that the tests do not depend on what today's writers do.
"""
import json
import os
import shutil
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "readers"))
from read_store import describe  # noqa: E402

VOLUMES = os.path.join(HERE, "volumes")
SHARDING = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "minishard_bits": 1, "shard_bits": 2, "hash": "identity",
            "data_encoding": "gzip", "minishard_index_encoding": "gzip"}
RAW_SHARDING = {**SHARDING, "hash": "murmurhash3_x86_128", "data_encoding": "raw", "minishard_index_encoding": "raw"}
BLOCKS = {"compressed_segmentation_block_size": [4, 4, 2]}
SIZE = [19, 12, 9]
PRECOMPUTED = {
    "sharded-gzip": ("uint32", 1, "raw", {"sharding": SHARDING, "voxel_offset": [-3, 5, 0]}),
    "sharded-murmur": ("uint16", 2, "raw", {"sharding": RAW_SHARDING}),
    "sharded-labels": ("uint64", 1, "compressed_segmentation", {"sharding": SHARDING, **BLOCKS}),
    "sharded-png": ("uint16", 1, "png", {"sharding": RAW_SHARDING}),
    "files": ("int16", 1, "raw", {"voxel_offset": [7, 0, -2]}),
    "files-labels": ("uint32", 2, "compressed_segmentation", BLOCKS),
    "files-jpeg": ("uint8", 3, "jpeg", {}),
}


def values_of(dtype, shape):
    places = np.indices(shape)
    return ((places[0] // 3 + places[1] // 2 * 5 + places[2] * 11 + places[3] * 40) % 251 + 1).astype(dtype)


def precomputed():
    import tensorstore

    for name, (dtype, channels, encoding, more) in PRECOMPUTED.items():
        path = os.path.join(VOLUMES, name)
        for key, shrink in (("fine", 1), ("coarse", 2)):
            scale = {"key": key, "size": [-(-size // shrink) for size in SIZE], "resolution": [4 * shrink, 4 * shrink, 40 * shrink],
                     "encoding": encoding, "chunk_size": [8, 8, 4], **more}
            volume = tensorstore.open({
                "driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": path + "/"}, "create": True, "scale_metadata": scale,
                "multiscale_metadata": {"type": "segmentation" if "labels" in name else "image", "data_type": dtype, "num_channels": channels}}).result()
            values = values_of(dtype, volume.shape)
            values[8:16, 8:, :4] = 0
            volume[...] = values
            yield f"{name}/{key}", np.asarray(volume.read().result())


def cloud_volume():
    import cloudvolume

    path = os.path.join(VOLUMES, "files-gz")
    info = cloudvolume.CloudVolume.create_new_info(num_channels=1, layer_type="image", data_type="uint16", encoding="raw", resolution=[4, 4, 40],
                                                   voxel_offset=[16, 0, 8], chunk_size=[8, 8, 4], volume_size=SIZE)
    info["scales"][0]["key"] = "fine"
    volume = cloudvolume.CloudVolume("file://" + path, info=info, compress="gzip", progress=False)
    volume.commit_info()
    volume[...] = values_of("uint16", [*SIZE, 1])
    yield "files-gz/fine", np.asarray(volume[...])


def wkw():
    from wkw import wkw

    path = os.path.join(VOLUMES, "wkw")
    layers = []
    for name, dtype, channels, kind in (("color", "uint8", 3, wkw.Header.BLOCK_TYPE_RAW), ("segmentation", "uint32", 1, wkw.Header.BLOCK_TYPE_LZ4)):
        size = [14, 8, 8]
        layers.append({"name": name, "category": name, "elementClass": dtype, "dataFormat": "wkw", "numChannels": channels,
                       "boundingBox": {"topLeft": [0, 0, 0], "width": size[0], "height": size[1], "depth": size[2]},
                       "wkwResolutions": [{"resolution": 1, "cubeLength": 8}, {"resolution": [2, 2, 1], "cubeLength": 8}]})
        for mag, shape in (("1", size), ("2-2-1", [7, 4, 8])):
            header = wkw.Header(np.dtype(dtype), channels, block_len=4, file_len=2, block_type=kind)
            with wkw.Dataset.create(os.path.join(path, name, mag), header) as dataset:
                for x in range(0, shape[0], 8):
                    dataset.write((x, 0, 0), np.asfortranarray(np.moveaxis(values_of(dtype, (8, 8, 8, channels)) + x, 3, 0).astype(dtype)))
                yield f"wkw/{name}/{mag}", np.moveaxis(dataset.read((0, 0, 0), shape).reshape(channels, *shape), 0, 3)
    properties = {"id": {"name": "golden", "team": ""}, "scale": {"factor": [11.24, 11.24, 25], "unit": "nanometer"}, "dataLayers": layers}
    with open(os.path.join(path, "datasource-properties.json"), "w") as text:
        json.dump(properties, text, indent=1)


def main():
    expected_path = os.path.join(HERE, "volumes.json")
    expected = {}
    if os.path.exists(expected_path):
        with open(expected_path) as text:
            expected = json.load(text)
    for writer in sys.argv[1:]:
        for name, values in {"precomputed": precomputed, "cloud-volume": cloud_volume, "wkw": wkw}[writer]():
            expected[name] = describe(np.ascontiguousarray(values.T))
    with open(expected_path, "w") as text:
        json.dump(expected, text, indent=1, sort_keys=True)
        text.write("\n")


if __name__ == "__main__":
    for old in sys.argv[1:]:
        for name in {"precomputed": list(PRECOMPUTED), "cloud-volume": ["files-gz"], "wkw": ["wkw"]}[old]:
            shutil.rmtree(os.path.join(VOLUMES, name), ignore_errors=True)
    main()
