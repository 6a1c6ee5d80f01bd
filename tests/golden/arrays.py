"""The arrays of the golden stores: a table of `zarr.json` documents by store and name, with the program that writes each."""

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
BYTES_BIG = {"name": "bytes", "configuration": {"endian": "big"}}
PLAIN = {"name": "bytes"}
CRC32C = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
ZSTD_CHECKED = {"name": "zstd", "configuration": {"level": 3, "checksum": True}}


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def transpose(*order):
    return codec("transpose", order=list(order))


def blosc(cname, shuffle, typesize=4):
    return codec("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=typesize, blocksize=0)


def sharding(chunk, codecs=(BYTES, ZSTD), index=(BYTES, CRC32C), location="end"):
    configuration = {"chunk_shape": list(chunk), "codecs": list(codecs), "index_codecs": list(index)}
    if location:
        configuration["index_location"] = location
    return codec("sharding_indexed", **configuration)


def array(shape, shard, codecs, data_type="int16", fill=0, writer="zarr", values="all", **more):
    """One row. `values`: "all", or "some" where whole shards and single inner chunks are left missing."""
    document = {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard)}},
        "chunk_key_encoding": more.pop("keys", {"name": "default", "configuration": {"separator": "/"}}),
        "fill_value": fill, "codecs": list(codecs), "attributes": more.pop("attributes", {}), "storage_transformers": [],
    }
    document.update(more)
    return {"document": document, "writer": writer, "values": values}


def sharding_forms():
    shape, shard, chunk = (20, 30), (8, 15), (4, 5)
    plain = lambda **options: array(shape, shard, [sharding(chunk, **options)])
    return {
        "index_end": plain(),
        "index_start": plain(location="start"),
        "index_location_absent": plain(location=None),
        "index_big_endian": plain(index=(BYTES_BIG, CRC32C)),
        "index_without_checksum": plain(index=(BYTES,)),
        "index_start_without_checksum": plain(index=(BYTES_BIG,), location="start"),
        "chunks_big_endian": plain(codecs=(BYTES_BIG, GZIP)),
        "chunks_raw": plain(codecs=(BYTES,)),
        "chunks_checksummed": plain(codecs=(BYTES, ZSTD, CRC32C)),
        "chunks_transposed": plain(codecs=(transpose(1, 0), BYTES, ZSTD)),
        "transpose_before": array(shape, (8, 15), [transpose(1, 0), sharding((5, 4))], writer="tensorstore"),
        "transpose_before_square": array(shape, (20, 20), [transpose(1, 0), sharding((5, 4))], values="some"),
        "transpose_before_3d": array((6, 8, 9), (4, 4, 6), [transpose(2, 0, 1), sharding((3, 2, 2), (BYTES, GZIP))], writer="tensorstore"),
        "transpose_both": array((6, 8, 9), (4, 4, 6), [transpose(2, 0, 1), sharding((3, 2, 2), (transpose(1, 2, 0), BYTES, GZIP))], writer="tensorstore"),
        "codec_after": array(shape, shard, [sharding(chunk, (BYTES,)), GZIP]),
        "checksum_after": array(shape, shard, [sharding(chunk), CRC32C]),
        "nested": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5)),))]),
        "nested_index_start": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5), location="start"),), location="start")]),
        "nested_checksummed": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5)), CRC32C))]),
        "nested_compressed": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5), (BYTES,)), ZSTD))]),
        "nested_transposed": array((24, 40), (12, 20), [sharding((6, 10), (transpose(1, 0), sharding((5, 3))))]),
        "nested_three": array((16, 16), (8, 8), [sharding((4, 4), (sharding((2, 4), (sharding((1, 2), (BYTES, ZSTD)),)),))]),
        "missing": array(shape, shard, [sharding(chunk)], values="some", fill=-7),
        "missing_nested": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5)),))], values="some", fill=3),
        "empty": array(shape, shard, [sharding(chunk)], values="none", fill=42),
        "one_chunk_per_shard": array(shape, shard, [sharding(shard)]),
        "shard_beyond_array": array((5, 7), (16, 16), [sharding((4, 4))]),
        "vector": array((37,), (16,), [sharding((4,))]),
        "four_axes": array((3, 4, 5, 6), (2, 4, 4, 4), [sharding((1, 2, 2, 2))]),
        "scalar": array((), (), [BYTES], fill=5),
        "zero_length": array((0, 5), (4, 4), [sharding((2, 2))]),
        "tensorstore": array(shape, shard, [sharding(chunk)], writer="tensorstore"),
        "tensorstore_index_start": array(shape, shard, [sharding(chunk, location="start")], writer="tensorstore", values="some"),
        "tensorstore_nested": array((24, 40), (12, 20), [sharding((6, 10), (sharding((3, 5)),))], writer="tensorstore"),
        "zarrs": array(shape, shard, [sharding(chunk)], writer="zarrs"),
        "zarrs_index_start": array(shape, shard, [sharding(chunk, location="start")], writer="zarrs", values="some"),
        "dotted_keys": array(shape, shard, [sharding(chunk)], keys=codec("default", separator=".")),
        "v2_keys": array(shape, shard, [sharding(chunk)], keys=codec("v2", separator=".")),
        "v2_keys_slash": array(shape, shard, [sharding(chunk)], keys=codec("v2", separator="/")),
        "unsharded": array(shape, chunk, [BYTES, ZSTD]),
        "unsharded_transposed": array(shape, chunk, [transpose(1, 0), BYTES_BIG, GZIP]),
        "unsharded_missing": array(shape, chunk, [BYTES, ZSTD], values="some", fill=9),
        "unsharded_dotted": array(shape, chunk, [BYTES], keys=codec("default", separator=".")),
        "named_axes": array(shape, shard, [sharding(chunk)], dimension_names=["y", "x"], attributes={"units": "K", "n": [1, 2.5, None]}),
        "unnamed_axis": array(shape, shard, [sharding(chunk)], dimension_names=["y", None]),
    }


def codec_chains():
    chains = {
        "raw": [BYTES], "gzip": [BYTES, GZIP], "zstd": [BYTES, ZSTD], "zstd_checked": [BYTES, ZSTD_CHECKED],
        "crc32c": [BYTES, CRC32C], "gzip_crc32c": [BYTES, GZIP, CRC32C], "crc32c_gzip": [BYTES, CRC32C, GZIP],
        "crc32c_twice": [BYTES, CRC32C, CRC32C], "two_compressors": [BYTES, GZIP, ZSTD],
        "blosc_lz4": [BYTES, blosc("lz4", "shuffle")], "blosc_lz4hc": [BYTES, blosc("lz4hc", "noshuffle")],
        "blosc_zstd": [BYTES, blosc("zstd", "bitshuffle")], "blosc_zlib": [BYTES, blosc("zlib", "shuffle")],
        "blosc_blosclz": [BYTES, blosc("blosclz", "shuffle")], "blosc_crc32c": [BYTES, blosc("lz4", "bitshuffle"), CRC32C],
        "big_blosc": [BYTES_BIG, blosc("lz4", "shuffle")], "transposed_blosc": [transpose(1, 0), BYTES, blosc("zstd", "shuffle")],
        "bz2": [BYTES, codec("numcodecs.bz2", level=5)], "lz4": [BYTES, codec("numcodecs.lz4", acceleration=1)],
        "lzma": [BYTES, codec("numcodecs.lzma", format=1, check=-1, preset=None, filters=None)],
        "zlib": [BYTES, codec("numcodecs.zlib", level=5)], "shuffle": [BYTES, codec("numcodecs.shuffle", elementsize=4), ZSTD],
        "crc32": [BYTES, codec("numcodecs.crc32")], "adler32": [BYTES, codec("numcodecs.adler32")],
        "fletcher32": [BYTES, codec("numcodecs.fletcher32")],
        "jenkins": [BYTES, codec("numcodecs.jenkins_lookup3", initval=0, prefix=None)],
        "delta": [codec("numcodecs.delta", dtype="<i4", astype="<i4"), BYTES, ZSTD],
        "transposed_delta": [transpose(1, 0), codec("numcodecs.delta", dtype="<i4", astype="<i4"), BYTES, GZIP],
    }
    rows = {name: array((20, 30), (8, 15), [sharding((4, 5), chain)], "int32", fill=-1, values="some") for name, chain in chains.items()}
    floats = {
        "fixedscaleoffset": [codec("numcodecs.fixedscaleoffset", offset=-50, scale=4, dtype="<f4", astype="<i4"), BYTES, ZSTD],
        "quantize": [codec("numcodecs.quantize", digits=2, dtype="<f4", astype="<f4"), BYTES, ZSTD],
        "bitround": [codec("numcodecs.bitround", keepbits=10), BYTES, ZSTD],
        "astype": [codec("numcodecs.astype", encode_dtype="<f8", decode_dtype="<f4"), BYTES, ZSTD],
    }
    rows.update({name: array((20, 30), (8, 15), [sharding((4, 5), chain)], "float32") for name, chain in floats.items()})
    rows["packbits"] = array((20, 30), (8, 15), [sharding((4, 5), [codec("numcodecs.packbits"), PLAIN])], "bool", fill=False)
    rows["tensorstore_zstd"] = array((20, 30), (8, 15), [sharding((4, 5), [BYTES, codec("zstd", level=3)])], "int32", writer="tensorstore")
    rows["tensorstore_blosc"] = array((20, 30), (8, 15), [sharding((4, 5), [BYTES, blosc("zstd", "bitshuffle")])], "int32", writer="tensorstore")
    return rows


def data_types():
    rows = {}

    def add(name, data_type, fill, codecs=None, **more):
        rows[name] = array((7, 9), (4, 6), [sharding((2, 3), codecs or (BYTES, ZSTD))], data_type, fill, values="some", **more)

    for name in ("int8", "uint8"):
        add(name, name, 7, (PLAIN, ZSTD))
    for kind in ("int", "uint"):
        for bits in (16, 32, 64):
            add(f"{kind}{bits}", f"{kind}{bits}", 7)
            add(f"{kind}{bits}_big", f"{kind}{bits}", 7, (BYTES_BIG, ZSTD))
    add("bool", "bool", True, (PLAIN, ZSTD))
    add("uint64_large_fill", "uint64", 2**64 - 1)
    for bits, pattern in ((16, "0x7e00"), (32, "0x7fc00000"), (64, "0x7ff8000000000000")):
        add(f"float{bits}", f"float{bits}", 1.5)
        add(f"float{bits}_big", f"float{bits}", 1.5, (BYTES_BIG, ZSTD))
        add(f"float{bits}_nan", f"float{bits}", "NaN")
        add(f"float{bits}_hexadecimal", f"float{bits}", pattern)
    add("float32_infinite", "float32", "-Infinity")
    add("complex64", "complex64", [1.5, "NaN"])
    add("complex128", "complex128", [0.0, -2.0])
    add("complex128_big", "complex128", [0.0, -2.0], (BYTES_BIG, ZSTD))
    for unit, scale in (("s", 1), ("us", 10), ("ns", 1), ("D", 1)):
        add(f"datetime_{unit}", codec("numpy.datetime64", unit=unit, scale_factor=scale), -9223372036854775808)
    add("timedelta_ms", codec("numpy.timedelta64", unit="ms", scale_factor=1), 0)
    # zarr-python 3.1.6 cannot shard these two.
    for name, data_type, fill, codecs in (
        ("raw_bytes", codec("raw_bytes", length_bytes=3), "AQID", (PLAIN, ZSTD)),
        ("struct", codec("structured", fields=[["a", "int32"], ["b", "float64"]]), "AAAAAAAAAAAAAPg/", (BYTES, ZSTD)),
    ):
        rows[name] = array((7, 9), (2, 3), codecs, data_type, fill, values="some")
    add("fixed_bytes", codec("null_terminated_bytes", length_bytes=4), "YWI=", (PLAIN, ZSTD))
    add("fixed_text", codec("fixed_length_utf32", length_bytes=16), "none")
    add("fixed_text_big", codec("fixed_length_utf32", length_bytes=16), "none", (BYTES_BIG, ZSTD))
    add("string", "string", "", (codec("vlen-utf8"), ZSTD))
    add("string_fill", "string", "n/a", (codec("vlen-utf8"), ZSTD))
    add("bytes", "variable_length_bytes", "", (codec("vlen-bytes"), ZSTD))
    add("bfloat16", "bfloat16", 1.5, writer="tensorstore")
    for name in ("float8_e4m3fn", "float8_e5m2"):
        add(name, name, 1.5, (PLAIN, ZSTD), writer="tensorstore")
    add("int4", "int4", -3, (PLAIN, ZSTD), writer="tensorstore")
    return rows


STORES = {"sharding.zarr": sharding_forms, "codecs.zarr": codec_chains, "types.zarr": data_types}
