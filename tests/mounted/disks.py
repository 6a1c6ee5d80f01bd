"""File systems of the tests' own, on a loop device. Tests skip where they cannot be had."""
import fcntl
import os
import shutil
import subprocess
import threading
import time

import pytest

SHUTDOWN, WITHOUT_LOG = 0x8004587D, 2  # _IOR('X', 125, __u32), EXT4_GOING_FLAGS_NOLOGFLUSH


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


class Disk:
    """A file system of `kind` in a file of `size` bytes."""

    def __init__(self, folder, kind, size):
        self.image, self.path, self.off = str(folder / "image"), str(folder / "disk"), threading.Event()
        os.mkdir(self.path)
        with open(self.image, "wb") as file:
            file.truncate(size)
        make = shutil.which(f"mkfs.{kind}", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if os.geteuid() != 0 or not make or run(make, "-q", self.image).returncode != 0:
            pytest.skip(f"no {kind} can be made here: root and mkfs.{kind} are needed")

    def mount(self):
        done = run("mount", "-o", "loop", self.image, self.path)
        if done.returncode != 0:
            pytest.skip(f"no loop device can be mounted here: {done.stderr.strip()}")
        self.off.clear()

    def sync(self):
        """This one alone: the machine may have much to write."""
        assert run("sync", "--file-system", self.path).returncode == 0

    def cut(self):
        self.off.set()  # an fsync that is not back by now may have been cut
        descriptor = os.open(self.path, os.O_RDONLY)
        fcntl.ioctl(descriptor, SHUTDOWN, WITHOUT_LOG.to_bytes(4, "little"))
        os.close(descriptor)

    def unmount(self):
        if not self.settles(lambda: run("umount", self.path).returncode == 0):
            pytest.fail("the disk is still in use")
        if not self.settles(lambda: not run("losetup", "-j", self.image).stdout):
            pytest.skip("another mount namespace, made meanwhile, keeps the disk mounted")

    @staticmethod
    def settles(done):
        for _ in range(1500):  # at least 30 s: a killed program may still wait for the disk
            if done():
                return True
            time.sleep(0.02)
        return False
