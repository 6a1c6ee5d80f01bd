"""shard, unshard and reshard to a bucket: each object is put once and complete, the root's documents last; what stands there is left alone."""
import os
import shutil
import signal
import subprocess
import threading

import pytest
from conftest import DAEMON, within
from object_server import ObjectServer
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)


def run(*words, status=0):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


class Bucket:
    def __init__(self, folder):
        os.makedirs(folder)
        self.server = ObjectServer(folder, "bucket")
        self.options = bucket_options(self.server) + ",deadline=5,revalidate=0"

    def convert(self, command, source, name, *words, status=0):
        return run(command, source, f"s3://bucket/{name}", *words, "--remote", self.options, status=status)

    def puts(self):
        return [seen for seen in self.server.seen if seen["method"] == "PUT" and "probe" not in seen["path"]]

    def files(self, name):
        root = os.path.join(self.server.root, name)
        return {os.path.relpath(os.path.join(folder, one), root) for folder, _, names in os.walk(root) for one in names}


@pytest.fixture
def bucket(tmp_path):
    made = Bucket(tmp_path / "disk")
    yield made
    made.server.close()


@pytest.fixture
def store(golden, tmp_path):
    """A few arrays of a golden store, one of them not sharded, and a file that is not Zarr's."""
    path = tmp_path / "source.zarr"
    all_of_it = golden("sharding.zarr")
    os.makedirs(path / "group")
    for name in ("zarr.json", "chunks_big_endian", "nested", "unsharded", "missing"):
        whole = all_of_it / name
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, path / name)
    shutil.copy(path / "zarr.json", path / "group/zarr.json")
    shutil.copytree(path / "nested", path / "group/inner")
    (path / "notes.txt").write_text("hello")
    return path


@pytest.mark.parametrize("command,words", [("unshard", []), ("reshard", ["--shard-chunks", "1"]), ("unshard", ["--format", "v2"]), ("shard", [])])
def test_the_result_is_what_a_directory_gets(bucket, store, tmp_path, command, words):
    local = tmp_path / "local.zarr"
    done = subprocess.run([DAEMON, command, str(store), str(local), *words], capture_output=True, text=True, timeout=600)
    bucket.convert(command, store, "a b.zarr", *words, "--check", status=done.returncode)
    expected = {os.path.relpath(os.path.join(folder, one), local) for folder, _, names in os.walk(local) for one in names}
    assert bucket.files("a b.zarr") == expected
    for name in sorted(expected):
        assert (local / name).read_bytes() == open(os.path.join(bucket.server.root, "a b.zarr", name), "rb").read(), name
    puts = bucket.puts()
    paths = [seen["path"] for seen in puts]
    assert len(set(paths)) == len(paths) and all(seen["headers"].get("If-None-Match") == "*" for seen in puts)
    assert paths[0].endswith("/.zarrfs-conversion")
    root = [path.split("/", 3)[3] for path in paths][-(2 if "v2" in words else 1):]
    assert set(root) == ({".zgroup", ".zattrs"} if "v2" in words else {"zarr.json"}), paths


def test_from_a_bucket_to_a_bucket_and_back(bucket, store):
    bucket.convert("unshard", store, "plain.zarr")
    bucket.convert("shard", "s3://bucket/plain.zarr", "again.zarr", "--shard-chunks", "2", "--target-remote", bucket.options)
    run("diff", store, "s3://bucket/again.zarr", "--remote", bucket.options)
    assert not [name for name in bucket.files("") if ".zarrfs" in name]


def test_what_stands_there_is_left_alone(bucket, store):
    folder = os.path.join(bucket.server.root, "other.zarr")
    os.makedirs(folder)
    with open(os.path.join(folder, "mine"), "w") as file:
        file.write("keep")
    refused = bucket.convert("unshard", store, "other.zarr", status=3)
    assert "s3://bucket/other.zarr is there already, and is not empty" in refused.stderr
    refused = bucket.convert("unshard", store, "other.zarr", "--discard", status=3)
    assert "is no unfinished conversion, and is left alone" in refused.stderr
    assert bucket.files("other.zarr") == {"mine"} and not bucket.puts()


def test_an_object_that_comes_meanwhile_is_not_replaced(bucket, store):
    place = os.path.join(bucket.server.root, "new.zarr/unsharded")
    count = iter(range(1000))

    def meddle(seen):
        if seen["method"] == "PUT" and "/c/" in seen["path"] and next(count) == 2:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, "zarr.json"), "w") as file:
                file.write("another's")
    bucket.server.fault = meddle
    refused = bucket.convert("unshard", store, "new.zarr", status=3)
    assert "unsharded/zarr.json was put by another program meanwhile" in refused.stderr
    with open(os.path.join(place, "zarr.json")) as file:
        assert file.read() == "another's"
    assert "zarr.json" not in bucket.files("new.zarr")


def test_what_was_interrupted_goes_on_and_puts_nothing_twice(bucket, store):
    refusals = iter(range(1000))
    bucket.server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["method"] == "PUT" and next(refusals) > 12 else None
    refused = bucket.convert("unshard", store, "new.zarr", "-j", "4", status=3)
    assert "AccessDenied" in refused.stderr
    left = bucket.files("new.zarr")
    assert ".zarrfs-conversion" in left and len(left) > 3 and "zarr.json" not in left
    assert "no Zarr group or array at /" in run("info", "s3://bucket/new.zarr", "--remote", bucket.options, status=2).stderr
    bucket.server.fault = None
    refused = bucket.convert("reshard", store, "new.zarr", "--shard-chunks", "1", status=3)
    assert "is the unfinished result of another conversion, which --discard removes" in refused.stderr
    bucket.server.forget()
    bucket.convert("unshard", store, "new.zarr")
    again = {seen["path"].split("/", 3)[3] for seen in bucket.puts()} & left
    assert not {path for path in again if "/c/" in path}, again
    run("diff", store, "s3://bucket/new.zarr", "--remote", bucket.options)
    assert ".zarrfs-conversion" not in bucket.files("new.zarr")


def test_who_reads_what_is_unfinished_is_told(bucket, store, mount, tmp_path):
    """Without the document of its root it would pass for a store that has none."""
    bucket.server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["method"] == "PUT" and seen["path"].endswith("new.zarr/zarr.json") else None
    bucket.convert("unshard", store, "new.zarr", status=3)
    bucket.server.fault = None
    words = "store s3://bucket/new.zarr is the unfinished result of a conversion: run that again"
    for command, status in (("info", 0), ("verify", 1)):
        assert words in run(command, "s3://bucket/new.zarr", "--remote", bucket.options, status=status).stderr
    assert words in run("unshard", "s3://bucket/new.zarr", tmp_path / "copy", "--remote", bucket.options, status=3).stderr
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    assert words in run("mount", "s3://bucket/new.zarr", mounted, "-o", f"ro,{bucket.options}").stderr
    run("umount", mounted)
    bucket.convert("unshard", store, "new.zarr")
    bucket.server.forget()
    assert "unfinished" not in run("verify", "s3://bucket/new.zarr", "--remote", bucket.options).stderr
    assert not [seen for seen in bucket.server.seen if "zarrfs-conversion" in seen["path"]]


def test_what_was_interrupted_is_discarded(bucket, store, tmp_path):
    bucket.server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["method"] == "PUT" and seen["path"].endswith("/zarr.json") else None
    bucket.convert("unshard", store, "new.zarr", status=3)
    bucket.server.fault = None
    other = tmp_path / "other.zarr"
    shutil.copytree(store, other)
    assert "of another source" in bucket.convert("unshard", other, "new.zarr", "--discard", status=3).stderr
    assert "is removed" in bucket.convert("unshard", store, "new.zarr", "--discard").stderr
    assert bucket.files("new.zarr") == set()
    assert "no unfinished conversion" in bucket.convert("unshard", store, "new.zarr", "--discard").stderr


def test_a_source_that_changed_is_put_anew(bucket, store):
    bucket.server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["path"].endswith("/nested/zarr.json") else None
    bucket.convert("unshard", store, "new.zarr", status=3)
    bucket.server.fault = None
    (store / "notes.txt").write_text("other!")
    bucket.convert("unshard", store, "new.zarr")
    with open(os.path.join(bucket.server.root, "new.zarr/notes.txt")) as file:
        assert file.read() == "other!"


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 500}, {"status": 503, "code": "SlowDown"}])
def test_answers_that_go_wrong(bucket, store, fault):
    count = iter(range(10000))
    bucket.server.fault = lambda seen: fault if seen["method"] == "PUT" and next(count) % 5 == 3 else None
    bucket.convert("unshard", store, "new.zarr")
    run("diff", store, "s3://bucket/new.zarr", "--remote", bucket.options)


def test_killed_and_interrupted_it_goes_on(bucket, store):
    for number in (signal.SIGKILL, signal.SIGINT):
        bucket.server.forget()
        ended = threading.Event()
        bucket.server.fault = lambda seen: ended.wait(600) and None if len(bucket.puts()) > 10 else None  # so that it is not through before
        process = subprocess.Popen([DAEMON, "unshard", str(store), "s3://bucket/new.zarr", "--remote", bucket.options, "-j", "2"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        within(60, lambda: len(bucket.puts()) > 10)
        process.send_signal(number)
        ended.set()
        assert process.wait(600) != 0
        assert "zarr.json" not in bucket.files("new.zarr")
    bucket.server.fault = None
    bucket.convert("unshard", store, "new.zarr")
    run("diff", store, "s3://bucket/new.zarr", "--remote", bucket.options)


def test_several_puts_are_on_their_way(bucket, store):
    bucket.server.delay = 0.02
    bucket.convert("unshard", store, "new.zarr")
    assert bucket.server.most_in_hand > 1


@pytest.mark.parametrize("target,words,status", [
    ("http://127.0.0.1:1/x.zarr", "this kind of store is only read", 3), ("s3://bucket/x.zip", "archives and arrays of Blosc2 are only read", 3),
    ("s3://source/a.zarr/b.zarr", "lies within the source", 2), ("ftp://host/x", "names no server of http", 3)])
def test_targets_that_cannot_be(bucket, store, target, words, status):
    source = "s3://source/a.zarr" if "source" in target else store
    assert words in run("unshard", source, target, "--remote", bucket.options, status=status).stderr


def test_a_server_that_ignores_conditions_is_refused(bucket, store):
    bucket.server.careless = ("PUT",)
    refused = bucket.convert("unshard", store, "new.zarr", status=3)
    assert "replaces objects though If-None-Match forbids it" in refused.stderr
    assert bucket.files("") == set()
