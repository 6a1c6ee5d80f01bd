"""Which listings of a large directory come with the status of its files, counted by the names that are looked up one by one."""
import itertools
import os
import time

import pytest
from stores import document, shard_bytes, write_file, write_json

COUNT = 64 * 64
SAMPLES = 40  # names that are left without status where the others come with it: 8 or so
TIMEOUT = 5


@pytest.fixture
def mounted(tmp_path, mount):
    store = str(tmp_path / "store")
    write_json(os.path.join(store, "zarr.json"), document((64, 64), (64, 64), (1, 1), "uint8", codecs=[{"name": "bytes"}]))
    write_file(os.path.join(store, "c/0/0"), shard_bytes([b"x"] * COUNT))
    return mount(store, f"separator=.,watch=off,timeout={TIMEOUT}")


def requests(mounted, act):
    before = mounted.statistics()["requests"]
    act()
    after = mounted.statistics()["requests"]
    return {name: after[name] - before[name] for name in ("lookup", "readdir", "readdirplus")}


def look_at(entries):
    for entry in entries:
        entry.stat(follow_symlinks=False)


def list_then_look(mounted):
    with os.scandir(mounted.path) as listed:
        look_at(list(listed))


def test_names_alone_are_not_looked_up(mounted):
    asked = requests(mounted, lambda: os.listdir(mounted.path))
    assert asked["lookup"] < 10
    assert asked["readdir"] == 0 and asked["readdirplus"] > 5, asked


def test_the_rest_of_a_listing_comes_with_the_statuses_that_its_start_lacked(mounted):
    first = 1500

    def act():
        with os.scandir(mounted.path) as listed:
            look_at(list(itertools.islice(listed, first)))
            look_at(listed)

    asked = requests(mounted, act)
    assert first // 2 < asked["lookup"] < first + 1000 + SAMPLES, asked


def test_the_next_listing_comes_with_them_from_its_start(mounted):
    assert requests(mounted, lambda: list_then_look(mounted))["lookup"] > COUNT - 100
    time.sleep(TIMEOUT + 1)  # what the kernel keeps by time is too old then
    assert requests(mounted, lambda: list_then_look(mounted))["lookup"] < SAMPLES


def test_programs_that_want_names_only_are_told_no_more_for_long(mounted):
    list_then_look(mounted)
    for _ in range(3):  # the first comes with statuses
        os.listdir(mounted.path)
    time.sleep(TIMEOUT + 1)  # what the kernel keeps by time is too old then
    os.listdir(mounted.path)
    assert requests(mounted, lambda: list_then_look(mounted))["lookup"] > COUNT - 100
