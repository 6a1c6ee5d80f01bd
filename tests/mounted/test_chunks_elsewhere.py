"""What `zarrfs doctor` and `zarrfs verify` say of chunks that lie elsewhere: by references, and by virtual chunks of Icechunk."""
import base64
import json
import os
import signal
import subprocess
import threading
import time

import pytest
from conftest import DAEMON, within
from object_server import SECRET, tag_of
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)
from test_files import read
from test_references import ZARRAY, run, tag_of_object_store, virtual_repository
from test_remote import serve  # noqa: F401 (fixture)


def examine(source, *words, status=0):
    done = subprocess.run([DAEMON, "doctor", str(source), "--json", *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["good"] == (status == 0)
    return document["checks"]


def checks_of(checks, name, place=None):
    return [(check["verdict"], check["found"]) for check in checks if check["name"] == name and (place is None or check.get("place") == place)]


def references(path, urls):
    """A file of references to an array of two bytes for each URL, which may be [URL, offset, length]."""
    zarray = json.loads(ZARRAY)
    zarray["shape"] = [2 * len(urls)]
    refs = {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(zarray)}
    refs.update({f"a/{i}": url if isinstance(url, list) else [url, 0, 2] for i, url in enumerate(urls)})
    path.write_text(json.dumps({"version": 1, "refs": refs}))
    return path


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "disk/data"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / name).write_bytes(b"0123456789")
    return folder


def test_places_are_named_and_nothing_is_sent_where_nothing_is_allowed(serve, tmp_path, data):  # noqa: F811
    server = serve(tmp_path / "disk", "bucket")
    source = references(tmp_path / "refs.json", [f"{data}/a", f"{data}/b", "s3://bucket/data/a", "s3://other/x", "s3://other/y", "s3://other/z",
                                                 "http://169.254.169.254/latest", f"{server.url}/bucket/data/a"])
    checks = examine(source, "--remote", bucket_options(server))
    assert checks_of(checks, "chunks") == [("good", "8 chunks elsewhere, at 5 places")]
    assert checks_of(checks, "virtual")[0][0] == "limited"
    places = checks_of(checks, "place")
    assert [text.split(",")[0] for _, text in places][:2] == ["s3://other: 3 chunks", f"{data}: 2 chunks"], places
    assert all(verdict == "limited" and "not allowed, so not asked" in text for verdict, text in places), places
    assert not server.seen


def test_each_place_that_is_allowed_is_asked(serve, tmp_path, data):  # noqa: F811
    server = serve(tmp_path / "disk", "bucket")
    source = references(tmp_path / "refs.json", [f"{data}/a", "s3://bucket/data/a", "s3://bucket/data/b", "s3://other/x"])
    words = ("--virtual", data, "--virtual", "s3://bucket/data", "--remote")
    checks = examine(source, *words, bucket_options(server))
    assert checks_of(checks, "virtual") == [("good", f"allowed is what lies below {data}, s3://bucket/data")]
    assert checks_of(checks, "place", "s3://bucket") == [("good", "s3://bucket: 2 chunks, allowed by s3://bucket/data")]
    assert checks_of(checks, "credentials", "s3://bucket") == [("good", "from the environment (AWS_ACCESS_KEY_ID)")]
    assert checks_of(checks, "store", "s3://bucket") == [("good", "s3://bucket/data/a can be read")]
    assert checks_of(checks, "store", str(data)) == [("good", f"{data}/a can be read")]
    assert {check["verdict"] for check in checks if check.get("place") == "s3://bucket"} == {"good"}
    assert checks_of(checks, "place", "s3://other")[0][0] == "limited"
    assert {seen["path"] for seen in server.seen} <= {"/bucket/", "/bucket/data/a"} and all(seen["method"] == "GET" for seen in server.seen)
    # And what is wrong is said: a file that is gone, a server that refuses, one that is not there.
    for name in ("a", "b"):
        os.unlink(data / name)
    checks = examine(source, *words, bucket_options(server), status=1)
    assert checks_of(checks, "store", "s3://bucket") == [("wrong", "s3://bucket/data/a: there is no such object")]
    assert checks_of(checks, "store", str(data)) == [("wrong", f"{data}/a: there is no such file")]
    server.fault = lambda seen: {"status": 403, "code": "InvalidAccessKeyId"}
    checks = examine(source, *words, bucket_options(server), status=1)
    assert "InvalidAccessKeyId" in checks_of(checks, "store", "s3://bucket")[0][1]
    server.close()
    checks = examine(source, *words, bucket_options(server, ",deadline=5"), status=1)
    assert checks_of(checks, "connection", "s3://bucket")[0][0] == "wrong"


def test_references_and_repositories_at_a_server(serve, tmp_path, data):  # noqa: F811
    server = serve(tmp_path / "disk", "bucket")
    references(data / "refs.json", ["a", "b"])
    (data / "unnamed").write_bytes((data / "refs.json").read_bytes())
    for name in ("refs.json", "unnamed"):
        checks = examine(f"s3://bucket/data/{name}", "--virtual", "s3://bucket", "--remote", bucket_options(server))
        assert checks_of(checks, "chunks") == [("good", "2 chunks elsewhere, at 1 place")], checks
        assert checks_of(checks, "store", "s3://bucket") == [("good", "s3://bucket/data/a can be read")]
    virtual_repository(tmp_path / "disk/repository", "s3://bucket/", {"a": ("s3://bucket/data/a", 0, None), "b": ("s3://bucket/data/b", 0, None)})
    for source in ("s3://bucket/repository", "icechunk:s3://bucket/repository?branch=main", tmp_path / "disk/repository"):
        checks = examine(source, "--virtual", "s3://bucket", "--remote", bucket_options(server))
        assert checks_of(checks, "place", "s3://bucket") == [("good", "s3://bucket: 2 chunks, allowed by s3://bucket")], checks


def test_of_many_places_some_are_looked_at(tmp_path):
    source = references(tmp_path / "refs.json", [f"s3://bucket{i % 2000}/x" for i in range(5000)])
    checks = examine(source)
    assert checks_of(checks, "chunks") == [("good", "5000 chunks elsewhere, at 1000 places and more")]
    assert len(checks_of(checks, "place")) == 11
    assert checks_of(checks, "place")[-1][1].startswith("990 other places or more, with 49")


def test_what_is_wrong_with_the_source_is_said(tmp_path, data):
    damaged = tmp_path / "refs.json"
    damaged.write_text('{"refs": {"a": ["u", -1, 5]}}')
    assert "has the offset -1" in checks_of(examine(damaged, status=1), "store")[0][1]
    long = references(tmp_path / "long.json", ["u" * 65537])
    assert 'key "a/0" leads to a URL of 65537 bytes; at most 65536 are read' in checks_of(examine(long, status=1), "store")[0][1]
    source = references(tmp_path / "refs.json", [f"{data}/a"])
    assert "virtual=/no/such: there is no such file or directory" in run("doctor", source, "--virtual", "/no/such", status=2).stderr
    assert "is no file of references" in run("doctor", os.path.dirname(__file__), status=2).stderr


def test_a_place_that_never_answers_is_given_up_and_the_doctor_is_interrupted(serve, tmp_path, data):  # noqa: F811
    server, go_on = serve(tmp_path / "disk", "bucket"), threading.Event()
    server.fault = lambda seen: go_on.wait(60) and None
    try:
        source = references(tmp_path / "refs.json", ["s3://bucket/data/a"] * 1000)
        words = ["doctor", source, "--virtual", "s3://bucket", "--remote"]
        begin = time.monotonic()
        done = run(*words, bucket_options(server, ",deadline=3"), status=1)
        assert time.monotonic() - begin < 30 and "wrong    connection" in done.stdout, done.stdout
        running = subprocess.Popen([DAEMON, *map(str, words), bucket_options(server)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = len(server.seen)
        within(30, lambda: len(server.seen) > asked)
        running.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert running.wait(timeout=600) != 0
        assert time.monotonic() - begin < 15  # without it the doctor waits for 20
    finally:
        go_on.set()


def test_verify_sees_without_reading_that_a_file_has_changed(serve, tmp_path):  # noqa: F811
    disk = tmp_path / "disk"
    disk.mkdir()
    target = disk / "data.bin"
    target.write_bytes(bytes(range(240)))
    os.utime(target, (1000000000, 1000000000))
    url = f"file://{target}"
    virtual_repository(tmp_path / "local", f"file://{disk}/", {
        "timed": (url, 0, 1000000000.0), "tagged": (url, 0, tag_of_object_store(target)), "untold": (url, 0, None)})
    server = serve(disk, "bucket")
    there = "s3://bucket/data.bin"
    virtual_repository(tmp_path / "far", "s3://bucket/", {
        "tagged": (there, 0, tag_of(str(target))), "other": (there, 0, '"another"'), "short": (there, 1, None), "gone": ("s3://bucket/no", 0, None)})
    local = ("verify", tmp_path / "local", "--virtual", disk)
    assert "3 chunks" in run(*local).stdout
    target.write_bytes(bytes(240))
    changed = run(*local, status=1).stdout
    assert [line.split(":")[0] for line in changed.splitlines()[:-1]] == ["tagged/c/0/0", "timed/c/0/0"], changed
    assert changed.count("has changed since it was named") == 2
    found = run("verify", tmp_path / "far", "--virtual", "s3://bucket", "--remote", bucket_options(server), status=1).stdout
    words = {"gone": "there is no s3://bucket/no", "other": "has changed since it was named", "short": "lie past the end, 240", "tagged": "has changed since it was named"}
    assert [(line.split("/")[0], words[line.split("/")[0]] in line) for line in found.splitlines()[:-1]] == [(name, True) for name in words], found


def test_verify_asks_for_each_file_once(serve, tmp_path, data):  # noqa: F811
    server = serve(tmp_path / "disk", "bucket")
    source = references(tmp_path / "refs.json", [[f"s3://bucket/data/{name}", i % 8, 2] for i in range(3000) for name in ("a", "b", "gone")])
    begin = len(server.seen)
    found = run("verify", source, "--virtual", "s3://bucket", "--remote", bucket_options(server, ",revalidate=0"), "-j", "8", status=1)
    assert found.stdout.count("there is no s3://bucket/data/gone") == 3000 and "3,000 damaged" in found.stdout, found.stdout[-500:]
    asked = [seen["path"] for seen in server.seen[begin:] if seen["method"] == "HEAD"]
    assert sorted(asked) == ["/bucket/data/a", "/bucket/data/b", "/bucket/data/gone"]
    # Whether anything is below "gone" is listed by each of the 8 threads at most once.
    assert len(server.seen) - begin <= 3 + 8


def test_verify_of_files_that_never_answer_ends(serve, tmp_path, data):  # noqa: F811
    server, go_on = serve(tmp_path / "disk", "bucket"), threading.Event()
    server.fault = lambda seen: go_on.wait(60) and None
    try:
        source = references(tmp_path / "refs.json", [f"s3://bucket/data/{i}" for i in range(1000)])
        begin = time.monotonic()
        found = run("verify", source, "--virtual", "s3://bucket", "--remote", bucket_options(server, ",deadline=2"), status=1)
        assert time.monotonic() - begin < 60 and "1,000 damaged" in found.stdout
    finally:
        go_on.set()


def test_icechunk_encodes_the_paths_of_local_files(mount, tmp_path):
    """And decodes them: kerchunk's are as they are written."""
    disk = tmp_path / "disk"
    for folder, byte in (("sp ace", 1), ("sp%20ace", 2), ("gr\u00fcn", 3)):
        (disk / folder).mkdir(parents=True)
        (disk / folder / "data.bin").write_bytes(bytes([byte]) * 240)
    virtual_repository(tmp_path / "repository", f"file://{disk}/", {
        "space": (f"file://{disk}/sp%20ace/data.bin", 0, None), "percent": (f"file://{disk}/sp%2520ace/data.bin", 0, None),
        "letter": (f"file://{disk}/gr%C3%BCn/data.bin", 0, None)})
    mounted = mount(tmp_path / "repository", f"view=v3,virtual={disk}")
    found = {name: set(read(mounted / f"{name}/c/0/0")) for name in ("space", "percent", "letter")}
    assert found == {"space": {1}, "percent": {2}, "letter": {3}}
    source = references(tmp_path / "refs.json", [f"file://{disk}/sp%20ace/data.bin"])
    assert read(mount(source, f"view=v2,virtual={disk}") / "a/0") == bytes([2, 2])


def test_references_hold_the_bytes_of_chunks_that_lie_elsewhere(tmp_path, data):
    source = references(tmp_path / "refs.json", [f"{data}/a", [f"{data}/b", 4, 2]])
    written = json.loads(run("refs", source, "--virtual", data).stdout)["refs"]
    assert [written[f"a/{i}"] for i in range(2)] == ["base64:MDE=", "base64:NDU="]
    again = tmp_path / "again.json"
    again.write_text(json.dumps({"version": 1, "refs": written}))
    assert "1 array compared: equal" in run("diff", source, again, "--virtual", data).stdout
    repository = tmp_path / "repository"
    (data / "whole").write_bytes(bytes(240))
    virtual_repository(repository, f"file://{data}/", {"a": (f"file://{data}/whole", 0, None)})
    written = json.loads(run("refs", repository, "--virtual", data).stdout)["refs"]
    assert written["a/0.0"] == "base64:" + base64.b64encode(bytes(240)).decode()
