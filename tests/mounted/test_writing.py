"""Files written through a mount, system call by system call; the store checked by zarr-python 3."""
import errno
import fcntl
import json
import math
import os
import signal
import struct
import subprocess
import time

import pytest
from conftest import DAEMON, kill, run_zarr, within
from stores import SmallStore, crc32c, document, shard_bytes, write_file, write_json
from test_files import error_of, read


def write(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    descriptor = os.open(path, flags, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path / "store")


@pytest.fixture
def mounted(mount, store):
    return mount(store.path, "rw,flush_after=3600")


def other(store):
    return bytes(reversed(store.chunk(1, 0)))


def sync(mounted):
    done = subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def values(store, array="a"):
    """The array's values as zarr-python 3 reads them from the store, as a list of lists."""
    code = "import sys, json, zarr; print(json.dumps(zarr.open_array(sys.argv[1], mode='r')[...].tolist()))"
    return json.loads(run_zarr("zarr3", code, store.file(array)))


def left_behind(store):
    return [name for folder, folders, files in os.walk(store.path) for name in folders + files if name.startswith(".zarrfs")]


def test_a_chunk_is_created_overwritten_and_removed(mounted, store):
    assert error_of(os.stat, mounted / "a/0.1") == errno.ENOENT
    write(mounted / "a/0.1", other(store))
    assert read(mounted / "a/0.1") == other(store)
    assert "0.1" in os.listdir(mounted / "a")
    write(mounted / "a/0.1", store.chunk(1, 0))
    assert read(mounted / "a/0.1") == store.chunk(1, 0)
    os.unlink(mounted / "a/0.1")
    assert error_of(os.stat, mounted / "a/0.1") == errno.ENOENT
    assert "0.1" not in os.listdir(mounted / "a")
    sync(mounted)
    assert error_of(os.stat, mounted / "a/0.1") == errno.ENOENT


def test_a_temporary_file_renamed_over_a_chunk_replaces_it_at_once(mounted, store):
    before = os.open(mounted / "a/1.0", os.O_RDONLY)
    write(mounted / "a/1.0.12ab.partial", other(store))
    assert "1.0.12ab.partial" in os.listdir(mounted / "a")
    os.replace(mounted / "a/1.0.12ab.partial", mounted / "a/1.0")
    assert read(mounted / "a/1.0") == other(store)
    assert os.pread(before, 1 << 20, 0) == store.chunk(1, 0), "an opened chunk keeps its version"
    os.close(before)
    assert "1.0.12ab.partial" not in os.listdir(mounted / "a")
    mounted.unmount()
    assert left_behind(store) == []


@pytest.mark.parametrize("options,folder", [("separator=/", "a/1"), ("view=v3", "a/c/1")])
def test_a_temporary_file_among_chunks_in_directories_waits_for_its_renaming(mount, store, options, folder):
    mounted = mount(store.path, f"rw,flush_after=0.001,{options}")
    write(mounted / f"{folder}/0.12ab.partial", other(store))
    write(mounted / f"{folder}/note", b"kept")
    sync(mounted)
    os.replace(mounted / f"{folder}/0.12ab.partial", mounted / f"{folder}/0")
    assert read(mounted / f"{folder}/0") == other(store)
    assert read(mounted / f"{folder}/note") == b"kept"
    mounted.unmount()
    assert left_behind(store) == []
    note = folder[2:].replace("/", ".") + ".note"
    assert sorted(os.listdir(store.file("a"))) == sorted(["c", "zarr.json", note])
    assert read(store.file(f"a/{note}")) == b"kept"


def test_linking_makes_a_chunk_only_where_there_is_none(mounted, store):
    os.unlink(mounted / "a/1.0")
    write(mounted / "a/tmp.partial", other(store))
    os.link(mounted / "a/tmp.partial", mounted / "a/1.0")
    assert error_of(os.link, mounted / "a/tmp.partial", mounted / "a/1.0") == errno.EEXIST
    os.unlink(mounted / "a/tmp.partial")
    assert read(mounted / "a/1.0") == other(store)


def test_exclusive_creation(mounted, store):
    assert error_of(os.open, mounted / "a/1.0", os.O_WRONLY | os.O_CREAT | os.O_EXCL) == errno.EEXIST
    os.unlink(mounted / "a/1.0")
    write(mounted / "a/1.0", other(store), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert read(mounted / "a/1.0") == other(store)


def test_sparse_appended_and_partial_writes(mounted, store):
    data = other(store)
    descriptor = os.open(mounted / "a/1.0", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.pwrite(descriptor, data[8:], 8)
    assert os.pread(descriptor, 8, 0) == bytes(8)
    os.pwrite(descriptor, data[:8], 0)
    assert os.fstat(descriptor).st_size == len(data)
    os.close(descriptor)
    assert read(mounted / "a/1.0") == data
    descriptor = os.open(mounted / "a/1.0", os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    os.write(descriptor, data[:5])
    os.write(descriptor, data[5:])
    os.close(descriptor)
    assert read(mounted / "a/1.0") == data
    descriptor = os.open(mounted / "a/1.0", os.O_WRONLY)
    os.pwrite(descriptor, b"\x07", 3)
    os.close(descriptor)
    assert read(mounted / "a/1.0") == data[:3] + b"\x07" + data[4:]


def test_locking_truncating_and_writing_in_place(mounted, store):
    with open(mounted / "a/1.0", "r+b") as chunk:
        fcntl.lockf(chunk, fcntl.LOCK_EX)
        chunk.truncate(0)
        chunk.write(other(store))
        chunk.flush()
        os.fsync(chunk.fileno())
        fcntl.lockf(chunk, fcntl.LOCK_UN)
    assert read(mounted / "a/1.0") == other(store)


def test_bytes_that_are_no_chunk_are_kept_and_not_published(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    before = values(store)
    descriptor = os.open(mounted / "a/1.0", os.O_WRONLY | os.O_TRUNC)
    os.write(descriptor, b"short")
    assert error_of(os.fsync, descriptor) == errno.EINVAL
    os.close(descriptor)
    assert subprocess.run(["sync", mounted / "a/1.0"], capture_output=True).returncode != 0  # by a descriptor that only reads
    assert read(mounted / "a/1.0") == b"short"
    assert list(mounted.report()["unpublished"]) == ["/a chunk 1.0"]
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3
    assert "/a chunk 1.0: its bytes cannot be a chunk of the array" in done.stderr
    assert values(store) == before
    again = mount(store.path, "rw,flush_after=3600", damaged=True)
    assert read(again / "a/1.0") == b"short"
    write(again / "a/1.0", store.chunk(1, 0))
    again.unmount()
    assert left_behind(store) == []


def test_a_name_that_no_chunk_of_the_array_can_have_is_refused(mounted):
    for name in ("99.0.0", "99"):
        assert error_of(os.open, mounted / f"a/{name}", os.O_WRONLY | os.O_CREAT) == errno.EINVAL


def test_other_names_in_an_array_are_scratch_until_they_are_synced(mounted, store):
    write(mounted / "a/note.txt", b"hello")
    assert read(mounted / "a/note.txt") == b"hello"
    assert not os.path.exists(store.file("a/note.txt"))
    descriptor = os.open(mounted / "a/note.txt", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b" world")
    os.fsync(descriptor)
    os.close(descriptor)
    with open(store.file("a/note.txt"), "rb") as file:
        assert file.read() == b"hello world"
    os.unlink(mounted / "a/note.txt")
    assert not os.path.exists(store.file("a/note.txt"))
    write(mounted / "a/later.txt", b"kept")
    mounted.unmount()
    with open(store.file("a/later.txt"), "rb") as file:
        assert file.read() == b"kept"


def test_files_beside_the_nodes_are_the_stores_own(mounted, store):
    os.mkdir(mounted / "docs")
    write(mounted / "docs/README", b"text")
    os.rename(mounted / "docs/README", mounted / "docs/README.md")
    os.chmod(mounted / "docs/README.md", 0o600)
    os.utime(mounted / "docs/README.md", (5, 6))
    status = os.stat(store.file("docs/README.md"))
    assert (status.st_mode & 0o777, status.st_mtime) == (0o600, 6)
    os.unlink(mounted / "docs/README.md")
    os.rmdir(mounted / "docs")
    assert not os.path.exists(store.file("docs"))


def test_a_file_beside_the_nodes_is_truncated_by_its_name(mounted, store):
    write(mounted / "notes", b"123456")
    for size in (3, 0, 5):
        os.truncate(mounted / "notes", size)
        assert os.stat(store.file("notes")).st_size == size
    assert read(mounted / "notes") == bytes(5)


def test_changing_mode_and_time_of_what_is_presented_is_no_error(mounted):
    before = os.stat(mounted / "a/1.0")
    os.chmod(mounted / "a/1.0", 0o600)
    os.utime(mounted / "a/1.0", (5, 6))
    os.chown(mounted / "a/1.0", os.getuid(), os.getgid())
    after = os.stat(mounted / "a/1.0")
    assert (after.st_mode, after.st_mtime, after.st_ino) == (before.st_mode, before.st_mtime, before.st_ino)


def test_the_time_of_a_chunk_is_that_of_its_last_write(mounted, store):
    path, times = mounted / "a/1.0", []
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(descriptor, other(store))
    times.append(os.stat(path).st_mtime_ns)
    os.close(os.dup(descriptor))  # flushed, and still being written
    times.append(os.stat(path).st_mtime_ns)
    os.close(descriptor)
    times.append(os.stat(path).st_mtime_ns)
    sync(mounted)
    times.append(os.stat(path).st_mtime_ns)
    assert len(set(times)) == 1, times


def test_a_commit_changes_neither_number_nor_time_of_other_chunks(mounted, store):
    before = os.stat(mounted / "a/1.0")
    name = next(name for name in ("0.0", "0.1", "1.1") if name in os.listdir(mounted / "a"))
    write(mounted / f"a/{name}", other(store))
    written = os.stat(mounted / f"a/{name}")
    sync(mounted)
    for path, earlier in ((mounted / "a/1.0", before), (mounted / f"a/{name}", written)):
        after = os.stat(path)
        assert (after.st_ino, after.st_mtime_ns) == (earlier.st_ino, earlier.st_mtime_ns)


def test_attributes_are_replaced_and_bad_documents_refused(mounted, store):
    write(mounted / "a/.zattrs.partial", json.dumps({"unit": "m", "_ARRAY_DIMENSIONS": ["y", "x"]}).encode())
    os.replace(mounted / "a/.zattrs.partial", mounted / "a/.zattrs")
    assert json.loads(read(mounted / "a/.zattrs")) == {"unit": "m", "_ARRAY_DIMENSIONS": ["y", "x"]}
    with open(store.file("a/zarr.json")) as text:
        document = json.load(text)
    # who names the axes takes the fill value, 7, for missing cells
    assert document["attributes"] == {"unit": "m", "_FillValue": 7} and document["dimension_names"] == ["y", "x"]
    write(mounted / "a/bad.partial", b"{not json")
    assert error_of(os.replace, mounted / "a/bad.partial", mounted / "a/.zattrs") == errno.EINVAL
    assert json.loads(read(mounted / "a/.zattrs"))["unit"] == "m"
    # netCDF-C writes a shorter document over a longer one and does not truncate it
    descriptor = os.open(mounted / "a/.zattrs", os.O_RDWR)
    os.pwrite(descriptor, b'{"u":1}', 0)
    os.close(descriptor)
    assert json.loads(read(mounted / "a/.zattrs"))["u"] == 1


def test_shrinking_deletes_what_lies_outside_at_once(mounted, store):
    document = json.loads(read(mounted / "a/.zarray"))
    shape, chunk = document["shape"], document["chunks"]
    for new in ([chunk[0], shape[1]], shape):
        document["shape"] = new
        write(mounted / "a/z.partial", json.dumps(document).encode())
        os.replace(mounted / "a/z.partial", mounted / "a/.zarray")
    assert not [name for name in os.listdir(mounted / "a") if name[0] not in ".0"]
    sync(mounted)
    assert len(values(store)) == shape[0]


@pytest.mark.parametrize("separator", [".", "/"])
def test_what_shrinking_deleted_can_be_removed_by_who_saw_it_before(mount, store, separator):
    mounted = mount(store.path, f"rw,timeout=3600,separator={separator}")
    document = json.loads(read(mounted / "a/.zarray"))
    gone = mounted / f"a/2{separator}0"
    assert read(gone) == store.chunk(2, 0)  # and the kernel remembers it
    write(mounted / "a/.zarray", json.dumps({**document, "shape": [4, 8]}).encode())
    os.unlink(gone)
    if separator == "/":
        os.rmdir(mounted / "a/2")
    assert not os.path.exists(gone)


def test_removing_an_array_and_a_group(mounted, store):
    subprocess.run(["rm", "-r", mounted / "a"], check=True)
    assert not os.path.exists(store.file("a"))
    assert "a" not in os.listdir(mounted.path)
    os.mkdir(mounted / "g")
    write(mounted / "g/.zgroup", b'{"zarr_format": 2}')
    os.rename(mounted / "g", mounted / "h")
    with open(store.file("h/zarr.json")) as text:
        assert json.load(text)["node_type"] == "group"
    subprocess.run(["rm", "-r", mounted / "h"], check=True)
    assert not os.path.exists(store.file("h"))


@pytest.mark.parametrize("options", ["separator=/", "view=v3"])
def test_removing_an_array_whose_chunks_are_in_directories(mount, store, options):
    mounted = mount(store.path, f"rw,timeout=0,{options}")
    subprocess.run(["rm", "-r", mounted / "a"], check=True)
    assert not os.path.exists(store.file("a"))


def test_a_directory_of_chunks_is_listed_once_and_stays_until_it_is_removed(mount, store):
    mounted = mount(store.path, "rw,timeout=0")
    os.mkdir(mounted / "n")
    write(mounted / "n/.zarray", json.dumps({
        "zarr_format": 2, "shape": [2, 2, 2], "chunks": [1, 1, 1], "dtype": "|u1", "order": "C", "fill_value": 0,
        "compressor": None, "filters": None, "dimension_separator": "/"}).encode())
    os.makedirs(mounted / "n/0/1")
    assert os.listdir(mounted / "n/0") == ["1"]
    write(mounted / "n/0/1/0", b"x")
    assert os.listdir(mounted / "n/0") == ["1"]
    os.unlink(mounted / "n/0/1/0")
    assert (os.listdir(mounted / "n/0"), os.listdir(mounted / "n/0/1")) == (["1"], [])
    os.removedirs(mounted / "n/0/1")
    assert sorted(os.listdir(mounted / "n")) == [".zarray"]


def test_consolidated_metadata_above_a_change_goes_first(mount, store):
    with open(store.file("zarr.json")) as text:
        group = json.load(text)
    with open(store.file("a/zarr.json")) as text:
        group["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": {"a": json.load(text)}}
    with open(store.file("zarr.json"), "w") as text:
        json.dump(group, text)
    mounted = mount(store.path, "rw")
    write(mounted / "a/.zattrs", b'{"new": true}')
    with open(store.file("zarr.json")) as text:
        assert "consolidated_metadata" not in json.load(text)


def test_deletes_may_be_denied(mount, store):
    mounted = mount(store.path, "rw,deletes=deny")
    assert error_of(os.unlink, mounted / "a/1.0") == errno.EPERM
    assert error_of(os.unlink, mounted / "a/.zarray") == errno.EPERM
    assert read(mounted / "a/1.0") == store.chunk(1, 0)


def test_flushing_at_close_rewrites_the_shard_before_close_returns(mount, store):
    mounted = mount(store.path, "rw,flush=close")
    write(mounted / "a/1.0", other(store))
    assert mounted.statistics()["shards_rewritten"] == 1
    # No successor is left; in .zarrfs there may be a log, and room that is kept for later commits.
    assert [name for name in left_behind(store) if name != ".zarrfs" and not os.path.exists(os.path.join(store.path, ".zarrfs", name))] == []


def test_a_quiet_shard_is_rewritten(mount, store):
    mounted = mount(store.path, "rw,flush_after=0.2")
    write(mounted / "a/1.0", other(store))
    within(60, lambda: mounted.statistics()["shards_rewritten"] == 1)


def test_a_second_writer_is_refused_and_readers_are_not(mount, store, tmp_path):
    mount(store.path, "rw")
    (tmp_path / "second").mkdir()
    done = subprocess.run([DAEMON, "mount", store.path, str(tmp_path / "second"), "-o", "rw"], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "process" in done.stderr, done.stderr
    waits, refused = done.stderr.splitlines()
    assert "waiting 10 s" in waits and "-o ro mounts it" in refused
    mount(store.path, "ro")


def test_a_killed_daemon_loses_nothing_that_was_closed(mount, store, tmp_path):
    mounted = mount(store.path, "rw,flush_after=3600")
    write(mounted / "a/1.0", other(store))
    kill(mounted.statistics_process())
    assert error_of(read, mounted / "a/1.0") == errno.ENOTCONN
    subprocess.run(["umount", "-l", mounted.path], check=True)
    reader = mount(store.path, "ro")
    assert "zarrfs recover" in reader.log_text()
    assert read(reader / "a/1.0") == store.chunk(1, 0)
    reader.unmount()
    done = subprocess.run([DAEMON, "recover", store.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "recovered 1 chunk" in done.stderr, done.stderr
    assert left_behind(store) == []
    assert read(mount(store.path, "ro") / "a/1.0") == other(store)


def test_sigterm_publishes(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600")
    write(mounted / "a/1.0", other(store))
    os.kill(mounted.statistics_process(), signal.SIGTERM)
    within(60, lambda: not os.path.ismount(mounted.path) and left_behind(store) == [])
    assert read(mount(store.path, "ro") / "a/1.0") == other(store)


def test_a_removed_file_stays_usable_while_it_is_open(mount, store):
    mounted = mount(store.path, "rw,timeout=3600")  # fstat(2) after that time is ESTALE: the kernel asks by the name's node
    os.mkdir(mounted / "docs")
    with open(mounted / "docs/tmp", "w+b") as file:
        file.write(b"abc")
        file.flush()
        os.unlink(mounted / "docs/tmp")
        file.truncate(2)
        assert os.fstat(file.fileno()).st_size == 2
        file.seek(0)
        assert file.read() == b"ab"


def test_a_program_finds_the_document_it_wrote(mounted):
    """TensorStore changes an array only where it reads what it wrote; zarr-python's stores expect their separator."""
    document = {"zarr_format": 2, "shape": [8, 8], "chunks": [2, 2], "dtype": "<i4", "fill_value": None, "order": "C", "filters": None,
                "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0}, "dimension_separator": "/"}
    os.mkdir(mounted / "new")
    write(mounted / "new/.zarray", json.dumps(document).encode())
    assert json.loads(read(mounted / "new/.zarray")) == document
    assert not os.path.exists(mounted / "new/0")  # nothing is made up of what is being made, nor the way to it
    os.mkdir(mounted / "new/0")
    assert sorted(os.listdir(mounted / "new")) == [".zarray", "0"]
    write(mounted / "new/.zarray", json.dumps({**document, "fill_value": 0}).encode())
    os.mkdir(mounted / "new/1")
    assert sorted(os.listdir(mounted / "new")) == [".zarray", "0", "1"]


def test_a_damaged_chunk_can_be_replaced_and_removed(mount, store):
    chunks = [store.chunk(0, 0), None, store.chunk(1, 0), store.chunk(1, 1)]
    data = shard_bytes(chunks)
    index = struct.pack("<QQ", 10**6, 16) + data[-68 + 16:-4]
    for write_it in (lambda path: write(path, other(store)), os.unlink):
        write_file(store.file("a/c/0/0"), data[:-68] + index + struct.pack("<I", crc32c(index)))
        mounted = mount(store.path, "rw", damaged=True)
        assert error_of(read, mounted / "a/0.0") == errno.EUCLEAN
        write_it(mounted / "a/0.0")
        mounted.unmount()
        assert values(store)[2][0] == 10
        again = mount(store.path, "ro")
        assert error_of(read, again / "a/0.0") == (errno.ENOENT if write_it is os.unlink else 0)
        again.unmount()


@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_RDONLY], ids=["written", "read"])
def test_a_plain_file_that_lost_its_name_lives_until_it_is_closed(mounted, flags):
    for name, change in (("removed.txt", os.unlink), ("moved.txt", lambda path: os.rename(path, mounted / "to.txt"))):
        write(mounted / name, b"12345")
        first, second = (os.open(mounted / name, flags) for _ in range(2))
        change(mounted / name)
        os.close(second)
        if flags == os.O_RDWR:
            os.pwrite(first, b"678", 5)
        time.sleep(1.1)  # the kernel asks again
        assert os.fstat(first).st_size == (8 if flags == os.O_RDWR else 5)
        assert os.pread(first, 5, 0) == b"12345"
        os.close(first)


LONG = 2**70


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_integers_beyond_64_bits_in_attributes_are_refused(mount, store, view):
    mounted = mount(store.path, f"rw,view={view}", damaged=True)
    name = "a/.zattrs" if view == "v2" else "a/zarr.json"
    before = read(mounted / name)
    whole = {} if view == "v2" else json.loads(before)
    for attributes in ({"k": LONG}, {"k": [1, {"deep": -LONG}]}):
        changed = attributes if view == "v2" else {**whole, "attributes": attributes}
        assert error_of(write, mounted / name, json.dumps(changed).encode()) == errno.EINVAL
    assert read(mounted / name) == before
    place = "" if view == "v2" else "attributes."
    assert f"/{name}: {place}k: {LONG} is an integer beyond 64 bits" in mounted.log_text()
    assert f"/{name}: {place}k[1].deep: {-LONG} is" in mounted.log_text()


def test_a_document_with_integers_beyond_64_bits_is_not_rewritten(mount, store):
    stored = {**document((8, 8), (4, 4), (2, 2), fill=7), "attributes": {"k": LONG}}
    write_json(store.file("a/zarr.json"), stored)
    mounted = mount(store.path, "rw", damaged=True)
    zarray = json.loads(read(mounted / "a/.zarray"))
    assert error_of(write, mounted / "a/.zarray", json.dumps({**zarray, "shape": [16, 8]}).encode()) == errno.EINVAL
    with open(store.file("a/zarr.json")) as text:
        assert json.load(text) == stored
    assert f"/a/zarr.json of the store cannot be changed: attributes.k: {LONG}" in mounted.log_text()


def test_other_numbers_in_attributes_are_kept(mount, store):
    mounted = mount(store.path, "rw", damaged=True)
    kept = {"most": 2**64 - 1, "least": -2**63, "double": 1.7976931348623157e308, "tiny": 5e-324, "tenth": 0.1, "long": 1e22}
    write(mounted / "a/.zattrs", json.dumps({**kept, "zero": -0.0}).encode())
    shown = json.loads(read(mounted / "a/.zattrs"))
    assert {name: shown[name] for name in kept} == kept and all(type(shown[name]) is type(kept[name]) for name in kept)
    assert str(shown["zero"]) == "-0.0"
    assert error_of(write, mounted / "a/.zattrs", b'{"k": 1e400}') == errno.EINVAL
    write(mounted / "a/.zattrs", b'{"k": NaN}')
    assert math.isnan(json.loads(read(mounted / "a/.zattrs"))["k"])  # as it was written
    with open(store.file("a/zarr.json")) as text:
        assert json.load(text)["attributes"]["k"] == "NaN"
    assert "/a/.zattrs: NaN and Infinity, which JSON has no numbers for, become strings" in mounted.log_text()


def plain_v3(encoding):
    """An array of 4 x 4 int32 in chunks of 2 x 2, without sharding."""
    return json.dumps({**document((4, 4), (2, 2), (2, 2), chunk_key_encoding=encoding),
                       "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}).encode()


@pytest.mark.parametrize("encoding,name", [("v2", "0.1"), ({"name": "v2", "configuration": {"separator": "/"}}, "0/1"),
                                           ({"name": "default", "configuration": {"separator": "."}}, "c.0.1")])
def test_chunks_of_a_new_v3_array_are_called_as_its_document_says(mount, store, encoding, name):
    mounted = mount(store.path, "rw,flush_after=3600,view=v3")
    os.mkdir(mounted / "n")
    write(mounted / "n/zarr.json", plain_v3(encoding))
    os.makedirs(os.path.dirname(mounted / f"n/{name}"), exist_ok=True)
    write(mounted / f"n/{name}", struct.pack("<4i", 1, 2, 3, 4))
    assert read(mounted / f"n/{name}") == struct.pack("<4i", 1, 2, 3, 4)
    shown = json.loads(read(mounted / "n/zarr.json"))["chunk_key_encoding"]
    assert shown["name"] == (encoding if isinstance(encoding, str) else encoding["name"])
    mounted.unmount()
    assert values(store, "n") == [[0, 0, 1, 2], [0, 0, 3, 4], [0] * 4, [0] * 4]
    assert left_behind(store) == []


def test_chunks_of_an_array_keep_their_names(mount, store):
    mounted = mount(store.path, "rw,view=v3")
    shown = json.loads(read(mounted / "a/zarr.json"))
    assert error_of(write, mounted / "a/zarr.json", json.dumps({**shown, "chunk_key_encoding": {"name": "v2"}}).encode()) == errno.EINVAL
    write(mounted / "a/zarr.json", json.dumps({**shown, "attributes": {"k": 1}}).encode())


def test_a_document_of_zarr_v2_beside_that_of_v3_stays(mount, store):
    """Stores may carry both; what the view does not show it does not touch."""
    write(store.file(".zattrs"), b'{"of": "v2"}')
    mounted = mount(store.path, "rw")
    write(mounted / ".zattrs", b'{"new": 1}')
    mounted.unmount()
    with open(store.file(".zattrs")) as text:
        assert json.load(text) == {"of": "v2"}
    with open(store.file("zarr.json")) as text:
        assert json.load(text)["attributes"] == {"new": 1}


def test_a_sparse_array_of_directories_can_be_removed(mount, tmp_path):
    store, chunks = str(tmp_path / "store"), [None] * 64
    write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(f"{store}/a/zarr.json", document((16, 16, 16), (8, 8, 8), (2, 2, 2)))
    chunks[0] = bytes(32)
    write_file(f"{store}/a/c/0/0/0", shard_bytes(chunks))  # 3 of its 4 directories along the first axis hold nothing
    mounted = mount(store, "rw,separator=/,flush_after=3600")
    subprocess.run(["rm", "-r", mounted / "a"], check=True, timeout=600)
    assert "a" not in os.listdir(mounted.path)
    mounted.unmount()
    assert os.listdir(store) == ["zarr.json"]


@pytest.mark.parametrize("replaced", [document((8,), (4,), (2,), fill=7), document((8, 8), (4, 4), (2, 2), "float32", fill=7)])
def test_chunks_are_not_merged_into_an_array_that_took_the_place_of_theirs(mount, store, replaced):
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    write(mounted / "a/1.1", other(store))
    write_json(store.file("a/zarr.json"), replaced)
    time.sleep(1.1)  # the attributes of the old one are valid for a second
    assert read(mounted / "a/.zarray") and os.listdir(mounted / "a")
    assert "array a is another one" in subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600).stderr
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "array a is another one" in done.stderr
    done = subprocess.run([DAEMON, "recover", store.path], capture_output=True, text=True, timeout=600)
    assert "another program has replaced the array" in done.stderr
    assert left_behind(store) == []


@pytest.mark.parametrize("options,changed", [("profile=netcdf", {"dtype": ">i4"}), ("fortran=no", {"order": "F"}), ("profile=netcdf", {"compressor": {"id": "zlib", "level": 1}}),
                                             ("profile=netcdf", {"dtype": "<f2"})])
def test_an_array_that_would_be_shown_otherwise_than_it_is_written_is_refused(mount, store, options, changed):
    mounted = mount(store.path, f"rw,flush_after=3600,{options}")
    wanted = {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "compressor": None, "fill_value": 0, "order": "C", "filters": None}
    os.mkdir(mounted / "b")
    assert error_of(write, mounted / "b/.zarray", json.dumps({**wanted, **changed}).encode()) == errno.EINVAL
    write(mounted / "b/.zarray", json.dumps(wanted).encode())
    assert "cannot be made in this mount" in mounted.log_text()


@pytest.mark.parametrize("changed", [{"filters": {"id": "delta"}}, {"chunks": [0, 3]}, {"chunks": [2]}, {"dtype": "S999999999"}, {"shape": [-1, 6]},
                                     {"compressor": {"id": "unheard-of"}}, {"zarr_format": 3}])
def test_a_document_of_no_array_is_refused(mount, store, changed):
    mounted = mount(store.path, "rw")
    wanted = {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "compressor": None, "fill_value": 0, "order": "C", "filters": None}
    os.mkdir(mounted / "b")
    assert error_of(write, mounted / "b/.zarray", json.dumps({**wanted, **changed}).encode()) == errno.EINVAL
    assert os.listdir(store.file("b")) == []


@pytest.mark.parametrize("dtype", ["|u1", "u1"])
def test_an_array_with_delta_of_bytes_is_resized(mount, store, dtype):
    mounted = mount(store.path, "rw")
    wanted = {"zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
              "filters": [{"id": "delta", "dtype": dtype}]}
    os.mkdir(mounted / "b")
    write(mounted / "b/.zarray", json.dumps(wanted).encode())
    write(mounted / "b/0", b"ab")
    write(mounted / "b/.zarray", json.dumps({**wanted, "shape": [5]}).encode())
    assert json.loads(read(mounted / "b/.zarray"))["shape"] == [5] and read(mounted / "b/0") == b"ab"
