"""A server that goes away: what was seen of it is read, nothing is told to be absent, what is written goes to the spool, and all fails at once.

`ZARRFS_CUT_SECONDS=600` for the long form of the cut under a writer and a reader.
"""
import errno
import os
import subprocess
import time

import pytest
from conftest import DAEMON, within
from object_server import KEY, SECRET, ObjectServer
from stores import SmallStore
from test_networks import Networks, networks  # noqa: F401, one is a fixture
from test_remote_writing import Bucket, credentials, data, own_files, publish, put  # noqa: F401, one is a fixture

CUT = float(os.environ.get("ZARRFS_CUT_SECONDS", "5"))
# Whatever is asked for is asked of the server, and given up soon.
EAGER = "revalidate=0,deadline=0.5,timeout=0"


def read(mounted, name):
    with open(mounted / name, "rb") as file:
        return file.read()


def answers(act):
    """The errno of what `act` raises; 0 where it raises nothing."""
    try:
        act()
    except OSError as raised:
        return raised.errno
    return 0


def remote(mounted):
    return mounted.statistics()["remote"]


class Place:
    """A small store at a server, and a mount of it that reads."""

    def __init__(self, kind, folder, mount):
        self.store = SmallStore(folder)
        self.server = ObjectServer(os.path.dirname(self.store.path), "bucket" if kind == "s3" else "")
        self.kind, self.mount = kind, mount

    def open(self, more=EAGER):
        if self.kind == "s3":
            return self.mount("s3://bucket/store", f"ro,endpoint={self.server.url},region={self.server.region},{more}", damaged=True)
        return self.mount(f"{self.server.url}/store", f"ro,{more}", damaged=True)

    def go_away(self, mounted):
        """Returns when the mount knows."""
        self.server.away = True
        answers(lambda: os.stat(mounted / "a/.zarray"))
        within(60, lambda: answers(lambda: read(mounted, "a/3.3")) == errno.EIO and remote(mounted)["away"])

    def come_back(self, mounted):
        self.server.come_back()
        within(60, lambda: not remote(mounted)["away"])


@pytest.fixture(params=["s3", "http"])
def place(request, tmp_path, mount):
    made = Place(request.param, tmp_path, mount)
    yield made
    made.server.come_back()
    made.server.close()


def test_what_was_seen_is_read_while_the_server_is_away(place):
    mounted = place.open()
    before = {name: read(mounted, name) for name in ("a/.zarray", "a/0.0", "a/2.0")}
    listed = sorted(os.listdir(mounted / "a"))
    place.go_away(mounted)
    for _ in range(3):
        assert {name: read(mounted, name) for name in before} == before
    assert os.path.isdir(mounted / "a")
    if place.kind == "s3":  # a server of files tells no names: each is asked for, and those that were absent may be there
        assert set(listed) <= set(os.listdir(mounted / "a"))
    told = remote(mounted)
    assert told["outages"] == 1 and told["shown_stale"] > 0
    assert mounted.log_text().count("does not answer") == 1 and "what was seen of it before is shown" in mounted.log_text()
    place.come_back(mounted)
    assert sorted(os.listdir(mounted / "a")) == listed
    assert mounted.log_text().count("answers again") == 1


def test_an_outage_makes_nothing_absent(place):
    mounted = place.open()
    read(mounted, "a/0.0")
    absent = ("a/0.1", "a/2.2", "a/other", "b")  # in a shard that is there, in one that is not, no chunk, no node
    for name in absent:
        assert not os.path.exists(mounted / name)
    place.go_away(mounted)
    for name in absent:
        assert answers(lambda: read(mounted, name)) == errno.EIO, name
    place.come_back(mounted)
    for name in absent:
        assert answers(lambda: read(mounted, name)) == errno.ENOENT, name


def test_while_a_server_is_away_only_probes_are_sent(place):
    """So nothing waits for it. A probe is one small request, and there is one at a time."""
    mounted = place.open()
    read(mounted, "a/0.0")
    place.go_away(mounted)
    place.server.missed.clear()
    for _ in range(50):
        assert answers(lambda: read(mounted, "a/2.2")) == errno.EIO
        read(mounted, "a/0.0")
    assert {(one["method"], one["path"].rsplit("/", 1)[1]) for one in place.server.missed} <= {("HEAD", "zarr.json")}
    place.come_back(mounted)


def test_what_was_seen_is_shown_for_so_long_only(place):
    never = place.open(f"{EAGER},stale_if_error=0")
    shortly = place.open(f"{EAGER},stale_if_error=1")
    for mounted in (never, shortly):
        read(mounted, "a/0.0")
    place.server.away = True
    assert answers(lambda: read(never, "a/0.0")) == errno.EIO
    within(60, lambda: "nothing of it is shown" in never.log_text())
    within(60, lambda: answers(lambda: read(shortly, "a/0.0")) == errno.EIO)
    place.server.come_back()
    within(60, lambda: answers(lambda: read(never, "a/0.0")) == 0)
    assert remote(never)["shown_stale"] == 0
    within(60, lambda: answers(lambda: read(shortly, "a/0.0")) == 0)


@pytest.fixture
def bucket(tmp_path, mount):
    made = Bucket(tmp_path, mount)
    yield made
    made.server.come_back()
    try:
        made.close()
    finally:
        made.server.close()


def test_what_is_written_during_an_outage_is_at_the_server_after_it(bucket):
    mounted = bucket.open(more="flush_after=0.05,revalidate=3600,deadline=0.5", damaged=True)
    for chunk in ("0.0", "2.0", "0.2"):
        read(mounted, f"a/{chunk}")
    os.listdir(mounted / "a")
    put(mounted, "0.0", 1)
    publish(mounted)
    bucket.server.away = True
    within(60, lambda: answers(lambda: put(mounted, "0.0", 2)) == 0)
    within(60, lambda: remote(mounted)["away"])  # once nothing more is written for a while
    written = {"0.0": 3, "0.1": 4, "2.0": 5}
    for chunk, value in written.items():
        put(mounted, chunk, value, sync=True)
        assert read(mounted, f"a/{chunk}") == data(value)
    assert read(mounted, "a/0.2") == bucket.store.chunk(0, 2)
    assert {"0.0", "0.1", "2.0", "0.2"} <= set(os.listdir(mounted / "a"))
    bucket.server.come_back()
    within(120, lambda: not own_files(bucket.folder / "spool"))
    stored = bucket.stored()
    assert {chunk: stored[chunk] for chunk in written} == {chunk: data(value) for chunk, value in written.items()}


@pytest.mark.parametrize("kept", ["revalidate=0", "revalidate=3600"])
@pytest.mark.parametrize("looked", [True, False])
def test_a_shard_that_was_absent_is_begun_during_an_outage(bucket, kept, looked):
    """In its spool: what else is in that shard is not told to be absent, and is merged when the server answers."""
    mounted = bucket.open(more=f"flush_after=0.05,{kept},deadline=0.5", damaged=True)
    other = bucket.open("other", more=f"flush_after=3600,{kept}")
    read(mounted, "a/0.0")
    if looked:
        assert not os.path.exists(mounted / "a/2.2")
    put(other, "3.2", 8)
    bucket.server.away = True
    within(60, lambda: answers(lambda: put(mounted, "0.0", 2)) == 0)
    within(60, lambda: remote(mounted)["away"])  # once nothing more is written for a while
    put(mounted, "2.2", 6, sync=True)
    put(mounted, "2.3", 7)
    assert (read(mounted, "a/2.2"), read(mounted, "a/2.3")) == (data(6), data(7))
    if not (looked and kept == "revalidate=3600"):  # then it is known to be absent for an hour
        for absent in ("3.2", "3.3"):
            assert answers(lambda: read(mounted, f"a/{absent}")) == errno.EIO, absent
    bucket.server.come_back()
    publish(other)
    within(120, lambda: not own_files(bucket.folder / "spool"))
    stored = bucket.stored()
    assert (stored["2.2"], stored["2.3"], stored["3.2"]) == (data(6), data(7), data(8))


def test_a_full_spool_takes_writes_as_soon_as_the_server_answers(bucket):
    mounted = bucket.open(more="flush_after=0.05,revalidate=3600,deadline=0.5,spool_bytes=32", damaged=True)
    for chunk in ("0.0", "0.2", "2.0"):
        read(mounted, f"a/{chunk}")
    bucket.server.away = True
    within(60, lambda: answers(lambda: put(mounted, "0.0", 2)) == 0)
    within(60, lambda: remote(mounted)["away"])  # once nothing more is written for a while
    put(mounted, "0.2", 3)
    for _ in range(8):  # each of which makes the next try come later, were the server not known to be away
        assert answers(lambda: put(mounted, "2.0", 4)) == errno.ENOSPC
        time.sleep(0.3)  # it tries meanwhile
    log = mounted.log_text()
    assert log.count("could not be written") <= 3, log
    bucket.server.come_back()
    within(60, lambda: answers(lambda: put(mounted, "2.0", 4)) == 0)
    publish(mounted)
    assert bucket.stored()["2.0"] == data(4)


def test_programs_that_write_by_another_name_first_go_on_during_an_outage(bucket):
    """As zarr-python and rsync do, also into a shard that was not looked at before."""
    mounted = bucket.open(more="flush_after=3600,revalidate=3600,deadline=0.5", damaged=True)
    for chunk in ("0.0", "2.0"):
        read(mounted, f"a/{chunk}")
    bucket.server.away = True
    written = {"0.1": "0.1.1f2e.partial", "2.0": ".2.0.abcDe0", "2.2": "2.2.1f2e.partial"}
    for chunk, name in written.items():
        with open(mounted / f"a/{name}", "xb") as file:
            file.write(data(4))
        os.replace(mounted / f"a/{name}", mounted / f"a/{chunk}")
        assert read(mounted, f"a/{chunk}") == data(4)
    assert answers(lambda: os.unlink(mounted / "a/0.1.1f2e.partial")) == errno.ENOENT
    assert answers(lambda: read(mounted, "a/3.3")) == errno.EIO
    bucket.server.come_back()
    publish(mounted)
    stored = bucket.stored()
    assert {chunk: stored[chunk] for chunk in written} == dict.fromkeys(written, data(4))


def test_who_syncs_and_goes_on_writing_meets_no_error_and_does_not_put_off_what_waits(bucket):
    mounted = bucket.open(more="flush_after=0.5,revalidate=3600,deadline=0.5", damaged=True)
    read(mounted, "a/0.0")
    bucket.server.away = True
    put(mounted, "0.0", 1, sync=True)
    within(60, lambda: "could not be written" in mounted.log_text())
    bucket.server.come_back()

    def is_there():
        put(mounted, "0.1", 2, sync=True)
        return bucket.stored().get("0.0") == data(1)
    within(60, is_there)


def test_all_chunks_that_wait_for_a_server_are_named(bucket):
    mounted = bucket.open(more="flush_after=3600,revalidate=3600,deadline=0.5", damaged=True)
    chunks = ["0.0", "0.2", "2.0", "2.1"]
    for chunk in chunks:
        read(mounted, f"a/{chunk}")
    bucket.server.away = True
    for chunk in chunks:
        put(mounted, chunk, 3, sync=True)
    done = subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and [chunk for chunk in chunks if f"/a chunk {chunk}: " not in done.stderr + done.stdout] == [], done


def test_a_network_that_is_cut_under_a_writer_and_a_reader(tmp_path, mount, networks):
    bucket = Networks(tmp_path, mount, networks)
    try:
        cut_under_a_writer_and_a_reader(bucket, networks)
    finally:
        for network in networks.values():
            network.set("up")
        bucket.close()
        bucket.stop()


def cut_under_a_writer_and_a_reader(bucket, networks):
    writer = bucket.open_in("one", "flush_after=0.05,revalidate=0.2,timeout=0")
    reader = bucket.open_in("two", "revalidate=0.2,timeout=0")
    seen = ("0.0", "2.0", "0.2")
    for mounted in (writer, reader):
        for chunk in seen:
            read(mounted, f"a/{chunk}")
        os.listdir(mounted / "a")
    for network in networks.values():
        network.set("down")
    until, value, sure, wrong, counts = time.monotonic() + CUT, 100, {}, [], {"written": 0, "read": 0, "absent": 0}
    cut_for_good = lambda: remote(writer)["away"] and remote(reader)["away"]  # noqa: E731
    while time.monotonic() < until or not (cut_for_good() and all(counts.values())):
        for chunk in seen:
            value += 1
            known = {mounted: remote(mounted)["away"] for mounted in (writer, reader)}  # before: what fails may be how it is noticed
            try:
                put(writer, chunk, value)
                sure[chunk] = value
                counts["written"] += 1
            except OSError as error:
                wrong += [error] if known[writer] else []
            try:
                assert read(reader, f"a/{chunk}") == bucket.store.chunk(*map(int, chunk.split(".")))
                counts["read"] += 1
            except OSError as error:
                wrong += [error] if known[reader] else []
        counts["absent"] += answers(lambda: read(reader, "a/2.2")) == errno.EIO
        assert not answers(lambda: os.listdir(reader / "a"))
    print(f"{CUT} s cut: {counts}")
    assert not wrong, wrong[:5]
    assert counts["written"] > 0 and counts["read"] > 0 and counts["absent"] > 0
    for network in networks.values():
        network.set("up")
    within(120, lambda: subprocess.run([DAEMON, "sync", writer.path], capture_output=True, timeout=600).returncode == 0)
    stored = bucket.stored()
    assert {chunk: stored[chunk] for chunk in sure} == {chunk: data(value) for chunk, value in sure.items()}
    within(120, lambda: all(answers(lambda: read(reader, f"a/{chunk}")) == 0 and read(reader, f"a/{chunk}") == data(sure[chunk]) for chunk in sure))
