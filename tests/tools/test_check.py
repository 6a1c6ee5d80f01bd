"""verify, diff, compact: damage is found, differences are found, dead space goes."""
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import GOLDEN, ZARRFS, Shard, add_array, arrays_of, run, run_json

ENTRIES = 2 * 3
SHARD = ("a", "c", "1", "0")


@pytest.mark.parametrize("name", ["sharding.zarr", "types.zarr", "codecs.zarr"])
def test_whole_stores_have_no_damage(name):
    found = run_json("verify", os.path.join(GOLDEN, name), "--decode")
    assert found["damage"] == [] and found["complete"] and found["chunks"] > 0


def shard_of(store):
    return Shard(store.joinpath(*SHARD), ENTRIES)


def checksum_wrong(store):
    shard_of(store).write(checksum=12345)


def too_short(store):
    with open(store.joinpath(*SHARD), "r+b") as file:
        file.truncate(20)


def empty_file(store):
    with open(store.joinpath(*SHARD), "r+b") as file:
        file.truncate(0)


def past_the_end(store):
    shard = shard_of(store)
    shard.index[3] = (10**9, 10)
    shard.write()


def wraps_around(store):
    shard = shard_of(store)
    shard.index[3] = (2**64 - 5, 10)
    shard.write()


def half_missing(store):
    shard = shard_of(store)
    shard.index[3] = (2**64 - 1, 10)
    shard.write()


def overlap(store):
    shard = shard_of(store)
    shard.index[1][0] = shard.index[0][0] + 1
    shard.write()


def a_directory(store):
    os.remove(store.joinpath(*SHARD))
    os.mkdir(store.joinpath(*SHARD))


def a_link_to_nowhere(store):
    os.remove(store.joinpath(*SHARD))
    os.symlink("nowhere", store.joinpath(*SHARD))


def within_the_index(store):
    shard = shard_of(store)
    shard.index[3] = (len(shard.body) + 4, 10)
    shard.write()


@pytest.mark.parametrize("plant,whole", [(checksum_wrong, True), (too_short, True), (empty_file, True), (a_directory, True), (a_link_to_nowhere, True),
                                         (past_the_end, False),
                                         (wraps_around, False), (half_missing, False), (overlap, False), (within_the_index, False)])
def test_damage_is_found_from_indexes(store, plant, whole):
    plant(store)
    found = run_json("verify", store, status=1)["damage"]
    assert found and all(one["shard"] == "/".join(SHARD) and one["array"] == "a" for one in found), found
    assert all(("chunk" in one) != whole for one in found)
    assert "/".join(SHARD) in run("verify", store, status=1).stdout_text


@pytest.mark.parametrize("plant", [checksum_wrong, a_directory])
def test_a_damaged_shard_is_not_converted_and_has_no_references(store, tmp_path, plant):
    plant(store)
    assert "/".join(SHARD) in run("unshard", store, tmp_path / "plain", status=1).stderr_text
    assert "/".join(SHARD) in run("refs", store, "-o", tmp_path / "refs.json", status=1).stderr_text
    assert not (tmp_path / "refs.json").exists()


def test_output_that_cannot_be_written_is_an_error(store):
    for command in ("info", "verify", "ls"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ZARRFS, command, store, *(["a"] if command == "ls" else [])], stdout=full, stderr=subprocess.PIPE, text=True)
        assert (done.returncode, done.stderr) == (3, "zarrfs: standard output cannot be written\n"), command


def test_damage_within_a_chunk_is_found_by_decoding(store):
    shard = shard_of(store)
    offset, length = map(int, shard.index[2])
    shard.body[offset:offset + length] = b"\xff" * length
    shard.write()
    run("verify", store)
    found = run_json("verify", store, "--decode", status=1)["damage"]
    assert [(one["chunk"], one["offset"], one["length"]) for one in found] == [("2.2", offset, length)]


def test_a_damaged_document_is_damage(store):
    (store / "a" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"')
    assert len(run_json("verify", store, status=1)["damage"]) == 1


def test_what_is_not_understood_is_named(store):
    add_array(store / "odd", data_type="odd")
    (store / "broken").mkdir()
    (store / "broken" / "zarr.json").write_text("{")
    found = run_json("verify", store, status=1)
    assert [one["array"] for one in found["damage"]] == ["broken"]
    assert [one["array"] for one in found["not_understood"]] == ["odd"]
    shutil.rmtree(store / "broken")
    told = run("verify", store)
    assert "/odd is not understood, and not checked: " in told.stderr_text and "no damage, 1 not understood" in told.stdout_text
    for command in (["map", store, "odd"], ["ls", store, "odd"], ["cat", store, "odd/0"]):
        assert "odd/zarr.json: data type odd is not known" in run(*command, status=3).stderr_text
    assert "/odd is left as it is: " in run("compact", store, status=1).stderr_text
    found = run_json("diff", store, store, status=1)
    assert (found["arrays"], found["differences"]) == (1, 1) and found["listed"][0]["array"] == "odd"
    assert found["listed"][0]["what"].startswith("cannot be compared: ")


def test_diff_lists_the_first_differences_of_each_array(store, tmp_path):
    add_array(store / "z")
    add_array(store / "zz")
    shutil.copytree(store, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "a" / "c")
    shutil.rmtree(tmp_path / "copy" / "zz")
    document = (store / "z" / "zarr.json").read_text()
    (tmp_path / "copy" / "z" / "zarr.json").write_text(document.replace('"shape": [7]', '"shape": [8]'))
    listed = run_json("diff", store, tmp_path / "copy", "--limit", "2", status=1)["listed"]
    assert [one["array"] for one in listed] == ["a", "a", "z", "zz"]


def test_diff_of_equal_stores(store, tmp_path):
    shutil.copytree(store, tmp_path / "copy")
    assert run_json("diff", store, tmp_path / "copy")["differences"] == 0


def test_diff_names_the_first_element(store, tmp_path):
    shutil.copytree(store, tmp_path / "copy")
    run("unshard", tmp_path / "copy", tmp_path / "plain")
    other = os.path.join(GOLDEN, "sharding.zarr", "index_end")
    assert run_json("diff", other, tmp_path / "plain" / "a")["differences"] == 0
    os.remove(tmp_path / "plain" / "a" / "c" / "1" / "0")
    found = run_json("diff", store, tmp_path / "plain", status=1)
    assert found["differences"] > 0 and found["listed"][0]["element"] in ("4.0", "4.1")
    shutil.rmtree(tmp_path / "plain" / "a")
    assert "only in" in run("diff", store, tmp_path / "plain", status=1).stdout_text


def test_compact_takes_dead_space_out(store, tmp_path):
    shutil.copytree(store, tmp_path / "before")
    for place in (("0", "0"), ("2", "1")):
        shard = Shard(store.joinpath("a", "c", *place), ENTRIES)
        shard.index[:, 0] += np.where(shard.index[:, 0] == 2**64 - 1, 0, 500).astype("u8")
        shard.write(body=b"y" * 500 + bytes(shard.body) + b"x" * 300)
    assert arrays_of(store)["a"]["dead_bytes"] == 1600
    assert "2 shards, 1.6 KiB could be freed" in run("compact", store, "--dry-run").stdout_text
    assert arrays_of(store)["a"]["dead_bytes"] == 1600
    run("compact", store)
    assert arrays_of(store)["a"]["dead_bytes"] == 0
    assert "0 shards" in run("compact", store).stdout_text
    run("verify", store, "--decode")
    run("diff", store, tmp_path / "before")
    assert not [name for _, _, names in os.walk(store) for name in names if "zarrfs" in name]


def test_a_dry_run_tells_what_compact_frees(store):
    shared, sparse = (Shard(store.joinpath("a", "c", *place), ENTRIES) for place in (("0", "0"), ("2", "1")))
    shared.index[1] = shared.index[0]  # what chunk 1 had is dead, and compact gives it a copy of its own
    shared.write(body=bytes(shared.body) + b"x" * 10)
    sparse.write(body=bytes(sparse.body) + b"x" * 300)

    def size():
        return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(store) for name in names)

    for arguments in (["--min-dead", "50"], []):
        before = size()
        told = run("compact", store, "--dry-run", *arguments).stdout_text
        done = run("compact", store, *arguments).stdout_text
        assert done == told.replace("could be freed", "freed") and f", {before - size()} B freed" in done
        run("verify", store, "--decode")


@pytest.mark.parametrize("plant", [a_directory, a_link_to_nowhere])
def test_compact_names_what_is_no_shard(store, plant):
    plant(store)
    assert "/".join(SHARD) in run("compact", store, status=1).stderr_text


def test_compact_leaves_damaged_shards_alone(store):
    past_the_end(store)
    before = store.joinpath(*SHARD).read_bytes()
    assert "/".join(SHARD) in run("compact", store, status=1).stderr_text
    assert store.joinpath(*SHARD).read_bytes() == before


def test_diff_of_an_array_of_10_to_the_12_without_chunks_takes_no_time(tmp_path):
    grid = {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}
    document = {"zarr_format": 3, "node_type": "array", "shape": [1000000, 1000000], "data_type": "uint8", "chunk_grid": grid, "fill_value": 7,
                "chunk_key_encoding": {"name": "default"}, "codecs": ["bytes"], "attributes": {}}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "zarr.json").write_text(json.dumps(document))
    assert run_json("diff", tmp_path / "one", tmp_path / "two")["differences"] == 0
    (tmp_path / "two/c/5").mkdir(parents=True)
    (tmp_path / "two/c/5/6").write_bytes(b"\x08")
    found = run_json("diff", tmp_path / "one", tmp_path / "two", status=1)
    assert found["differences"] == 1 and found["listed"][0]["element"] == "5.6"
