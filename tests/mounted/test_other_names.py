"""Files in an array that are neither chunks nor documents: what fsync(2) makes of them, and names that two of them would have in the store."""
import errno
import os
import subprocess

import pytest
from conftest import DAEMON
from stores import SmallStore
from test_files import error_of, read


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path / "store")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def sync_by(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("synced", ["a/notes.txt", "a", "."])
def test_a_file_is_in_the_store_once_it_or_a_directory_above_it_is_synced(mount, store, synced):
    mounted = mount(store.path, "rw,flush_after=3600")
    write(mounted / "a/notes.txt", b"kept")
    write(mounted / "a/1.0.12ab.partial", b"half a chunk")
    assert error_of(os.stat, store.file("a/notes.txt")) == errno.ENOENT
    sync_by(mounted / synced)
    assert read(store.file("a/notes.txt")) == b"kept"
    assert error_of(os.stat, store.file("a/1.0.12ab.partial")) == errno.ENOENT, "its rename makes it a chunk"


def test_a_directory_of_chunks_is_synced_with_the_files_in_it(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600,view=v3")
    write(mounted / "a/c/1/notes.txt", b"kept")
    sync_by(mounted / "a/c/0")
    assert error_of(os.stat, store.file("a/c.1.notes.txt")) == errno.ENOENT
    sync_by(mounted / "a/c/1")
    assert read(store.file("a/c.1.notes.txt")) == b"kept"


def test_no_file_takes_the_name_in_the_store_that_another_one_has(mount, store):
    write(store.file("a/c.0.notes.txt"), b"stored")
    mounted = mount(store.path, "rw,flush_after=3600,view=v3")
    write(mounted / "a/c.1.notes.txt", b"first")
    write(mounted / "a/c/1/other.txt", b"among chunks")
    write(mounted / "a/c/1/12ab.partial", b"renamed")
    for name in ("a/c/0/notes.txt", "a/c/1/notes.txt", "a/c.1.other.txt"):
        assert error_of(write, mounted / name, b"another") == errno.EEXIST, name
        assert error_of(os.stat, mounted / name) == errno.ENOENT, name
    assert error_of(os.rename, mounted / "a/c/1/12ab.partial", mounted / "a/c/0/notes.txt") == errno.EEXIST
    write(mounted / "a/c/1/other.txt", b"again")
    want = {"c.0.notes.txt": b"stored", "c.1.notes.txt": b"first", "c.1.other.txt": b"again", "c.1.12ab.partial": b"renamed"}
    mounted.unmount()
    assert {name: read(store.file(f"a/{name}")) for name in want} == want


def test_a_file_that_came_into_the_store_meanwhile_is_not_replaced(mount, store):
    mounted = mount(store.path, "rw,flush_after=3600,view=v3", damaged=True)
    write(mounted / "a/c/1/notes.txt", b"of the mount")
    write(store.file("a/c.1.notes.txt"), b"of another program")
    assert error_of(sync_by, mounted / "a/c/1/notes.txt") == errno.EEXIST
    assert read(mounted / "a/c/1/notes.txt") == b"of the mount"
    done = subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    os.unlink(mounted / "a/c/1/notes.txt")
    mounted.unmount()
    assert read(store.file("a/c.1.notes.txt")) == b"of another program"
