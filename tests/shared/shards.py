"""A store for writers in tests, and its shards as they lie in the directory, read and written without zarrfs.

Arrays of one dimension: "a", shards of CHUNKS chunks, each compressed by gzip; "u", without sharding. A chunk holds one number, CELLS times: who wrote it, its sequence, and where it belongs.
With ZARRFS_CHUNK_KIB in the environment a chunk has that size, also in its shard: gzip stores its cells as they are.
Groups "g0", "g1", ...: their attributes hold such a number.
"""
import json
import os
import pathlib
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "mounted"))
from stores import MISSING, crc32c, document, shard_bytes, write_file, write_json  # noqa: E402

SHARDS, CHUNKS, PLAIN, GROUPS = 4, 16, 8, 8
KIB = os.environ.get("ZARRFS_CHUNK_KIB")
CELLS, LEVEL = (128 * int(KIB), 0) if KIB else (64, 1)
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": LEVEL}}]
# Every place that can be written: (array, number of the chunk), ("g", number of the group).
ALL = [("a", number) for number in range(SHARDS * CHUNKS)] + [("u", number) for number in range(PLAIN)] + [("g", number) for number in range(GROUPS)]


def make_store(path):
    write_json(f"{path}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(f"{path}/a/zarr.json", document((SHARDS * CHUNKS * CELLS,), (CHUNKS * CELLS,), (CELLS,), "uint64", codecs=CODECS))
    plain = document((PLAIN * CELLS,), (CELLS,), (CELLS,), "uint64")
    write_json(f"{path}/u/zarr.json", {**plain, "codecs": CODECS[:1]})
    for number in range(GROUPS):
        write_json(f"{path}/g{number}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})


def value_of(worker, sequence, place):
    """What a chunk holds."""
    return worker << 32 | sequence << 8 | ALL.index(place)  # less than 2^53, as JSON wants it


def worker_of(value):
    return value >> 32


def sequence_of(value):
    return value >> 8 & 0xFFFFFF


def bytes_of(value, place):
    """What a program writes that wants a place to hold this number."""
    if place[0] == "g":
        return json.dumps({"n": value}).encode()
    cells = struct.pack("<Q", value) * CELLS
    if place[0] == "u":
        return cells
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
    return packer.compress(cells) + packer.flush()


def number_in(data, place):
    """What a place holds; 0: it was never written. ValueError: not one number, or one of another chunk."""
    if place[0] == "g":
        return checked(json.loads(data).get("n", 0), place)
    try:
        cells = zlib.decompress(data, 31) if place[0] == "a" else data
    except zlib.error as error:
        raise ValueError(f"chunk {place} does not decode: {error}") from error
    if len(cells) != 8 * CELLS:
        raise ValueError(f"chunk {place} has {len(cells)} bytes")
    found = set(struct.unpack(f"<{CELLS}Q", cells))
    if len(found) != 1:
        raise ValueError(f"chunk {place} is torn: {sorted(found)}")
    return checked(found.pop(), place)


def checked(value, place):
    if value and ALL[(value & 0xFF) % len(ALL)] != place:
        raise ValueError(f"chunk {place} holds what was written to {ALL[(value & 0xFF) % len(ALL)]}")
    return value


def files():
    """(array, number of the file) of every shard, every chunk of the array without shards, and every group."""
    return [("a", number) for number in range(SHARDS)] + [one for one in ALL if one[0] != "a"]


def read_file(store, file):
    """{(array, chunk): number} of a shard. ValueError: it is not a whole shard. FileNotFoundError: there is none."""
    array, number = file
    if array == "g":
        document = json.loads(pathlib.Path(f"{store}/g{number}/zarr.json").read_bytes())
        value = number_in(json.dumps(document.get("attributes", {})), file)
        return {file: value} if value else {}
    data = pathlib.Path(f"{store}/{array}/c/{number}").read_bytes()
    if array == "u":
        return {file: number_in(data, file)}
    size = 16 * CHUNKS + 4
    index, end = data[-size:], len(data) - size
    if end < 0 or crc32c(index[:-4]) != struct.unpack("<I", index[-4:])[0]:
        raise ValueError(f"shard {number} of {len(data)} bytes does not end with an index")
    found = {}
    for chunk in range(CHUNKS):
        offset, length = struct.unpack_from("<QQ", index, 16 * chunk)
        if (offset, length) == (MISSING, MISSING):
            continue
        place = (array, number * CHUNKS + chunk)
        if offset + length > end:
            raise ValueError(f"chunk {place} lies behind its shard's end")
        found[place] = number_in(data[offset:offset + length], place)
    return found


def write_shard(store, file, values):
    """Puts a shard in place, as a program does that knows of no mount. `values`: as read_file gives them."""
    array, number = file
    if array == "g":
        write_json(f"{store}/g{number}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {"n": values[file]} if values else {}})
        return
    if array == "u":
        write_file(f"{store}/{array}/c/{number}", bytes_of(values[file], file))
        return
    packed = [bytes_of(values[place], place) if place in values else None for place in places_of(file)]
    write_file(f"{store}/{array}/c/{number}", shard_bytes(packed))


def own_files(store):
    """What zarrfs has left there."""
    return sorted(os.path.join(folder, name) for folder, folders, names in os.walk(store) for name in folders + names if name.startswith(".zarrfs"))


def places_of(file):
    """The places that a file of the store has."""
    array, number = file
    return [(array, number * CHUNKS + chunk) for chunk in range(CHUNKS)] if array == "a" else [file]
