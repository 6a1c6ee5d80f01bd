"""Where the file system shares blocks between files, a rewrite of a shard costs what is new in it, not the whole shard."""
import hashlib
import os
import random

import pytest
from conftest import read_all, within
from disks import Disk
from stores import document, shard_bytes, write_file, write_json
from test_files import read
from test_writing import sync, write

CHUNKS, CHUNK = 64, 1 << 16  # of the one shard; bytes of each


@pytest.fixture(params=["xfs", "btrfs"])
def disk(request, tmp_path):
    one = Disk(tmp_path, request.param, 512 << 20)
    one.mount()
    yield one
    one.unmount()


@pytest.mark.parametrize("index_location", ["start", "end"])
def test_a_changed_chunk_does_not_cost_the_whole_shard(mount, disk, index_location):
    rng = random.Random(1)
    chunks = [rng.randbytes(CHUNK) for _ in range(CHUNKS)]
    store = os.path.join(disk.path, "store")
    array = document((CHUNKS * CHUNK,), (CHUNKS * CHUNK,), (CHUNK,), "uint8")
    array["codecs"][0]["configuration"]["index_location"] = index_location
    write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(f"{store}/a/zarr.json", array)
    write_file(f"{store}/a/c/0", shard_bytes(chunks, index_location))
    mounted = mount(store, "rw,flush_after=3600")
    with open(f"{store}/a/c/0", "rb") as old:  # a reader outside keeps the old blocks in use
        disk.sync()
        before = os.statvfs(disk.path)
        for number in (3, 40):
            chunks[number] = rng.randbytes(CHUNK)
            write(mounted / f"a/{number}", chunks[number])
        sync(mounted)
        disk.sync()
        # XFS gives back the blocks of removed files a little later.
        within(60, lambda: (before.f_bfree - os.statvfs(disk.path).f_bfree) * before.f_frsize < CHUNKS * CHUNK // 4)
        assert os.stat(f"{store}/a/c/0").st_ino != os.fstat(old.fileno()).st_ino
    for number, chunk in enumerate(chunks):
        assert read(mounted / f"a/{number}") == chunk
    mounted.unmount()
    assert read_all("zarr3", store)["a"]["sha256"] == hashlib.sha256(b"".join(chunks)).hexdigest()
    assert os.listdir(f"{store}/a/c") == ["0"]
