"""Listings that the kernel keeps, since each change of what they show is told: what they cost, and that they are right at once."""
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import need, within
from stores import SmallStore, document, shard_bytes, write_file, write_json
from test_watch import MORE_THAN_TIMEOUT, SOON, exchange, lent

DOCUMENTS = [".zarray", ".zattrs"]


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def chunks(directory):
    return sorted(name for name in os.listdir(directory) if name not in DOCUMENTS)


def answers(mounted, act):
    """How often `act` has the daemon tell names, and how often it looks a name up; reading the statistics costs as much each time."""
    def told():
        requests = mounted.statistics()["requests"]
        return requests["readdir"] + requests["readdirplus"], requests["lookup"]
    told()
    first = told()
    second = told()
    act()
    third = told()
    return [third[i] - second[i] - (second[i] - first[i]) for i in range(2)]


def is_kept(mounted, directory):
    os.listdir(directory)
    os.listdir(directory)  # the first one may find a change that was not quite told
    return answers(mounted, lambda: os.listdir(directory))[0] == 0


@pytest.mark.parametrize("options", ["ro", "rw"])
@pytest.mark.parametrize("name,separator", [("a", "."), ("a/1", "/")])
def test_a_second_listing_is_the_kernels_own(mount, store, name, separator, options):
    mounted = mount(store.path, f"{options},separator={separator}")
    first = os.listdir(mounted / name)
    assert set(store.present() if separator == "." else ["0", "1", "2", "3"]) <= set(first)

    def told_again(after):
        time.sleep(after)  # what the kernel keeps by time grows old
        return answers(mounted, lambda: os.listdir(mounted / name))[0]

    for after in (0, MORE_THAN_TIMEOUT):  # longer than a status
        assert any(told_again(after) == 0 for _ in range(10)), after  # the kernel drops pages when others want memory
        assert os.listdir(mounted / name) == first


@pytest.mark.parametrize("options,name", [("watch=off", "a"), ("timeout=0", "a"), ("", ""), ("separator=/", "a")])
def test_where_a_change_would_not_be_told_each_one_is_asked_for(mount, store, options, name):
    mounted = mount(store.path, options)
    assert not is_kept(mounted, mounted / name)


def test_a_shard_of_two_names_lets_nothing_be_kept(mount, store):
    os.link(store.file("a/c/0/0"), store.file("elsewhere"))
    mounted = mount(store.path)
    assert not is_kept(mounted, mounted / "a")


def other_chunks(store):
    write_file(store.file("a/c/0/0"), shard_bytes([None, store.chunk(0, 1), None, None]))
    return sorted(set(store.present()) - {"0.0", "1.0", "1.1"} | {"0.1"})


def in_place(store):
    with open(store.file("a/c/0/0"), "r+b") as shard:
        shard.truncate(0)
        shard.write(shard_bytes([None, store.chunk(0, 1), None, None]))
    return sorted(set(store.present()) - {"0.0", "1.0", "1.1"} | {"0.1"})


def shard_removed(store):
    os.unlink(store.file("a/c/0/0"))
    return sorted(set(store.present()) - {"0.0", "1.0", "1.1"})


def shard_added(store):
    store.write_shard(1, 1)
    return sorted([*store.present(), "2.2", "2.3", "3.2", "3.3"])


def directory_removed(store):
    shutil.rmtree(store.file("a/c/0"))
    return ["2.0", "2.1", "3.0", "3.1"]


def directory_moved(store):
    os.rename(store.file("a/c/0"), store.file("a/c/1x"))
    return ["2.0", "2.1", "3.0", "3.1"]


def file_beside(store):
    write_file(store.file("a/notes"), b"more")
    return sorted([*store.present(), "notes"])


@pytest.mark.parametrize("options", ["ro", "rw"])
@pytest.mark.parametrize("change", [other_chunks, in_place, shard_removed, shard_added, directory_removed, directory_moved, file_beside])
def test_what_another_program_has_changed_is_listed_at_once(mount, store, change, options):
    mounted = mount(store.path, options)
    within(60, lambda: is_kept(mounted, mounted / "a"))
    after = change(store)
    assert chunks(mounted / "a") == after
    assert chunks(mounted / "a") == after


def test_what_was_absent_and_is_made_bit_by_bit_is_listed_at_once(mount, store):
    mounted = mount(store.path)
    shutil.rmtree(store.file("a/c"))
    within(60, lambda: is_kept(mounted, mounted / "a"))
    for row in range(2):
        os.makedirs(store.file(f"a/c/{row}"))
        is_kept(mounted, mounted / "a")
        store.write_shard(row, 0)
        assert f"{2 * row}.0" in os.listdir(mounted / "a")


def test_an_array_of_another_shape_or_another_array(mount, store):
    mounted = mount(store.path)
    within(60, lambda: is_kept(mounted, mounted / "a"))
    write_json(store.file("a/zarr.json"), document((4, 8), (4, 4), (2, 2), fill=7))
    smaller = [name for name in store.present() if name[0] in "01"]
    within(SOON, lambda: chunks(mounted / "a") == smaller)
    within(60, lambda: is_kept(mounted, mounted / "a"))  # once all that was told of the change is over
    other = SmallStore(os.path.dirname(store.path) + "/other")
    os.unlink(other.file("a/c/0/0"))
    shutil.move(other.file("a"), store.file("b"))
    exchange(store.file("a"), store.file("b"))
    others = [name for name in store.present() if name not in ("0.0", "1.0", "1.1")]
    within(SOON, lambda: chunks(mounted / "a") == others)


def test_an_array_that_is_removed_and_made_again(mount, store):
    mounted = mount(store.path)
    for missing in ((0, 0), (0, 1), (1, 0)):
        within(60, lambda: is_kept(mounted, mounted / "a"))
        shutil.rmtree(store.file("a"))
        shown = SmallStore(os.path.dirname(store.path))
        os.unlink(shown.file("a/c/{}/{}".format(*missing)))
        left = [name for name in shown.present() if (int(name[0]) // 2, int(name[2]) // 2) != missing]
        within(SOON, lambda: os.path.isdir(mounted / "a") and chunks(mounted / "a") == left)
        assert chunks(mounted / "a") == left


def test_what_programs_write_through_the_mount_is_listed_at_once(mount, store):
    mounted = mount(store.path, "rw")
    present = store.present()
    within(60, lambda: is_kept(mounted, mounted / "a"))
    with open(mounted / "a/0.1", "wb") as chunk:
        chunk.write(store.chunk(0, 1))
    present = sorted([*present, "0.1"])
    assert chunks(mounted / "a") == present
    os.unlink(mounted / "a/1.1")
    present.remove("1.1")
    assert chunks(mounted / "a") == present
    with open(mounted / "a/1.1.tmp", "wb") as chunk:
        chunk.write(store.chunk(1, 1))
    assert chunks(mounted / "a") == sorted([*present, "1.1.tmp"])
    os.rename(mounted / "a/1.1.tmp", mounted / "a/1.1")
    present = sorted([*present, "1.1"])
    assert chunks(mounted / "a") == present
    assert not is_kept(mounted, mounted / "a"), "it is not in its shard yet"
    os.setxattr(mounted.path, "user.zarrfs.publish", b"")
    within(60, lambda: is_kept(mounted, mounted / "a"))
    assert chunks(mounted / "a") == present
    os.unlink(mounted / "a/0.1")
    assert "0.1" not in os.listdir(mounted / "a")


def test_what_programs_write_into_directories_of_chunks_is_listed_at_once(mount, store):
    mounted = mount(store.path, "rw,separator=/")
    within(60, lambda: is_kept(mounted, mounted / "a/0"))
    os.unlink(mounted / "a/0/0")
    assert os.listdir(mounted / "a/0") == ["2", "3"]
    with open(mounted / "a/0/1", "wb") as chunk:
        chunk.write(store.chunk(0, 1))
    assert os.listdir(mounted / "a/0") == ["1", "2", "3"]
    os.setxattr(mounted.path, "user.zarrfs.publish", b"")
    within(60, lambda: is_kept(mounted, mounted / "a/0"))
    assert os.listdir(mounted / "a/0") == ["1", "2", "3"]


def test_a_listing_that_overlaps_a_change_leaves_nothing_old(mount, store):
    mounted = mount(store.path)
    within(60, lambda: is_kept(mounted, mounted / "a"))
    early = os.open(mounted / "a", os.O_RDONLY)
    try:
        for change in (shard_removed, shard_added):
            os.listdir(early)
            change(store)
            after = chunks(mounted / "a")
            assert "0.0" not in after and ("3.3" in after) == (change is shard_added)

            def again():
                os.lseek(early, 0, os.SEEK_SET)
                return sorted(set(os.listdir(early)) - set(DOCUMENTS))

            within(SOON, lambda again=again, after=after: again() == after)
            assert chunks(mounted / "a") == after
    finally:
        os.close(early)
    assert chunks(mounted / "a") == after
    within(60, lambda: is_kept(mounted, mounted / "a"))
    assert chunks(mounted / "a") == after


@pytest.mark.parametrize("options", ["ro", "rw"])
def test_a_directory_that_stays_open_is_read_again_from_its_start(mount, store, options):
    """Nobody opens it meanwhile."""
    mounted = mount(store.path, options)
    within(60, lambda: is_kept(mounted, mounted / "a"))
    early = os.open(mounted / "a", os.O_RDONLY)

    def again():
        os.lseek(early, 0, os.SEEK_SET)
        return sorted(set(os.listdir(early)) - set(DOCUMENTS))

    try:
        assert again() == store.present()
        before = os.stat(mounted / "a").st_mtime_ns
        time.sleep(MORE_THAN_TIMEOUT)  # what the kernel keeps by time is too old then
        assert os.stat(mounted / "a").st_mtime_ns == before, "nothing has changed"
        for change in (shard_removed, lambda store: store.write_shard(0, 0), directory_removed):
            after = change(store) or store.present()
            within(SOON, lambda after=after: again() == after)
    finally:
        os.close(early)


@pytest.fixture
def many(store):
    """4,096 chunks in shards of 64, so that a listing takes many answers."""
    write_json(store.file("a/zarr.json"), document((128, 128), (128, 2), (2, 2), fill=7))
    shutil.rmtree(store.file("a/c"))
    full = shard_bytes([bytes(16)] * 64)
    for column in range(64):
        write_file(store.file(f"a/c/0/{column}"), full)
    return store


def test_a_change_between_the_parts_of_a_listing(mount, many):
    """What the kernel has kept then is older in its beginning than in its end."""
    store = many
    mounted = mount(store.path)
    everything = sorted(f"{i}.{j}" for i in range(64) for j in range(64))
    for removed in range(3):
        assert chunks(mounted / "a") == everything
        with os.scandir(mounted / "a") as listing:
            for _ in range(10):
                next(listing)
            os.unlink(store.file(f"a/c/0/{removed}"))
            len(list(listing))
        everything = [name for name in everything if not name.endswith(f".{removed}")]
        assert chunks(mounted / "a") == everything
        assert chunks(mounted / "a") == everything


def test_what_others_list_while_the_kernel_fills_its_cache_does_not_spoil_it(mount, many):
    """Linux never completes a cache of which it dropped a part before the end."""
    mounted = mount(many.path, "timeout=3600")  # however long a walk takes

    def walk():
        for name in os.listdir(mounted / "a"):
            os.stat(mounted / f"a/{name}")

    with os.scandir(mounted / "a") as listing:
        next(listing)
        os.unlink(many.file("a/c/0/0"))
        os.listdir(mounted / "a")
        len(list(listing))
    walk()  # many names are kept where their statuses came with them: looked up now, these do so next time
    assert any(answers(mounted, walk) == [0, 0] for _ in range(10))  # the kernel drops pages when others want memory


@pytest.mark.parametrize("options", ["ro", "rw"])
def test_what_is_listed_by_name_is_not_asked_for_by_one_lookup_each(mount, tmp_path, options):
    """Kept names without statuses would cost programs that want these a LOOKUP for each file."""
    store = SmallStore(tmp_path)
    write_json(store.file("a/zarr.json"), document((64, 64), (64, 64), (2, 2), fill=7))
    shutil.rmtree(store.file("a/c"))
    write_file(store.file("a/c/0/0"), shard_bytes([bytes(16)] * 1024))
    mounted = mount(store.path, f"{options},separator=/")
    folders = [mounted / f"a/{row}" for row in range(32)]

    def walk(act):
        for folder in folders:
            for name in os.listdir(folder):
                act(f"{folder}/{name}")

    walk(len)
    assert answers(mounted, lambda: walk(len))[0] == 0, "names alone are kept for who wants names alone"
    time.sleep(MORE_THAN_TIMEOUT)  # what the kernel keeps by time is too old then
    looked_up = answers(mounted, lambda: walk(os.stat))[1]
    assert looked_up < 3 * 32 + len(folders), "but for the first directory the statuses came with the names"
    time.sleep(MORE_THAN_TIMEOUT)  # what the kernel keeps by time is too old then
    again = [answers(mounted, lambda: walk(os.stat)) for _ in range(3)]  # a walk may find a change that was not quite told
    assert any(told <= 2 * 2 and looked_up <= len(folders) + 2 * 32 for told, looked_up in again), f"both are kept: {again}"


def stop(process):
    """Returns when none of its threads goes on: on a busy machine they do for a while after the signal."""
    def goes_on(thread):
        with open(f"/proc/{process}/task/{thread}/stat", encoding="ascii") as status:
            return status.read().rpartition(") ")[2][0] != "T"
    os.kill(process, signal.SIGSTOP)
    within(60, lambda: not any(goes_on(thread) for thread in os.listdir(f"/proc/{process}/task")))


def test_more_than_the_watch_can_tell_goes_back_to_a_second(mount, store):
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as limit:
        most = int(limit.read())
    need(most <= 100_000, "the kernel's queue is too long to fill")
    mounted = mount(store.path)
    assert lent(mounted, "a/1.0") and is_kept(mounted, mounted / "a")
    process = mounted.statistics_process()
    stop(process)
    try:
        for i in range(most + 100):  # two in turn: the same event is told once
            os.utime(store.file("a/c/0/0" if i % 2 else "a/c/0/1"))
        os.unlink(store.file("a/c/0/0"))
        write_file(store.file("a/c/0/1"), shard_bytes([store.chunk(0, 2) + b"more", None, None, None]))
    finally:
        os.kill(process, signal.SIGCONT)
    resumed = time.monotonic()
    after = sorted(set(store.present()) - {"0.0", "1.0", "1.1", "0.3", "1.2", "1.3"})
    assert chunks(mounted / "a") == after
    within(SOON, lambda: not os.path.exists(mounted / "a/1.0") and os.stat(mounted / "a/0.2").st_size == 20)
    given = lent(mounted, "a/0.2") or is_kept(mounted, mounted / "a")
    assert not given or time.monotonic() - resumed > 4.5  # on a busy machine it may have taken so long
    store.write_shard(0, 0)
    within(SOON, lambda: os.path.exists(mounted / "a/1.0"))
    assert chunks(mounted / "a") == sorted([*after, "0.0", "1.0", "1.1"])
    within(60, lambda: is_kept(mounted, mounted / "a"))
    assert lent(mounted, "a/1.0")


def test_listings_follow_a_store_that_others_change_all_the_time(mount, store):
    """Each listing shows what was there at some moment after the last change before it began; in the end, what there is."""
    mounted = mount(store.path, "separator=/")
    seed = int(os.environ.get("ZARRFS_SEED", time.time_ns() % 1_000_000))
    print("ZARRFS_SEED", seed)
    luck = random.Random(seed)
    state = {"done": 3, "begun": 3}
    ended, wrong = threading.Event(), []

    def shows(number):
        """Which chunks of shard 0.0 there are after change `number`."""
        return [bool(number & (1 << bit)) for bit in range(4)]

    def names(number):
        """Of row 0."""
        return [str(column) for column in range(2) if shows(number)[column]] + ["2", "3"]

    def put(number):
        write_file(store.file("a/c/0/0"), shard_bytes([store.chunk(0, 0) if there else None for there in shows(number)]))

    def change():
        while not ended.is_set():
            state["begun"] += 1
            put(state["begun"])
            state["done"] = state["begun"]
            time.sleep(luck.choice([0, 0, 0.001, 0.005, 0.02, 0.1]))

    def look():
        while not ended.is_set():
            least = state["done"]
            listed = os.listdir(mounted / "a/0")
            most = state["begun"]
            if not any(listed == names(number) for number in range(least, min(most, least + 16) + 1)):
                wrong.append((least, most, listed))

    put(3)
    threads = [threading.Thread(target=change)] + [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(6)  # so long they change and look
    ended.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:5]
    assert os.listdir(mounted / "a/0") == names(state["done"])
    within(60, lambda: is_kept(mounted, mounted / "a/0"))
    assert os.listdir(mounted / "a/0") == names(state["done"])


def closed_early(directory):
    with os.scandir(directory) as listing:
        next(listing)


def test_a_listing_is_kept_again_after_one_that_was_closed_before_its_end(mount, store):
    """Linux goes on from there only, and what it had until there is dropped with the change."""
    mounted = mount(store.path, "separator=/")
    row = mounted / "a/0"
    for there in ((None, store.chunk(0, 3)), (store.chunk(0, 2), None), (store.chunk(0, 2), store.chunk(0, 3))) * 2:
        within(60, lambda: is_kept(mounted, row))
        last = [column for column in range(2) if there[column]]
        write_file(store.file("a/c/0/1"), shard_bytes([store.chunk(0, 2), None, None, None]))
        closed_early(row)
        write_file(store.file("a/c/0/1"), shard_bytes([*there, None, None]))
        assert os.listdir(row) == ["0"] + [str(2 + column) for column in last]
        closed_early(row)
        assert os.listdir(row) == ["0"] + [str(2 + column) for column in last]
    within(60, lambda: is_kept(mounted, row))


def test_who_opens_a_directory_and_does_not_list_it_keeps_no_listing_from_being_kept(mount, store):
    mounted = mount(store.path)
    opened = os.open(mounted / "a", os.O_RDONLY)
    try:
        within(60, lambda: is_kept(mounted, mounted / "a"))
        assert sorted(set(os.listdir(opened)) - set(DOCUMENTS)) == store.present()
    finally:
        os.close(opened)


LISTER = """
import os, sys
if "idle" in sys.argv:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while not os.path.exists(sys.argv[2]):
    if "opens" in sys.argv:
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    else:
        os.listdir(sys.argv[1])
"""


def test_a_listing_is_kept_again_after_many_programs_listed_it_beside_changes(mount, store, tmp_path):
    """What one of them has the kernel drop, another may be filling in just then; some come to it late, since they run where nobody else does."""
    write_json(store.file("a/zarr.json"), document((2, 128), (2, 128), (2, 2), fill=7))
    mounted = mount(store.path, "separator=/")
    for burst in range(12):
        over = tmp_path / f"over{burst}"
        programs = [subprocess.Popen([sys.executable, "-c", LISTER, mounted / "a/0", over, *kind])
                    for kind in (["list"], ["list"], ["idle", "opens"], ["idle", "list"], ["idle", "list"])]
        end = time.monotonic() + 0.5
        number = 0
        while time.monotonic() < end:
            number += 1
            write_file(store.file("a/c/0/0"), shard_bytes([bytes(16) if column > 8 or number & (1 << column) else None for column in range(64)]))
            time.sleep((0.001, 0.003, 0.01)[burst % 3])
        over.touch()
        assert [program.wait() for program in programs] == [0] * len(programs)
        within(60, lambda: is_kept(mounted, mounted / "a/0"))
