"""What a mount shows when the store changes under it, and when parts of the store are damaged."""
import errno
import json
import os
import struct
import subprocess
import sys
import threading
import time

import pytest
from conftest import within
from stores import SmallStore, crc32c, document, shard_bytes, write_file, write_json
from test_files import ALWAYS, error_of, read


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def test_a_replaced_shard_is_seen_at_the_next_open(mount, store):
    mounted = mount(store.path)
    assert read(mounted / "a/1.0") == store.chunk(1, 0)
    store.write_shard(0, 0, add=1000)
    within(60, lambda: read(mounted / "a/1.0") == store.chunk(1, 0, 1000))
    assert read(mounted / "a/0.0") == store.chunk(0, 0, 1000)


def test_an_open_file_keeps_the_version_it_opened(mount, store):
    mounted = mount(store.path)
    descriptor = os.open(mounted / "a/1.0", os.O_RDONLY)
    try:
        store.write_shard(0, 0, add=1000)
        within(60, lambda: read(mounted / "a/1.0") == store.chunk(1, 0, 1000))
        assert os.pread(descriptor, 100, 0) == store.chunk(1, 0)
    finally:
        os.close(descriptor)


def test_a_new_shard_and_a_removed_shard_are_seen(mount, store):
    mounted = mount(store.path)
    assert error_of(os.stat, mounted / "a/2.2") == errno.ENOENT
    store.write_shard(1, 1)
    within(60, lambda: error_of(os.stat, mounted / "a/2.2") == 0)
    assert read(mounted / "a/3.3") == store.chunk(3, 3)
    os.unlink(store.file("a/c/1/1"))
    within(60, lambda: error_of(os.stat, mounted / "a/2.2") == errno.ENOENT)


def test_replaced_metadata_is_seen_within_a_second(mount, store):
    mounted = mount(store.path)
    assert json.loads(read(mounted / "a/.zarray"))["shape"] == [8, 8]
    write_json(store.file("a/zarr.json"), document((4, 8), (4, 4), (2, 2), fill=7))
    within(60, lambda: json.loads(read(mounted / "a/.zarray"))["shape"] == [4, 8])
    within(60, lambda: error_of(os.stat, mounted / "a/2.0") == errno.ENOENT)
    assert "2.0" not in os.listdir(mounted / "a")


@pytest.mark.parametrize("options, name", [("", ".zmetadata"), ("view=v3", "zarr.json")])
def test_consolidated_metadata_are_as_new_as_the_newest_of_their_documents(mount, store, options, name):
    write_json(store.file("zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": {"kind": "inline", "metadata": {}, "must_understand": False}})
    os.utime(store.file("zarr.json"), (1e9, 1e9))
    os.utime(store.file("a/zarr.json"), (1.1e9, 1.1e9))
    mounted = mount(store.path, options)
    assert os.stat(mounted / name).st_mtime == 1.1e9
    write_json(store.file("a/zarr.json"), document((4, 8), (4, 4), (2, 2), fill=7))
    os.utime(store.file("a/zarr.json"), (1.2e9, 1.2e9))
    within(60, lambda: os.stat(mounted / name).st_mtime == 1.2e9)


def test_a_new_array_is_seen(mount, store):
    mounted = mount(store.path)
    assert error_of(os.stat, mounted / "b") == errno.ENOENT
    write_json(store.file("b/zarr.json"), document((4, 4), (4, 4), (2, 2)))
    write_file(store.file("b/c/0/0"), shard_bytes([b"x" * 16, None, None, None]))
    within(60, lambda: error_of(os.stat, mounted / "b/0.0") == 0)
    assert read(mounted / "b/0.0") == b"x" * 16


DAMAGES = {
    "empty": lambda data: b"",
    "shorter than its index": lambda data: data[:20],
    "cut by a byte": lambda data: data[:-1],
    "longer by a byte": lambda data: data + b"x",
    "index changed": lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:],
    "checksum changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_chunks_of_a_damaged_shard_are_errors_and_never_absent(mount, store, damage):
    with open(store.file("a/c/0/0"), "rb") as shard:
        data = shard.read()
    write_file(store.file("a/c/0/0"), DAMAGES[damage](data))
    mounted = mount(store.path, damaged=True)
    for name in ("0.0", "0.1", "1.0", "1.1"):
        assert error_of(read, mounted / f"a/{name}") == errno.EUCLEAN, name
        assert os.stat(mounted / f"a/{name}").st_size > 0, "a reader that looks before it reads must find a file"
    assert {"0.0", "0.1", "1.0", "1.1"} <= set(os.listdir(mounted / "a"))
    assert read(mounted / "a/0.2") == store.chunk(0, 2)
    assert "c/0/0" in mounted.log_text()


@pytest.mark.parametrize("entry", [(2**64 - 1, 16), (0, 2**64 - 1), (2**63, 16), (10**6, 16), (2**64 - 8, 16), (0, 10**9)])
def test_a_damaged_entry_harms_only_its_chunk(mount, store, entry):
    chunks = [store.chunk(0, 0), None, store.chunk(1, 0), store.chunk(1, 1)]
    data = shard_bytes(chunks)
    index = struct.pack("<QQ", *entry) + data[-68 + 16:-4]
    write_file(store.file("a/c/0/0"), data[:-68] + index + struct.pack("<I", crc32c(index)))
    mounted = mount(store.path, damaged=True)
    assert error_of(read, mounted / "a/0.0") == errno.EUCLEAN
    assert error_of(os.stat, mounted / "a/0.1") == errno.ENOENT
    assert read(mounted / "a/1.0") == store.chunk(1, 0)
    assert "0.0" in os.listdir(mounted / "a")


def test_a_shard_that_is_a_directory_is_an_error(mount, store):
    os.unlink(store.file("a/c/0/0"))
    os.mkdir(store.file("a/c/0/0"))
    mounted = mount(store.path, damaged=True)
    assert error_of(read, mounted / "a/0.0") not in (0, errno.ENOENT, errno.ENOTDIR, errno.EISDIR)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"zarr_format": 3}', '{"zarr_format":3,"node_type":"array","shape":[-1]}',
                                  '{"zarr_format":3,"node_type":"array","shape":"8"}', "\xff", "[" * 100000])
def test_damaged_metadata_is_an_error_and_harms_only_its_array(mount, store, text):
    write_file(store.file("b/zarr.json"), text.encode("latin-1"))
    mounted = mount(store.path, damaged=True)
    assert [(node["path"], node["shown"]) for node in mounted.report()["nodes"]] == [("/b", "damaged")]
    assert "b" in os.listdir(mounted.path)
    for name in (".zarray", ".zattrs", "0.0", "0"):
        assert error_of(os.stat, mounted / f"b/{name}") == errno.EUCLEAN, name
    assert read(mounted / "a/1.0") == store.chunk(1, 0)


def test_what_cannot_be_shown_is_hidden_and_reported(mount, store):
    write_json(store.file("b/zarr.json"), document((8, 8), (4, 4), (2, 2), codecs=[{"name": "example.unknown"}]))
    mounted = mount(store.path, damaged=True)
    assert sorted(os.listdir(mounted.path)) == [".zattrs", ".zgroup", ".zmetadata", "a"]
    assert error_of(os.stat, mounted / "b") == errno.ENOENT
    assert "example.unknown" in json.dumps(mounted.report())


def test_cp_reports_what_it_cannot_copy_and_copies_the_rest(mount, store, tmp_path):
    write_file(store.file("a/c/0/0"), b"short")
    mounted = mount(store.path, damaged=True)
    done = subprocess.run(["cp", "-r", mounted.path, str(tmp_path / "copy")], capture_output=True, text=True)
    assert done.returncode != 0
    for name in ("0.0", "0.1", "1.0", "1.1"):
        assert f"a/{name}" in done.stderr
        assert not os.path.exists(tmp_path / f"copy/a/{name}") or os.path.getsize(tmp_path / f"copy/a/{name}") == 0
    rest = [name for name in store.present() if name not in ("0.0", "1.0", "1.1")]
    assert set(ALWAYS + rest) <= set(os.listdir(tmp_path / "copy/a"))


def test_an_open_file_is_read_to_its_end_long_after_it_was_replaced(mount, store):
    mounted = mount(store.path, "timeout=0.05")
    with open(mounted / "a/1.0", "rb") as old:
        store.write_shard(0, 0, add=100)
        within(60, lambda: read(mounted / "a/1.0") == store.chunk(1, 0, add=100))
        time.sleep(0.1)  # more than its attributes are known
        assert old.read() == store.chunk(1, 0), "at the end the kernel asks for the size once more"


def test_a_shard_changed_in_place_is_never_mixed(mount, store):
    mounted = mount(store.path, damaged=True)
    descriptor = os.open(mounted / "a/1.0", os.O_RDONLY)
    try:
        with open(store.file("a/c/0/0"), "r+b") as shard:
            shard.truncate(3)
        assert error_of(os.pread, descriptor, 16, 0) == errno.ESTALE
    finally:
        os.close(descriptor)


ASKER = """
import collections, errno, os, sys

def opened(name):
    descriptor = os.open(name, os.O_RDONLY)
    try:
        sizes = os.fstat(descriptor).st_size, len(os.read(descriptor, 1000)), os.fstat(descriptor).st_size
        os.listxattr(descriptor)
        if len(set(sizes)) != 1:
            raise OSError(0, f"sizes {sizes}")
    finally:
        os.close(descriptor)

def there(answer):
    if not answer:
        raise OSError(0, "not there")

acts = {"stat": os.stat, "access": lambda name: there(os.access(name, os.R_OK)), "exists": lambda name: there(os.path.exists(name)),
        "listxattr": os.listxattr, "open": opened, "scandir": lambda name: [entry.stat() for entry in os.scandir(os.path.dirname(name))]}
wrong = collections.Counter()
asked = 0
while not os.path.exists(sys.argv[2]):
    for name in ("0.0", "1.0", "1.1"):
        for act, ask in acts.items():
            asked += 1
            if asked == 100:
                print("asked a hundred times", flush=True)
            try:
                ask(f"{sys.argv[1]}/{name}")
            except OSError as error:
                wrong[f"{act}: {error.strerror}"] += 1
print(dict(wrong))
"""


@pytest.mark.parametrize("options", ["ro", "rw", "ro,watch=off"])
def test_a_chunk_is_never_missing_while_its_shard_is_replaced(mount, tmp_path, options):
    """Programs take what they cannot stat for absent, and so for the fill value."""
    store = SmallStore(tmp_path)
    mounted = mount(store.path, options)
    over = tmp_path / "over"
    programs = [subprocess.Popen([sys.executable, "-c", ASKER, mounted / "a", over], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    busy = threading.Thread(target=lambda: [program.stdout.readline() for program in programs])  # however slow the machine is
    busy.start()
    end = time.monotonic() + 3
    number = 0
    while busy.is_alive() or time.monotonic() < end:
        number += 1
        chunks = [store.chunk(0, 0) + bytes(number % 50), None, store.chunk(1, 0) + bytes(number % 30), store.chunk(1, 1)]
        write_file(store.file("a/c/0/0"), shard_bytes(chunks))
    over.touch()
    assert [program.communicate()[0] for program in programs] == ["{}\n"] * 3


@pytest.mark.parametrize("who", ["the mount", "another program"])
def test_the_status_by_a_descriptor_that_opens_nothing_is_never_stale(mount, store, who):
    """O_PATH, by which servers look at files: the kernel asks by the node that it knows, and does not look the name up again."""
    mounted = mount(store.path, "rw" if who == "the mount" else "ro,watch=off")
    chunk = mounted / "a/1.0"
    for size in (7, 9, 16):
        os.stat(chunk)
        if who == "the mount":
            with open(chunk, "r+b", buffering=0) as file:
                file.truncate(size)
                file.write(bytes(range(size)))
        else:
            write_file(store.file("a/c/0/0"), shard_bytes([store.chunk(0, 0), None, bytes(range(size)), store.chunk(1, 1)]))
            within(60, lambda size=size: os.stat(chunk).st_size == size)
        for _ in range(10):
            looked = os.open(chunk, os.O_PATH)
            assert os.fstat(looked).st_size == size
            os.close(looked)
        assert read(chunk) == bytes(range(size))
