"""tests/bench/with_io_uring puts the machine's setting back and leaves no connection, however its command ends. In a virtual machine, as
test_life.py."""
import os
import subprocess
import sys

import pytest
from test_life import DAEMON, LOAD, PATIENCE, ROOT, run, within

SETTING = "/sys/module/fuse/parameters/enable_uring"
CONNECTIONS = "/sys/fs/fuse/connections"
PROGRAM = os.path.join(ROOT, "tests", "bench", "with_io_uring")


def setting(value=None):
    if value:
        with open(SETTING, "w") as control:
            control.write(value)
    with open(SETTING) as text:
        return text.read().strip()


@pytest.fixture(autouse=True)
def unset():
    assert not os.listdir(CONNECTIONS)
    setting("N")
    yield
    assert setting() == "N"
    within(lambda: not os.listdir(CONNECTIONS))
    setting("Y")
    assert run("sync").returncode == 0


def hanging(folder, then):
    """A command: readers wait for ever for a daemon that is stopped; then `then`."""
    os.mkdir(folder / "mnt")
    return ["sh", "-c", f"""cp -r {ROOT}/examples/brain.ome.zarr {folder}/store
        {DAEMON} mount {folder}/store {folder}/mnt -o ro,timeout=0,io_uring=on,log={folder}/log || exit 1
        process=$(getfattr --only-values -n user.zarrfs.process {folder}/mnt)
        {sys.executable} {LOAD} {folder}/mnt 8 >{folder}/readers &
        sleep 2; kill -STOP $process; echo $process; {then}"""]


def is_killed(process):
    """What a stopped process was given only its end releases."""
    within(lambda: not os.path.exists(f"/proc/{process}"))


def test_the_command_sees_it_set_and_gives_the_status():
    done = run(PROGRAM, "60", "sh", "-c", f"cat {SETTING}; exit 7")
    assert (done.stdout, done.returncode) == ("Y\n", 7)


def test_time_is_over(tmp_path):
    done = run(PROGRAM, "10", *hanging(tmp_path, "wait"))
    assert done.returncode == 124
    assert "aborted connection" in done.stderr
    is_killed(int(done.stdout))


def test_the_command_leaves_a_mount_behind(tmp_path):
    done = run(PROGRAM, "60", *hanging(tmp_path, "exit 3"))
    assert done.returncode == 3
    assert "aborted connection" in done.stderr
    is_killed(int(done.stdout))


def test_it_is_killed_itself(tmp_path):
    running = subprocess.Popen([PROGRAM, "60", *hanging(tmp_path, "wait")], stdout=subprocess.PIPE, text=True)
    process = int(running.stdout.readline())
    assert setting() == "Y"
    running.kill()
    running.wait(PATIENCE)
    within(lambda: setting() == "N")
    is_killed(process)
