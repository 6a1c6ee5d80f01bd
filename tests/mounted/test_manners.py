"""A mount leaves its surroundings in peace: descriptors of who mounts, the process that it ends with, mounts that others have made."""
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import DAEMON, HERE, Watched, need, within
from stores import SmallStore
from test_files import read
from test_mounting import refused

REFUSING = [sys.executable, os.path.join(HERE, "refusing.py")]


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


@pytest.fixture
def mountpoint(tmp_path):
    path = tmp_path / "mountpoint"
    path.mkdir()
    yield path
    subprocess.run(["umount", "-l", str(path)], stderr=subprocess.DEVNULL, check=False)


@pytest.fixture(params=[[], [*REFUSING, "close_range", "ENOSYS"]], ids=["close_range", "before Linux 5.9"])
def beginning(request):
    if request.param:
        need(os.geteuid() == 0, "only root refuses calls")
    return request.param


def test_a_lock_of_who_mounts_is_given_up_with_him(store, tmp_path, mountpoint, beginning):
    script = f"""
        exec 9>{tmp_path}/lock
        flock 9
        {" ".join(beginning)} {DAEMON} mount {store.path} {mountpoint} -o ro,log={tmp_path}/log
    """
    subprocess.run(["bash", "-c", script], check=True, timeout=600)
    subprocess.run(["flock", "--nonblock", tmp_path / "lock", "true"], check=True)
    subprocess.run([DAEMON, "umount", mountpoint], check=True, timeout=600)


def test_a_pipe_of_who_mounts_ends(store, tmp_path, mountpoint, beginning):
    end, start = os.pipe()
    far = 700  # behind a gap
    os.dup2(start, far)
    subprocess.run([*beginning, DAEMON, "mount", store.path, mountpoint, "-o", f"ro,log={tmp_path}/log"], pass_fds=[start, far], check=True, timeout=600)
    os.close(start)
    os.close(far)
    os.set_blocking(end, False)
    assert os.read(end, 1) == b"", "the daemon has it open"
    os.close(end)
    subprocess.run([DAEMON, "umount", mountpoint], check=True, timeout=600)


def test_a_store_that_is_given_as_a_descriptor_is_kept_until_it_is_open(store, tmp_path, mountpoint, beginning):
    directory = os.open(store.path, os.O_RDONLY)
    subprocess.run([*beginning, DAEMON, "mount", f"/proc/self/fd/{directory}", mountpoint, "-o", f"ro,log={tmp_path}/log"], pass_fds=[directory],
                   check=True, timeout=600)
    assert read(str(mountpoint / "a/0.0"))
    subprocess.run([DAEMON, "umount", mountpoint], check=True, timeout=600)


class Owner:
    """A program that a mount ends with; it has it mounted already."""

    def __init__(self):
        self.process = subprocess.Popen(["sleep", "1000"])

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()


@pytest.fixture
def owner():
    one = Owner()
    yield one
    one.process.kill()
    one.process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_mount_ends_with_its_process(mount, store, owner, number):
    mounted = mount(store.path, f"ends_with={owner.process.pid}")
    daemon = Watched(mounted.statistics_process())
    assert read(mounted / "a/0.0")
    owner.end(number)
    within(60, daemon.has_ended)
    assert not os.path.ismount(mounted.path) and os.path.isdir(mounted.path)


def test_what_is_open_goes_on_when_the_process_ends(mount, store, owner):
    mounted = mount(store.path, f"ends_with={owner.process.pid}")
    daemon, mounted.ends_open = Watched(mounted.statistics_process()), True
    with open(mounted / "a/0.0", "rb") as held:
        owner.end(signal.SIGKILL)
        within(60, lambda: not os.path.ismount(mounted.path))
        assert held.read() and not daemon.has_ended()
    within(60, daemon.has_ended)


def test_what_was_written_is_in_the_store_when_the_process_ends(mount, store, owner):
    mounted = mount(store.path, f"rw,flush_after=3600,ends_with={owner.process.pid}")
    daemon = Watched(mounted.statistics_process())
    wanted = bytes(len(read(mounted / "a/0.0")))
    with open(mounted / "a/0.0", "wb") as chunk:
        chunk.write(wanted)
    owner.end(signal.SIGKILL)
    within(60, daemon.has_ended)
    assert read(mount(store.path) / "a/0.0") == wanted


def test_a_signal_to_the_daemon_leaves_nothing_where_it_has_an_owner(mount, store, owner):
    mounted = mount(store.path, f"ends_with={owner.process.pid}")
    process, mounted.ends_open = mounted.statistics_process(), True
    daemon = Watched(process)
    with open(mounted / "a/0.0", "rb"):
        os.kill(process, signal.SIGTERM)
        within(60, daemon.has_ended)
        assert not os.path.ismount(mounted.path)


def test_a_process_that_does_not_exist_is_named(store, mountpoint):
    gone = subprocess.Popen(["true"])
    gone.wait()
    status, said = refused(store.path, mountpoint, "-o", f"ends_with={gone.pid}")
    assert status == 3 and said == f"zarrfs: option ends_with: there is no process {gone.pid}\n"
    for wrong in ("0", "-1", "me", "5000000"):
        status, said = refused(store.path, mountpoint, "-o", f"ends_with={wrong}")
        assert status == 2 and "option ends_with" in said and wrong in said


def test_a_process_that_has_ended_and_waits_for_its_parent_is_none(store, mountpoint):
    zombie = subprocess.Popen(["true"])
    within(60, Watched(zombie.pid).has_ended)
    _, said = refused(store.path, mountpoint, "-o", f"ends_with={zombie.pid}")
    assert "there is no process" in said
    zombie.wait()


def test_a_process_that_began_later_is_another(store, mountpoint):
    """The number of the one that was meant has been given out again: so it looks to a program that is called, and waits."""
    script = f"""
import os, subprocess, sys
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    number = os.read(reader, 20).decode()
    os.execv({DAEMON!r}, [{DAEMON!r}, "mount", {store.path!r}, {str(mountpoint)!r}, "-o", "ro,ends_with=" + number])
def started(process):
    return int(open(f"/proc/{{process}}/stat").read().rsplit(")", 1)[1].split()[19])
while True:
    late = subprocess.Popen(["sleep", "1000"])
    if started(late.pid) > started(child):
        break
    late.kill()
    late.wait()
os.write(writer, str(late.pid).encode())
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
late.kill()
sys.exit(status)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "began after this program was called" in done.stderr, done
    assert not os.path.ismount(mountpoint)


def test_a_temporary_mountpoint_is_removed(store, tmp_path, owner):
    folder = tmp_path / "folder"
    (folder / "one").mkdir(parents=True)
    options = f"ro,temporary,ends_with={owner.process.pid},log={tmp_path}/log"
    subprocess.run([DAEMON, "mount", store.path, folder / "one", "-o", options], check=True, timeout=600)
    owner.end(signal.SIGKILL)
    within(60, lambda: not folder.exists())


def test_a_temporary_mountpoint_stays_where_something_else_is(store, tmp_path):
    folder = tmp_path / "folder"
    (folder / "one").mkdir(parents=True)
    (folder / "other").mkdir()
    subprocess.run([DAEMON, "mount", store.path, folder / "one", "-o", f"ro,temporary,log={tmp_path}/log"], check=True, timeout=600)
    subprocess.run([DAEMON, "umount", folder / "one"], check=True, timeout=600)
    within(60, lambda: os.listdir(folder) == ["other"])


class Connection:
    """A mount that this process makes, for a daemon to serve."""

    def __init__(self, path, options=""):
        need(os.geteuid() == 0, "only root mounts by mount(2)")
        self.path = str(path)
        self.descriptor = os.open("/dev/fuse", os.O_RDWR)
        data = f"fd={self.descriptor},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()}{options}"
        if ctypes.CDLL(None, use_errno=True).mount(b"test", self.path.encode(), b"fuse.zarrfs", 6, data.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount")

    def serve(self, store, *options, **others):
        command = [DAEMON, "mount", store, f"/dev/fd/{self.descriptor}", *options]
        return subprocess.run(command, pass_fds=[self.descriptor], capture_output=True, text=True, timeout=600, **others)

    def close(self):
        os.close(self.descriptor)


@pytest.fixture
def connection(mountpoint):
    return Connection(mountpoint)


def test_a_mount_of_another_program_is_served_by_its_descriptor(store, mountpoint, connection, tmp_path):
    done = connection.serve(store.path, "-o", f"rw,log={tmp_path}/log")
    connection.close()
    assert done.returncode == 0, done.stderr
    assert read(str(mountpoint / "a/0.0"))
    (mountpoint / "notes.txt").write_text("x")
    daemon = Watched(int(os.getxattr(mountpoint, "user.zarrfs.process")))
    subprocess.run(["umount", mountpoint], check=True)
    within(60, daemon.has_ended)
    with open(os.path.join(store.path, "notes.txt")) as notes:
        assert notes.read() == "x"


def test_a_descriptor_that_is_no_connection_is_refused(store, tmp_path):
    with open(tmp_path / "file", "w") as file:
        done = subprocess.run([DAEMON, "mount", store.path, f"/dev/fd/{file.fileno()}"], pass_fds=[file.fileno()], capture_output=True, text=True)
    assert done.returncode == 3 and "is not /dev/fuse" in done.stderr
    done = subprocess.run([DAEMON, "mount", store.path, "/dev/fd/77"], capture_output=True, text=True)
    assert done.returncode == 3 and "/dev/fd/77" in done.stderr


@pytest.mark.parametrize("option", ["allow_other", "allow_root", "idle=5", "ends_with=1", "temporary"])
def test_options_of_a_mount_are_refused_where_another_program_makes_it(store, connection, option):
    done = connection.serve(store.path, "-o", f"ro,{option}")
    connection.close()
    assert done.returncode == 3 and f"option {option.split('=')[0]} is for mounts that zarrfs makes" in done.stderr


def test_other_users_are_shut_out_whatever_the_other_program_has_said(store, mountpoint, tmp_path):
    os.chmod(tmp_path, 0o755)
    connection = Connection(mountpoint, ",allow_other")
    done = connection.serve(store.path, "-o", f"ro,log={tmp_path}/log")
    connection.close()
    assert done.returncode == 0, done.stderr
    assert read(str(mountpoint / "a/0.0"))
    # By a descriptor of the root, since the way to a test's folder is closed to others.
    root = os.open(mountpoint, os.O_RDONLY)
    code = f"import os, sys\ntry:\n    os.open('a', os.O_RDONLY, dir_fd={root})\nexcept OSError as e:\n    sys.exit(e.errno)"
    done = subprocess.run(["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "/usr/bin/python3", "-c", code], pass_fds=[root])
    os.close(root)
    assert done.returncode == errno.EACCES
    subprocess.run(["umount", mountpoint], check=True)


def test_mount_fuse3_drops_privileges(store, mountpoint, tmp_path):
    program = shutil.which("mount.fuse3", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
    need(program and os.geteuid() == 0, "mount.fuse3 is missing, or this is not root")
    subprocess.run([program, f"{DAEMON}#{store.path}", mountpoint, "-o", f"drop_privileges,ro,log={tmp_path}/log"], check=True, timeout=600)
    assert read(str(mountpoint / "a/0.0"))
    subprocess.run(["umount", mountpoint], check=True)
