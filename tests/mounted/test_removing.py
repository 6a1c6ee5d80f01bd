"""Removing what cannot be read, and removing where there is no room to note it."""
import errno
import json
import os
import subprocess

import pytest
from conftest import DAEMON
from disks import Disk
from stores import SmallStore, document, shard_bytes, write_file, write_json
from test_files import error_of, read
from test_writing import left_behind, values, write

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


@pytest.fixture
def store(tmp_path):
    """Its shard a/c/0/0 has no whole index."""
    small = SmallStore(tmp_path / "store")
    os.truncate(small.file("a/c/0/0"), 20)
    return small


IN_SHARD = ("0.0", "0.1", "1.0", "1.1")


def test_one_chunk_of_a_shard_without_an_index_cannot_be_replaced(mount, store):
    mounted = mount(store.path, "rw", damaged=True)
    assert error_of(write, mounted / "a/0.0", store.chunk(1, 0)) == errno.EUCLEAN
    os.unlink(mounted / "a/0.1")
    assert error_of(write, mounted / "a/0.0", store.chunk(1, 0)) == errno.EUCLEAN
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "/a chunk 0.1" in done.stderr and os.path.getsize(store.file("a/c/0/0")) == 20


def test_a_shard_without_an_index_can_be_removed_chunk_by_chunk_and_written_anew(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    for name in IN_SHARD:
        os.unlink(mounted / f"a/{name}")
    assert not set(IN_SHARD) & set(os.listdir(mounted / "a"))
    write(mounted / "a/1.0", store.chunk(1, 0))
    mounted.unmount()
    assert values(store)[2][0] == 10
    assert error_of(read, mount(store.path) / "a/0.0") == errno.ENOENT and left_behind(store) == []


def test_an_array_with_a_shard_without_an_index_can_be_removed(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    subprocess.run(["rm", "-r", mounted / "a"], check=True, timeout=600)
    mounted.unmount()
    assert not os.path.exists(store.file("a")) and left_behind(store) == []


def test_room_can_be_made_on_a_full_disk(mount, tmp_path):
    disk = Disk(tmp_path, "ext4", 16 << 20)
    disk.mount()
    store = f"{disk.path}/store"
    write_json(f"{store}/zarr.json", GROUP)
    for name in ("kept", "gone", "thin"):
        write_json(f"{store}/{name}/zarr.json", document((64, 64), (64, 64), (32, 32)))
        write_file(f"{store}/{name}/c/0/0", shard_bytes([bytes([i]) * 4096 for i in range(4)]))
    mounted = mount(store, "rw,flush_after=3600", damaged=True)
    with open(f"{disk.path}/filler", "wb", buffering=0) as filler:
        block = bytes(65536)
        while block:
            try:
                filler.write(block)
            except OSError:
                block = block[:len(block) // 2]
    subprocess.run(["rm", "-r", mounted / "gone"], check=True, timeout=600)
    for name in os.listdir(mounted / "thin"):
        if not name.startswith("."):
            os.unlink(mounted / f"thin/{name}")
    mounted.unmount()
    assert not os.path.exists(f"{store}/gone") and not os.path.exists(f"{store}/thin/c") and os.path.exists(f"{store}/kept/c/0/0")
    assert read(mount(store) / "kept/1.1") == bytes([3]) * 4096
    subprocess.run([DAEMON, "umount", tmp_path / "mnt1"], check=True, timeout=600)
    disk.unmount()


@pytest.mark.parametrize("name", ["a/c", "a/c/0"])
def test_a_file_in_place_of_a_directory_of_shards_is_damage(mount, tmp_path, name):
    small = SmallStore(tmp_path / "store")
    subprocess.run(["rm", "-r", small.file(name)], check=True)
    write_file(small.file(name), b"no directory")
    mounted = mount(small.path, damaged=True)
    assert error_of(read, mounted / "a/0.0") == errno.EUCLEAN
    assert error_of(os.listdir, mounted / "a") == errno.EUCLEAN
    assert json.loads(read(mounted / "a/.zarray"))["zarr_format"] == 2
