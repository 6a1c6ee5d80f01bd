"""What an earlier version left where it was killed is taken up by this one: tests/golden/left_by_VERSION, made by tests/golden/make_left.py."""
import glob
import hashlib
import json
import os
import shutil
import subprocess

import pytest
from buckets import chunks_of
from conftest import DAEMON, GOLDEN
from object_server import ObjectServer
from stores import SmallStore
from test_remote_writing import credentials, data, own_files  # noqa: F401, one is a fixture

LEFT = sorted(folder for folder in glob.glob(os.path.join(GOLDEN, "left_by_*")) if os.path.isdir(os.path.join(folder, "local")))


@pytest.fixture(params=LEFT, ids=os.path.basename)
def left(request, tmp_path):
    """A copy, by its path."""
    return shutil.copytree(request.param, tmp_path / "left")


def wanted():
    """What make_left.py wrote, over what SmallStore has."""
    kept = {name: SmallStore.chunk(*map(int, name.split("."))) for name in SmallStore.present() if name != "1.1"}
    return {**kept, "0.0": data(100), "0.1": data(101), "2.2": data(102)}


def test_there_is_something_to_try():
    assert LEFT


def test_chunks_in_the_log_of_a_store(left, mount):
    mounted = mount(left / "local", "rw")
    assert chunks_of(mounted) == wanted()
    mounted.close()
    assert own_files(left / "local") == []
    assert chunks_of(mount(left / "local")) == wanted()


def test_chunks_in_the_spool_of_a_bucket(left, tmp_path, mount):
    os.makedirs(tmp_path / "buckets")
    shutil.move(left / "bucket", tmp_path / "buckets/store")
    server = ObjectServer(str(tmp_path / "buckets"), "bucket")
    try:
        # The name of a spool is made of the server and the URL; the server of the tests has another port each time.
        source = f"{server.url}\ns3://bucket/store"
        own = tmp_path / "spools" / hashlib.sha256(source.encode()).hexdigest()[:32]
        shutil.copytree(left / "spool", own)
        for directory in (tmp_path / "spools", own, own / "store"):
            os.chmod(directory, 0o700)
        mounted = mount("s3://bucket/store", f"rw,endpoint={server.url},region={server.region},spool={tmp_path}/spools")
        assert chunks_of(mounted) == wanted()
        mounted.close()
        assert own_files(tmp_path / "spools") == []
    finally:
        server.close()
    assert chunks_of(mount(tmp_path / "buckets/store")) == wanted()


def test_an_unfinished_conversion(left):
    marker = left / "unfinished/.zarrfs-conversion"
    text = marker.read_text()
    marker.write_text(text.replace(json.loads(text)["source"], str(left / "source")))  # where the copy lies
    subprocess.run([DAEMON, "shard", left / "source", left / "unfinished", "--shard-shape", "4x64", "--check"], check=True, timeout=600)
    assert own_files(left / "unfinished") == []
    done = subprocess.run([DAEMON, "diff", left / "source", left / "unfinished"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
