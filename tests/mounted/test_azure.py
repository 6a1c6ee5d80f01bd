"""Azure Blob Storage: read and written as buckets of S3 are, with every kind of credentials, and what it does otherwise."""
import base64
import json
import os
import re
import subprocess

import pytest
from azure_server import ACCOUNT, CONTAINER, KEY, SAS, AzureServer
from buckets import MountedBucket
from conftest import DAEMON, GOLDEN
from places import pack
from stores import SmallStore, document, files_of, shard_bytes, write_file, write_json
from test_remote_writing import (  # noqa: F401
    Bucket, data, own_files, publish, put, puts_of, test_a_document_is_at_the_server_when_its_close_returns,
    test_a_put_whose_answer_never_came_is_known_again, test_a_server_that_is_gone_keeps_nothing_from_being_kept,
    test_chunks_are_put_as_one_object_with_its_index, test_documents_of_two_mounts_lose_nothing,
    test_of_a_chunk_that_both_wrote_the_loser_is_logged, test_the_last_chunk_of_a_shard_takes_the_object_with_it,
    test_two_mounts_that_are_killed_lose_nothing_that_was_closed, test_two_mounts_that_write_chunks_of_one_shard_lose_none,
    test_what_goes_wrong_once_is_done_again, test_what_was_closed_survives_the_kill, test_writers_that_put_at_the_same_moment_merge)

URL = f"az://{ACCOUNT}/{CONTAINER}"
VARIABLES = ("ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING")


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1")


class AzureBucket(Bucket):
    __test__ = False  # no class of tests
    url = f"{URL}/store"

    def __init__(self, folder, mount):
        MountedBucket.__init__(self, folder, mount)
        self.store = SmallStore(folder)
        self.server = AzureServer(os.path.dirname(self.store.path))

    def options(self, spool, more=""):
        return ",".join(part for part in ("rw", f"endpoint={self.server.url}", f"spool={self.folder}/{spool}", "revalidate=0", "" if "deadline=" in more else "deadline=2", more) if part)

    def open(self, spool="spool", more="flush_after=3600", damaged=False):
        self.mounts.append(self.mount(self.url, self.options(spool, more), damaged=damaged))
        return self.mounts[-1]


@pytest.fixture
def bucket(tmp_path, mount):
    made = AzureBucket(tmp_path, mount)
    yield made
    try:
        made.close()
    finally:
        made.server.close()


@pytest.fixture
def server():
    made = AzureServer(os.path.join(GOLDEN, "stores"))
    yield made
    made.close()


def said(*words, status=0):
    done = subprocess.run([DAEMON, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def info(server, source=f"{URL}/sharding.zarr", options="", status=0):
    return said("info", source, "--json", "--remote", f"endpoint={server.url},deadline=60,{options}", status=status)


def arrays_of(text):
    return json.loads(text)["arrays"] if "arrays" in json.loads(text) else {**json.loads(text), "store": ""}


def test_all_files_are_those_of_the_directory(server, mount):
    local = mount(os.path.join(GOLDEN, "stores", "sharding.zarr"), "view=v2,separator=.")
    there = mount(f"{URL}/sharding.zarr", f"view=v2,separator=.,endpoint={server.url}")
    files = list(files_of(local.path))
    assert [name for name, _ in files_of(there.path)] == [name for name, _ in files] and len(files) > 50
    for name, full in files:
        with open(full, "rb") as here, open(there / name, "rb") as far:
            assert here.read() == far.read(), name
    assert not [seen for seen in server.seen if (seen["range"] or "").startswith("bytes=-")]


@pytest.mark.parametrize("kind", ["key", "connection string", "sas", "sas in a connection string", "sas in the url", "identity", "anonymous", "abfs", "abfss"])
def test_credentials(server, monkeypatch, kind):
    wanted = arrays_of(said("info", os.path.join(GOLDEN, "stores", "sharding.zarr"), "--json"))
    source, options = f"{URL}/sharding.zarr", ""
    if kind not in ("key", "abfs", "abfss"):
        monkeypatch.delenv("AZURE_STORAGE_KEY")
    server.sas = "sas" in kind
    endpoint = f"BlobEndpoint={server.url}/{ACCOUNT}"
    if kind == "connection string":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName={ACCOUNT};AccountKey={KEY};{endpoint}")
    elif kind == "sas in a connection string":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"{endpoint};SharedAccessSignature={SAS}")
    elif kind == "sas":
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", f"?{SAS}")
    elif kind == "sas in the url":
        source += f"?{SAS}"
    elif kind == "identity":
        server.identity = "tok"
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", server.url)
        monkeypatch.setenv("AZURE_CLIENT_ID", "one of them")
    elif kind == "anonymous":
        server.anonymous, options = True, "anonymous"
    elif kind.startswith("abfs"):
        source = f"{kind}://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/sharding.zarr"
    if "connection" not in kind:
        options += f",endpoint={server.url}"
    assert arrays_of(said("info", source, "--json", "--remote", options)) == wanted
    assert ("client_id=one%20of%20them" in "".join(server.asked_for_tokens)) == (kind == "identity")


def test_refusals_are_told_as_users_need_them(server, monkeypatch):
    assert "look at the account and the container" in info(server, f"az://{ACCOUNT}/other/store", status=3)
    server.anonymous, server.public = True, False
    assert "nothing in this account is public" in info(server, options="anonymous", status=3)
    server.anonymous = False
    monkeypatch.setenv("AZURE_STORAGE_KEY", base64.b64encode(b"the key of another account").decode())
    refused = info(server, status=3)
    assert "AuthenticationFailed" in refused and "the key or SAS is not one of this account" in refused and KEY not in refused
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    assert "AZURE_STORAGE_CONNECTION_STRING" in info(server, status=3)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", SAS)
    server.sas = server.expired = True
    refused = info(server, status=3)
    assert "the SAS has expired" in refused and "sig=" not in refused


def doctor(server, status=0):
    found = subprocess.run([DAEMON, "doctor", f"{URL}/sharding.zarr", "--remote", f"endpoint={server.url},deadline=2"], capture_output=True, text=True, timeout=600)
    assert found.returncode == status, found.stdout + found.stderr
    return found.stdout


@pytest.mark.parametrize("seconds, word", [(-7200, "ahead of"), (7200, "behind")])
def test_a_clock_that_is_off(server, monkeypatch, seconds, word):
    """Requests are signed by the server's time, as soon as it has refused one; the doctor says so."""
    wanted = arrays_of(info(server))
    server.ahead = seconds
    assert arrays_of(info(server)) == wanted
    told = doctor(server)
    off = re.search(f"([0-9]+) s {word} the server's", told)
    assert off, told
    assert abs(int(off[1]) - abs(seconds)) < 60, told  # whole seconds, and the answer takes some time
    monkeypatch.setenv("AZURE_STORAGE_KEY", base64.b64encode(b"the key of another account").decode())
    assert "or this machine's clock is off (timedatectl set-ntp true)" in info(server, status=3), "also with a wrong key it ends"


def test_what_the_doctor_says_of_refusals(server, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_KEY", base64.b64encode(b"the key of another account").decode())
    assert "the key or SAS is not one of this account" in doctor(server, status=1)
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    assert "no credentials: not in AZURE_STORAGE_CONNECTION_STRING" in doctor(server, status=1)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", SAS)
    server.sas = True
    assert "AZURE_STORAGE_SAS_TOKEN" in doctor(server)
    server.expired = True
    said = doctor(server, status=1)
    assert "the SAS has expired" in said and "sig=" not in said


def test_urls_that_leave_the_account_out_are_refused_with_both_spellings(server, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
    for source in (f"az://{CONTAINER}/sharding.zarr", f"az://{CONTAINER}", f"abfs://{CONTAINER}/sharding.zarr"):
        refused = info(server, source, status=2)
        assert "az://ACCOUNT/CONTAINER/PATH" in refused and "abfs://CONTAINER@ACCOUNT" in refused
    assert "is no base64" in subprocess.run([DAEMON, "info", URL], capture_output=True, text=True, env={**os.environ, "AZURE_STORAGE_KEY": "?"}).stderr


@pytest.mark.parametrize("options, below", [("", ""), ("revalidate=0", "unnamed_axis")])
def test_markers_of_directories_are_no_files(server, mount, options, below):
    """Data Lake's directories, and those that older tools made: also where they are looked for one by one."""
    server.folders = {"sharding.zarr", *(os.path.relpath(folder, server.root) for folder, _, _ in os.walk(os.path.join(server.root, "sharding.zarr")))}
    local = mount(os.path.join(GOLDEN, "stores", "sharding.zarr"), "view=v3")
    there = mount(f"{URL}/sharding.zarr", f"view=v3,endpoint={server.url},{options}")
    assert [name for name, _ in files_of(there / below)] == [name for name, _ in files_of(local / below)]


def test_listings_come_in_pages(server, mount):
    server.page = 3
    there = mount(f"{URL}/sharding.zarr", f"view=v3,endpoint={server.url}")
    assert sorted(os.listdir(there.path)) == sorted(name for name in os.listdir(os.path.join(GOLDEN, "stores", "sharding.zarr")))


CHUNK, CHUNKS = 1 << 20, 17  # of a shard from which on what is unchanged is copied


def with_credentials(server, monkeypatch, kind):
    if kind == "key":
        return
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    if kind == "sas":
        server.sas = True
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", SAS)
    else:
        server.identity = "tok"
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", server.url)


SLOW = "flush_after=3600,deadline=60"  # for servers that take their time


@pytest.fixture
def large(bucket):
    """With the array `big` of one shard, whose chunk N has bytes N."""
    shard = shard_bytes([bytes([n]) * CHUNK for n in range(CHUNKS)])
    write_json(bucket.store.file("big/zarr.json"), document((CHUNK * CHUNKS,), (CHUNK * CHUNKS,), (CHUNK,), data_type="uint8", codecs=[{"name": "bytes"}]))
    write_file(bucket.store.file("big/c/0"), shard)
    return bucket


def write_large(mounted, number, value):
    with open(mounted / f"big/{number}", "wb") as file:
        file.write(bytes([value]) * CHUNK)


def check_large(large, changed):
    there = large.mount(large.store.path, "separator=.")
    for number in range(CHUNKS):
        with open(there / f"big/{number}", "rb") as file:
            assert file.read() == bytes([changed.get(number, number)]) * CHUNK, number
    there.close()


def sent_to(server):
    return sum(int(seen["headers"].get("Content-Length", "0")) for seen in server.seen)


@pytest.mark.parametrize("kind", ["key", "sas", "identity"])
def test_what_is_unchanged_in_a_large_shard_is_copied_by_the_server(large, monkeypatch, kind):
    with_credentials(large.server, monkeypatch, kind)
    mounted = large.open(more=SLOW)
    large.server.forget()
    write_large(mounted, 3, 100)
    publish(mounted)
    assert sent_to(large.server) < 2 * CHUNK
    lists = [seen for seen in large.server.seen if seen["query"].startswith("comp=blocklist") and seen["path"].endswith("big/c/0")]
    assert [seen["headers"]["If-Match"] for seen in lists] and len(lists) == 1
    check_large(large, {3: 100})


def test_blocks_that_another_writer_takes_away_are_put_again(large):
    """Whoever puts a blob takes away the blocks that wait for another list."""
    one, two = large.open("one", SLOW), large.open("two", SLOW)
    write_large(one, 1, 101)
    publish(one)  # the server has been tried
    write_large(one, 3, 103)
    write_large(two, 4, 104)
    met = []

    def meanwhile(seen):
        if seen["query"].startswith("comp=blocklist") and not met:
            met.append(seen)
            publish(two)
        return None

    large.server.fault = meanwhile
    publish(one)
    assert met
    check_large(large, {1: 101, 3: 103, 4: 104})


@pytest.mark.parametrize("code", ["CannotVerifyCopySource", "NotImplemented"])
def test_where_nothing_is_copied_the_whole_is_sent(large, code):
    """Behind a firewall, and by an Azurite before 3.37."""
    status = 403 if code == "CannotVerifyCopySource" else 501
    large.server.fault = lambda seen: {"status": status, "code": code} if "x-ms-copy-source" in seen["headers"] else None
    mounted = large.open(more=SLOW, damaged=status == 501)
    write_large(mounted, 3, 100)
    publish(mounted)
    check_large(large, {3: 100})


def test_a_lease_is_no_other_version(bucket):
    mounted = bucket.open(damaged=True)
    put(mounted, "0.0", 44)
    bucket.server.leased = True
    assert "LeaseIdMissing" in publish(mounted, status=3)
    bucket.server.leased = False
    publish(mounted)
    assert bucket.stored()["0.0"] == data(44)


def test_an_archive_and_the_doctor(server, tmp_path):
    root = tmp_path / "root"
    os.makedirs(root)
    pack(os.path.join(GOLDEN, "stores", "sharding.zarr"), root / "a b.zip")
    other = AzureServer(str(root))
    try:
        assert arrays_of(info(other, f"{URL}/a b.zip")) == arrays_of(info(server))
        found = subprocess.run([DAEMON, "doctor", f"{URL}/a b.zip", "--remote", f"endpoint={other.url}"], capture_output=True, text=True, timeout=600)
        assert found.returncode == 0 and "AZURE_STORAGE_KEY" in found.stdout, found.stdout + found.stderr
    finally:
        other.close()
    found = subprocess.run([DAEMON, "doctor", f"{URL}/sharding.zarr", "--remote", f"endpoint={server.url}"], capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("method, word", [("PUT", "replaces objects"), ("DELETE", "removes objects")])
def test_a_server_without_conditions_is_refused_by_name(bucket, method, word):
    bucket.server.careless = (method,)
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", f"{URL}/store", bucket.folder / "mnt", "-o", bucket.options("spool")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and word in done.stderr and f"{URL}/store" in done.stderr, done.stderr
    assert not own_files(bucket.store.path), "the probe is left"
