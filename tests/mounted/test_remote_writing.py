"""Writing to a bucket: what is closed survives, writers do not lose each other's chunks, and servers that would lose them are refused."""
import errno
import json
import os
import random
import subprocess
import threading
import time

import pytest
from buckets import MountedBucket
from conftest import DAEMON, Mount, is_of_killed, kill, run_zarr, within
from object_server import KEY, SECRET, ObjectServer
from stores import SmallStore

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
KILLS = int(os.environ.get("ZARRFS_KILLS", "30"))


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


class Bucket(MountedBucket):
    """In a bucket of a small server."""

    def __init__(self, folder, mount):
        super().__init__(folder, mount)
        self.store = SmallStore(folder)
        self.server = ObjectServer(os.path.dirname(self.store.path), "bucket")

    def options(self, spool, more=""):
        return ",".join(part for part in ("rw", f"endpoint={self.server.url}", f"region={self.server.region}", f"spool={self.folder}/{spool}",
                                          "revalidate=0,deadline=2", more) if part)

    def stored(self):
        """{chunk: bytes} of the array as it is in the bucket, by another mount, of the directory."""
        return self.chunks_through(self.mount(self.store.path))


@pytest.fixture
def bucket(tmp_path, mount):
    made = Bucket(tmp_path, mount)
    yield made
    try:
        made.close()
    finally:
        made.server.close()


def put(mounted, chunk, value, sync=False):
    with open(mounted / f"a/{chunk}", "wb") as file:
        file.write(data(value))
        file.flush()
        if sync:
            os.fsync(file.fileno())


def data(value):
    return int(value).to_bytes(4, "little") * 4


def come_back(bucket, mounted):
    """The server answers again, and the mount knows: until then what waits for it fails at once (docs/remote.md)."""
    bucket.server.fault = None
    within(60, lambda: not mounted.statistics()["remote"]["away"])


def publish(mounted, status=0):
    done = subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stderr
    return done.stderr


def own_files(folder):
    return [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names if name.startswith(".zarrfs")]


def puts_of(server, name):
    return [seen for seen in server.seen if seen["method"] == "PUT" and seen["path"].endswith(name)]


def test_chunks_are_put_as_one_object_with_its_index(bucket):
    before = bucket.stored()
    mounted = bucket.open()
    bucket.server.forget()
    put(mounted, "0.0", 70)
    put(mounted, "0.1", 71)
    put(mounted, "3.3", 72)
    assert not puts_of(bucket.server, ""), "nothing is put before its time"
    os.unlink(mounted / "a/1.1")
    publish(mounted)
    assert len(puts_of(bucket.server, "a/c/0/0")) == len(puts_of(bucket.server, "a/c/1/1")) == 1
    conditions = {seen["path"][-3:]: seen["headers"] for seen in puts_of(bucket.server, "")}
    assert conditions["0/0"]["If-Match"] and conditions["1/1"]["If-None-Match"] == "*"
    expected = {**before, "0.0": data(70), "0.1": data(71), "3.3": data(72)}
    del expected["1.1"]
    assert bucket.stored() == expected
    with open(mounted / "a/0.0", "rb") as file:
        assert file.read() == data(70)
    mounted.close()
    assert not own_files(bucket.folder / "spool") and not own_files(bucket.store.path)


def test_the_last_chunk_of_a_shard_takes_the_object_with_it(bucket):
    mounted = bucket.open()
    bucket.server.forget()
    for chunk in ("2.0", "2.1", "3.0", "3.1"):
        os.unlink(mounted / f"a/{chunk}")
    publish(mounted)
    [removed] = [seen for seen in bucket.server.seen if seen["method"] == "DELETE"]
    assert removed["path"].endswith("a/c/1/0") and removed["headers"]["If-Match"]
    assert not os.path.exists(bucket.store.file("a/c/1/0"))


def test_two_mounts_that_write_chunks_of_one_shard_lose_none(bucket):
    one, two = bucket.open("one"), bucket.open("two")
    put(one, "0.0", 50)
    put(two, "0.1", 51)
    put(one, "1.0", 52)
    os.unlink(two / "a/1.1")
    publish(one)
    publish(two)
    stored = bucket.stored()
    assert (stored["0.0"], stored["0.1"], stored["1.0"]) == (data(50), data(51), data(52)) and "1.1" not in stored
    one.close(), two.close()
    assert "another writer" not in one.log_text() + two.log_text()


def test_writers_that_put_at_the_same_moment_merge(bucket):
    # A writer that loses many times in a row finds no note that reaches back to where it began, and says what may be.
    mounts = [bucket.open(f"spool{i}", "flush=close,flush_after=3600,revalidate=60", damaged=True) for i in range(3)]
    chunks = ["0.0", "0.1", "1.0"]
    errors = []

    def write(mounted, chunk):
        try:
            for number in range(15):
                put(mounted, chunk, 1000 + number)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=pair) for pair in zip(mounts, chunks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    stored = bucket.stored()
    assert [stored[chunk] for chunk in chunks] == [data(1014)] * 3
    assert not [line for mounted in mounts for line in mounted.log_text().splitlines() if "was written by another writer" in line]


def test_of_a_chunk_that_both_wrote_the_loser_is_logged(bucket):
    one, two = bucket.open("one"), bucket.open("two", damaged=True)
    put(one, "0.0", 60)
    put(two, "0.0", 61)
    put(two, "1.0", 62)
    publish(one)
    publish(two)
    assert bucket.stored()["0.0"] == data(61)
    lines = [line for line in two.log_text().splitlines() if "another writer" in line]
    assert len(lines) == 1 and "chunk 0.0 was written by another writer as well" in lines[0], lines
    assert "another writer" not in one.log_text()


def ends_after_a_put(server, key):
    """The server answers the next put of `key`, and nothing after it."""
    def end(seen):
        if seen["method"] == "PUT" and seen["path"].endswith(key):
            server.fault, server.away = None, True
    server.fault = end


def comes_back_with_a_put(bucket, one, two, chunk):
    """The server answers again, and `two` has put 70 in `chunk` before `one` puts what it has."""
    bucket.server.come_back()
    put(two, chunk, 70)
    publish(two)
    within(60, lambda: not one.statistics()["remote"]["away"])
    publish(one)


def test_a_put_that_was_answered_last_is_known_again(bucket):
    """The server goes away between the answer to a put and the look at what stands there. The mount shows what it put, writes the chunk
    again, and takes its own first put for nobody else's, with another mount's put behind it."""
    one, two = bucket.open("one", "flush_after=3600,revalidate=60", damaged=True), bucket.open("two", "flush_after=3600")
    with open(one / "a/0.0", "rb") as file:
        assert file.read() == bucket.store.chunk(0, 0)
    put(one, "0.0", 60)
    ends_after_a_put(bucket.server, "a/c/0/0")
    publish(one)
    assert bucket.server.away
    with open(one / "a/0.0", "rb") as file:
        assert file.read() == data(60), "what was there before it"
    put(one, "0.0", 61)
    comes_back_with_a_put(bucket, one, two, "1.0")
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.0"]) == (data(61), data(70))
    assert "another writer" not in one.log_text() + two.log_text()


def test_what_really_was_overwritten_after_such_a_put_is_told(bucket):
    one, two = bucket.open("one", "flush_after=3600,revalidate=60", damaged=True), bucket.open("two", "flush_after=3600")
    put(one, "0.0", 60)
    ends_after_a_put(bucket.server, "a/c/0/0")
    publish(one)
    put(one, "0.0", 61)
    comes_back_with_a_put(bucket, one, two, "0.0")
    assert bucket.stored()["0.0"] == data(61)
    lines = [line for line in one.log_text().splitlines() if "another writer" in line]
    assert len(lines) == 1 and "chunk 0.0 was written by another writer as well" in lines[0], lines


def test_what_was_closed_survives_the_kill(bucket):
    mounted = bucket.open()
    put(mounted, "0.0", 80)
    os.unlink(mounted / "a/2.0")
    kill(mounted.statistics_process())
    subprocess.run(["umount", "-l", mounted.path], check=True)
    assert bucket.stored()["0.0"] == bucket.store.chunk(0, 0)
    assert own_files(bucket.folder / "spool")
    again = bucket.open()
    with open(again / "a/0.0", "rb") as file:
        assert file.read() == data(80)
    publish(again)
    stored = bucket.stored()
    assert stored["0.0"] == data(80) and "2.0" not in stored


def test_a_put_whose_answer_never_came_is_known_again(bucket):
    """The daemon is killed after the server has the object, and before it knows; meanwhile another writer changes the same chunk."""
    mounted = bucket.open("one", damaged=True)  # a slow one is told 503 for long enough to say so
    put(mounted, "0.0", 90)
    arrived = threading.Event()

    def hold(seen):
        if seen["method"] == "PUT" and "If-Match" in seen["headers"]:
            arrived.set()
            return {"lost": True}
        return {"status": 503} if arrived.is_set() else None

    process = mounted.statistics_process()
    bucket.server.fault = hold
    publishing = threading.Thread(target=lambda: subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, timeout=600))
    publishing.start()
    assert arrived.wait(600)
    within(60, lambda: bucket.stored()["0.0"] == data(90))
    kill(process)
    publishing.join()
    subprocess.run(["umount", "-l", mounted.path], check=True)
    bucket.server.fault = None
    other = bucket.open("two")
    put(other, "0.0", 91)
    publish(other)
    again = bucket.open("one")
    publish(again)
    assert bucket.stored()["0.0"] == data(91), "an older write came back"
    assert not own_files(bucket.folder / "one")


@pytest.mark.parametrize("fault", ["lost", "500", "503", "409"])
def test_what_goes_wrong_once_is_done_again(bucket, fault):
    mounted = bucket.open()
    failed = []

    def once(seen):
        if seen["method"] != "PUT" or failed:
            return None
        failed.append(seen)
        return {"lost": True} if fault == "lost" else {"status": int(fault)}

    bucket.server.fault = once
    put(mounted, "0.0", 40)
    publish(mounted)
    assert failed and bucket.stored()["0.0"] == data(40)


def test_a_server_that_is_gone_keeps_nothing_from_being_kept(bucket):
    mounted = bucket.open(more="flush_after=3600,revalidate=60", damaged=True)
    put(mounted, "0.0", 41)
    put(mounted, "2.0", 42)
    bucket.server.fault = lambda seen: {"status": 503}
    publish(mounted, status=3)
    with open(mounted / "a/0.0", "rb") as file:
        assert file.read() == data(41)
    come_back(bucket, mounted)
    publish(mounted)
    stored = bucket.stored()
    assert (stored["0.0"], stored["2.0"]) == (data(41), data(42))


def test_credentials_that_expire_keep_the_drafts(bucket):
    mounted = bucket.open(more="flush_after=3600,revalidate=60", damaged=True)
    put(mounted, "0.0", 43)
    bucket.server.fault = lambda seen: {"status": 403, "code": "ExpiredToken"}
    assert "ExpiredToken" in publish(mounted, status=3)
    with open(mounted / "a/0.0", "rb") as file:
        assert file.read() == data(43)
    come_back(bucket, mounted)
    publish(mounted)
    assert bucket.stored()["0.0"] == data(43)


@pytest.mark.parametrize("method, word", [("PUT", "replaces objects"), ("DELETE", "removes objects")])
def test_a_server_without_conditions_is_refused_by_name(bucket, method, word):
    bucket.server.careless = (method,)
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", bucket.folder / "mnt", "-o", bucket.options("spool")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and word in done.stderr and "s3://bucket/store" in done.stderr, done.stderr
    assert not own_files(bucket.store.path), "the probe is left"


def test_what_a_mount_does_not_write_to_is_said(bucket, tmp_path):
    os.mkdir(tmp_path / "mnt")

    def refusal(source, options):
        done = subprocess.run([DAEMON, "mount", source, tmp_path / "mnt", "-o", options], capture_output=True, text=True, timeout=600)
        assert done.returncode != 0
        return done.stderr

    in_memory = f"/dev/shm/zarrfs-spool-of-a-test-{os.getpid()}"
    assert "only read" in refusal(f"{bucket.server.url}/store", "rw")
    assert "lies in memory" in refusal("s3://bucket/store", bucket.options("spool") + f",spool={in_memory}")
    os.rmdir(in_memory)
    assert "whole path" in refusal("s3://bucket/store", bucket.options("spool") + ",spool=spool")


def test_a_spool_has_one_mount(bucket, tmp_path):
    bucket.open()
    os.mkdir(tmp_path / "second")
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", tmp_path / "second", "-o", bucket.options("spool")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "already written by process" in done.stderr


def test_documents_of_two_mounts_lose_nothing(bucket):
    one, two = bucket.open("one"), bucket.open("two")
    with open(one / "a/.zattrs") as file:
        assert json.load(file) == {}
    with open(two / "a/.zattrs") as file:
        assert json.load(file) == {}
    with open(one / "a/.zattrs", "w") as file:
        json.dump({"from": "one"}, file)
    array = json.load(open(two / "a/.zarray"))
    array["shape"] = [16, 8]
    with open(two / "a/.zarray", "w") as file:
        json.dump(array, file)
    with open(bucket.store.file("a/zarr.json")) as file:
        stored = json.load(file)
    assert stored["attributes"] == {"from": "one"} and stored["shape"] == [16, 8]


def test_a_document_is_at_the_server_when_its_close_returns(bucket):
    mounted = bucket.open(damaged=True)
    bucket.server.fault = lambda seen: {"status": 503} if seen["method"] == "PUT" else None
    with pytest.raises(OSError) as raised:
        with open(mounted / "a/.zattrs", "w") as file:
            json.dump({"k": 1}, file)
    assert raised.value.errno == errno.EIO
    come_back(bucket, mounted)
    with open(mounted / "a/.zattrs", "w") as file:
        json.dump({"k": 2}, file)
    with open(bucket.store.file("a/zarr.json")) as file:
        assert json.load(file)["attributes"] == {"k": 2}


MAKE = {"zarr2": "import sys, zarr\n"
                 "g = zarr.open_group(sys.argv[1], mode='a')\n"
                 "a = g.create_dataset('new/b', shape=(40, 30), chunks=(10, 10), dtype='f4')\n",
        "zarr3": "import sys, zarr\n"
                 "g = zarr.open_group(sys.argv[1], mode='a')\n"
                 "a = g.create_array('new/b', shape=(40, 30), chunks=(10, 10), dtype='f4')\n"}
FILL = "import numpy as np\na[...] = np.arange(1200, dtype='f4').reshape(40, 30)\na.attrs['unit'] = 'm'\n"
CHECK = "import sys, zarr, numpy as np\na = zarr.open(sys.argv[1], mode='r')['new/b']\n" \
        "assert (a[...] == np.arange(1200, dtype='f4').reshape(40, 30)).all() and dict(a.attrs) == {'unit': 'm'}\n"


@pytest.mark.parametrize("writer, view", [("zarr2", "v2"), ("zarr3", "v3")])
def test_programs_make_arrays_in_a_bucket(bucket, writer, view):
    mounted = bucket.open("spool", f"flush_after=3600,view={view}")
    run_zarr(writer, MAKE[writer] + FILL, mounted.path)
    run_zarr(writer, CHECK, mounted.path)
    mounted.close()
    run_zarr("zarr3", CHECK, bucket.store.path)
    again = bucket.open("spool", f"flush_after=3600,view={view}")
    subprocess.run(["rm", "-r", again / "new/b"], check=True)
    assert not os.path.exists(bucket.store.file("new/b"))


def test_arrays_are_made_while_others_always_look_names_up_at_a_slow_server(bucket):
    mounted, ended, found = bucket.open(), threading.Event(), []

    def look(thread):
        while not ended.is_set():
            found.append(os.path.exists(mounted / f"none-{thread}-{len(found)}"))

    document = json.load(open(mounted / "a/.zarray"))
    bucket.server.delay = 0.05
    threads = [threading.Thread(target=look, args=(thread,)) for thread in range(6)]
    for thread in threads:
        thread.start()
    try:
        for name in ("b", "c"):
            os.mkdir(mounted / name)
            with open(mounted / f"{name}/.zarray", "w") as file:
                json.dump(document, file)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert len(found) > 10 and not any(found)
    assert sorted(os.listdir(bucket.store.path)) == ["a", "b", "c", "zarr.json"]


def test_what_a_bucket_has_no_way_for_is_refused(bucket):
    with open(bucket.store.file("notes.txt"), "w") as file:
        file.write("notes")
    mounted = bucket.open(damaged=True)
    for attempt, number in ((lambda: os.rename(mounted / "a", mounted / "b"), errno.EXDEV),
                            (lambda: os.link(mounted / "a/.zarray", mounted / "link"), errno.EPERM),
                            (lambda: open(mounted / "notes.txt", "a"), errno.EROFS)):
        with pytest.raises(OSError) as raised:
            attempt()
        assert raised.value.errno == number, raised.value
    assert os.path.exists(mounted / "a/0.0")
    with open(mounted / "more.tmp", "w") as file:
        file.write("more")
    with open(mounted / "more.tmp") as file:
        assert file.read() == "more"
    os.unlink(mounted / "more.tmp")
    os.unlink(mounted / "notes.txt")
    assert not os.path.exists(bucket.store.file("notes.txt"))


class Writer(threading.Thread):
    """Writes its own chunks until the mount dies. `sure`: acknowledged."""

    def __init__(self, mounted, chunks, rng, sure, counter):
        super().__init__()
        self.mounted, self.chunks, self.rng, self.sure, self.counter = mounted, chunks, random.Random(rng.random()), sure, counter
        self.question, self.error, self.stale = None, None, 0

    def run(self):
        while self.error is None:
            self.question = self.rng.choice(self.chunks)
            value = next(self.counter)
            try:
                put(self.mounted, self.question, value, sync=self.rng.random() < 0.2)
                self.sure[self.question] = value
            except OSError as error:
                self.sure[self.question] = None  # either value will do
                if error.errno == errno.ESTALE:  # the other mount has replaced the shard since the name was looked up, twice
                    self.stale += 1
                else:
                    self.error = error.errno


def count_from(number):
    while True:
        number += 1
        yield number


def test_two_mounts_that_are_killed_lose_nothing_that_was_closed(bucket, tmp_path):
    rng = random.Random(SEED)
    mine = {"one": ["0.0", "1.0", "2.0", "2.2"], "two": ["0.1", "1.1", "2.1", "3.3"]}
    sure = {chunk: None for chunks in mine.values() for chunk in chunks}
    counter = count_from(100)

    def trouble(seen):
        draw = rng.random()
        if seen["method"] not in ("PUT", "DELETE") or draw > 0.2:
            return None
        return {"lost": True} if draw < 0.1 else {"status": 503}

    for round_number in range(max(4, KILLS // 5)):
        mounts = {}
        for spool in mine:
            options = bucket.options(spool, f"flush_after={rng.choice(['0.01', '0.05', '3600'])}")
            mounts[spool] = Mount(bucket.url, tmp_path / f"kill_{spool}", tmp_path / f"kill_{spool}.log", options, damaged=True)
        bucket.server.fault = trouble
        for spool, mounted in mounts.items():
            for chunk in mine[spool]:
                if sure[chunk] is None:
                    continue
                with open(mounted / f"a/{chunk}", "rb") as file:
                    assert file.read() == data(sure[chunk]), f"seed {SEED}, round {round_number}: chunk {chunk}"
        writers = [Writer(mounted, mine[spool], rng, sure, counter) for spool, mounted in mounts.items()]
        processes = [int(os.getxattr(mounted.path, "user.zarrfs.process")) for mounted in mounts.values()]
        for writer in writers:
            writer.start()
        time.sleep(0.1 + rng.random() * 0.3)  # killed at any moment
        for process in processes:
            kill(process)
        for writer, mounted in zip(writers, mounts.values()):
            writer.join(60)
            assert is_of_killed(writer.error, mounted.log), f"seed {SEED}: {writer.error}"
            subprocess.run(["umount", "-l", mounted.path], check=False)
        bucket.server.fault = None
    for spool in mine:
        bucket.open(spool, damaged=True).close()
    stored = bucket.stored()
    wrong = {chunk: value for chunk, value in sure.items() if value is not None and stored.get(chunk) != data(value)}
    assert not wrong, f"seed {SEED}: {wrong}, {stored}"
    assert not own_files(tmp_path / "one") + own_files(tmp_path / "two"), f"seed {SEED}"


def test_chunks_that_no_array_came_for_are_named_at_the_end(bucket):
    mounted = bucket.open()
    mounted.damaged = True  # its log names the file as an error
    os.mkdir(mounted / "new")
    with open(mounted / "new/0", "wb") as file:
        file.write(b"kept")
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert "new/0: no document makes it a chunk of an array" in done.stderr
    mounted = bucket.open()
    with open(mounted / "new/0", "rb") as file:
        assert file.read() == b"kept"
    os.unlink(mounted / "new/0")
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600, check=True)
    assert not done.stderr
