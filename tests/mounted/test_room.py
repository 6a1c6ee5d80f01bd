"""What a writing mount needs of the storage and of the system, and what happens when it is little."""
import errno
import os
import resource
import subprocess
import threading

import pytest
from conftest import DAEMON, within
from disks import Disk
from stores import document, write_json

CHUNK = 256 * 1024


@pytest.fixture
def small_disk(tmp_path):
    disk = Disk(tmp_path, "ext4", 56 << 20)
    disk.mount()
    yield disk
    disk.unmount()


def make_store(folder, shards):
    """A group with one array "a" of `shards` shards, each of 4 chunks of 256 KiB."""
    path = os.path.join(str(folder), "store")
    write_json(os.path.join(path, "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(os.path.join(path, "a/zarr.json"), document((shards * 4 * CHUNK,), (4 * CHUNK,), (CHUNK,), "uint8"))
    return path


def write(path, value):
    with open(path, "wb") as out:
        out.write(bytes([value % 251]) * CHUNK)


def first_byte(path):
    with open(path, "rb") as chunk:
        return chunk.read(1)[0]


def test_one_chunk_is_written_many_times_on_a_small_disk(mount, small_disk):
    store = make_store(small_disk.path, 2)
    mounted = mount(store, "rw,flush_after=3600")
    write(mounted / "a/1", 7)
    for value in range(500):  # 125 MiB
        write(mounted / "a/0", value)
    mounted.unmount()
    again = mount(store, "ro")
    assert (first_byte(again / "a/0"), first_byte(again / "a/1")) == (499 % 251, 7)
    again.unmount()


def test_removed_chunks_make_room_on_a_full_disk(mount, small_disk):
    store = make_store(small_disk.path, 80)
    mounted = mount(store, "rw,flush_after=3600", damaged=True)
    written = 0
    with pytest.raises(OSError) as full:
        for written in range(320):
            write(mounted / f"a/{written}", written)
    assert full.value.errno == errno.ENOSPC
    # The file system may give back removed blocks a little later; what found no room is tried again.
    within(60, lambda: subprocess.run([DAEMON, "sync", mounted.path], timeout=600).returncode == 0)
    for chunk in range(8):  # the chunks of two shards
        os.unlink(mounted / f"a/{chunk}")
    for chunk in range(4):
        write(mounted / f"a/{chunk}", 100 + chunk)
    mounted.unmount()
    again = mount(store, "ro")
    assert [first_byte(again / f"a/{chunk}") for chunk in (0, 3, 8)] == [100, 103, 8]
    assert not os.path.exists(again / "a/4")
    again.unmount()


def test_more_shards_are_dirty_than_files_may_be_open(tmp_path, mount):
    store = str(tmp_path / "store")
    write_json(os.path.join(store, "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(os.path.join(store, "a/zarr.json"), document((1200,), (2,), (1,), "uint8"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    command = ["prlimit", "--nofile=256:256", DAEMON, "mount", store, str(tmp_path / "mnt"), "-o", "rw,flush_after=3600"]
    os.mkdir(tmp_path / "mnt")
    assert subprocess.run(command, timeout=600).returncode == 0
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    for shard in range(600):
        with open(tmp_path / f"mnt/a/{2 * shard}", "wb") as out:
            out.write(bytes([1 + shard % 250]))
    assert first_byte(tmp_path / "mnt/a/0") == 1
    done = subprocess.run([DAEMON, "umount", str(tmp_path / "mnt")], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    again = mount(store, "ro")
    assert [first_byte(again / f"a/{2 * shard}") for shard in range(600)] == [1 + shard % 250 for shard in range(600)]
    again.unmount()


def test_sync_waits_for_nothing_that_is_written_later(tmp_path, mount):
    store = make_store(tmp_path, 8)
    mounted = mount(store, "rw,flush_after=3600")
    stopped = threading.Event()

    def keep_writing():
        value = 0
        while not stopped.is_set():
            value += 1
            write(mounted / f"a/{value % 32}", value)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for _ in range(5):
            done = subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)
            assert (done.returncode, done.stderr) == (0, "")
    finally:
        stopped.set()
        writer.join()
    mounted.unmount()


def test_an_array_is_moved_while_it_is_written(tmp_path, mount):
    store = make_store(tmp_path, 2)
    mounted = mount(store, "rw,flush_after=3600", damaged=True)
    stopped = threading.Event()
    allowed = {}  # chunk -> the value that was acknowledged last, and those that were tried since

    def keep_writing():
        value = 0
        while not stopped.is_set():
            value += 1
            for name in ("a", "b"):
                try:
                    write(mounted / f"{name}/{value % 8}", value)
                    allowed[value % 8] = {value % 251}
                except OSError:
                    allowed.setdefault(value % 8, set()).add(value % 251)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        moves = 0
        while moves < 20 or len(allowed) < 8:
            for source, target in (("a", "b"), ("b", "a")):
                try:
                    os.rename(mounted / source, mounted / target)
                    moves += 1
                except OSError:
                    continue
    finally:
        stopped.set()
        writer.join()
    assert moves > 0
    name = "a" if os.path.exists(mounted / "a/.zarray") else "b"
    mounted.unmount()
    again = mount(store, "ro")
    assert len(allowed) == 8
    for chunk, values in allowed.items():
        assert first_byte(again / f"{name}/{chunk}") in values
    again.unmount()
