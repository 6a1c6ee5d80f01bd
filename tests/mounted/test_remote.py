"""Stores at a server and in archives: the same values as from a directory, requests counted, faults as errors."""
import json
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import time
import urllib.parse
import zipfile
import zlib

import pytest
from conftest import DAEMON, GOLDEN, read_all
from damages import damage_xml
from object_server import KEY, SECRET, ObjectServer
from places import pack
from test_golden import assert_equal, expected_of

STORES = os.path.join(GOLDEN, "stores")
# Faults are tried again only for a moment.
QUICK = "deadline=0.3"


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


@pytest.fixture
def serve():
    servers = []

    def make(root, bucket=""):
        servers.append(ObjectServer(root, bucket))
        return servers[-1]

    yield make
    for one in servers:
        one.close()


def run(*words, status=0, text=True):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=text, timeout=600)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def s3_options(server):
    return f"endpoint={server.url},region={server.region}"


def consolidate(store):
    """Adds consolidated metadata to the root of a v3 store, as zarr-python writes them."""
    nodes = {}
    for folder, _, names in os.walk(store):
        path = os.path.relpath(folder, store)
        if "zarr.json" in names and path != ".":
            with open(os.path.join(folder, "zarr.json")) as document:
                nodes[path] = json.load(document)
    root = os.path.join(store, "zarr.json")
    with open(root) as document:
        group = json.load(document)
    group["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": nodes}
    with open(root, "w") as document:
        json.dump(group, document)


@pytest.mark.parametrize("kind,reader,view", [
    *((kind, "zarr2", "v2") for kind in ("s3", "http", "zip", "ozx", "http-zip", "s3-zip")),
    *((kind, reader, view) for kind in ("s3", "http-zip") for reader, view in (("gdal", "v2"), ("zarr3", "v3")))])
def test_golden_stores_read_as_local_ones(serve, mount, golden, tmp_path, kind, reader, view):
    local = golden("sharding.zarr")
    consolidate(local)
    source, options = str(local), ""
    if "zip" in kind or kind == "ozx":
        source = str(pack(local, tmp_path / f"store.{'ozx' if kind == 'ozx' else 'zip'}", zipfile.ZIP_DEFLATED, only_documents=True))
    if kind.startswith("s3"):
        server = serve(tmp_path, "bucket")
        source, options = f"s3://bucket/{os.path.basename(source)}", s3_options(server)
    elif kind.startswith("http"):
        server = serve(tmp_path)
        source = f"{server.url}/{os.path.basename(source)}"
    # The store stands still: asking again whether it changed is for the tests of revalidation.
    mounted = mount(source, f"view={view},immutable" + (f",{options}" if options else ""))
    if reader == "zarr3":
        expected = read_all("zarr3", mount(str(local), "view=v3").path)
    elif reader == "gdal":
        expected = read_all("gdal", mount(str(local), "view=v2").path)
    else:
        expected = expected_of("sharding.zarr")
    assert_equal(read_all(reader, mounted.path), expected, f"{reader} of {kind}")


@pytest.fixture
def array(golden):
    """A sharded array of the golden stores: (store, path, a chunk's name, its bytes)."""
    store, path, chunk = golden("sharding.zarr"), "chunks_big_endian", "1.1"
    return store, path, chunk, run("cat", store, f"{path}/{chunk}", text=False).stdout


def cat(source, path, chunk, options, status=0):
    return run("cat", source, f"{path}/{chunk}", "--remote", options, status=status, text=False)


def test_a_chunk_costs_its_document_its_index_and_one_range(serve, array):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    assert cat(f"{server.url}/{store.name}", path, chunk, QUICK).stdout == data
    objects = [seen for seen in server.seen if "/c/" in seen["path"] and seen["method"] == "GET"]
    assert len(objects) == 2, server.seen  # its index, its bytes
    assert objects[0]["range"].startswith("bytes=-") and objects[1]["headers"].get("If-Match")
    assert server.sent < 64 << 10


def test_chunks_that_are_read_again_are_not_asked_for_again(serve, mount, array):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store))
    mounted = mount(f"{server.url}/{store.name}", "view=v3,immutable")
    name = "c/" + chunk.replace(".", "/")
    with open(mounted / f"{path}/{name}", "rb") as file:
        first = file.read()
    server.rest()
    server.forget()
    with open(mounted / f"{path}/{name}", "rb") as file:
        assert file.read() == first
    assert server.seen == []
    assert mounted.statistics()["remote"]["requests"] > 0


def test_the_disk_cache_serves_the_next_mount(serve, tmp_path, array):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    options = f"{QUICK},cache={tmp_path / 'cache'}"
    source = f"{server.url}/{store.name}"
    assert cat(source, path, chunk, options).stdout == data
    server.forget()
    assert cat(source, path, chunk, options).stdout == data
    # Everything is asked for on condition, and nothing is sent.
    assert server.sent == 0 and all(seen["headers"].get("If-None-Match") for seen in server.seen if seen["method"] == "GET"
                                    and os.path.isfile(tmp_path / seen["path"].lstrip("/")))


@pytest.mark.parametrize("fault", [{"status": 403, "code": "AccessDenied"}, {"status": 500}, {"status": 410}, {"status": 418},
                                   {"cut": 3}, {"edit": lambda status, headers, body: (status, headers, body + b"x")},
                                   {"edit": lambda status, headers, body: (206, {**headers, "Content-Range": "bytes 0-1/9"}, body)},
                                   {"edit": lambda status, headers, body: (status, {**headers, "Content-Encoding": "gzip"}, body)}])
def test_faults_are_errors_and_never_absence(serve, mount, array, fault):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store))
    mounted = mount(f"{server.url}/{store.name}", f"view=v3,{QUICK}", damaged=True)
    os.listdir(mounted / path)
    os.stat(mounted / path)
    server.fault = lambda seen: fault if "/c/" in seen["path"] else None
    mounted.unmount()
    mounted = mount(f"{server.url}/{store.name}", f"view=v3,{QUICK}", damaged=True)
    with pytest.raises(OSError) as raised:
        with open(mounted / f"{path}/c/{chunk.replace('.', '/')}", "rb") as file:
            file.read()
    assert not isinstance(raised.value, FileNotFoundError), raised.value


@pytest.mark.parametrize("fault", [{"status": 503, "code": "SlowDown"}, {"cut": 1}])
def test_what_is_better_later_is_asked_for_again(serve, array, fault):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    failures = iter([fault, fault])
    server.fault = lambda seen: next(failures, None) if "/c/" in seen["path"] else None
    assert cat(f"{server.url}/{store.name}", path, chunk, "deadline=20").stdout == data


def test_a_server_that_tells_dates_only_and_keeps_parts_of_a_second(serve, array):
    """As versitygw does for files that came past it: its own date, sent back, is one before the last change."""
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))

    def dated(seen):
        if "If-Unmodified-Since" in seen["headers"]:
            return {"status": 412, "code": "PreconditionFailed"}
        return {"edit": lambda status, headers, body: (status, {name: value for name, value in headers.items() if name != "ETag"}, body)}
    server.fault = dated
    assert cat(f"{server.url}/{store.name}", path, chunk, QUICK).stdout == data


def test_a_server_without_ranges_is_read_whole(serve, array):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store))
    server.ranges = False
    assert cat(f"{server.url}/{store.name}", path, chunk, QUICK).stdout == data


def test_a_shard_that_changes_is_never_mixed(serve, mount, array):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store))
    mounted = mount(f"{server.url}/{store.name}", f"view=v3,revalidate=0,{QUICK}")
    name = f"{path}/c/{chunk.replace('.', '/')}"
    with open(mounted / name, "rb") as file:
        before = file.read()
    shard = json.loads(run("locate", store, f"{path}/{chunk}", "--json").stdout)["shard"]
    os.unlink(os.path.join(store, shard))
    for _ in range(50):
        try:
            with open(mounted / name, "rb") as file:
                assert file.read() == before
        except FileNotFoundError:
            return
        time.sleep(0.1)
    pytest.fail("a removed shard was never noticed")


def test_nothing_tells_names_is_no_empty_directory(serve, mount, golden):
    store = golden("sharding.zarr")
    with open(store / "zarr.json") as document:
        assert "consolidated_metadata" not in document.read()
    server = serve(store.parent)
    mounted = mount(f"{server.url}/{store.name}", "view=v3", damaged=True)
    with pytest.raises(OSError) as raised:
        os.listdir(mounted.path)
    assert raised.value.errno == 95
    name = sorted(expected_of("sharding.zarr"))[0]
    assert os.path.exists(mounted / f"{name}/zarr.json")
    assert "zarr.json" in os.listdir(mounted / name)
    as_v2 = mount(f"{server.url}/{store.name}", "view=v2,profile=auto", damaged=True)
    assert "only what is opened by name: nothing tells the names in /" in as_v2.log_text()
    with pytest.raises(OSError) as raised:
        with open(as_v2 / ".zmetadata", "rb") as file:
            file.read()
    assert raised.value.errno == 95, "consolidated metadata without arrays would be an empty group"
    assert os.path.exists(as_v2 / ".zgroup") and os.path.exists(as_v2 / f"{name}/.zarray")


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_bucket_that_may_not_be_listed_is_read_as_a_server_without_names(serve, mount, golden, monkeypatch, scheme):
    local = golden("sharding.zarr")
    consolidate(local)
    server = serve(local.parent, "bucket")
    if scheme == "gs":
        server.speak_google()
        monkeypatch.setenv("GS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("GS_SECRET_ACCESS_KEY", SECRET)

    def denied(seen):
        there = os.path.isfile(os.path.join(local.parent, seen["path"].removeprefix("/bucket/")))
        return None if there else {"status": 403, "code": "AccessDenied"}
    server.fault = denied
    source, options = f"{scheme}://bucket/sharding.zarr", f"{s3_options(server)},absent=403"
    mounted = mount(source, f"view=v2,immutable,{options}")
    assert_equal(read_all("zarr2", mounted.path), expected_of("sharding.zarr"), "a bucket without listings")
    assert not [seen for seen in server.seen if "list-type" in seen["query"]]
    assert run("ls", source, "chunks_big_endian", "--remote", options).stdout == run("ls", local, "chunks_big_endian").stdout


def test_attributes_of_an_array_of_zarr_v2_are_listed(serve, mount, tmp_path):
    (tmp_path / "old/a").mkdir(parents=True)
    for name, document in ((".zgroup", {"zarr_format": 2}), ("a/.zattrs", {"unit": "K"}), ("a/.zarray", {
            "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C", "compressor": None, "filters": None})):
        (tmp_path / "old" / name).write_text(json.dumps(document))
    (tmp_path / "old/a/1").write_bytes(bytes(8))
    server = serve(tmp_path)
    assert sorted(os.listdir(mount(f"{server.url}/old") / "a")) == [".zarray", ".zattrs", "1"]


def test_secrets_are_nowhere(serve, mount, array, tmp_path):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store), "bucket")
    mounted = mount(f"s3://bucket/{store.name}", f"view=v3,{s3_options(server)},log_level=debug")
    os.listdir(mounted / path)
    assert SECRET not in mounted.log_text()
    process = mounted.statistics_process() if "process" in json.dumps(mounted.statistics()) else None
    if process:
        with open(f"/proc/{process}/cmdline") as words:
            assert SECRET not in words.read()
    refused = run("info", "http://me:hunter2@127.0.0.1/x", status=2)
    assert "hunter2" not in refused.stderr + refused.stdout and ".netrc" in refused.stderr


def test_credentials_stay_with_their_host(serve, array):
    store, path, chunk, _ = array
    other = serve(os.path.dirname(store))
    server = serve(os.path.dirname(store), "bucket")
    server.fault = lambda seen: {"status": 307, "code": "Temporary", "headers": {"Location": other.url + seen["path"]}}
    refused = cat(f"s3://bucket/{store.name}", path, chunk, f"{s3_options(server)},{QUICK}", status=3)
    assert other.seen == [] and b"307" in refused.stderr


def test_a_wrong_secret_is_refused_by_name(serve, array, monkeypatch):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store), "bucket")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    refused = cat(f"s3://bucket/{store.name}", path, chunk, f"{s3_options(server)},{QUICK}", status=3)
    assert b"SignatureDoesNotMatch" in refused.stderr


def test_the_region_is_learnt(serve, array):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store), "bucket")

    def wrong_region(seen):
        wrong = f"/{server.region}/s3/" not in seen["headers"].get("Authorization", "")
        return {"status": 400, "code": "AuthorizationHeaderMalformed", "headers": {"x-amz-bucket-region": server.region}} if wrong else None
    server.fault = wrong_region
    assert cat(f"s3://bucket/{store.name}", path, chunk, f"endpoint={server.url},region=elsewhere-1").stdout == data


def test_anonymous_requests_are_not_signed(serve, array):
    store, path, chunk, data = array
    server = serve(os.path.dirname(store), "bucket")
    server.anonymous = True
    assert cat(f"s3://bucket/{store.name}", path, chunk, f"endpoint={server.url},anonymous").stdout == data


def test_listings_come_in_pages(serve, array):
    store, _, _, _ = array
    server = serve(os.path.dirname(store), "bucket")
    server.page = 2
    remote = json.loads(run("info", f"s3://bucket/{store.name}", "--remote", s3_options(server), "--json").stdout)
    local = json.loads(run("info", store, "--json").stdout)
    assert {**remote, "store": ""} == {**local, "store": ""}


def test_commands_give_what_they_give_of_a_directory(serve, tmp_path, array):
    store, path, chunk, _ = array
    server = serve(os.path.dirname(store), "bucket")
    source, options = f"s3://bucket/{store.name}", ["--remote", s3_options(server)]
    assert run("ls", source, path, *options).stdout == run("ls", store, path).stdout
    assert run("map", source, path, *options).stdout == run("map", store, path).stdout
    verified, local = run("verify", source, "--decode", *options).stdout, run("verify", store, "--decode").stdout
    assert verified == local
    run("diff", source, store, *options)
    run("unshard", source, tmp_path / "plain.zarr", *options)
    run("diff", tmp_path / "plain.zarr", store)
    references = json.loads(run("refs", source, "--view", "v3", *options).stdout)["refs"]
    assert any(value[0].startswith("s3://bucket/") for value in references.values() if isinstance(value, list))
    assert "only read" in run("shard", source, "--in-place", *options, status=3).stderr


def test_remote_stores_are_mounted_for_reading(serve, array, tmp_path):
    store, _, _, _ = array
    server = serve(os.path.dirname(store))
    (tmp_path / "mnt").mkdir()
    refused = run("mount", f"{server.url}/{store.name}", tmp_path / "mnt", "-o", "rw", status=3)
    assert "only read" in refused.stderr


def test_archives_that_are_damaged_are_refused_or_right(array, tmp_path):
    store, path, chunk, data = array
    archive = pack(store, tmp_path / "store.zip", zipfile.ZIP_DEFLATED, only_documents=True)
    assert run("cat", archive, f"{path}/{chunk}", text=False).stdout == data
    whole = archive.read_bytes()
    chance = random.Random(7)
    for _ in range(int(os.environ.get("ZARRFS_DAMAGES", "60"))):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 1, 4])):
            # Mostly the directory, which lies at the end.
            damaged[chance.randrange(len(whole) - 3000, len(whole)) if chance.random() < 0.8 else chance.randrange(len(whole))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)):]
        (tmp_path / "damaged.zip").write_bytes(damaged)
        done = subprocess.run([DAEMON, "ls", tmp_path / "damaged.zip", path], capture_output=True, timeout=600)
        assert done.returncode in (0, 1, 3), done


def sources_below(serve, folder, name):
    """What `name` of a folder is called at each place that it may lie at, and the options."""
    bucket, encoded = serve(folder, "bucket"), urllib.parse.quote(name)
    return {os.path.join(folder, name): "", f"s3://bucket/{name}": s3_options(bucket), f"{serve(folder).url}/{encoded}?token=x": ""}


def test_a_path_in_an_archive(serve, mount, array, tmp_path):
    """A store, a volume and an array of Blosc2 in it; names that are no archive are what they were."""
    store, path, chunk, data = array
    top = tmp_path / "packed"
    shutil.copytree(store, top / "deep er/store.zarr")
    shutil.copytree(os.path.join(GOLDEN, "volumes/sharded-gzip"), top / "em")
    shutil.copy(os.path.join(GOLDEN, "blosc2/zeros.b2nd"), top / "deep er/zeros.b2nd")
    os.makedirs(tmp_path / "data")
    pack(top, tmp_path / "data/a b.zip")
    shutil.copytree(store, tmp_path / "data/folder.zip/store.zarr")
    wanted = {"deep er/store.zarr": store, "em": top / "em", "deep er/zeros.b2nd": top / "deep er/zeros.b2nd"}
    for below, local in wanted.items():
        for source, options in sources_below(serve, tmp_path / "data", f"a b.zip/{below}").items():
            remote, here = (json.loads(run("info", *words, "--json").stdout) for words in ((source, "--remote", options), (local,)))
            assert {**remote, "store": ""} == {**here, "store": ""}, source
    for name in ("a b.zip/deep er/store.zarr", "a b.zip/deep er/store.zarr/", "folder.zip/store.zarr"):
        for source, options in sources_below(serve, tmp_path / "data", name).items():
            assert run("cat", source, f"{path}/{chunk}", "--remote", options, text=False).stdout == data, source
    for source, options in sources_below(serve, tmp_path / "data", "a b.zip/deep er/store.zarr").items():
        mounted = mount(source, f"view=v2,separator=.,{options}")
        with open(mounted / f"{path}/{chunk}", "rb") as file:
            assert file.read() == data
        mounted.unmount()
    for name in ("a b.zip/none", "a b.zip/deep er/store.zarr/zarr.json", "a b.zip/../b", "no.zip/none"):
        for source, options in sources_below(serve, tmp_path / "data", name).items():
            done = subprocess.run([DAEMON, "info", source, "--remote", options], capture_output=True, text=True, timeout=600)
            assert done.returncode in (2, 3) and done.stderr, (source, done)


@pytest.mark.parametrize("name", ["../outside", "/absolute", "a/./b", "a//b"])
def test_archives_that_lead_outside_are_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("zarr.json", '{"zarr_format": 3, "node_type": "group"}')
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, b"x")
    assert "no path in it" in run("info", tmp_path / "bad.zip", status=3).stderr


def test_a_deflated_shard_is_refused_with_advice(tmp_path):
    with zipfile.ZipFile(tmp_path / "big.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zarr.json", json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [20 << 20], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [20 << 20]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [{"name": "bytes"}]}))
        archive.writestr("c/0", bytes(20 << 20))
    assert "zip -0" in run("cat", tmp_path / "big.zip", "0", status=3).stderr


def test_a_zip64_archive_beyond_4_gib(tmp_path):
    """A sparse file: a stored entry of 4.5 GiB of zeros before the array that is read."""
    folder = tmp_path / "a.zip"
    document = json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [{"name": "bytes"}]}).encode()
    big, directory = 9 << 29, b""
    with open(folder, "wb") as file:
        for name, body, size in ((b"c/9", None, big), (b"zarr.json", document, len(document)), (b"c/0", b"\1\2\3\4", 4)):
            at, checksum = file.tell(), zlib.crc32(body) if body else 0
            extra = struct.pack("<HHQQ", 1, 16, size, size)
            file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 33, checksum, 0xFFFFFFFF, 0xFFFFFFFF, len(name), len(extra)) + name + extra)
            file.write(body) if body else file.seek(size, 1)
            extra = struct.pack("<HHQQQ", 1, 24, size, size, at)
            directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 33, checksum, 0xFFFFFFFF, 0xFFFFFFFF,
                                     len(name), len(extra), 0, 0, 0, 0, 0xFFFFFFFF) + name + extra
        at = file.tell()
        file.write(directory)
        end = file.tell()
        file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 3, 3, len(directory), at))
        file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    assert run("cat", folder, "0", text=False).stdout == b"\1\2\3\4"


def test_absence_of_another_name_is_no_absence(serve, array):
    """A login page or a broken proxy points somewhere that has nothing; a mirror that lacks the name itself says that it is absent."""
    store, path, chunk, _ = array
    web, mirror = serve(os.path.dirname(store)), serve(os.path.dirname(store))
    for leads, absent in ((f"{mirror.url}/nothing", False), (f"{mirror.url}/elsewhere/", False), (f"{mirror.url}/elsewhere/zarr.json?key=1", True)):
        web.fault = lambda seen: {"edit": lambda status, headers, body: (302, {"Location": leads}, b"")}
        done = subprocess.run([DAEMON, "info", f"{web.url}/{store.name}", "--remote", "deadline=0"], capture_output=True, text=True, timeout=600)
        assert done.returncode != 0 and ("for another name" in done.stdout + done.stderr) != absent, (leads, done)


def test_random_damage_of_answers_is_an_error_or_nothing(serve, array):
    """ZARRFS_DAMAGES=10000 for a long run."""
    store, path, chunk, data = array
    web, bucket = serve(os.path.dirname(store)), serve(os.path.dirname(store), "bucket")
    chance = random.Random(int(os.environ.get("ZARRFS_SEED", "11")))
    names = ["Content-Range", "Content-Length", "ETag", "Last-Modified", "Content-Encoding", "Location", "Transfer-Encoding", "Content-Type"]
    values = ["", "0", "-1", "bytes 0-0/1", "bytes 9-3/5", "99999999999999999999", '"other"', "W/\"weak\"", "gzip", "chunked", "x" * 70000,
              "http://127.0.0.1:1/", "multipart/byteranges; boundary=x"]

    def edit(status, headers, body):
        for _ in range(chance.choice([1, 1, 2])):
            kind = chance.randrange(5)
            if kind == 0:
                headers[chance.choice(names)] = chance.choice(values)
            elif kind == 1 and headers:
                headers.pop(chance.choice(sorted(headers)), None)
            elif kind == 2:
                body = body[:chance.randrange(len(body) + 1)]
            elif kind == 3:
                body = body + bytes(chance.randrange(1, 100))
            else:
                status = chance.choice([200, 201, 204, 206, 302, 304, 400, 403, 412, 416, 429, 500, 503, 999])
        return status, headers, body

    for number in range(int(os.environ.get("ZARRFS_DAMAGES", "100"))):
        server, source, options = (web, f"{web.url}/{store.name}", "deadline=0") if number % 2 else (
            bucket, f"s3://bucket/{store.name}", f"deadline=0,{s3_options(bucket)}")
        hit = chance.randrange(4)
        count = iter(range(1000))
        server.fault = lambda seen: {"edit": edit} if next(count) == hit else None
        done = subprocess.run([DAEMON, "cat", source, f"{path}/{chunk}", "--remote", options], capture_output=True, timeout=600)
        assert done.returncode in (0, 1, 3), (number, done)
        assert done.returncode != 0 or done.stdout == data, (number, done)
        assert b"not stored" not in done.stderr or done.returncode != 0


def test_random_damage_of_listings_and_refusals_is_an_error_or_nothing(serve, array):
    """ZARRFS_DAMAGES=1500 for a long run. A chunk is right or an error; what is there is never told as absent by a refusal."""
    store, path, chunk, data = array
    bucket = serve(os.path.dirname(store), "bucket")
    chance = random.Random(int(os.environ.get("ZARRFS_SEED", "12")))
    refusals = [(404, b"<?xml version='1.0'?><Error><Code>NoSuchBucket</Code><Message>there is none</Message><BucketName>bucket</BucketName></Error>"),
                (403, b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>no</Message></Error>"),
                (503, b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>no</Message></Error>"),
                (400, b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>no</Message></Error>")]
    words = ["--remote", f"deadline=0,{s3_options(bucket)}"]
    for number in range(int(os.environ.get("ZARRFS_DAMAGES", "60"))):
        listing = number % 2
        hit, count = chance.randrange(3), iter(range(1000))
        status, refusal = chance.choice(refusals)
        told = damage_xml(chance, refusal)
        while b"NoSuchKey" not in told and not told.startswith(b"<") and b"<Error" not in told:  # a server that says nothing: its status counts
            told = damage_xml(chance, refusal)

        def fault(seen):
            if listing and "list-type" in seen["query"]:
                return {"edit": lambda status, headers, body: (status, headers, damage_xml(chance, body))}
            if not listing and next(count) == hit:
                return {"edit": lambda _, headers, __: (status, {}, told)}
            return None

        bucket.fault = fault
        command = chance.choice(["info", "verify"]) if listing else "cat"
        target = [f"{path}/{chunk}"] if command == "cat" else []
        done = subprocess.run([DAEMON, command, f"s3://bucket/{store.name}", *target, *words], capture_output=True, timeout=600)
        assert done.returncode in (0, 1, 2, 3), (number, done)
        if command == "cat":
            assert done.returncode != 0 or done.stdout == data, (number, told, done)
            assert b"not stored" not in done.stderr and b"no Zarr" not in done.stderr and b"is not an array" not in done.stderr, (number, status, told, done)


def test_progress_says_what_it_counts(serve, array):
    store, path, _, _ = array
    server = serve(os.path.dirname(store))
    server.delay = 0.05
    leader, follower = pty.openpty()
    process = subprocess.Popen([DAEMON, "verify", f"{server.url}/{store.name}", path, "-j1"], stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    seen = b""
    try:
        while part := os.read(leader, 4096):
            seen += part
    except OSError:  # its end
        pass
    os.close(leader)
    assert process.wait(timeout=600) == 0
    assert re.search(rb"\d of \d+ shards, \d+/s", seen), seen


@pytest.mark.parametrize("kind", ["s3", "http"])
def test_what_is_no_zarr_is_named_at_a_server_too(serve, tmp_path, kind):
    (tmp_path / "ocdbt").mkdir()
    (tmp_path / "ocdbt/manifest.ocdbt").write_bytes(b"x")
    (tmp_path / "image.tif").write_bytes(b"II*\0" + bytes(50))
    server = serve(tmp_path, "bucket" if kind == "s3" else "")
    base, options = ("s3://bucket", s3_options(server)) if kind == "s3" else (server.url, QUICK)
    os.mkdir(tmp_path / "mnt")
    for name, what in (("ocdbt", "an OCDBT database; TensorStore reads it"), ("image.tif", "a TIFF file; tifffile and GDAL read it")):
        for command in ("info", "ls", "verify", "refs"):
            assert f"{base}/{name}: is {what}" in run(command, f"{base}/{name}", "--remote", options, status=2).stderr
        refused = subprocess.run([DAEMON, "mount", f"{base}/{name}", tmp_path / "mnt", "-o", f"ro,{options}"], capture_output=True, text=True, timeout=600)
        assert refused.returncode != 0 and f"{base}/{name}: is {what}" in refused.stderr, refused
