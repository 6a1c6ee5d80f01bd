"""The short form of `stutter`: a store is copied into a bucket while any process, the daemon among them, stands still now and then."""
import os
import pathlib
import re
import subprocess

import pytest
from conftest import DAEMON, run_zarr
from object_server import ObjectServer
from test_copying import COPIES, MAKE, READ
from test_remote_writing import credentials  # noqa: F401 (fixture)

STUTTER = pathlib.Path(__file__).parent / "stutter"
GROUPS = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup"]
pytestmark = pytest.mark.skipif(not any(os.access(f"{group}/cgroup.procs", os.W_OK) for group in GROUPS), reason="control groups cannot be made here")


@pytest.mark.parametrize("copy", ["cp", "rsync", "tar"])
def test_a_store_is_copied_into_a_bucket(tmp_path, mount, copy):
    source, mountpoint = tmp_path / "plain", tmp_path / "mnt"
    run_zarr("zarr2", MAKE, source)
    mountpoint.mkdir()
    (tmp_path / "objects").mkdir()
    server = ObjectServer(tmp_path / "objects", "bucket")
    server.delay = 0.05
    options = f"endpoint={server.url},region={server.region}"
    script = f"""set -e
        '{DAEMON}' mount s3://bucket/new '{mountpoint}' -o 'rw,{options},spool={tmp_path}/spool,log={tmp_path}/log'
        export FROM='{source}' TO='{mountpoint}'
        {COPIES[copy]}
        '{DAEMON}' umount --timeout 300 '{mountpoint}'"""
    try:
        done = subprocess.run([STUTTER, "bash", "-c", script], capture_output=True, text=True, timeout=600, env=os.environ | {"ZARRFS_STUTTER": "2"})
    finally:
        subprocess.run(["umount", "-l", mountpoint], stderr=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) times a process stood still", done.stdout)[1]) > 0
    assert "error" not in (tmp_path / "log").read_text()
    server.delay = 0
    run_zarr("zarr2", READ, f"{mount('s3://bucket/new', f'ro,{options}').path}/x")
    server.close()
