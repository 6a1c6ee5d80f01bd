"""Copying a plain store into a mount of a bucket, with each program's own order of files and names, as into a directory."""
import os
import subprocess

import pytest
from conftest import run_zarr
from object_server import KEY, SECRET, ObjectServer
from test_copying import COPIES, MAKE, READ, copy
from test_remote_writing import credentials, own_files, publish  # noqa: F401, one is a fixture
from versitygw import PROGRAM, Versitygw

# Every directory before the first file, as rsync makes them with some options and as programs that copy in parallel do.
DIRECTORIES_FIRST = "mkdir $TO/x && cd $FROM && find . -type d -exec mkdir -p $TO/x/{} ';' && find . -type f -exec cp {} $TO/x/{} ';'"


@pytest.fixture(params=["small", "versitygw"])
def server(request, tmp_path):
    """A server with an empty bucket; `root`: the directory in which its objects lie."""
    if request.param == "small":
        (tmp_path / "objects").mkdir()
        made = ObjectServer(tmp_path / "objects", "bucket")
        made.folder = tmp_path / "objects"
        yield made
        made.close()
        return
    if not os.path.exists(PROGRAM):
        pytest.skip("versitygw is missing: packaging/install-test-servers")
    with Versitygw(tmp_path / "disk") as made:
        made.folder = tmp_path / "disk/bucket"
        yield made


@pytest.mark.parametrize("command", [*COPIES.values(), DIRECTORIES_FIRST], ids=[*COPIES, "directories-first"])
def test_a_store_of_zarr_v2(server, mount, tmp_path, command):
    source = tmp_path / "plain"
    run_zarr("zarr2", MAKE, source)
    options = f"endpoint={server.url},region={server.region}"
    mounted = mount("s3://bucket/new", f"rw,{options},spool={tmp_path}/spool,flush_after=3600")
    copy(command, source, mounted.path)
    different = subprocess.run(["diff", "-r", "--exclude=.*", source, f"{mounted.path}/x"], capture_output=True, text=True)
    assert different.stdout == ""
    publish(mounted)
    mounted.unmount()
    left = [name for _, _, names in os.walk(tmp_path / "spool") for name in names if name not in ("source", "lock")]
    assert not [name for name in left if not name.startswith(".zarrfs")], left
    stored = sorted(os.path.relpath(os.path.join(folder, name), server.folder / "new/x") for folder, _, names in os.walk(server.folder / "new/x") for name in names)
    assert [name for name in stored if not name.endswith("zarr.json")] == ["bare/c/0", "deep/inner/dots/c/0/0", "deep/inner/slashes/c/0/0"], stored
    reader = mount("s3://bucket/new", f"ro,{options}")
    run_zarr("zarr2", READ, f"{reader.path}/x")
