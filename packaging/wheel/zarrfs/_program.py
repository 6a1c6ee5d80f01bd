"""The program inside the package, and what it says."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, Tuple


class Error(OSError):
    """zarrfs could not do it. The message is its own; `status` is its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.status)


class MountWarning(UserWarning):
    """What a mount says that the program which mounts should know: it is read-only, arrays are hidden, writes wait."""


class FuseMissing(Error):
    """This machine cannot mount: FUSE, or the program that mounts for ordinary users, is missing."""


def program() -> str:
    """The path of the program `zarrfs`."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "zarrfs")


def check_fuse() -> None:
    """Raises FuseMissing where nothing can be mounted here."""
    if not os.path.exists("/dev/fuse"):
        raise FuseMissing("there is no /dev/fuse: load the kernel's module (modprobe fuse), or give the container the device "
                          "(--device /dev/fuse --cap-add SYS_ADMIN)", 3)
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        raise FuseMissing("fusermount3 is missing, which mounts for ordinary users; the package is called fuse3: "
                          "`apt install fuse3`, `dnf install fuse3`", 3)


def _run(*arguments: str) -> Tuple[str, str]:
    """What `zarrfs ARGUMENTS` prints, and what it says. Raises Error with that where it fails."""
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          encoding="utf-8", errors="surrogateescape", check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"zarrfs {arguments[0]} ended with status {done.returncode}"
        raise Error(said.removeprefix("zarrfs: "), done.returncode)
    return done.stdout, done.stderr


def run(*arguments: str) -> str:
    """What `zarrfs ARGUMENTS` prints. Raises Error with what it says where it fails."""
    return _run(*arguments)[0]


def run_and_hear(*arguments: str) -> str:
    """What `zarrfs ARGUMENTS` says on standard error. Raises Error with it where it fails."""
    return _run(*arguments)[1]


def run_json(*arguments: str) -> Dict[str, Any]:
    """The JSON document that `zarrfs ARGUMENTS` prints."""
    result: Dict[str, Any] = json.loads(run(*arguments))
    return result
