"""Archives that conversions make, mounted."""
import os
import subprocess

from conftest import DAEMON, GOLDEN, read_all


def test_a_mounted_archive_shows_what_its_source_does(tmp_path, mount):
    source, made = os.path.join(GOLDEN, "stores", "sharding.zarr"), tmp_path / "made.ozx"
    done = subprocess.run([DAEMON, "reshard", source, made, "--shard-chunks", "2"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # some arrays are not sharded
    wanted = read_all("zarr2", mount(source).path)
    assert read_all("zarr2", mount(made).path) == wanted != {}
