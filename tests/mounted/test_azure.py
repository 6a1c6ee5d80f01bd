"""Azure Blob Storage: read and written as buckets of S3 are, with every kind of credentials, and what it does otherwise."""
import base64
import json
import os
import subprocess

import pytest
from azure_server import ACCOUNT, CONTAINER, KEY, SAS, AzureServer
from buckets import MountedBucket
from conftest import DAEMON, GOLDEN
from places import pack
from stores import SmallStore, files_of
from test_remote_writing import (  # noqa: F401
    Bucket, data, own_files, publish, put, puts_of, test_a_document_is_at_the_server_when_its_close_returns,
    test_a_put_whose_answer_never_came_is_known_again, test_a_server_that_is_gone_keeps_nothing_from_being_kept,
    test_chunks_are_put_as_one_object_with_its_index, test_documents_of_two_mounts_lose_nothing,
    test_of_a_chunk_that_both_wrote_the_loser_is_logged, test_the_last_chunk_of_a_shard_takes_the_object_with_it,
    test_two_mounts_that_write_chunks_of_one_shard_lose_none,
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

    def __init__(self, folder, mount):
        MountedBucket.__init__(self, folder, mount)
        self.store = SmallStore(folder)
        self.server = AzureServer(os.path.dirname(self.store.path))

    def options(self, spool, more=""):
        return ",".join(part for part in ("rw", f"endpoint={self.server.url}", f"spool={self.folder}/{spool}", "revalidate=0,deadline=2", more) if part)

    def open(self, spool="spool", more="flush_after=3600", damaged=False):
        self.mounts.append(self.mount(f"{URL}/store", self.options(spool, more), damaged=damaged))
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
    done = subprocess.run([DAEMON, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def info(server, source=f"{URL}/sharding.zarr", options="", status=0):
    return said("info", source, "--json", "--remote", f"endpoint={server.url},deadline=1,{options}", status=status)


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


def test_urls_that_leave_the_account_out_are_refused_with_both_spellings(server, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
    for source in (f"az://{CONTAINER}/sharding.zarr", f"az://{CONTAINER}", f"abfs://{CONTAINER}/sharding.zarr"):
        refused = info(server, source, status=2)
        assert "az://ACCOUNT/CONTAINER/PATH" in refused and "abfs://CONTAINER@ACCOUNT" in refused
    assert "is no base64" in subprocess.run([DAEMON, "info", URL], capture_output=True, text=True, env={**os.environ, "AZURE_STORAGE_KEY": "?"}).stderr


def test_markers_of_directories_are_no_files(server, mount):
    """Data Lake's directories, and those that older tools made."""
    server.folders = {"sharding.zarr", *(os.path.relpath(folder, server.root) for folder, _, _ in os.walk(os.path.join(server.root, "sharding.zarr")))}
    local = mount(os.path.join(GOLDEN, "stores", "sharding.zarr"), "view=v3")
    there = mount(f"{URL}/sharding.zarr", f"view=v3,endpoint={server.url}")
    assert [name for name, _ in files_of(there.path)] == [name for name, _ in files_of(local.path)]


def test_listings_come_in_pages(server, mount):
    server.page = 3
    there = mount(f"{URL}/sharding.zarr", f"view=v3,endpoint={server.url}")
    assert sorted(os.listdir(there.path)) == sorted(name for name in os.listdir(os.path.join(GOLDEN, "stores", "sharding.zarr")))


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
        found = subprocess.run([DAEMON, "doctor", f"{URL}/a b.zip", "--remote", f"endpoint={other.url}"], capture_output=True, text=True, timeout=60)
        assert found.returncode == 0 and "AZURE_STORAGE_KEY" in found.stdout, found.stdout + found.stderr
    finally:
        other.close()
    found = subprocess.run([DAEMON, "doctor", f"{URL}/sharding.zarr", "--remote", f"endpoint={server.url}"], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("method, word", [("PUT", "replaces objects"), ("DELETE", "removes objects")])
def test_a_server_without_conditions_is_refused_by_name(bucket, method, word):
    bucket.server.careless = (method,)
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", f"{URL}/store", bucket.folder / "mnt", "-o", bucket.options("spool")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and word in done.stderr and f"{URL}/store" in done.stderr, done.stderr
    assert not own_files(bucket.store.path), "the probe is left"
