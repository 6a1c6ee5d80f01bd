"""Mounts with `rw,shared` that die, stand still, or find no room: what was closed, and after a power cut what was synced, is there in the end. As core/log/SHARED.md promises."""
import errno
import itertools
import os
import random
import re
import select
import signal
import subprocess
import threading

import pytest
from conftest import DAEMON, within
from disks import Disk
from shared_stores import CHUNKS, KILLS, LONG, SEED, Shared, Writer, at_once, die, name_of, process_of, shards, write, zarrfs
from stores import document, write_json


@pytest.fixture
def shared(tmp_path, mount):
    return Shared(tmp_path, mount)


def recover(shared, writers):
    """Puts what dead mounts left. A chunk that was begun when its mount died may be no whole one: whoever starts a program closes what
    other threads have open, in the child, and so an emptied chunk, as in any directory. It is named, and gone once it is written anew."""
    done = subprocess.run([DAEMON, "recover", shared.path], capture_output=True, text=True, timeout=600)
    for writer in writers:
        writer.settle(shared.stored)
    if done.returncode == 0:
        return []
    named = [(array, int(number)) for array, number in re.findall(r"^/([au]) chunk (\d+): its bytes cannot be a chunk of the array$", done.stdout, re.M)]
    assert done.returncode == 3 and named and set(named) <= {writer.question[0] for writer in writers}, (done, [writer.question for writer in writers])
    mounted = shared.open(LONG)
    mounted.damaged = True  # it tells what it does not put
    for place in named:
        shared.put(mounted, place)
    subprocess.run([DAEMON, "umount", mounted.path], check=False, capture_output=True)  # 3: it looks before it tries what was left once more
    zarrfs("recover", shared.path)
    mounted.close()
    return named


@pytest.mark.parametrize("array", ["a", "u"])
@pytest.mark.parametrize("options", [LONG, "rw,shared,flush_after=0.01"])
def test_a_chunk_that_was_emptied_at_the_death_is_named_and_can_be_written_anew(shared, options, array):
    mounted = shared.open(options)
    for number in (1, 2):
        shared.put(mounted, (array, number), sync=True)
    writer = Writer(shared, mounted, [(array, 2)])
    file = os.open(name_of(mounted, (array, 2)), os.O_WRONLY | os.O_TRUNC)
    os.close(os.dup(file))
    die(mounted)
    writer.start()
    told = recover(shared, [writer])
    assert told == [(array, 2)]
    shared.holds()
    assert shards.own_files(shared.path) == []
    shared.is_left_whole()
    with pytest.raises(OSError):
        os.close(file)


@pytest.mark.parametrize("options", ["flush_after=3600", "flush_after=0.01"])
def test_what_a_dead_mount_had_acknowledged_is_taken_by_the_other(shared, options):
    for _ in range(max(2, KILLS // 15)):
        one, two = shared.open(f"rw,shared,{options}"), shared.open(f"rw,shared,{options}")
        writers = [Writer(shared, one, CHUNKS[0:40:2] + [("u", 1), ("g", 1)]), Writer(shared, two, CHUNKS[1:40:2] + [("u", 2), ("g", 2)])]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.begun(20)
        die(one)
        writers[0].join(120)
        # What it had in its log alone comes into the directory by the other, while that lives and writes.
        mine = {place: value for place, value in shared.wanted.items() if place in writers[0].places and writers[0].question[0] != place}
        within(120, lambda mine=mine: mine.items() <= shared.stored().items())
        die(two)
        recover(shared, writers)
        shared.holds()
        assert shards.own_files(shared.path) == [], f"seed {SEED}"
    shared.is_left_whole()


def test_two_that_die_leave_all_to_recover(shared):
    for number in range(max(2, KILLS // 10)):
        mounts = [shared.open(f"rw,shared,flush_after={(3600, 0.01)[number % 2]}") for _ in range(2)]
        writers = [Writer(shared, mounted, CHUNKS[part:48:2] + [("u", part), ("g", part)]) for part, mounted in enumerate(mounts)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.begun(1 + number * 7 % 30)
        for mounted in mounts:
            die(mounted)
        recover(shared, writers)
        shared.holds()
        assert shards.own_files(shared.path) == [], f"seed {SEED}"
    shared.is_left_whole()


def test_the_next_mount_takes_what_dead_ones_left(shared):
    one, two = shared.open(LONG), shared.open(LONG)
    for place in CHUNKS[:20]:
        shared.put((one, two)[place[1] % 2], place)
    die(one), die(two)
    three = shared.open()
    within(120, lambda: shared.stored() == shared.wanted)
    shared.put(three, ("a", 3))
    three.close()
    shared.is_left_whole()


def test_a_chunk_that_was_written_after_a_death_outlives_the_next_death(shared):
    one, two = shared.open(LONG), shared.open(LONG)
    old = {place: shared.put(one, place) for place in CHUNKS[:8]}
    die(one)
    for place in CHUNKS[:8]:
        shared.put(two, place)
    within(120, lambda: shared.stored() == old)  # what is put from the log of the first is older than what waits in the second
    die(two)
    zarrfs("recover", shared.path)
    shared.is_left_whole()


@pytest.mark.parametrize("first", [0, 1])
def test_of_the_logs_of_two_that_died_the_newer_chunks_stay(shared, first):
    mounts = [shared.open(LONG), shared.open(LONG)]
    processes = [process_of(mounted) for mounted in mounts]
    for number in (first, 1 - first):
        for place in CHUNKS[:8]:
            shared.put(mounts[number], place)
        os.kill(processes[number], signal.SIGSTOP)  # it takes no log
    for mounted, process in zip(mounts, processes):
        os.kill(process, signal.SIGKILL)
        subprocess.run(["umount", "-l", mounted.path], check=True)
    zarrfs("recover", shared.path)
    shared.is_left_whole()


def test_a_mount_that_stood_still_for_longer_than_the_lease_loses_nothing(shared):
    options = "rw,shared,shared_lease=1,flush_after=3600"
    one, two = shared.open(options, damaged=True), shared.open(options, damaged=True)  # that it was taken for dead is told as an error
    for sync, place in enumerate(CHUNKS[:12]):
        shared.put(one, place, sync=sync % 2 == 0)
    shared.put(two, ("a", 12))
    process = process_of(one)
    os.kill(process, signal.SIGSTOP)
    try:
        for place in CHUNKS[12:20]:
            shared.put(two, place)
        # It is taken for dead: what only its log had comes into the shards.
        within(120, lambda: {place: shared.wanted[place] for place in CHUNKS[:12]}.items() <= shared.stored().items())
        shared.put(two, ("a", 0))  # over what was taken
        zarrfs("sync", two.path)
    finally:
        os.kill(process, signal.SIGCONT)
    for place in CHUNKS[16:32]:
        shared.put(one, place, sync=place[1] % 2 == 0)
    one.close()
    two.close()
    assert "are lost" not in one.log_text() and "durable" not in two.log_text()
    shared.is_left_whole()


def test_writes_that_wait_for_who_stands_still_are_there_afterwards(shared):
    one, two = (shared.open("rw,shared,shared_lease=1,flush_after=0.01", damaged=True) for _ in range(2))
    process = process_of(one)
    places = [CHUNKS[:20], CHUNKS[20:40]]

    def fill(mounted, mine):
        for _ in range(4):
            for place in mine:
                shared.put(mounted, place, sync=place[1] % 3 == 0)
    threads = [threading.Thread(target=fill, args=pair) for pair in zip((one, two), places)]
    for thread in threads:
        thread.start()
    within(60, lambda: ("a", 5) in shared.wanted)
    for _ in range(3):
        os.kill(process, signal.SIGSTOP)
        select.select([], [], [], 2.5)  # longer than the lease
        os.kill(process, signal.SIGCONT)
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()
    one.close(), two.close()
    assert len(shared.wanted) == 40
    shared.is_left_whole()


BLOCK = 256 * 1024


def test_commits_that_find_no_room(tmp_path, mount):
    disk = Disk(tmp_path, "ext4", 56 << 20)
    disk.mount()
    try:
        store, ballast = os.path.join(disk.path, "store"), os.path.join(disk.path, "ballast")
        write_json(f"{store}/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
        write_json(f"{store}/a/zarr.json", document((96 * BLOCK,), (4 * BLOCK,), (BLOCK,), "uint8"))
        with open(ballast, "wb") as file:
            file.write(bytes(24 << 20))
        mounts = [mount(store, f"rw,shared,flush_after={after}", damaged=True) for after in (0.05, 3600)]
        sure = {}

        def fill(part):
            for chunk in range(part, 96, 2):
                try:
                    with open(mounts[part] / f"a/{chunk}", "wb", buffering=0) as out:
                        assert out.write(bytes([1 + chunk]) * BLOCK) == BLOCK
                    sure[chunk] = 1 + chunk
                except OSError as error:
                    full.append(error.errno)
        full = []
        at_once([(fill, 0), (fill, 1)])
        assert set(full) == {errno.ENOSPC}, full
        os.unlink(ballast)
        for mounted in mounts:
            within(120, lambda mounted=mounted: subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, timeout=600).returncode == 0)
        for mounted in mounts:
            mounted.close()
        assert shards.own_files(store) == []
        again = mount(store, "ro")
        for chunk, value in sure.items():
            with open(again / f"a/{chunk}", "rb") as file:
                assert file.read() == bytes([value]) * BLOCK, chunk
        again.close()
    finally:
        disk.unmount()


def test_what_was_synced_survives_the_power_cut(tmp_path, mount):
    disk = Disk(tmp_path, "ext4", 64 << 20)
    disk.mount()
    rng, written, synced = random.Random(SEED), {}, {}
    store = os.path.join(disk.path, "store")
    shards.make_store(store)
    disk.sync()
    try:
        numbers = itertools.count(1)
        for cut in range(max(2, KILLS // 15)):
            mounts = [mount(store, f"rw,shared,flush_after={rng.choice(['0.005', '3600'])}", damaged=True) for _ in range(2)]

            def fill(part, draw):
                places = CHUNKS[part:64:2]
                try:
                    while True:
                        place = draw.choice(places)
                        value, sync = shards.value_of(1, next(numbers), place), draw.random() < 0.5
                        written.setdefault(place, set()).add(value)
                        write(mounts[part], place, value, sync)
                        if sync and not disk.off.is_set():
                            synced[place] = value
                            counts[part] += 1
                except OSError:
                    return
            counts = [0, 0]
            threads = [threading.Thread(target=fill, args=(part, random.Random(rng.random()))) for part in range(2)]
            for thread in threads:
                thread.start()
            within(120, lambda: min(counts) >= 3 + 4 * cut or not any(thread.is_alive() for thread in threads))
            disk.cut()
            for mounted in mounts:
                die(mounted)
            for thread in threads:
                thread.join(120)
            disk.unmount()
            disk.mount()
            zarrfs("recover", store)
            found = {place: value for file in shards.files() if os.path.exists(f"{store}/{file[0]}/c/{file[1]}") for place, value in shards.read_file(store, file).items()}
            for place, value in synced.items():
                assert found.get(place, 0) >= value and found[place] in written[place], f"seed {SEED}, cut {cut}: {place} is {found.get(place)}, and {value} was synced"
            assert shards.own_files(store) == [], f"seed {SEED}"
            assert min(counts) >= 3
    finally:
        subprocess.run(["umount", "-l", disk.path], stderr=subprocess.DEVNULL, check=False)
