"""info, ls, cat, locate, map, refs: what is in a store."""
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import CORPUS, GOLDEN, ZARRFS, Shard, add_array, arrays_of, need, python_of, run, run_json
from PIL import Image

ENTRIES = 2 * 3  # chunks of a shard of the fixture `store`


def test_info_counts_shards_chunks_and_bytes(store):
    facts = arrays_of(store)["a"]
    files = [os.path.join(folder, name) for folder, _, names in os.walk(store / "a" / "c") for name in names]
    assert facts["shape"] == [20, 30] and facts["shard_shape"] == [8, 15] and facts["chunk_shape"] == [4, 5]
    assert facts["objects"] == facts["objects_possible"] == len(files) == 6
    assert facts["chunks"] == facts["chunks_possible"] == 5 * 6
    assert facts["stored_bytes"] == sum(map(os.path.getsize, files))
    assert facts["dead_bytes"] == 0 and facts["index_bytes"] == 6 * (16 * ENTRIES + 4)
    text = run("info", store).stdout_text
    assert "shards   8x15 of chunks 4x5" in text and "/a  int16 20x30" in text


def test_info_finds_dead_space(store):
    shard = Shard(store / "a" / "c" / "0" / "0", ENTRIES)
    shard.write(body=bytes(shard.body) + b"x" * 1000)
    assert arrays_of(store)["a"]["dead_bytes"] == 1000


def test_ls_names_every_chunk(store):
    names = run("ls", store, "a").stdout_text.split()
    assert sorted(names) == sorted(f"{y}.{x}" for y in range(5) for x in range(6))
    assert run("ls", store / "a").stdout_text.split() == names


def test_cat_gives_the_bytes_that_locate_points_at(store):
    for chunk in ("a/0.0", "a/1.4", "a/4.5"):
        place = run_json("locate", store, chunk)
        with open(store / place["shard"], "rb") as file:
            file.seek(place["offset"])
            assert run("cat", store, chunk).stdout == file.read(place["length"])


@pytest.mark.parametrize("chunk", ["a/1/4", "a/c/1/4", "a/c.1.4", "/a/1.4"])
def test_a_chunk_is_named_as_a_mount_or_the_store_names_it(store, chunk):
    assert run("locate", store, chunk).stdout == run("locate", store, "a/1.4").stdout
    assert run("cat", store / "a", chunk.strip("/")[2:]).stdout == run("cat", store, "a/1.4").stdout


def test_cat_decodes(store):
    python = python_of("zarr3")
    whole = subprocess.run([python, "-c", f"import zarr,sys; sys.stdout.buffer.write(zarr.open_array({str(store / 'a')!r}, mode='r')[...].astype('<i2').tobytes())"], capture_output=True, check=True).stdout
    values = np.frombuffer(whole, "<i2").reshape(20, 30)
    got = np.frombuffer(run("cat", store, "a/1.2", "--decoded").stdout, "<i2").reshape(4, 5)
    assert (got == values[4:8, 10:15]).all()


def test_a_chunk_that_cannot_be_is_refused(store):
    assert "axis 1 has 6" in run("cat", store, "a/0.6", status=2).stderr_text
    assert "not a chunk" in run("locate", store, "a/x", status=2).stderr_text
    assert "is not an array" in run("locate", store, "0.0", status=2).stderr_text


def test_map_draws_missing_and_damaged_chunks(store, tmp_path):
    os.remove(store / "a" / "c" / "0" / "0")
    with open(store / "a" / "c" / "2" / "1", "r+b") as file:
        file.truncate(10)
    picture = tmp_path / "map.png"
    run("map", store, "a", "-o", picture, "--square", "1", status=1)
    image = Image.open(picture)
    assert image.size == (6, 5)
    pixels = {(x, y): image.getpixel((x, y)) for x in range(6) for y in range(5)}
    assert pixels[0, 0] == pixels[2, 1] == (48, 48, 48)
    assert pixels[3, 4] == pixels[5, 4] == (230, 30, 30)
    assert pixels[0, 4] == pixels[3, 0] not in (pixels[0, 0], pixels[3, 4])
    assert "\u2580" in run("map", store, "a", "--colours", "24bit", status=1).stdout_text
    drawn = run("map", store, "a", status=1).stdout
    assert b"X" in drawn and b"\x1b" not in drawn  # no colours into a pipe


@pytest.mark.parametrize("environment,view", [("zarr2", "v2"), ("zarr3", "v2"), ("zarr3", "v3")])
def test_references_open_without_a_mount(tmp_path, environment, view):
    python = python_of(environment)
    need(subprocess.run([python, "-c", "import fsspec"], capture_output=True).returncode == 0, f"{environment} lacks fsspec")
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(os.path.join(GOLDEN, "sharding.zarr", "zarr.json"), source)
    names = ["index_end", "index_start", "nested", "missing", "chunks_checksummed", "chunks_big_endian", "vector"]
    for name in names:
        shutil.copytree(os.path.join(GOLDEN, "sharding.zarr", name), source / name)
    references = tmp_path / "refs.json"
    run("refs", source, "--view", view, "-o", references)
    program = f"""
import fsspec, hashlib, json, numpy as np, zarr
try:
    fs = fsspec.filesystem("reference", fo={str(references)!r}, remote_protocol="file", asynchronous=True)
    from zarr.storage import FsspecStore
    store = FsspecStore(fs, read_only=True, path="")
except ImportError:
    store = fsspec.get_mapper("reference://", fo={str(references)!r}, remote_protocol="file")
group = zarr.open_group(store, mode="r")
values = {{name: np.ascontiguousarray(group[name][...]) for name in {names!r}}}
print(json.dumps({{name: hashlib.sha256(v.astype(v.dtype.newbyteorder("<")).tobytes()).hexdigest() for name, v in values.items()}}))
"""
    done = subprocess.run([python, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with open(os.path.join(os.path.dirname(GOLDEN), "expected.json")) as file:
        expected = json.load(file)
    assert json.loads(done.stdout) == {name: expected[f"sharding.zarr/{name}"]["sha256"] for name in names}


def test_there_are_no_references_to_nothing(store, tmp_path):
    (tmp_path / "empty").mkdir()
    for nothing in (tmp_path / "empty", store / "a" / "c"):
        for command in (["refs"], ["info"], ["verify"], ["shard"], ["unshard"]):
            target = [tmp_path / "new"] if command[0].endswith("shard") else []
            done = run(*command, nothing, *target, status=2)
            assert f"{nothing}: no Zarr group or array at /" in done.stderr_text and not done.stdout
    assert not (tmp_path / "new").exists()


def test_references_go_where_they_are_sent(store, tmp_path):
    wanted = run("refs", store, "--base", "s3://bucket/store").stdout
    assert run("refs", f"{store}/", "--base", "s3://bucket/store/").stdout == wanted
    assert run("refs", store, "--base", "s3://bucket/store", "-o", "/dev/stdout").stdout == wanted
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to("target")
    run("refs", store, "--base", "s3://bucket/store", "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == wanted
    assert "no/such" in run("refs", store, "-o", tmp_path / "no" / "such" / "file", status=3).stderr_text
    assert sorted(os.listdir(tmp_path)) == ["link", "store", "target"]


def test_messages_do_not_go_into_a_file_where_their_stream_is_closed(store, tmp_path):
    add_array(store / "odd", data_type="odd")
    for closed in ((2,), (1, 2), (0, 1, 2)):
        done = subprocess.run([ZARRFS, "refs", store, "-o", tmp_path / "refs.json"], preexec_fn=lambda fds=closed: [os.close(fd) for fd in fds])
        assert done.returncode == 1 and "a/0.0" in json.loads((tmp_path / "refs.json").read_bytes())["refs"], closed


def test_a_chunk_shorter_than_its_checksum_has_no_reference(tmp_path):
    add_array(tmp_path / "a", codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
    os.truncate(tmp_path / "a" / "c" / "0", 3)
    assert "a/c/0: it is too short" in run("refs", tmp_path, "-o", tmp_path / "refs.json", status=1).stderr_text


def test_unknown_options_are_usage(store):
    run("info", store, "--nonsense", status=2)
    run("info", status=2)
    assert "no Zarr group or array" in run("info", store, "nowhere", status=2).stderr_text
    assert "profile" in run("info", store, "--profile", "nobody", status=2).stderr_text


def test_info_of_the_corpus():
    brain = os.path.join(CORPUS, "brain.ome.zarr")
    need(os.path.isdir(brain), "the corpus is not there")
    facts = arrays_of(brain)
    assert facts["0"]["chunk_shape"] == [1, 8, 32, 32] and facts["0"]["dead_bytes"] == 0
    run("verify", brain, "--decode")


def test_references_leave_out_what_json_cannot_name(store, tmp_path):
    odd = store / os.fsdecode(b"in\xffner")
    add_array(odd)
    done = run("refs", store, status=1)
    assert "/in\\xffner is left out: its name is not UTF-8" in done.stderr_text
    assert not any("ner" in key for key in json.loads(done.stdout)["refs"]) and ".zgroup" in json.loads(done.stdout)["refs"]
    assert "is not UTF-8" in run("refs", odd, status=2).stderr_text
    assert json.loads(run("refs", odd, "--base", "s3://bucket/array").stdout)["refs"]["0"] == ["s3://bucket/array/c/0", 0, 6]
