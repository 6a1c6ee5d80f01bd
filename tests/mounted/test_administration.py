"""What docs/administration.md tells those who run the machine."""
import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from conftest import DAEMON, need, run_zarr, within
from stores import SmallStore
from test_files import error_of, read

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def run(*command, status=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def write_array(path, value):
    run_zarr("zarr2", f"import zarr; zarr.open({str(path)!r}, 'w', shape=(40, 40), chunks=(10, 10), dtype='i4')[:] = {value}")


def values(store):
    """The values of array "a" of a store, as a mount of it shows them, recovered where that is needed."""
    run(DAEMON, "recover", store)
    return run_zarr("zarr3", f"import zarr; print(set(zarr.open_array({str(store)!r} + '/a', mode='r')[...].ravel().tolist()))").strip()


def test_a_backup_of_the_store_is_whole_after_sync_and_recovers_without(mount, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw,flush_after=3600")
    write_array(mounted / "a", 5)
    run("tar", "-C", store, "-cf", tmp_path / "before.tar", ".")
    run(DAEMON, "sync", mounted.path)
    run("tar", "-C", store, "-cf", tmp_path / "after.tar", ".")
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        run("tar", "-C", tmp_path / name, "-xf", tmp_path / f"{name}.tar")
        assert values(tmp_path / name) == "{5}", name
    assert not [name for name in os.listdir(tmp_path / "after" / "a") if name.startswith(".zarrfs")]


def test_a_backup_of_a_mount_is_a_plain_store(mount, store, tmp_path):
    mounted = mount(store.path)
    run("tar", "--exclude=./.zarrfs", "-C", mounted.path, "-cf", tmp_path / "view.tar", ".")
    (tmp_path / "copy").mkdir()
    run("tar", "-C", tmp_path / "copy", "-xf", tmp_path / "view.tar")
    assert read(tmp_path / "copy" / "a/1.0") == store.chunk(1, 0)


def test_updatedb_leaves_out_mounts_that_it_is_told_to_leave_out(mount, store, tmp_path):
    need(shutil.which("updatedb") and shutil.which("locate"), "updatedb and locate are missing: apt install plocate")
    mounted = mount(store.path)

    def found(*options):
        database = tmp_path / "locate.db"
        run("updatedb", "-l", "no", "-U", tmp_path, "-o", database, "--prune-bind-mounts", "no", "--prunepaths", "", *options)
        done = subprocess.run(["locate", "-d", database, ".zarray"], capture_output=True, text=True)
        return bool(done.stdout.strip())

    assert found("--prunefs", "")
    assert not found("--prunefs", "fuse.zarrfs")


class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]


def handle_of(path):
    libc, handle, number = ctypes.CDLL(None, use_errno=True), Handle(size=128), ctypes.c_int()
    done = libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(number), 0)
    assert done == 0, os.strerror(ctypes.get_errno())
    return handle


def open_by_handle(mounted, handle):
    libc = ctypes.CDLL(None, use_errno=True)
    directory = os.open(mounted.path, os.O_RDONLY)
    try:
        descriptor = libc.open_by_handle_at(directory, ctypes.byref(handle), os.O_RDONLY)
        problem = ctypes.get_errno()
    finally:
        os.close(directory)
    if descriptor < 0:
        raise OSError(problem, os.strerror(problem))
    os.close(descriptor)


@ROOT_ONLY
def test_file_handles_do_not_outlive_the_kernels_memory_of_a_file(mount, store):
    """Why the kernel's NFS server is no way to export a mount."""
    mounted = mount(store.path)
    handle = handle_of(mounted / "a/1.0")
    forgotten = mounted.statistics()["requests"]["forget"]
    with open("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write("2")
    within(60, lambda: mounted.statistics()["requests"]["forget"] > forgotten)
    within(60, lambda: error_of(open_by_handle, mounted, handle) == errno.ESTALE)
    assert read(mounted / "a/1.0") == store.chunk(1, 0)


@ROOT_ONLY
def test_a_mount_is_seen_where_mounts_are_propagated(store, tmp_path):
    """A container's volume with propagation HostToContainer sees what a sidecar mounts in it later."""
    volume, to, back = tmp_path / "volume", tmp_path / "to", tmp_path / "back"
    (volume / "mnt").mkdir(parents=True)
    os.mkfifo(to)
    os.mkfifo(back)
    script = f"""
exec 3<>{to} 4<>{back}
mount --bind {volume} {volume} && mount --make-shared {volume}
unshare --mount --propagation slave sh -c 'echo ready; read line; cat {volume}/mnt/a/.zarray; echo; echo over' <&3 >&4 &
read line <&4
{DAEMON} mount {store.path} {volume}/mnt -o ro
echo go >&3
wait
while read -r line && [ "$line" != over ]; do echo "$line"; done <&4
{DAEMON} umount {volume}/mnt
"""
    told = subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", script], capture_output=True, text=True, timeout=600)
    assert '"zarr_format": 2' in told.stdout.replace('"zarr_format":2', '"zarr_format": 2'), told.stdout + told.stderr


def test_the_program_can_be_replaced_while_stores_are_mounted(store, tmp_path):
    old, mountpoint = tmp_path / "zarrfs", tmp_path / "mountpoint"
    mountpoint.mkdir()
    shutil.copy(DAEMON, old)
    run(old, "mount", store.path, mountpoint, "-o", "ro")
    try:
        shutil.copy(DAEMON, tmp_path / "new")
        os.rename(tmp_path / "new", old)  # as dpkg does
        assert read(mountpoint / "a/1.0") == store.chunk(1, 0)
    finally:
        run(old, "umount", mountpoint)
    assert not os.path.ismount(mountpoint)


def test_nothing_is_deleted_with_deletes_deny(mount, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw,deletes=deny")
    write_array(mounted / "a", 5)
    with open(mounted / "a/new.partial", "wb") as new:
        new.write(b"\x09\x00\x00\x00" * 100)
    assert error_of(os.replace, mounted / "a/new.partial", mounted / "a/0.0") == errno.EPERM
    for name in ("a/0.0", "a/.zarray"):
        assert error_of(os.unlink, mounted / name) == errno.EPERM
    chunk = read(mounted / "a/0.0")
    with open(mounted / "a/0.1", "wb") as existing:  # written in place
        existing.write(chunk)
    mounted.unmount()
    assert values(store) == "{5}"


def test_log_levels_say_more_or_less(store, tmp_path):
    sizes = {}
    for level in ("error", "info", "debug"):
        log, mountpoint = tmp_path / level, tmp_path / f"mnt-{level}"
        mountpoint.mkdir()
        run(DAEMON, "mount", store.path, mountpoint, "-o", f"ro,log={log},log_level={level}")
        read(mountpoint / "a/0.0")
        run(DAEMON, "umount", mountpoint)
        sizes[level] = len(log.read_text().splitlines())
    assert sizes["error"] == 0 < sizes["info"] <= sizes["debug"]


@ROOT_ONLY
def test_other_users_see_a_mount_only_with_allow_other(store):
    folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own folders are closed to others
    os.chmod(folder, 0o755)
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "cat"]
    for options, status in (("ro", 1), ("ro,allow_other", 0)):
        mountpoint = folder / options
        mountpoint.mkdir()
        run(DAEMON, "mount", store.path, mountpoint, "-o", options)
        try:
            run(*other, mountpoint / "a/.zarray", status=status)
        finally:
            run(DAEMON, "umount", mountpoint)
            mountpoint.rmdir()
    folder.rmdir()


def test_no_other_mount_namespace_gets_the_mounts_of_these_tests():
    """One that is made meanwhile would keep them, and umount would wait for it: see tests/own_place."""
    need(os.geteuid() == 0, "mounts of its own need root")
    assert os.readlink("/proc/self/ns/mnt") != os.environ["ZARRFS_OTHERS_MOUNTS"]
