"""Programs that write into an array that grows: some of them come to its directories, or write its chunks, before it has."""
import errno
import json
import os
import pathlib
import shutil
import subprocess
import threading

import pytest
from conftest import kill, within
from test_files import error_of


def resize(array, rows):
    with open(f"{array}/.new", "w") as file:
        json.dump({"zarr_format": 3, "node_type": "array", "shape": [rows, 4], "data_type": "float32", "fill_value": 0.0, "attributes": {},
                   "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 3]}}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                   "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}, file)
    os.rename(f"{array}/.new", f"{array}/zarr.json")


@pytest.mark.parametrize("before", ["resized", "made"])
def test_directories_of_before_keep_nobody_from_the_same_ones(mount, tmp_path, before):
    """The kernel moves a directory that it finds in two places to and fro, and looking it up fails while a program makes something in either."""
    os.mkdir(tmp_path / "store")
    array = f"{mount(tmp_path / 'store', 'rw,view=v3,timeout=0').path}/a"
    os.mkdir(array)
    if before == "resized":
        resize(array, 2)
    os.makedirs(f"{array}/c/1")
    older = os.open(f"{array}/c", os.O_RDONLY)
    resize(array, 8)
    os.makedirs(f"{array}/c/6", exist_ok=True)
    with open(f"{array}/c/6/0", "wb") as file:
        file.write(bytes(range(12)))
    working, failed = threading.Event(), []

    def look_up():
        while not working.is_set():
            try:
                os.stat(f"{array}/c/6")
            except OSError as error:
                failed.append(error)

    lookers = [threading.Thread(target=look_up) for _ in range(2)]
    for looker in lookers:
        looker.start()
    for _ in range(400):
        os.stat("6", dir_fd=older)
        os.mkdir("7", dir_fd=older)
        os.rmdir("7", dir_fd=older)
    working.set()
    for looker in lookers:
        looker.join()
    os.close(older)
    assert not failed, f"{len(failed)} times: {failed[0]}"


def set_rows(array, rows):
    with open(array / ".zarray", "w") as file:
        json.dump({"zarr_format": 2, "shape": [rows, 4], "chunks": [1, 4], "dtype": "<i2", "fill_value": 0, "order": "C", "filters": None, "compressor": None}, file)


def row(number):
    return bytes([number, 1, 2, 3, 4, 5, 6, 7])


@pytest.fixture
def growing(mount, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw,flush_after=3600")
    os.mkdir(mounted / "a")
    set_rows(pathlib.Path(mounted / "a"), 2)
    pathlib.Path(mounted / "a/1.0").write_bytes(row(1))
    return mounted


def test_chunks_may_be_written_before_the_shape_that_has_them(growing, mount, tmp_path):
    """As netCDF-C writes records that it appends. Until then they are files as any other."""
    array = pathlib.Path(growing / "a")
    for number in (2, 3, 9):
        with open(array / f"{number}.0", "xb") as file:
            file.write(row(number))
        assert (array / f"{number}.0").read_bytes() == row(number) and os.stat(array / f"{number}.0").st_size == 8
    assert error_of(os.open, array / "2.0", os.O_CREAT | os.O_EXCL | os.O_WRONLY) == errno.EEXIST
    assert set(os.listdir(array)) == {".zarray", "1.0", "2.0", "3.0", "9.0"}
    with open(array / "3.0", "r+b") as file:
        file.write(row(33))
    (array / "5.0").write_bytes(b"")
    os.unlink(array / "5.0")
    set_rows(array, 4)
    assert [(array / f"{number}.0").read_bytes() for number in (1, 2, 3, 9)] == [row(1), row(2), row(33), row(9)]
    (array / "3.0").write_bytes(row(34))
    set_rows(array, 10)
    growing.unmount()
    assert not (tmp_path / "store/a/.zarrfs-early").exists() and not (tmp_path / "store/.zarrfs/early").exists()
    array = pathlib.Path(mount(tmp_path / "store") / "a")
    assert {name for name in os.listdir(array) if not name.startswith(".")} == {"1.0", "2.0", "3.0", "9.0"}
    assert [(array / f"{number}.0").read_bytes() for number in (1, 2, 3, 9)] == [row(1), row(2), row(34), row(9)]


@pytest.mark.parametrize("end", ["killed", "unmounted"])
def test_chunks_that_wait_for_the_shape_outlive_the_mount(growing, mount, tmp_path, end):
    for number in (2, 7):
        pathlib.Path(growing / f"a/{number}.0").write_bytes(row(number))
    if end == "killed":
        kill(growing.statistics_process())
        subprocess.run(["umount", "-l", growing.path], check=True)
    else:
        growing.unmount()
    again = mount(tmp_path / "store", "rw", damaged=True)
    within(10, lambda: "wait in a/.zarrfs-early until it grows" in again.log_text())
    assert pathlib.Path(again / "a/2.0").read_bytes() == row(2)
    set_rows(pathlib.Path(again / "a"), 3)
    assert pathlib.Path(again / "a/2.0").read_bytes() == row(2)
    again.unmount()
    assert (tmp_path / "store/a/.zarrfs-early/7.0").read_bytes() == row(7)
    assert pathlib.Path(mount(tmp_path / "store") / "a/2.0").read_bytes() == row(2)


def test_an_array_is_removed_and_moved_with_the_chunks_that_wait(growing, mount, tmp_path):
    array, other = pathlib.Path(growing / "a"), pathlib.Path(growing / "b")
    (array / "7.0").write_bytes(row(7))
    shutil.rmtree(array)
    assert not os.path.exists(array) and not (tmp_path / "store/a").exists() and not (tmp_path / "store/.zarrfs/early").exists()
    os.mkdir(array)
    set_rows(array, 2)
    assert error_of(os.stat, array / "7.0") == errno.ENOENT
    (array / "5.0").write_bytes(row(5))
    os.rename(array, other)
    assert (other / "5.0").read_bytes() == row(5)
    set_rows(other, 6)
    growing.unmount()
    assert pathlib.Path(mount(tmp_path / "store") / "b/5.0").read_bytes() == row(5)
    assert not (tmp_path / "store/b/.zarrfs-early").exists()


def test_an_array_does_not_grow_over_a_chunk_that_is_being_written(growing):
    """Its document waits, or is refused."""
    array = pathlib.Path(growing / "a")
    with open(array / "2.0", "xb", buffering=0) as file:
        file.write(row(2)[:4])
        assert error_of(set_rows, array, 3) == errno.EBUSY
        file.write(row(2)[4:])
    set_rows(array, 3)
    assert (array / "2.0").read_bytes() == row(2)
