"""`rw,shared`: several mounts write into the shards of one directory, come, and leave. test_shared_faults.py has what happens when they die; core/log/SHARED.md says why it is so."""
import calendar
import errno
import json
import os
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest
from conftest import DAEMON, python_of, run_zarr, within
from shared_stores import CHUNKS, LONG, Shared, at_once, die, name_of, process_of, read, shards, write, zarrfs
from stores import document, write_json
from test_copying import EARLY, write_document, write_early
from test_writers import CHECK, run


@pytest.fixture
def shared(tmp_path, mount):
    return Shared(tmp_path, mount)


def test_disjoint_chunks_of_the_same_shards(shared):
    mounts = [shared.open(), shared.open()]

    def fill(part):
        for _ in range(3):
            for place in [place for place in shards.ALL if place[1] % 4 == part]:
                shared.put(mounts[part % 2], place)
    at_once([(fill, part) for part in range(4)])
    for mounted in mounts:
        zarrfs("sync", mounted.path)
    shared.holds()
    for mounted in mounts:
        mounted.close()
    shared.is_left_whole()


def test_a_mount_sees_its_own_chunks_at_once_and_those_of_the_other(shared):
    one, two = shared.open(LONG), shared.open(LONG)
    for place in [("a", 0), ("a", 17), ("u", 0), ("g", 0)]:
        mine = shared.put(one, place)
        assert read(one, place) == mine
        zarrfs("sync", one.path)
        assert read(one, place) == mine
        within(60, lambda place=place, mine=mine: read(two, place) == mine)
        yours = shared.put(two, place)
        assert read(two, place) == yours
        zarrfs("sync", two.path)
        within(60, lambda place=place, yours=yours: read(one, place) == yours)
    one.close(), two.close()
    shared.is_left_whole()


def test_of_chunks_that_all_write_the_last_of_one_of_them_stays(shared):
    mounts = [shared.open(damaged=True) for _ in range(3)]  # whose chunk was overwritten is told as an error
    last = [{} for _ in mounts]

    def fill(number):
        for sequence in range(1, 41):
            place = ("a", sequence * 7 % 24)
            value = shards.value_of(number + 1, sequence, place)
            write(mounts[number], place, value)
            last[number][place] = value
    at_once([(fill, number) for number in range(3)])
    for mounted in mounts:
        mounted.close()
    found = shared.stored()
    assert found.keys() == last[0].keys()
    for place, value in found.items():
        assert value in [of_one[place] for of_one in last], f"{place}: {value} is the last one of nobody"
    shared.wanted = found
    shared.is_left_whole()


def refusal(store, mountpoint, options):
    os.makedirs(mountpoint, exist_ok=True)
    done = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", options], capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        subprocess.run([DAEMON, "umount", mountpoint], check=True)
    assert done.returncode != 0, f"{options}: it was not refused"
    return done.stderr


def test_one_that_writes_alone_and_shared_ones_exclude_each_other(shared, tmp_path):
    alone = shared.open("rw")
    assert "is already written by process" in refusal(shared.path, f"{tmp_path}/refused", "rw,shared")
    shared.put(alone, ("a", 0))
    alone.close()
    one = shared.open()
    assert "is already written by process" in refusal(shared.path, f"{tmp_path}/refused", "rw")
    shared.put(one, ("a", 1))
    two = shared.open()
    one.close()
    assert "is already written by process" in refusal(shared.path, f"{tmp_path}/refused", "rw")
    shared.put(two, ("a", 2))
    two.close()
    alone = shared.open("rw")
    shared.put(alone, ("a", 3))
    alone.close()
    shared.is_left_whole()


def test_a_node_of_a_store_is_not_shared_beside_the_store(shared, tmp_path):
    wanted = f"lies in the store {shared.path}: with -o shared, mount that one"
    assert wanted in refusal(f"{shared.path}/a", f"{tmp_path}/refused", "rw,shared")
    one = shared.open()
    assert f"store {shared.path} is written by mounts with -o shared" in refusal(f"{shared.path}/a", f"{tmp_path}/refused", "rw,shared")
    assert f"store {shared.path} is written by mounts with -o shared" in refusal(f"{shared.path}/a", f"{tmp_path}/refused", "rw")
    shared.put(one, ("a", 0))
    one.close()
    shared.is_left_whole()


def test_what_one_that_wrote_alone_left_is_not_written_over(shared, tmp_path):
    alone = shared.open("rw,flush_after=3600")
    for place in CHUNKS[:4]:
        shared.put(alone, place)
    die(alone)
    try:
        one = shared.open()
    except AssertionError as error:  # refused, by name
        assert "recover" in str(error), error
        zarrfs("recover", shared.path)
        one = shared.open()
    shared.put(one, ("a", 4))
    one.close()
    shared.is_left_whole()


def test_readers_see_whole_shards(shared, mount):
    mounts = [shared.open("rw,shared,flush_after=0.01") for _ in range(2)]
    shows = mount(shared.path, "ro")
    ended, faults, seen = threading.Event(), [], set()

    def look(newest, place, value):
        seen.add(place)
        if newest.get(place, 0) > value:
            faults.append(f"{place} went back from {newest[place]} to {value}")
        newest[place] = value

    def read_directory():
        newest = {}
        while not ended.is_set():
            for place, value in shared.stored().items():
                look(newest, place, value)

    def read_mount():
        newest = {}
        while not ended.is_set():
            for place in CHUNKS[:40]:
                if value := read(shows, place):
                    look(newest, place, value)

    def fill(part):
        for _ in range(12):
            for place in CHUNKS[part:40:2]:
                shared.put(mounts[part], place)

    def write_all():
        try:
            at_once([(fill, 0), (fill, 1)])
        finally:
            ended.set()
    at_once([(read_directory,), (read_mount,), (write_all,)])
    assert not faults, faults[:5]
    assert len(seen) == 40
    for mounted in mounts:
        mounted.close()
    within(60, lambda: all(read(shows, place) == shared.wanted[place] for place in CHUNKS[:40]))
    shared.is_left_whole()


def test_documents_are_changed_by_both(shared):
    one, two = shared.open(), shared.open()
    with open(one / "a/.zattrs", "w") as file:
        json.dump({"from": "one"}, file)
    within(60, lambda: json.load(open(two / "a/.zattrs")) == {"from": "one"})
    array = json.load(open(two / "a/.zarray"))
    array["shape"] = [array["shape"][0] + shards.CELLS]
    with open(two / "a/.zarray", "w") as file:
        json.dump(array, file)
    within(60, lambda: json.load(open(one / "a/.zarray"))["shape"] == array["shape"])
    with open(one / "a/.zattrs", "w") as file:
        json.dump({"from": "one again"}, file)
    one.close(), two.close()
    with open(f"{shared.path}/a/zarr.json") as file:
        stored = json.load(file)
    assert stored["attributes"] == {"from": "one again"} and stored["shape"] == array["shape"]
    assert shards.own_files(shared.path) == []


def test_documents_that_both_change_at_the_same_time(shared):
    mounts = [shared.open(), shared.open()]

    def fill(part):
        for _ in range(25):
            shared.put(mounts[part], ("g", part))
            value = shards.value_of(3 + part, next(shared.numbers), ("g", 7))
            write(mounts[part], ("g", 7), value)
            last[part] = value
    last = [0, 0]
    at_once([(fill, 0), (fill, 1)])
    for mounted in mounts:
        mounted.close()
    shared.wanted["g", 7] = shared.stored()["g", 7]
    assert shared.wanted["g", 7] in last
    shared.is_left_whole()


def test_conflicts_fail_keeps_what_was_put_first(shared):
    options = f"{LONG},conflicts=fail"
    one, two = shared.open(options), shared.open(options, damaged=True)
    first = shared.put(one, ("a", 0))
    second = shards.value_of(9, 1, ("a", 0))
    write(two, ("a", 0), second)
    shared.put(two, ("a", 1))
    zarrfs("sync", one.path)
    told = zarrfs("sync", two.path, status=3)
    assert "chunk 0" in told and "conflicts=fail" in told and "chunk 1" not in told, told
    shared.holds()
    assert read(two, ("a", 0)) == second and read(one, ("a", 0)) == first
    descriptor = os.open(name_of(two, ("a", 0)), os.O_RDWR)
    try:
        with pytest.raises(OSError) as raised:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    assert raised.value.errno == errno.EBUSY
    shared.put(two, ("a", 0))  # decided
    zarrfs("sync", two.path)
    one.close(), two.close()
    shared.is_left_whole()


def test_mounts_come_and_leave_many_times(shared):
    epochs, last = set(), None
    for number in range(12):
        mounted = shared.open(LONG if number % 3 == 0 else "rw,shared,flush_after=0.01")
        for place in CHUNKS[number:64:9]:
            shared.put(mounted, place)
        if last:
            for place in CHUNKS[number + 1:64:9]:
                shared.put(last, place)
            last.close()
        epochs.add(mounted.statistics()["shared"]["epoch"])
        last = mounted
        if number % 4 == 3:  # nobody is there for a moment
            last.close()
            last = None
            shared.is_left_whole()
    assert len(epochs) == 3, epochs


def test_mounts_that_come_and_leave_at_the_same_moment(shared, tmp_path):
    def live(part):
        path, log = f"{tmp_path}/own{part}", f"{tmp_path}/own{part}.log"
        os.makedirs(path)
        for number in range(6):
            zarrfs("mount", shared.path, path, "-o", f"rw,shared,log={log}")
            place = CHUNKS[part * 6 + number]
            value = shards.value_of(1, next(shared.numbers), place)
            with open(f"{path}/a/{place[1]}", "wb") as file:
                file.write(shards.bytes_of(value, place))
            shared.wanted[place] = value
            zarrfs("umount", path)
    at_once([(live, part) for part in range(4)])
    for part in range(4):
        with open(f"{tmp_path}/own{part}.log") as log:
            assert not [line for line in log if "] error: " in line]
    shared.is_left_whole()


def test_an_array_without_sharding(shared):
    one, two = shared.open(), shared.open()
    for _ in range(3):
        for chunk in range(shards.PLAIN):
            shared.put((one, two)[chunk % 2], ("u", chunk))
    with pytest.raises(OSError):
        os.unlink(one / "u/0")
    zarrfs("sync", one.path), zarrfs("sync", two.path)
    shared.holds()
    shared.put(one, ("u", 1))  # the other one's
    zarrfs("sync", one.path)
    within(60, lambda: read(two, ("u", 1)) == shared.wanted["u", 1])
    one.close(), two.close()
    shared.is_left_whole()


def test_removed_chunks(shared):
    one, two = shared.open(LONG), shared.open(LONG)
    for place in CHUNKS[:20]:
        shared.put((one, two)[place[1] % 2], place)
    zarrfs("sync", one.path), zarrfs("sync", two.path)
    for place in CHUNKS[16:20]:  # all of their shard, by the mount that did not write them
        shared.remove((two, one)[place[1] % 2], place)
    shared.remove(one, ("a", 0))
    zarrfs("sync", one.path), zarrfs("sync", two.path)
    shared.holds()
    assert os.path.getsize(f"{shared.path}/a/c/1") == 16 * shards.CHUNKS + 4, "a shard without chunks stays, with its index"
    within(60, lambda: read(one, ("a", 17)) == 0 and read(two, ("a", 0)) == 0)
    shared.put(two, ("a", 18))
    one.close(), two.close()
    shared.is_left_whole()


def test_moving_and_removing_of_nodes_is_refused(shared):
    one, two = shared.open(), shared.open()
    shared.put(one, ("a", 0))
    for call in (lambda: os.rename(one / "a", one / "b"), lambda: os.rename(two / "g1", two / "g2/g1"), lambda: os.unlink(one / "a/.zarray"),
                 lambda: os.rmdir(two / "g3")):
        with pytest.raises(OSError) as raised:
            call()
        assert raised.value.errno in (errno.EPERM, errno.EROFS, errno.EBUSY, errno.ENOTSUP, errno.EXDEV, errno.EACCES, errno.ENOTEMPTY), raised.value
    shutil.rmtree(one / "a", ignore_errors=True)
    assert os.path.exists(f"{shared.path}/a/zarr.json")
    shared.put(two, ("a", 1))
    one.close(), two.close()
    assert set(os.listdir(shared.path)) == {"zarr.json", "a", "u", *(f"g{number}" for number in range(shards.GROUPS))}


def test_an_array_is_not_made_around_chunks_that_came_first(tmp_path, mount):
    store = f"{tmp_path}/store"
    write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    one = mount(store, "rw,shared")
    os.mkdir(one / "a")
    write_early(one / "a", False)
    with pytest.raises(OSError) as raised:
        write_document(one / "a", ".")
    assert raised.value.errno == errno.EROFS
    # The document goes with the last word of the kernel on its file, which comes after close(2).
    within(60, lambda: sorted(os.listdir(one / "a")) == sorted(f"{i // 20}.{i % 20}" for i in range(EARLY)))
    one.close()
    assert shards.own_files(store) == []
    alone = mount(store, "rw")
    write_document(alone / "a", ".")
    with open(alone / "a/1.3", "rb") as file:
        assert file.read() == np.full((2, 2), 23, "<i4").tobytes()
    alone.close()
    assert shards.own_files(store) == []


def test_arrays_that_one_mount_makes_are_written_by_the_other(shared, tmp_path):
    one, two = shared.open("rw,shared,view=v3"), shared.open("rw,shared,view=v3")
    run_zarr("zarr3", "import sys, zarr; zarr.create_array(sys.argv[1], shape=(48,), chunks=(4,), dtype='i4', zarr_format=3)", one / "new")
    within(60, lambda: os.path.exists(two / "new/zarr.json"))
    write_part = "import sys, numpy as np, zarr; first = int(sys.argv[2])\n" \
                 "a = zarr.open_array(sys.argv[1], mode='r+')\n" \
                 "for i in range(first, 12, 2): a[4 * i:4 * i + 4] = np.arange(4 * i, 4 * i + 4)\n"
    at_once([(run, python_of("zarr3"), write_part, mounted / "new", part) for part, mounted in enumerate((one, two))])
    one.close(), two.close()
    np.save(tmp_path / "want.npy", np.arange(48, dtype="i4"))
    run_zarr("zarr3", CHECK, f"{shared.path}/new", tmp_path / "want.npy")
    shared.is_left_whole()


# Processes of zarr-python 3, by turns through the one mount and the other, as the workers of dask on two machines.
MANY = """
import sys, numpy as np, zarr
from concurrent.futures import ProcessPoolExecutor
big = np.arange(64 * 64, dtype="i4").reshape(64, 64) + 1
def put(place):
    i, j = divmod(place, 16)
    where = sys.argv[1 + place % 2]
    zarr.open_array(where, mode="r+")[4 * i:4 * i + 4, 4 * j:4 * j + 4] = big[4 * i:4 * i + 4, 4 * j:4 * j + 4]
if __name__ == "__main__":
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(put, range(256)))
    np.save(sys.argv[3], big)
"""


def test_many_processes_through_both_mounts(tmp_path, mount):
    store, program = str(tmp_path / "many"), tmp_path / "program.py"
    program.write_text(MANY)
    write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(f"{store}/v/zarr.json", document((64, 64), (32, 32), (4, 4)))
    one, two = (mount(store, "rw,shared,view=v3,flush_after=0.05") for _ in range(2))
    done = subprocess.run([python_of("zarr3"), "-W", "ignore", program, one / "v", two / "v", tmp_path / "want.npy"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    one.close(), two.close()
    run_zarr("zarr3", CHECK, f"{store}/v", tmp_path / "want.npy")
    assert shards.own_files(store) == []


def test_statistics_name_the_others(shared):
    one, two = shared.open(), shared.open()
    shared.put(one, ("a", 0)), shared.put(two, ("a", 1))
    within(60, lambda: len(one.statistics()["shared"]["others"]) == 1 and len(two.statistics()["shared"]["others"]) == 1)
    mine, yours = one.statistics()["shared"], two.statistics()["shared"]
    assert mine["epoch"] == yours["epoch"] and mine["writer"] != yours["writer"]
    other = mine["others"][0]
    assert other["writer"] == yours["writer"] and other["pid"] == process_of(two) and other["host"] == os.uname().nodename and other["state"], other
    assert other["silent_seconds"] < 60 and abs(calendar.timegm(time.strptime(other["since"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()) < 600, other

    def listed():
        """A mount is waited for for two seconds only."""
        entry = next(entry for entry in json.loads(zarrfs("mounts", "--json"))["mounts"] if entry["mountpoint"] == one.path)
        return [(told["pid"], told["host"], told["state"], told["since"]) for told in entry.get("others", [])]

    within(60, lambda: listed() == [(other["pid"], other["host"], other["state"], other["since"])])
    line = f"  shared with process {other['pid']} on {other['host']}, since {other['since']}, last sign of life "
    within(60, lambda: f"{shared.path} on {one.path}\n{line}" in zarrfs("mounts"))
    two.close()
    within(60, lambda: "shared with" not in zarrfs("mounts").split(f" on {one.path}\n")[1].split("\n")[0])
    within(60, lambda: not [other for other in one.statistics()["shared"]["others"] if other["state"] == yours["others"][0]["state"]])
    one.close()
