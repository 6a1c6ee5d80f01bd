"""Temporary files beside shards that nobody uses any more go at the next commit there; those that somebody may need stay."""
import errno
import os
import subprocess

import pytest
from conftest import DAEMON, kill, within
from stores import SmallStore, document, shard_bytes, write_file, write_json

LEFT = ".zarrfs-next-" + "0123456789abcdef" * 2


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def sync(mounted):
    return subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)


def put(mounted, chunk, value):
    with open(mounted / chunk, "wb") as out:
        out.write(value)


def read(mounted, chunk):
    with open(mounted / chunk, "rb") as file:
        return file.read()


def plant(store, name=LEFT, directory="a/c/0"):
    path = store.file(f"{directory}/{name}")
    write_file(path, b"left" * 100)
    return path


def successors(store, directory="a/c/0"):
    return {name for name in os.listdir(store.file(directory)) if name.startswith(".zarrfs-next-")}


def test_what_a_dead_writer_left_goes_at_the_next_commit(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600")
    left, others = plant(store), [plant(store, name) for name in (".zarrfs-next-short", LEFT.upper(), LEFT + "0", "notes")]
    elsewhere = plant(store, directory="a/c/1")
    put(mounted, "a/0.0", store.chunk(5, 5))
    assert os.path.exists(left)
    assert sync(mounted).returncode == 0
    assert not os.path.exists(left)
    assert all(os.path.exists(path) for path in others), "names that are not zarrfs's"
    assert os.path.exists(elsewhere), "nothing was committed there"
    put(mounted, "a/2.0", store.chunk(6, 6))
    assert sync(mounted).returncode == 0
    assert not os.path.exists(elsewhere)
    mounted.unmount()
    again = mount(store.path, "ro")
    assert read(again, "a/0.0") == store.chunk(5, 5) and read(again, "a/2.0") == store.chunk(6, 6)


def test_what_stayed_where_a_commit_failed_goes_at_the_next_one(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    put(mounted, "a/0.0", store.chunk(5, 5))
    assert sync(mounted).returncode == 0
    left = plant(store)
    good = open(store.file("a/c/0/0"), "rb").read()
    put(mounted, "a/0.0", store.chunk(6, 6))
    write_file(store.file("a/c/0/0"), good[:-4] + b"\0\0\0\0")  # the checksum of its index
    assert sync(mounted).returncode != 0
    assert os.path.exists(left)
    write_file(store.file("a/c/0/0"), good)
    assert sync(mounted).returncode == 0
    assert not os.path.exists(left)
    assert read(mounted, "a/0.0") == store.chunk(6, 6)


def test_what_the_writer_itself_needs_stays(mount, store):
    """Chunks of one shard that wait for their commit, while another shard in its directory has one."""
    mounted = mount(store.path, "rw,flush_after=3600")
    put(mounted, "a/0.0", store.chunk(5, 5))
    waiting = successors(store)
    assert len(waiting) == 1
    left = plant(store)
    for row in (0, 1):
        for column in (2, 3):  # a whole shard is committed at once
            put(mounted, f"a/{row}.{column}", store.chunk(7, 7))
    within(120, lambda: not os.path.exists(left))
    assert successors(store) == waiting
    kill(mounted.statistics_process())
    subprocess.run(["umount", "-l", mounted.path], check=True)
    assert successors(store) == waiting
    again = mount(store.path, "rw")
    assert read(again, "a/0.0") == store.chunk(5, 5) and read(again, "a/1.3") == store.chunk(7, 7)
    again.unmount()
    assert not successors(store)


def test_what_a_writer_of_a_node_below_may_need_stays(mount, store):
    """Its log is in the node's own directory: the chunks that it acknowledged may be in these files alone."""
    write_json(store.file("group/zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(store.file("group/b/zarr.json"), document((4, 4), (4, 4), (2, 2)))
    write_file(store.file("group/b/c/0/0"), shard_bytes([store.chunk(1, 1)] * 4))
    below = mount(store.file("group"), "rw,flush_after=3600")
    put(below, "b/0.0", store.chunk(2, 2))
    kill(below.statistics_process())
    subprocess.run(["umount", "-l", below.path], check=True)
    needed = successors(store, "group/b/c/0")
    assert len(needed) == 1 and os.path.exists(store.file("group/.zarrfs/log"))
    mounted = mount(store.path, "rw,flush_after=3600", damaged=True)
    with pytest.raises(OSError) as refused:
        put(mounted, "group/b/1.1", store.chunk(3, 3))
    assert refused.value.errno == errno.EBUSY
    assert sync(mounted).returncode == 0
    assert needed <= successors(store, "group/b/c/0")
    mounted.unmount()
    below = mount(store.file("group"), "rw")
    assert read(below, "b/0.0") == store.chunk(2, 2) and read(below, "b/1.1") == store.chunk(1, 1)
