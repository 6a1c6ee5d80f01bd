"""The bound on the daemon's memory: how it is divided and told, and that the daemon keeps it."""
import os
import random
import re
import subprocess
import sys

import pytest
from conftest import DAEMON, ROOT, need, need_own_memory, within
from object_server import ObjectServer

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from data import crc32c, write_document  # pylint: disable=wrong-import-position

MIB = 1 << 20
GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'
FORGETS = (6, 18)  # Linux from which on it can be asked to forget what it does not use


def refused(store, mountpoint, options):
    mountpoint.mkdir()
    done = subprocess.run([DAEMON, "mount", str(store), str(mountpoint), "-o", options], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and not os.path.ismount(mountpoint)
    return done.stderr


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "zarr.json").write_text(GROUP)
    return folder


def test_parts_that_are_more_than_all_are_refused_by_name(store, tmp_path):
    told = refused(store, tmp_path / "a", "ro,memory=256M,index_cache=512M")
    assert "option index_cache=512M is more than memory=256M has" in told
    told = refused(store, tmp_path / "b", "rw,memory=256M,index_cache=128M,decode_memory=100M")
    assert "option index_cache=128M, decode_memory=100M is more than memory=256M has" in told
    told = refused(store, tmp_path / "c", "ro,memory=1M,threads=4")
    assert "option memory=1M: a daemon with threads=4 takes" in told


def test_what_is_held_and_what_is_allowed_are_told(store, mount):
    mounted = mount(store, "ro,memory=256M,index_cache=32M")
    statistics = mounted.statistics()
    bounds, held = statistics["memory_bound"], statistics["memory_held"]
    assert bounds["all"] == 256 * MIB and bounds["indexes"] == 32 * MIB
    assert sum(bytes_ for part, bytes_ in bounds.items() if part != "all") == bounds["all"]
    assert 0 < held["all"] <= held["all_at_most"] < bounds["all"]
    assert set(held) - {"all", "all_at_most", "versions"} <= set(bounds)
    done = subprocess.run([DAEMON, "stats", "--prometheus", mounted.path], capture_output=True, text=True, check=True)
    assert re.search(r'zarrfs_memory_bound\{mount="[^"]*",part="all"\} 268435456\n', done.stdout)


def test_a_quarter_of_what_there_is_is_the_bound(store, mount):
    bound = mount(store).statistics()["memory_bound"]["all"]
    with open("/proc/meminfo") as text:
        machine = int(text.readline().split()[1]) << 10
    assert bound <= machine // 4 + (1 << 20)


def test_names_for_which_there_is_no_room_are_given_back_to_the_kernel(store, mount):
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    need(release >= FORGETS, f"Linux {FORGETS[0]}.{FORGETS[1]} can be asked to forget names")
    amount = 60_000
    for number in range(amount):
        folder = store / "files" / str(number % 30)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).touch()
    mounted = mount(store, "ro,memory=64M,threads=1")
    bound = mounted.statistics()["memory_bound"]["names"]
    for number in range(amount):
        os.stat(f"{mounted.path}/files/{number % 30}/{number}")
    within(60, lambda: mounted.statistics()["memory_held"]["names"] <= bound)
    # What is in use stays, and what was forgotten is found again.
    for number in range(0, amount, 100):
        assert os.stat(f"{mounted.path}/files/{number % 30}/{number}").st_size == 0


def test_a_daemon_stays_within_its_bound_in_a_control_group(tmp_path):
    """The short form of tests/bench/memory, which ends with an error where the daemon was killed."""
    need_own_memory()
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "bench", "memory"), DAEMON, "--short", "--parts", "lookups", "rewrites",
                           "week", "server", "--scratch", str(tmp_path), "--draw", str(tmp_path / "memory.svg")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if re.match(r"\| .* MiB +\|$", line)]
    assert len(rows) == 9 + 5
    assert all(int(peak.split()[0]) <= 96 + 32 for _, _, peak in rows), rows
    assert (tmp_path / "memory.svg").read_text().count("<polyline") == 4


@pytest.mark.parametrize("options", ["", "memory_cache=1M", "memory=256M,threads=2"])
def test_a_chunk_that_is_larger_than_a_request_and_the_cache_is_read(tmp_path, mount, options):
    """Its parts come by several requests, and the cache has room for some of them only."""
    whole = random.Random(3).randbytes(20 * MIB + 5)
    array = tmp_path / "store" / "a"
    write_document(array, [2 * len(whole)], [2 * len(whole)], [len(whole)])
    index = b"".join(number.to_bytes(8, "little") for number in (0, len(whole), len(whole), len(whole)))
    (array / "c").mkdir()
    (array / "c" / "0").write_bytes(whole + whole[::-1] + index + crc32c(index).to_bytes(4, "little"))
    server = ObjectServer(tmp_path)
    try:
        mounted = mount(f"{server.url}/store/a", ",".join(part for part in ("ro", options) if part))
        for chunk, wanted in (("0", whole), ("1", whole[::-1])):
            with open(mounted / chunk, "rb") as file:
                assert file.read() == wanted
    finally:
        server.close()
