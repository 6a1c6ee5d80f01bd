"""What zarrfs writes to a real server is read there by programs that nobody here wrote, and what these write is read by zarrfs; skipped where versitygw is
missing (packaging/install-test-servers)."""
import json
import os
import subprocess

import pytest
import versitygw
from conftest import DAEMON, VENVS
from object_server import KEY, SECRET

OPEN = {
    "obstore": """
from obstore.store import S3Store
store = zarr.storage.ObjectStore(S3Store("bucket", prefix=sys.argv[1], endpoint=sys.argv[2], region="us-east-1", client_options={"allow_http": True}))""",
    "s3fs": """
store = zarr.storage.FsspecStore.from_url("s3://bucket/" + sys.argv[1], storage_options={"endpoint_url": sys.argv[2]})"""}
READ = """
group = zarr.open_group(store, mode="r")
print(json.dumps({name: hashlib.sha256(array[...].tobytes()).hexdigest() for name, array in group.arrays()}))"""
MAKE = """
import numpy
array = zarr.create_array(store, name="a", shape=(60, 70), shards=(20, 40), chunks=(10, 10), dtype="i4", fill_value=3)
array[:50, 5:] = numpy.arange(50 * 65).reshape(50, 65)
print(json.dumps({"a": hashlib.sha256(array[...].tobytes()).hexdigest()}))"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    if not os.path.exists(versitygw.PROGRAM):  # takes long to install: not part of the usual tests
        pytest.skip("versitygw is missing: packaging/install-test-servers")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    with versitygw.Versitygw(tmp_path / "disk") as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
        yield made


def by(way, text, name, server):
    """What a program of the environment "remote" says of the store `name`."""
    python = os.path.join(VENVS, "remote", "bin", "python")
    if not os.path.exists(python):
        pytest.skip("obstore and s3fs are missing: packaging/install-test-readers all")
    done = subprocess.run([python, "-c", "import hashlib, json, sys, zarr" + OPEN[way] + text, name, server.url], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def zarrfs(*words, status=0):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done
    return done.stdout


@pytest.mark.parametrize("way", OPEN)
def test_what_is_put_is_read_by_others(server, way, tmp_path):
    made = by(way, MAKE, "made.zarr", server)
    zarrfs("unshard", "s3://bucket/made.zarr", "s3://bucket/plain.zarr", "--check")
    zarrfs("shard", "s3://bucket/plain.zarr", "s3://bucket/again.zarr", "--shard-chunks", "3", "--check")
    zarrfs("reshard", "s3://bucket/made.zarr", tmp_path / "local.zarr", "--shard-chunks", "2")
    zarrfs("reshard", tmp_path / "local.zarr", "s3://bucket/other.zarr", "--shard-chunks", "1")
    for name in ("plain.zarr", "again.zarr", "other.zarr"):
        assert by(way, READ, name, server) == made, name
    assert not [name for _, _, names in os.walk(server.folder) for name in names if ".zarrfs" in name]


def test_the_doctor_finds_it_good(server):
    zarrfs("unshard", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/stores/types.zarr"), "s3://bucket/types.zarr")
    checks = json.loads(zarrfs("doctor", "s3://bucket/types.zarr", "--rw", "--json"))["checks"]
    assert {check["verdict"] for check in checks} == {"good"}, checks
