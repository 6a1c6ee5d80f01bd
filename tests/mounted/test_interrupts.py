"""What an interrupt of the kernel means: of a program that is to end, its end; of any other, nothing, as on a disk."""
import contextlib
import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from conftest import within
from object_server import ObjectServer
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)

SLOW = 1  # seconds for each answer: within them the signals come, or else on a busy machine this tries nothing
# As C sees it: Python asks again after EINTR.
PROGRAM = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
for name in sys.argv[3:]:
    signal.signal(getattr(signal, name), lambda *_: None)
    signal.siginterrupt(getattr(signal, name), True)
print("ready", flush=True)
action, path = sys.argv[1:3]
room = ctypes.create_string_buffer(1 << 16)
if action == "read":
    descriptor = libc.open(path.encode(), os.O_RDONLY)
    done = -1 if descriptor < 0 else libc.read(descriptor, room, len(room))
if action == "look":
    done = libc.access(path.encode(), os.F_OK)
if action == "make":
    done = libc.mkdir(path.encode(), 0o777)
if action == "write":
    descriptor = libc.open(path.encode(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    done = -1 if descriptor < 0 else libc.write(descriptor, b"{}", 2)
    done = done if done < 0 else libc.close(descriptor)
print(done, ctypes.get_errno(), flush=True)
"""
HANDLED = ["SIGALRM", "SIGUSR1", "SIGPROF", "SIGURG", "SIGCHLD"]


@pytest.fixture
def server(tmp_path):
    node = {"zarr_format": 3, "node_type": "array", "shape": [64], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}}, "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes"}]}
    os.makedirs(tmp_path / "disk/a/c")
    (tmp_path / "disk/zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    (tmp_path / "disk/a/zarr.json").write_text(json.dumps(node))
    (tmp_path / "disk/b").write_bytes(b"of another program")
    for number in range(8):
        (tmp_path / f"disk/a/c/{number}").write_bytes(bytes([number + 1] * 8))
    made = ObjectServer(tmp_path / "disk", "bucket")
    yield made
    made.delay = 0
    made.close()


@pytest.fixture
def mounted(server, mount, tmp_path):
    mounted = mount("s3://bucket/", f"rw,view=v2,revalidate=0,spool={tmp_path / 'spool'},{bucket_options(server)}")
    os.listdir(mounted / "a")
    return mounted


def ask(action, path, *handled):
    asks = subprocess.Popen([sys.executable, "-c", PROGRAM, action, str(path), *handled], stdout=subprocess.PIPE, text=True)
    assert asks.stdout.readline() == "ready\n"
    return asks


def waits_for_an_answer(server, asked):
    within(60, lambda: len(server.seen) > asked)


ACTIONS = [("read", "a/3"), ("look", "b"), ("make", "new"), ("write", "a/.zattrs")]


@pytest.mark.parametrize("action, name", ACTIONS)
def test_signals_that_are_handled_and_stops_are_not_seen(server, mounted, action, name):
    server.delay, asked = SLOW, len(server.seen)
    with ask(action, mounted / name, *HANDLED) as asks:
        waits_for_an_answer(server, asked)
        for called in [*HANDLED, "SIGSTOP", "SIGCONT", "SIGWINCH"]:
            asks.send_signal(getattr(signal, called))
            time.sleep(0.05)  # one after the other
        done, problem = map(int, asks.stdout.read().split())
    assert done >= 0, os.strerror(problem)
    server.delay = 0
    assert action != "read" or done == 8
    assert action != "make" or os.path.isdir(mounted / name)
    assert action != "write" or json.loads(pathlib.Path(mounted / name).read_text()) == {}


@pytest.mark.parametrize("called", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("action, name", ACTIONS)
def test_who_is_asked_to_end_waits_no_longer(server, mounted, action, name, called):
    server.delay, asked = 30, len(server.seen)
    begin = time.monotonic()
    with ask(action, mounted / name, called, "SIGCHLD") as asks:
        waits_for_an_answer(server, asked)
        asks.send_signal(signal.SIGCHLD)  # the kernel tells of the first signal only
        asks.send_signal(getattr(signal, called))
        done, problem = map(int, asks.stdout.read().split())
    assert (done, problem) == (-1, errno.EINTR), os.strerror(problem)
    assert time.monotonic() - begin < server.delay
    server.delay = 0


@pytest.mark.parametrize("action, name", ACTIONS)
def test_who_is_killed_ends(server, mounted, action, name):
    server.delay, asked = 30, len(server.seen)
    begin = time.monotonic()
    with ask(action, mounted / name, "SIGCHLD") as asks:
        waits_for_an_answer(server, asked)
        asks.send_signal(signal.SIGCHLD)
        asks.kill()
        assert asks.wait(600) == -signal.SIGKILL
    assert time.monotonic() - begin < server.delay
    server.delay = 0


def test_what_one_program_gives_up_comes_to_no_other(server, mounted):
    """Four want the same at the same moment, and three are killed one after the other."""
    for number in range(3):
        server.delay, asked = 1, len(server.seen)
        with contextlib.ExitStack() as open_ones:
            asking = [open_ones.enter_context(ask("read", mounted / f"a/{number}")) for _ in range(4)]
            waits_for_an_answer(server, asked)
            for one in asking[:3]:
                one.kill()
                time.sleep(0.05)  # one after the other
            assert asking[3].stdout.read().split()[0] == "8", number
    server.delay = 0
    assert [pathlib.Path(mounted / f"a/{number}").read_bytes() for number in range(8)] == [bytes([number + 1] * 8) for number in range(8)]
