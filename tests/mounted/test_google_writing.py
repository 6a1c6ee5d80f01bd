"""Writing to a bucket of Google: conditions are generations, with the words of its XML interface."""
import os
import subprocess

import google_testbench
import pytest
from buckets import MountedBucket
from conftest import DAEMON, GOLDEN
from object_server import KEY, SECRET
from stores import SmallStore, files_of
from test_remote_writing import Bucket, credentials, data, own_files, publish, put, puts_of  # noqa: F401, one is a fixture


class GoogleBucket(Bucket):
    """At the small server."""

    def __init__(self, folder, mount):
        super().__init__(folder, mount)
        self.server.speak_google()

    def open(self, spool="spool", more="flush_after=3600", damaged=False):
        self.mounts.append(self.mount("gs://bucket/store", self.options(spool, more), damaged=damaged))
        return self.mounts[-1]

    def generation(self, key):
        return str(self.server.generation(self.store.file(key)))

    def keys(self):
        return [name for name, _ in files_of(self.store.path)]


class TestbenchBucket(GoogleBucket):
    """At Google's testbench."""
    __test__ = False  # no class of tests

    def __init__(self, folder, mount):
        MountedBucket.__init__(self, folder, mount)
        self.server = google_testbench.TestbenchServer()
        self.server.put(SmallStore(folder).path, "store")

    def generation(self, key):
        return self.server.generation(f"/bucket/store/{key}")

    def keys(self):
        return [key.removeprefix("store/") for key in self.server.keys()]

    def stored(self):
        return self.chunks_through(self.mount("gs://bucket/store", f"endpoint={self.server.url},region={self.server.region}"))


@pytest.fixture(params=["small", "testbench"])
def bucket(request, tmp_path, mount, monkeypatch):
    if request.param == "testbench" and not os.path.exists(google_testbench.PYTHON):  # in no registry: not part of the usual tests
        pytest.skip("Google's storage-testbench is missing: CONTRIBUTING.md says how to get it")
    monkeypatch.setenv("GS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("GS_SECRET_ACCESS_KEY", SECRET)
    made = (GoogleBucket if request.param == "small" else TestbenchBucket)(tmp_path, mount)
    yield made
    try:
        made.close()
    finally:
        made.server.close()


def test_shards_are_put_in_place_of_a_generation(bucket):
    mounted, first = bucket.open(), bucket.generation("a/c/0/0")
    bucket.server.forget()
    put(mounted, "0.0", 70)
    put(mounted, "3.3", 72)
    publish(mounted)
    conditions = {seen["path"][-3:]: seen["headers"]["x-goog-if-generation-match"] for seen in puts_of(bucket.server, "")}
    assert conditions == {"0/0": first, "1/1": "0"}
    assert all(seen["headers"]["x-goog-meta-zarrfs-writes"] for seen in puts_of(bucket.server, ""))
    put(mounted, "0.1", 71)
    bucket.server.forget()
    publish(mounted)
    assert [seen["headers"]["x-goog-if-generation-match"] for seen in puts_of(bucket.server, "0/0")] != [first]
    for chunk in ("2.0", "2.1", "3.0", "3.1"):
        os.unlink(mounted / f"a/{chunk}")
    publish(mounted)
    assert "a/c/1/0" not in bucket.keys() and "a/c/0/0" in bucket.keys()
    stored = bucket.stored()
    assert (stored["0.0"], stored["0.1"], stored["3.3"]) == (data(70), data(71), data(72))
    mounted.close()
    assert not own_files(bucket.folder / "spool")


def test_two_mounts_lose_nothing_and_name_the_loser(bucket):
    one, two = bucket.open("one"), bucket.open("two", damaged=True)
    put(one, "0.0", 50)
    put(two, "0.1", 51)
    put(one, "1.0", 52)
    put(two, "1.0", 53)
    publish(one)
    publish(two)
    stored = bucket.stored()
    assert (stored["0.0"], stored["0.1"], stored["1.0"]) == (data(50), data(51), data(53))
    assert "chunk 1.0 was written by another writer as well" in two.log_text()


def test_a_lost_answer_is_known_again(bucket):
    mounted, lost = bucket.open(), []

    def once(seen):
        if seen["method"] == "PUT" and not lost:
            lost.append(seen)
            return {"lost": True}
        return None

    bucket.server.fault = once
    put(mounted, "0.0", 40)
    publish(mounted)
    assert lost and bucket.stored()["0.0"] == data(40)


def test_what_a_cache_on_disk_told_is_written_to(bucket):
    more = f"flush_after=3600,cache={bucket.folder}/cache"
    first = bucket.open("one", more)
    with open(first / "a/0.0", "rb") as file:
        file.read()
    first.close()
    again = bucket.open("one", more)
    put(again, "0.0", 44)
    publish(again)
    assert bucket.stored()["0.0"] == data(44)


def test_a_token_does_instead_of_keys(bucket, monkeypatch):
    monkeypatch.delenv("GS_ACCESS_KEY_ID")
    monkeypatch.delenv("GS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token-of-the-test")
    bucket.server.token = "token-of-the-test"
    mounted = bucket.open()
    put(mounted, "0.0", 45)
    publish(mounted)
    assert bucket.stored()["0.0"] == data(45)


def test_conversions_put_their_objects_there(bucket):
    local, words = os.path.join(GOLDEN, "stores", "types.zarr"), f"endpoint={bucket.server.url},region={bucket.server.region}"
    for command in (["unshard", local, "gs://bucket/store/plain.zarr", "--target-remote", words],
                    ["shard", "gs://bucket/store/plain.zarr", "gs://bucket/store/again.zarr", "--remote", words, "--check"],
                    ["diff", "gs://bucket/store/again.zarr", local, "--remote", words],
                    ["doctor", "gs://bucket/store/again.zarr", "--rw", "--remote", words]):
        done = subprocess.run([DAEMON, *command], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done
    assert "again.zarr/zarr.json" in bucket.keys() and not [key for key in bucket.keys() if ".zarrfs" in key]


@pytest.mark.parametrize("bucket", ["small"], indirect=True)
def test_conversions_put_where_nothing_stands(bucket):
    local, words = os.path.join(GOLDEN, "stores", "types.zarr"), f"endpoint={bucket.server.url},region={bucket.server.region}"
    for number, (command, *more) in enumerate((["unshard"], ["reshard", "--shard-bytes", "1M"], ["shard"])):
        source = "gs://bucket/store/0.zarr" if command == "shard" else local
        bucket.server.forget()
        done = subprocess.run([DAEMON, command, source, f"gs://bucket/store/{number}.zarr", *more, "--remote" if number == 2 else "--target-remote", words],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 1), done
        puts = [seen for seen in bucket.server.seen if seen["method"] == "PUT" and "probe" not in seen["path"]]
        headers = [{name.lower(): value for name, value in seen["headers"].items()} for seen in puts]
        assert puts and {one.get("x-goog-if-generation-match") for one in headers} == {"0"}, [seen["path"] for seen in puts]
    before = bucket.generation("0.zarr/zarr.json")
    done = subprocess.run([DAEMON, "unshard", local, "gs://bucket/store/0.zarr", "--target-remote", words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and bucket.generation("0.zarr/zarr.json") == before, done


@pytest.mark.parametrize("bucket", ["small"], indirect=True)
@pytest.mark.parametrize("method, word", [("PUT", "replaces objects"), ("DELETE", "removes objects")])
def test_a_server_without_conditions_is_refused_by_name(bucket, method, word):
    bucket.server.careless = (method,)
    assert word in refusal("gs://bucket/store", bucket.options("spool"), bucket.folder)
    assert not own_files(bucket.store.path), "the probe is left"


def refusal(source, options, folder):
    os.mkdir(folder / "mnt")
    done = subprocess.run([DAEMON, "mount", source, folder / "mnt", "-o", options], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and source in done.stderr, done.stderr
    return done.stderr

