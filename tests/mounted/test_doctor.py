"""zarrfs doctor on the real machine: a mount that lives is good, one whose daemon was killed is found."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from conftest import DAEMON, Watched, kill, within


def devices_mounted():
    """In any mount namespace: other tests' mounts, and those of others who test on this machine, come and go meanwhile."""
    devices, namespaces = set(), set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            namespace = os.readlink(f"/proc/{process}/ns/mnt")
            if namespace not in namespaces:
                with open(f"/proc/{process}/mountinfo") as text:
                    devices |= {line.split()[2].split(":")[1] for line in text}
                namespaces.add(namespace)
        except OSError:  # it has ended
            pass
    return devices


def connections():
    """Those of FUSE that no mount stands for."""
    return set(os.listdir("/sys/fs/fuse/connections")) - devices_mounted()


def checks():
    done = subprocess.run([DAEMON, "doctor", "--json"], capture_output=True, text=True, timeout=600)
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
    subprocess.run([DAEMON, "umount", mounted.path], check=True, timeout=600)
    assert f"{mounted.path} (" not in checks()["mounts"]["found"]


def test_reading_is_measured_by_each_transport_that_the_kernel_offers():
    before = connections()
    for _ in range(10):  # a machine that is busy now may not be fast enough each time, which is said then
        found = checks()["speed"]
        if "could not be read in time" not in found["found"]:
            break
    assert found["verdict"] == "good", found
    try:
        with open("/sys/module/fuse/parameters/enable_uring") as text:
            offered = text.read().strip()
    except FileNotFoundError:
        offered = ""
    end = {"Y": r", \d+ us over io_uring \(\d+\.\d\d\)",
           "N": "; what io_uring gains can be measured once fuse.enable_uring is set",
           "": "; this kernel has no FUSE over io_uring"}[offered]
    assert re.fullmatch(r"a file of 4 KiB takes \d+ us by /dev/fuse" + end, found["found"])
    within(60, lambda: connections() <= before)


def test_mounts_that_do_not_answer_are_given_up():
    """Each process that doctor starts is stopped: it ends all the same, and leaves neither processes nor connections."""
    before = connections()
    no_tracer = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}  # AddressSanitizer's is a child, too
    doctor = subprocess.Popen([DAEMON, "doctor", "--json"], stdout=subprocess.PIPE, text=True, env=no_tracer)
    stopped = {}
    while doctor.poll() is None:
        with open(f"/proc/{doctor.pid}/task/{doctor.pid}/children") as text:
            new = set(map(int, text.read().split())) - stopped.keys()
        for child in new:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                stopped[child] = Watched(child)
                os.kill(child, signal.SIGSTOP)
        time.sleep(0.002)
    found = {check["name"]: check for check in json.loads(doctor.communicate(timeout=600)[0])["checks"]}
    assert found["speed"]["verdict"] == "limited", found["speed"]
    assert "could not be read in time" in found["speed"]["found"]
    assert stopped
    within(600, lambda: all(child.has_ended() for child in stopped.values()))  # who asks a mount that is silent in another test stays for as long
    within(60, lambda: connections() <= before)
