"""What cannot be read or written is named, with the system's reason."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile

import pytest
from conftest import ZARRFS, add_array, need, run, run


def run_limited(*arguments):
    """What `zarrfs ARGUMENTS` says and ends with where no file may grow, as on a full disk."""
    def no_bytes():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run([ZARRFS, *map(str, arguments)], capture_output=True, text=True, preexec_fn=no_bytes, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("in_place", [False, True])
def test_a_marker_that_cannot_be_written(store, tmp_path, in_place):
    new = tmp_path / ("store.zarrfs-new" if in_place else "new")
    arguments = ["unshard", store, *(["--in-place"] if in_place else [new])]
    status, told = run_limited(*arguments)
    assert status == 3 and f"{new}/.zarrfs-conversion: writing: File too large" in told
    assert os.listdir(new) == []
    run(*arguments)


def test_a_marker_that_was_cut_short_is_written_again(store, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    (new / ".zarrfs-conversion").write_text("{")
    with open(store / "a" / "c" / "1" / "0", "r+b") as file:
        file.truncate(30)
    run("unshard", store, new, status=1)
    assert json.loads((new / ".zarrfs-conversion").read_text())["source"] == str(store)
    assert "another conversion" in run("unshard", store, new, "--format", "v2", status=3).stderr_text


def test_references_that_cannot_be_written(store, tmp_path):
    assert run_limited("refs", store, "-o", tmp_path / "refs.json") == (3, f"zarrfs: {tmp_path}/refs.json: writing the references: File too large\n")
    assert os.listdir(tmp_path) == ["store"]
    for command, what in (["refs", store], "writing the references: "), (["cat", store, "a/0.0"], ""):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ZARRFS, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 3 and f"standard output: {what}No space left on device" in done.stderr, done.stderr


def run_as_nobody(*arguments):
    need(os.geteuid() == 0, "only root becomes another user")
    done = subprocess.run([ZARRFS, *map(str, arguments)], capture_output=True, text=True, user=65534, group=65534, timeout=60)
    return done.returncode, done.stderr


@pytest.fixture
def open_directory():
    """A directory that any user can reach and write to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        yield pathlib.Path(name).resolve()


def test_what_may_not_be_read_is_named(open_directory):
    store = open_directory / "store"
    add_array(store)
    (store / ".zarrfs").mkdir(0o700)
    status, told = run_as_nobody("shard", store, open_directory / "new")
    assert (status, told) == (3, f"zarrfs: {store}/.zarrfs/log: opening: Permission denied\n")
    assert os.listdir(open_directory) == ["store"]


def test_what_may_not_be_read_is_no_damage(open_directory):
    for name in ("a", "b"):
        add_array(open_directory / name)
    (open_directory / "a" / "zarr.json").chmod(0o600)
    done = run_as_nobody("verify", open_directory)
    assert done == (3, "zarrfs: /a is not checked: a/zarr.json: opening: Permission denied\n")
    add_array(open_directory / "c")
    os.truncate(open_directory / "c" / "zarr.json", 5)
    assert run_as_nobody("verify", open_directory)[0] == 1
