"""zarrfs doctor on the real machine: a mount that lives is good, one whose daemon was killed is found."""
import json
import subprocess

from conftest import DAEMON, kill


def checks():
    done = subprocess.run([DAEMON, "doctor", "--json"], capture_output=True, text=True, timeout=120)
    document = json.loads(done.stdout)
    assert done.returncode == (0 if document["good"] else 1)
    return {check["name"]: check for check in document["checks"]}


def test_mounting_is_tried(mount, golden):
    mount(golden("sharding.zarr"))
    found = checks()
    assert found["trial"]["verdict"] == "good", found["trial"]
    assert "FUSE protocol 7." in found["trial"]["found"]
    assert found["device"]["verdict"] == found["kernel"]["verdict"] == "good"


def test_a_dead_mount_is_found_and_umount_removes_it(mount, golden):
    mounted = mount(golden("sharding.zarr"))
    kill(mounted.statistics_process())
    found = checks()["mounts"]
    assert found["verdict"] == "wrong" and f"{mounted.path} (its daemon is gone)" in found["found"]
    subprocess.run([DAEMON, "umount", mounted.path], check=True, timeout=60)
    assert f"{mounted.path} (" not in checks()["mounts"]["found"]
