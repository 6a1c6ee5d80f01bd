"""shard, reshard and unshard into one file: an archive as RFC 9 of OME-NGFF has it."""
import fcntl
import json
import os
import signal
import subprocess
import time
import zipfile
import zlib

import numpy as np
import pytest
from conftest import GOLDEN, ZARRFS, add_array, arrays_of, python_of, run

SHARDED = os.path.join(GOLDEN, "sharding.zarr")
OME = {"version": "0.5", "multiscales": [{"axes": [{"name": "x", "type": "space"}], "datasets": [
    {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0]}]}]}]}
COMMENT = b'{"ome":{"version":"0.5","zipFile":{"centralDirectory":{"jsonFirst":true}}}}'


def group(path, **attributes):
    path.mkdir(parents=True, exist_ok=True)
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}))
    return path


@pytest.fixture
def image(tmp_path):
    """An image of OME-Zarr 0.5 with one level of plain chunks, labels below it and a file beside it."""
    root = group(tmp_path / "image", ome=OME)
    add_array(root / "0", dimension_names=["x"])
    add_array(group(root / "labels" / "cells") / "0")
    group(root / "labels", ome={"version": "0.5", "labels": ["cells"]})
    (root / "OME").mkdir()
    (root / "OME" / "METADATA.ome.xml").write_text("<OME/>")
    return root


@pytest.fixture
def large(tmp_path):
    """An array of many chunks, with which every conversion is busy for a while."""
    root = tmp_path / "large"
    add_array(root, shape=[60000])
    for number in range(20000):
        (root / "c" / str(number)).write_bytes(np.full(3, number, "<i2").tobytes())
    return root


def entries_of(archive):
    """Names in the order of the directory, which is checked to be that of the entries; all bytes agree with their checksums."""
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        infos = opened.infolist()
        assert all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        assert [info.header_offset for info in infos] == sorted(info.header_offset for info in infos)
        return [info.filename for info in infos], opened.comment


def left_beside(archive):
    return sorted(name for name in os.listdir(archive.parent) if name.startswith(".zarrfs") or name == archive.name)


@pytest.mark.parametrize("name", ["image.ozx", "image.zip"])
def test_documents_lie_first_and_the_comment_says_so(image, tmp_path, name):
    made = tmp_path / name
    run("shard", image, made, "--shard-chunks", "2")
    names, comment = entries_of(made)
    documents = ["zarr.json", "0/zarr.json", "labels/zarr.json", "labels/cells/zarr.json", "labels/cells/0/zarr.json"]
    assert names[:len(documents)] == documents
    assert sorted(names[len(documents):]) == ["0/c/0", "OME/METADATA.ome.xml", "labels/cells/0/c/0"]
    assert comment == COMMENT
    assert left_beside(made) == [name]
    run("verify", made, "--decode")
    run("diff", image, made)
    assert arrays_of(made)["0"]["sharded"]
    assert zipfile.ZipFile(made).read("OME/METADATA.ome.xml") == b"<OME/>"


def test_what_is_no_image_has_no_comment(tmp_path):
    run("unshard", SHARDED, tmp_path / "plain.zip")
    names, comment = entries_of(tmp_path / "plain.zip")
    assert names[0] == "zarr.json" and comment == b""
    documents = [name.endswith("zarr.json") for name in names]
    assert documents == sorted(documents, reverse=True)
    depths = [name.count("/") for name, document in zip(names, documents) if document]
    assert depths == sorted(depths)


@pytest.mark.parametrize("source", ["sharding.zarr", "types.zarr", "codecs.zarr"])
def test_every_command_makes_archives_with_the_same_values(source, tmp_path):
    source = os.path.join(GOLDEN, source)
    plain, sharded, resharded, v2 = (tmp_path / name for name in ("plain.zip", "sharded.zip", "resharded.ozx", "v2.zip"))
    run("unshard", source, plain, "--check")
    run("shard", plain, sharded, "--shard-chunks", "2", "--check")
    run("reshard", sharded, resharded, "--shard-chunks", "3", "--check")
    for made in (plain, sharded, resharded):
        run("verify", made, "--decode")
        run("diff", source, made)
        entries_of(made)
    assert not any(facts["sharded"] for facts in arrays_of(plain).values())
    if source.endswith("sharding.zarr"):
        run("unshard", source, v2, "--format", "v2", "--check")
        run("verify", v2, "--decode")
        assert entries_of(v2)[1] == b""
        run("diff", source, v2)


def test_zarr_python_reads_them_by_its_own_store(tmp_path):
    python = python_of("zarr3")
    made = tmp_path / "made.zip"
    run("reshard", SHARDED, made, "--shard-chunks", "2", status=1)
    code = """
import sys, numpy, zarr
store = zarr.storage.ZipStore(sys.argv[1], mode="r")
for name in sys.argv[3:]:
    zipped, stored = zarr.open_array(store, path=name, mode="r"), zarr.open_array(sys.argv[2], path=name, mode="r")
    assert numpy.array_equal(zipped[...], stored[...]) and stored[...].any(), name
"""
    subprocess.run([python, "-c", code, made, SHARDED, "index_end", "index_start", "vector"], check=True, timeout=300)


def test_ngff_zarr_reads_an_image(image, tmp_path):
    python = python_of("images")
    made = tmp_path / "image.ozx"
    run("shard", image, made, "--shard-chunks", "2")
    code = """
import sys, numpy
from ngff_zarr import from_ngff_zarr
from ngff_zarr.rfc9_zip import read_ozx_json_first, read_ozx_version
assert read_ozx_version(sys.argv[1]) == "0.5" and read_ozx_json_first(sys.argv[1])
values = numpy.asarray(from_ngff_zarr(sys.argv[1]).images[0].data)
assert values.tolist() == [0, 1, 2, 0, 0, 0, 0], values
"""
    done = subprocess.run([python, "-c", code, made], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_stands_there_is_left_alone(image, tmp_path):
    made = tmp_path / "image.ozx"
    for make in (lambda: made.write_text("mine"), lambda: made.mkdir(), lambda: made.symlink_to("nowhere")):
        make()
        told = run("shard", image, made, status=3).stderr_text
        assert f"{made} is there already" in told
        told = run("shard", image, made, "--discard", status=3).stderr_text
        assert "is no unfinished conversion, and is left alone" in told
        assert left_beside(made) == ["image.ozx"]
        made.rmdir() if made.is_dir() and not made.is_symlink() else made.unlink()
    told = run("shard", image, tmp_path / "nowhere" / "image.ozx", status=3).stderr_text
    assert "No such file or directory" in told


@pytest.mark.parametrize("command", ["shard", "unshard"])
def test_a_killed_run_leaves_nothing_under_the_name(large, tmp_path, command):
    made = tmp_path / "made.zip"
    shape = ["--shard-chunks", "10"] if command == "shard" else []
    process = subprocess.Popen([ZARRFS, command, large, made, *shape], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not left_beside(made):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert left_beside(made) == [".zarrfs-new-made.zip"]
    with open(tmp_path / ".zarrfs-new-made.zip", "ab") as held:
        held.write(b"rest of an earlier run" * 1000)
        fcntl.flock(held, fcntl.LOCK_EX)
        for option in ([], ["--discard"]):
            told = run(command, large, made, *option, status=3).stderr_text
            assert "is being written by another process" in told
    run(command, large, made, "--discard")
    assert left_beside(made) == []
    assert "no unfinished conversion was left behind" in run(command, large, made, "--discard").stderr_text


def test_a_run_begins_anew_where_one_was_killed(image, tmp_path):
    made = tmp_path / "made.zip"
    rest = b"rest of an earlier run" * 1000
    (tmp_path / "of another name").write_bytes(rest)
    os.link(tmp_path / "of another name", tmp_path / ".zarrfs-new-made.zip")
    run("shard", image, made)
    assert (tmp_path / "of another name").read_bytes() == rest
    assert left_beside(made) == ["made.zip"]
    run("diff", image, made)
    entries_of(made)


def test_an_interrupted_run_leaves_nothing(large, tmp_path):
    made = tmp_path / "made.zip"
    process = subprocess.Popen([ZARRFS, "unshard", large, made], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not left_beside(made):
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 3 and b"interrupted" in told, told
    assert left_beside(made) == []


def test_a_full_disk_is_told_and_leaves_nothing(large, tmp_path):
    made = tmp_path / "made.zip"
    command = f"ulimit -f 200; trap '' XFSZ; exec {ZARRFS} unshard {large} {made}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 3 and "made.zip" in done.stderr and "File too large" in done.stderr, done.stderr
    assert "is unfinished" not in done.stderr
    assert left_beside(made) == []


def test_parts_are_refused_by_name(image, tmp_path):
    for name in ("a.zip", "a.ozx"):
        told = run("shard", image, tmp_path / name, "--begin", status=3).stderr_text
        assert f"{name}: an archive is made by one process, not in parts" in told
        assert not (tmp_path / name).exists()


def test_an_ozx_archive_of_zarr_v2_is_refused(image, tmp_path):
    told = run("unshard", image, tmp_path / "image.ozx", "--format", "v2", status=2).stderr_text
    assert "image.ozx: an .ozx archive holds OME-Zarr of Zarr v3 (RFC 9): end the name in .zip, or leave out --format v2" in told
    assert left_beside(tmp_path / "image.ozx") == []


# As NFS has it.
NO_NOREPLACE = """
#include <errno.h>
int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
  return errno = EINVAL, -1;
}
"""


@pytest.mark.parametrize("taken", [False, True])
def test_an_archive_is_named_where_rename_has_no_conditions(large, tmp_path, taken):
    (tmp_path / "no.c").write_text(NO_NOREPLACE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "no.so", tmp_path / "no.c"], check=True)
    made = tmp_path / "made.zip"
    environment = os.environ | {"LD_PRELOAD": str(tmp_path / "no.so")}
    with subprocess.Popen([ZARRFS, "unshard", large, made], env=environment, stderr=subprocess.PIPE, text=True) as process:
        while taken and not os.path.exists(tmp_path / ".zarrfs-new-made.zip"):
            assert process.poll() is None
            time.sleep(0.001)
        if taken:
            made.write_text("another's")
        told = process.communicate(timeout=300)[1]
    assert process.returncode == (3 if taken else 0), told
    if taken:
        assert "made.zip was made by another program meanwhile" in told and made.read_text() == "another's"
    else:
        run("diff", large, made)
    assert left_beside(made) == ["made.zip"]


def test_a_hundred_thousand_entries(tmp_path):
    root, made = tmp_path / "many", tmp_path / "many.zip"
    add_array(root, shape=[300_000])
    for number in range(100_000):
        (root / "c" / str(number)).write_bytes(np.full(3, number % 1000, "<i2").tobytes())
    run("unshard", root, made)
    names, _ = entries_of(made)
    assert len(names) == 100_001 and names[0] == "zarr.json"
    run("verify", made)
    run("diff", root, made)


# What is read.

def changed(archive, name, target):
    """A copy of `archive` in which one byte in the middle of the stored entry `name` is another one; and the two checksums."""
    with zipfile.ZipFile(archive) as opened:
        whole = bytearray(opened.read(name))
        stored = opened.getinfo(name).CRC
    data = bytearray(archive.read_bytes())
    assert data.count(whole) == 1
    at = len(whole) // 2
    data[data.find(whole) + at] ^= 1
    whole[at] ^= 1
    target.write_bytes(data)
    return f"{zlib.crc32(whole):08x}", f"{stored:08x}"


@pytest.fixture
def raw(tmp_path):
    """An array whose chunks have no checksum, in an archive, plain and sharded."""
    add_array(tmp_path / "raw", shape=[600], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [300]}})
    (tmp_path / "raw/c/0").write_bytes(np.arange(300, dtype="<i2").tobytes())
    (tmp_path / "raw/c/1").write_bytes(np.arange(300, 600, dtype="<i2").tobytes())
    run("unshard", tmp_path / "raw", tmp_path / "plain.zip")
    run("shard", tmp_path / "raw", tmp_path / "sharded.zip", "--shard-chunks", "2")
    return tmp_path


@pytest.mark.parametrize("kind", ["plain", "sharded"])
def test_a_byte_that_changed_in_an_entry_is_damage(raw, kind):
    """A stored entry has a checksum, and what is read as a whole is compared with it."""
    bad = raw / "bad.zip"
    got, stored = changed(raw / f"{kind}.zip", "c/0", bad)
    run("verify", raw / f"{kind}.zip", "--decode")
    told = run("verify", bad, "--decode", status=1).stdout_text
    assert "c/0" in told and got in told and stored in told and told.count("CRC-32") == 1, told
    run("verify", bad)  # reads indexes only
    for command in (["reshard", bad, raw / "out", "--shard-chunks", "1", "--check"], ["unshard", bad, raw / "out", "--check"],
                    ["unshard", bad, raw / "out.zip", "--check"], ["unshard", bad, raw / "v2", "--format", "v2", "--check"]):
        if kind == "sharded" or command[0] != "reshard":
            assert f"{stored} is stored" in run(*command, status=1).stderr_text
            run(*command, "--discard")


def test_what_is_copied_from_an_archive_is_compared(raw):
    """Without --check, too: it is read from its start to its end."""
    bad = raw / "bad.zip"
    _, stored = changed(raw / "plain.zip", "c/1", bad)
    for command in (["shard", bad, raw / "out", "--shard-chunks", "2"], ["unshard", bad, raw / "out"]):
        assert "c/1: these are not the bytes that were packed" in run(*command, status=1).stderr_text
        run(*command, "--discard")
    assert stored in run("cat", bad, "1", status=1).stderr_text
    assert stored in run("cat", bad, "1", "--decoded", status=1).stderr_text


def test_a_file_beside_the_arrays_is_compared(image, tmp_path):
    run("unshard", image, tmp_path / "image.zip")
    _, stored = changed(tmp_path / "image.zip", "OME/METADATA.ome.xml", tmp_path / "bad.zip")
    assert stored in run("unshard", tmp_path / "bad.zip", tmp_path / "out", status=1).stderr_text


def test_a_document_that_changed_in_an_archive_is_damage(raw):
    """A fill value that is another one would be shown for every chunk that is missing."""
    _, stored = changed(raw / "plain.zip", "zarr.json", raw / "bad.zip")
    for command in (["info"], ["verify"], ["cat"]):
        words = [*command, raw / "bad.zip", *(["1"] if command == ["cat"] else [])]
        done = run(*words, status=1)
        assert stored in done.stdout_text + done.stderr_text


def renamed(store, target, system, name_of):
    with zipfile.ZipFile(target, "w") as archive:
        for folder, _, names in os.walk(store):
            for name in names:
                info = zipfile.ZipInfo()
                info.filename, info.create_system = name_of(os.path.relpath(os.path.join(folder, name), store)), system
                with open(os.path.join(folder, name), "rb") as file:
                    archive.writestr(info, file.read())
    return target


@pytest.mark.parametrize("system", [0, 10, 3])
def test_names_with_backslashes_for_slashes_are_refused(image, tmp_path, system):
    """Else no chunk of theirs would be there, and all would be fill values."""
    archive = renamed(image, tmp_path / "dos.zip", system, lambda name: name.replace("/", "\\"))
    for command in ("info", "verify"):
        told = run(command, archive, status=3).stderr_text
        assert "where '/' belongs" in told and "zip -0 -r" in told, told


def test_a_backslash_in_a_name_is_a_letter_elsewhere(image, tmp_path):
    (image / "a\\b.txt").write_text("mine")
    archive = renamed(image, tmp_path / "unix.zip", 3, lambda name: name)
    run("verify", archive, "--decode")
    run("unshard", archive, tmp_path / "out", "--check")
    assert (tmp_path / "out" / "a\\b.txt").read_text() == "mine"


def test_a_directory_with_more_entries_than_it_tells_is_damaged(raw):
    """Else the last ones would be missing chunks."""
    data = bytearray(renamed(raw / "raw", raw / "few.zip", 3, lambda name: name).read_bytes())
    data[-14:-10] = bytes([2, 0, 2, 0])
    (raw / "few.zip").write_bytes(data)
    assert "more entries than the 2 that its end record tells" in run("info", raw / "few.zip", status=1).stderr_text


@pytest.mark.parametrize("large", [False, True])
def test_an_archive_behind_other_bytes_says_so(raw, large):
    """Archives that unpack themselves; ours have the records of zip64."""
    archive = raw / "plain.zip" if large else renamed(raw / "raw", raw / "small.zip", 3, lambda name: name)
    (raw / "self.zip").write_bytes(b"#!/bin/sh\n" * 100 + archive.read_bytes())
    told = run("info", raw / "self.zip", status=3).stderr_text
    assert "begins behind 1000 other bytes" in told and "zip -A" in told, told
