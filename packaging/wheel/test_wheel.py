"""The installed wheel in an empty environment: packaging/wheel/test runs this."""
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import xarray
import zarr

import zarrfs

EXAMPLE = os.environ["ZARRFS_EXAMPLE"]


def mean_of(path):
    return float(zarr.open_group(path, mode="r")["0"][...].mean())


@pytest.fixture(scope="module")
def mean():
    with zarrfs.mount(EXAMPLE, ro=True) as path:
        return mean_of(path)


def test_the_command_needs_the_c_library_alone():
    command = shutil.which("zarrfs", path=os.path.dirname(sys.executable))
    assert subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.startswith("zarrfs ")
    loaded = subprocess.run(["ldd", zarrfs.program()], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].split(".so")[0] for line in loaded.splitlines() if "=> /" in line}
    assert "libc" in names and names <= {"libc", "libm", "libpthread", "libdl"}, loaded


def test_zarr_2_and_xarray_read_a_mount(mean):
    with zarrfs.mount(EXAMPLE, profile="xarray", ro=True) as path:
        assert path.endswith("brain.ome.zarr") and os.path.ismount(path)
        with xarray.open_zarr(path, consolidated=False) as dataset:
            assert float(dataset["0"].mean()) == pytest.approx(mean)
        assert mean_of(path) == mean
    assert not os.path.exists(path) and not os.path.exists(os.path.dirname(path))


def test_options_are_those_of_the_command():
    with zarrfs.mount(EXAMPLE, ro=True, rechunk=(1, 24, 48, 48), timeout=0.5, log=None) as path:
        assert zarr.open_group(path, mode="r")["0"].chunks == (1, 24, 48, 48)
    with pytest.raises(zarrfs.Error, match='there is no option "nonsense"') as caught:
        zarrfs.mount(EXAMPLE, nonsense=True)
    assert caught.value.status == 2
    with pytest.raises(zarrfs.Error, match="nowhere"):
        zarrfs.mount("/nowhere/at/all", ro=True)


def test_what_is_written_is_in_the_store_when_it_is_unmounted(tmp_path):
    with zarrfs.mount(tmp_path) as path:
        zarr.open_array(f"{path}/a", mode="w", shape=(64, 64), chunks=(16, 16), dtype="i4")[:] = 7
    document = json.loads((tmp_path / "a" / "zarr.json").read_text())
    assert document["codecs"][0]["name"] == "sharding_indexed"
    assert [node["sharded"] for node in zarrfs.info(tmp_path, "a")["nodes"]] == [True]
    assert len([name for _, _, names in os.walk(tmp_path / "a" / "c") for name in names]) == 1


def test_mounts_are_listed(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    mount = zarrfs.mount(EXAMPLE, place, ro=True)
    try:
        assert os.fspath(mount) == mount.path == str(place) and mount.mounted
        found = [one for one in zarrfs.mounts() if one["mountpoint"] == str(place)]
        assert [(one["source"], one["read_only"]) for one in found] == [(os.path.realpath(EXAMPLE), True)]
        mean_of(mount.path)
        assert mount.statistics()["index_reads"] > 0 and mount.report()["faults"] == []
    finally:
        mount.unmount()
    mount.unmount()
    assert not mount.mounted and place.is_dir()


def test_a_busy_mount_says_who_uses_it_and_stays():
    mount = zarrfs.mount(EXAMPLE, ro=True)
    with open(os.path.join(mount.path, "0", ".zarray")):
        with pytest.raises(zarrfs.Error, match=rf"in use by .*\({os.getpid()}\): open file 0/.zarray"):
            mount.unmount()
        assert mount.mounted
    mount.unmount()


def test_an_error_in_the_block_is_the_one_that_is_raised():
    with pytest.warns(RuntimeWarning, match="in use"), pytest.raises(KeyError):
        mount = zarrfs.mount(EXAMPLE, ro=True)
        with mount as path:
            held = open(os.path.join(path, "0", ".zarray"))
            raise KeyError("mine")
    held.close()
    mount.unmount()


def child_mean(path, queue):
    queue.put(mean_of(path))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_read_and_leave_the_mount_alone(mean, way):
    context = multiprocessing.get_context(way)
    with zarrfs.mount(EXAMPLE, ro=True) as path:
        queue = context.Queue()
        workers = [context.Process(target=child_mean, args=(path, queue)) for _ in range(2)]
        for worker in workers:
            worker.start()
        assert [queue.get(timeout=60) for _ in workers] == [mean, mean]
        for worker in workers:
            worker.join()
        assert os.path.ismount(path)


def test_a_forked_child_that_exits_does_not_unmount():
    mount = zarrfs.mount(EXAMPLE, ro=True)
    child = os.fork()
    if child == 0:
        assert not mount.mounted
        mount.unmount()
        zarrfs._mount._unmount_all()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0 and os.path.ismount(mount.path)
    mount.unmount()


def test_dask_reads_it(mean):
    dask_array = pytest.importorskip("dask.array")
    with zarrfs.mount(EXAMPLE, ro=True) as path:
        assert float(dask_array.from_zarr(f"{path}/0").mean().compute(scheduler="processes", num_workers=2)) == pytest.approx(mean)


def test_what_is_left_is_unmounted_at_exit():
    program = f"import zarrfs; m = zarrfs.mount({EXAMPLE!r}, ro=True); print(m.path)"
    path = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert path and not os.path.exists(path)


def within(seconds, check):
    for _ in range(int(seconds / 0.05)):
        if check():
            return
        time.sleep(0.05)
    pytest.fail(f"not so within {seconds} s")


HOLDER = """
import sys, time, zarrfs
mount = zarrfs.mount(sys.argv[1], ro=True, **eval(sys.argv[2]))
held = open(mount.path + "/0/.zarray")
print(mount.path, flush=True)
time.sleep(1000)  # until it is killed
"""


def holder(**options):
    """A process that has mounted and holds a file open, and where."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, EXAMPLE, repr(options)], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_leaves_nothing(number):
    process, path = holder()
    assert os.path.ismount(path)
    process.send_signal(number)
    process.wait()
    within(60, lambda: not os.path.exists(os.path.dirname(path)))


def test_a_worker_that_is_killed_leaves_nothing():
    """A dask worker, or any other process of multiprocessing, that mounts for itself."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=mount_and_wait, args=(queue,))
    worker.start()
    path = queue.get(timeout=60)
    assert os.path.ismount(path)
    worker.kill()
    worker.join()
    within(60, lambda: not os.path.exists(os.path.dirname(path)))


def mount_and_wait(queue):
    mount = zarrfs.mount(EXAMPLE, ro=True)
    queue.put(mount.path)
    time.sleep(1000)  # until it is killed


def test_a_job_that_is_told_to_end_leaves_nothing():
    """As a batch system does it: SIGTERM to all that the job has started, the daemon too, and SIGKILL to what is left."""
    process, path = holder()
    daemon = int(os.getxattr(path, "user.zarrfs.process"))
    for one in (daemon, process.pid):
        os.kill(one, signal.SIGTERM)
    within(30, lambda: not os.path.exists(f"/proc/{daemon}"))
    process.kill()
    process.wait()
    assert not os.path.exists(os.path.dirname(path))


def test_a_mount_stays_where_that_was_said():
    process, path = holder(stays=True)
    process.kill()
    process.wait()
    # Nothing is going to happen: another mount that began later has ended with its process.
    other, other_path = holder()
    other.kill()
    other.wait()
    within(60, lambda: not os.path.exists(other_path))
    assert os.path.ismount(path)
    subprocess.run([zarrfs.program(), "umount", path], check=True)
    within(60, lambda: not os.path.exists(os.path.dirname(path)))


def test_a_mount_that_stays_is_not_unmounted_at_exit():
    program = f"import zarrfs; print(zarrfs.mount({EXAMPLE!r}, ro=True, stays=True).path)"
    path = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert os.path.ismount(path)
    subprocess.run([zarrfs.program(), "umount", path], check=True)


def test_options_are_numpy_numbers_and_paths(tmp_path):
    log = tmp_path / "log, of a mount"
    options = {"ro": np.bool_(True), "idle": np.int64(600), "timeout": np.float32(0.5), "rechunk": np.array([1, 24, 48, 48]), "log": log,
               "immutable": np.bool_(False), "threads": np.uint8(3)}
    with zarrfs.mount(pathlib.Path(EXAMPLE), **options) as path:
        assert zarr.open_group(path, mode="r")["0"].chunks == (1, 24, 48, 48)
    assert log.exists()
    assert zarrfs._options.option_list(options) == f"ro,idle=600,timeout=0.5,rechunk=1x24x48x48,log={str(log).replace(',', chr(92) + ',')},threads=3"
    with pytest.raises(TypeError):
        zarrfs.mount(EXAMPLE, rechunk=(1, 2.5))


def test_what_a_mount_says_is_a_warning(tmp_path):
    wide = tmp_path / "a.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with zarrfs.mount(wide_store(wide)) as path:  # it is read and written, which needs no warning
            assert os.path.exists(path)
    with zarrfs.mount(wide) as path:
        zarr.open_group(path, mode="a").create_dataset("flags", shape=(4,), chunks=(2,), dtype="?")[:] = True
    with pytest.warns(zarrfs.MountWarning, match="^1 hidden ./flags.: see") as told:
        with zarrfs.mount(wide, ro=True, profile="netcdf"):
            pass
    assert os.path.basename(told[0].filename) == os.path.basename(__file__)
    within_mount = zarrfs.mount(wide)
    with pytest.warns(zarrfs.MountWarning, match="read-only"):
        zarrfs.mount(within_mount, profile="generic").unmount()
    within_mount.unmount()


def wide_store(path):
    path.mkdir()
    with zarrfs.mount(path) as mounted:
        zarr.open_group(mounted, mode="a").create_dataset("a", shape=(4, 4), chunks=(2, 2), dtype="i4")[:] = 1
    return path


def test_an_idle_mount_that_is_gone_is_no_error():
    mount = zarrfs.mount(EXAMPLE, ro=True, idle=0.2)
    within(60, lambda: not os.path.ismount(mount.path))
    mount.unmount()
    assert not mount.mounted and not os.path.exists(mount.path)


def test_missing_fuse_is_said_in_words(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(zarrfs.FuseMissing, match="fusermount3 is missing.*apt install fuse3"):
        zarrfs.mount(EXAMPLE)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(zarrfs.FuseMissing, match="/dev/fuse"):
        zarrfs.mount(EXAMPLE)


def test_info_is_what_the_command_says():
    arrays = {node["path"]: node for node in zarrfs.info(EXAMPLE)["nodes"]}
    assert np.prod(arrays["0"]["shape"]) == 2 * 24 * 96 * 128
