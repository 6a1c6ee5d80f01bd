"""Names that the kernel may keep for long, since their directories are watched: what costs no request, and what is told."""
import ctypes
import errno
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import Watched, need, within
from stores import SmallStore, document, shard_bytes, write_file, write_json
from test_files import error_of, read

MORE_THAN_TIMEOUT = 1.3
SOON = 20  # a change is told within milliseconds; a machine may be busy. What is not told is kept for 60 s


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def asked(mounted):
    requests = mounted.statistics()["requests"]
    return requests["lookup"] + requests["getattr"]


def cost(mounted, act):
    """How often `act` has the kernel look up or ask for attributes; reading the statistics costs as much each time."""
    asked(mounted)
    first = asked(mounted)
    second = asked(mounted)
    act()
    return asked(mounted) - second - (second - first)


def cost_later(mounted, name, act):
    """The cost of `act` when the usual second is over. Directories are not lent: where the machine took longer than they are known, again."""
    for _ in range(20):
        time.sleep(MORE_THAN_TIMEOUT)  # what the kernel keeps by time is too old then
        began = time.monotonic()
        os.stat(os.path.dirname(mounted / name))
        found = cost(mounted, act)
        if time.monotonic() - began < 0.9:
            return found
    pytest.fail("nothing is done within a second here")


def lent(mounted, name, tries=10):
    """Whether the kernel knows the name for longer than the usual second; asked again, since it forgets some when others want memory."""
    os.stat(mounted / name)
    return any(cost_later(mounted, name, lambda: os.stat(mounted / name)) == 0 for _ in range(tries))


def never_lent(mounted, name):
    return not lent(mounted, name, tries=3)


# In a mount that is written to, the names that are not listed are asked for each time (core/names/names_in_use.h).
@pytest.mark.parametrize("name,options", [("a/1.0", ""), ("a/1.0", "rw"), ("a/1/0", ""), ("a/1/0", "rw,separator=/")])
def test_a_chunk_of_a_watched_shard_costs_no_lookup_after_a_second(mount, store, name, options):
    mounted = mount(store.path, options)
    assert read(mounted / name) == store.chunk(1, 0)
    os.stat(mounted / name)  # reading may change the time of access, so the kernel asks again where the mount writes
    # The kernel drops pages when others want memory: then it reads, and asks for the time of access.
    assert any(cost_later(mounted, name, lambda: (read(mounted / name), os.stat(mounted / name))) == 0 for _ in range(10))


@pytest.mark.parametrize("options", ["watch=off", "timeout=0"])
def test_without_a_watch_it_costs_one(mount, store, options):
    assert never_lent(mount(store.path, options), "a/1.0")


def compact(store, add):
    """Another size for each chunk of c/0/0."""
    write_file(store.file("a/c/0/0"), shard_bytes([store.chunk(0, 0, add) + b"more", None, store.chunk(1, 0, add) + b"more", None]))


def in_place(store, add):
    data = shard_bytes([store.chunk(0, 0, add) + b"more", None, store.chunk(1, 0, add) + b"more", None])
    with open(store.file("a/c/0/0"), "r+b") as shard:
        shard.truncate(0)
        shard.write(data)


def other_directory(store, add):
    shutil.copytree(store.file("a"), store.file("b"))
    write_file(store.file("b/c/0/0"), shard_bytes([store.chunk(0, 0, add) + b"more", None, store.chunk(1, 0, add) + b"more", None]))
    exchange(store.file("a"), store.file("b"))


def exchange(one, other):
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize("change", [compact, in_place, other_directory])
def test_a_change_of_what_was_lent_is_told(mount, store, change):
    mounted = mount(store.path)
    assert lent(mounted, "a/1.0")
    assert os.stat(mounted / "a/1.0").st_size == 16
    change(store, 1000)
    within(SOON, lambda: os.stat(mounted / "a/1.0").st_size == 20)
    assert read(mounted / "a/1.0") == store.chunk(1, 0, 1000) + b"more"


def test_a_group_above_is_exchanged(mount, tmp_path):
    inner = SmallStore(tmp_path / "s")
    os.rename(inner.path, tmp_path / "g")
    outer = tmp_path / "outer"
    os.mkdir(outer)
    write_json(str(outer / "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    shutil.move(str(tmp_path / "g"), outer / "g")
    shutil.copytree(outer / "g", outer / "h")
    write_file(str(outer / "h/a/c/0/0"), shard_bytes([b"x" * 20, None, b"y" * 20, None]))
    mounted = mount(outer)
    assert lent(mounted, "g/a/1.0")
    exchange(outer / "g", outer / "h")
    within(SOON, lambda: os.stat(mounted / "g/a/1.0").st_size == 20)
    assert read(mounted / "g/a/1.0") == b"y" * 20


def test_a_lent_chunk_that_is_removed_is_gone(mount, store):
    mounted = mount(store.path)
    assert lent(mounted, "a/1.0")
    os.unlink(store.file("a/c/0/0"))
    within(SOON, lambda: error_of(os.stat, mounted / "a/1.0") == errno.ENOENT)


def test_opening_asks_whatever_was_told(mount, store):
    """A change through a mapping is told by nobody: stat may be late, read is not."""
    mounted = mount(store.path)
    assert lent(mounted, "a/1.0")
    with open(store.file("a/c/0/0"), "r+b") as shard, mmap.mmap(shard.fileno(), 0) as mapped:
        at = mapped.find(store.chunk(1, 0))
        mapped[at:at + 16] = store.chunk(1, 0, 1000)
        mapped.flush()
    within(60, lambda: read(mounted / "a/1.0") == store.chunk(1, 0, 1000))


def test_a_changed_document_is_told(mount, store):
    mounted = mount(store.path)
    assert lent(mounted, "a/2.0")
    write_json(store.file("a/zarr.json"), document((4, 8), (4, 4), (2, 2), fill=7))
    within(SOON, lambda: error_of(os.stat, mounted / "a/2.0") == errno.ENOENT)


def test_what_a_program_writes_is_seen_by_the_other_name(mount, store):
    mounted = mount(store.path, "rw")
    assert lent(mounted, "a/1.0")
    os.stat(mounted / "a/1/0")
    number = os.stat(mounted / "a/1.0").st_mtime_ns
    with open(mounted / "a/1/0", "wb") as chunk:
        chunk.write(store.chunk(1, 0, 500))
    within(SOON, lambda: os.stat(mounted / "a/1.0").st_mtime_ns != number)
    assert read(mounted / "a/1.0") == store.chunk(1, 0, 500)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_shard_of_two_names_is_not_lent(mount, store, link):
    """It can change by the other one, which no watched directory has."""
    os.rename(store.file("a/c/0/0"), store.file("elsewhere"))
    link(os.path.relpath(store.file("elsewhere"), store.file("a/c/0")) if link is os.symlink else store.file("elsewhere"), store.file("a/c/0/0"))
    assert never_lent(mount(store.path), "a/1.0")


def test_what_lay_open_to_others_is_not_lent(mount, store):
    need(os.geteuid() == 0, "allow_other needs root where /etc/fuse.conf does not allow it")
    assert never_lent(mount(store.path, "allow_other"), "a/1.0")


def test_where_no_instance_is_left_the_mount_goes_on_without(mount, store):
    need(os.geteuid() == 0, "a system call is refused to a command by root alone")
    refusing = [sys.executable, os.path.join(os.path.dirname(__file__), "refusing.py"), "inotify_init1", "EMFILE"]
    mounted = mount(store.path, prefix=refusing)
    assert read(mounted / "a/1.0") == store.chunk(1, 0)
    assert never_lent(mounted, "a/1.0")


STATS_FOR_EVER = """
import os, sys
while True:
    for row in range(4):
        for column in range(4):
            try:
                os.stat(f"{sys.argv[1]}/a/{row}.{column}")
            except FileNotFoundError:
                pass
"""


@pytest.mark.parametrize("end", ["kill", "umount"])
def test_a_daemon_that_ends_while_it_recalls_leaves_nobody_hanging(mount, store, end):
    for _ in range(3):
        mounted = mount(store.path, damaged=True)
        readers = [subprocess.Popen([sys.executable, "-c", STATS_FOR_EVER, mounted.path], stderr=subprocess.DEVNULL) for _ in range(3)]
        process = mounted.statistics()["process"]
        daemon = Watched(process)
        until = time.monotonic() + 0.7
        while time.monotonic() < until:
            for row, column in ((0, 0), (0, 1), (1, 0)):
                store.write_shard(row, column)
        if end == "kill":
            os.kill(process, signal.SIGKILL)
        for reader in readers:
            if end == "umount":
                reader.kill()
            assert reader.wait(600) != 0, "the mount is gone"
        if end == "kill":
            subprocess.run(["umount", "-l", mounted.path], check=True)
        else:
            mounted.unmount()
        within(60, daemon.has_ended)


def test_statuses_and_bytes_follow_a_shard_that_is_replaced_again_and_again(mount, store):
    mounted = mount(store.path)
    for add in range(1, 40):
        size = 16 + 4 * (add % 5)
        more = b"m" * (size - 16)
        write_file(store.file("a/c/0/0"), shard_bytes([store.chunk(0, 0, add) + more, None, store.chunk(1, 0, add) + more, None]))
        within(60, lambda: read(mounted / "a/1.0") == store.chunk(1, 0, add) + more)
        within(SOON, lambda: os.stat(mounted / "a/1.0").st_size == size)
        within(SOON, lambda: os.stat(mounted / "a/0.0").st_size == size)


def test_what_comes_into_an_empty_directory_of_chunks_is_listed(mount, store):
    """Its shard is there; of its chunks none lies in this row. (Mounts that write show no such row.)"""
    os.unlink(store.file("a/c/1/0"))
    write_file(store.file("a/c/1/1"), shard_bytes([None, None, store.chunk(3, 2), None]))
    mounted = mount(store.path, "ro,separator=/")
    for _ in range(3):
        assert os.listdir(mounted / "a/2") == []
    write_file(store.file("a/c/1/1"), shard_bytes([store.chunk(2, 2), None, store.chunk(3, 2), None]))
    for _ in range(3):
        assert os.listdir(mounted / "a/2") == ["2"]
        time.sleep(0.5)  # a listing that was kept meanwhile is asked, too
    write_file(store.file("a/c/1/1"), shard_bytes([None, None, store.chunk(3, 2), None]))
    for _ in range(3):
        assert os.listdir(mounted / "a/2") == []


@pytest.mark.parametrize("options", ["ro", "ro,watch=off", "rw"])
def test_what_is_unpacked_with_the_times_of_the_archive_is_seen(mount, store, options):
    """The next file may get the number of the one before, and has its size and mtime; the directories theirs."""
    def put(first, more):
        write_file(store.file("a/c/0/0"), shard_bytes(first))
        if more:
            store.write_shard(1, 1)

    def unpack(name):
        subprocess.run(["tar", "-C", os.path.dirname(store.path), "-xf", name], check=True)

    folder = os.path.dirname(store.path)
    for name, first, more in (("old", [store.chunk(0, 0), None, None, None], False), ("new", [None, None, store.chunk(1, 0), None], True)):
        put(first, more)
        subprocess.run(["tar", "-C", folder, "--mtime=2020-01-01", "-cf", os.path.join(folder, name), "store"], check=True)
    shutil.rmtree(store.path)
    unpack(os.path.join(folder, "old"))
    mounted = mount(store.path, options)
    assert {"0.0", "1.0", "3.3"} & set(os.listdir(mounted / "a")) == {"0.0"}
    unpack(os.path.join(folder, "new"))
    assert {"0.0", "1.0", "3.3"} & set(os.listdir(mounted / "a")) == {"1.0", "3.3"}
    within(SOON, lambda: read(mounted / "a/1.0") == store.chunk(1, 0) and not os.path.exists(mounted / "a/0.0"))
