"""make_segmentation.py FOLDER: a sharded segmentation as Neuroglancer precomputed (compressed_segmentation), by TensorStore: a cell in each cube."""
import sys

import numpy as np
import tensorstore

SIZE = (96, 80, 48)
SHARDING = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "minishard_bits": 1, "shard_bits": 2, "hash": "murmurhash3_x86_128",
            "data_encoding": "gzip", "minishard_index_encoding": "gzip"}
scale = {"key": "a", "size": SIZE, "resolution": [8, 8, 8], "encoding": "compressed_segmentation", "compressed_segmentation_block_size": [8, 8, 8],
         "chunk_size": [32, 32, 16], "sharding": SHARDING}
volume = tensorstore.open({
    "driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": sys.argv[1] + "/"}, "create": True, "scale_metadata": scale,
    "multiscale_metadata": {"type": "segmentation", "data_type": "uint64", "num_channels": 1}}).result()
places = np.indices(SIZE)
centres = np.random.default_rng(17).uniform((0, 0, 0), SIZE, (60, 3))
distances = np.stack([sum((places[axis] - centre[axis]) ** 2 for axis in range(3)) for centre in centres])
labels = distances.argmin(axis=0) + 1
labels[distances.min(axis=0) > 350] = 0
volume[...] = labels.astype("uint64")[..., None]
