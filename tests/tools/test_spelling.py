"""How conversions spell attributes that JSON has no words for."""
import json

import pytest
from conftest import run

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
SHARDING = {"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "codecs": [BYTES], "index_codecs": [BYTES], "index_location": "end"}}
BARE = {"valid_max": float("nan"), "flags": [1.5, float("inf"), "NaN"], "text": "Infinity"}
NOTED = {"valid_max": "NaN", "_zarrfs": {"bare": ["/valid_max"]}}  # as zarrfs stores what a program of Zarr v2 wrote


def write(path, **document):
    path.mkdir(parents=True)
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, **document}))


@pytest.mark.parametrize("command", ["shard", "reshard", "unshard"])
def test_bare_numbers_stay_as_the_store_has_them(tmp_path, command):
    source, made = tmp_path / "source", tmp_path / "made"
    array = {"node_type": "array", "shape": [8], "data_type": "int16", "fill_value": 0, "chunk_key_encoding": {"name": "default"},
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2 if command == "shard" else 4]}}, "codecs": [BYTES if command == "shard" else SHARDING]}
    write(source, node_type="group", attributes=BARE)
    write(source / "bare", attributes=BARE, **array)
    write(source / "noted", attributes=NOTED, **array)
    run(command, source, made, *([] if command == "unshard" else ["--shard-chunks", "4" if command == "reshard" else "2"]))

    def stored(path):
        return json.loads((made / path / "zarr.json").read_text(), parse_constant=lambda name: {"bare": name})["attributes"]

    assert stored("") == stored("bare") == {"valid_max": {"bare": "NaN"}, "flags": [1.5, {"bare": "Infinity"}, "NaN"], "text": "Infinity"}
    assert stored("noted") == ({"valid_max": {"bare": "NaN"}} if command == "unshard" else NOTED)
