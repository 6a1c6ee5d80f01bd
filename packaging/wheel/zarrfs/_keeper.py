"""A process that keeps one mount for several others on this machine: `python -m zarrfs._keeper FOLDER STORE OPTIONS`.

FOLDER/holders has a file for each of them, PID-START-NAME; the mount ends with the last process. Whoever changes the
holders holds the lock FOLDER.lock, which is of this machine.
"""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Dict, Iterator, List

from ._mount import Mount
from ._options import Option
from ._program import Error

_EACH = 0.5  # seconds between looks


def started(pid: int) -> str:
    """When the process began, in the kernel's ticks; empty where there is none, or one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as text:
            fields = text.read().rpartition(")")[2].split()
            return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return ""


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Holds FOLDER.lock, which may be removed and made anew meanwhile."""
    while True:
        descriptor = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(f"{folder}.lock")):
                    yield
                    return
        finally:
            os.close(descriptor)


def holders(folder: str) -> List[str]:
    """Those that live. Files of others are removed."""
    alive = []
    for name in os.listdir(os.path.join(folder, "holders")):
        pid, start, _ = name.split("-", 2)
        if started(int(pid)) == start:
            alive.append(name)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, "holders", name))
    return alive


def _holder(name: str) -> str:
    return f"{os.getpid()}-{started(os.getpid())}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _is_kept(folder: str) -> bool:
    """Whether a keeper lives: it holds a lock of its own."""
    with open(os.path.join(folder, "keeper"), "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def hold(folder: str, store: str, options: Dict[str, Option], name: str) -> None:
    """From now on this process, as `name`, holds the mount of `store`, which is made where it is not there."""
    with locked(folder):
        for path in (folder, os.path.join(folder, "holders")):
            os.makedirs(path, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.geteuid():
            raise Error(f"{folder} belongs to another user", 3)
        with open(os.path.join(folder, "holders", _holder(name)), "w", encoding="utf-8"):
            pass
        if _is_kept(folder):
            return
        try:
            _start(folder, store, options)
        except BaseException:
            let_go(folder, name)
            if not holders(folder):
                _remove(folder)
            raise


def let_go(folder: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "holders", _holder(name)))


def _remove(folder: str) -> None:
    if any(os.path.ismount(os.path.join(folder, name)) for name in os.listdir(folder)):
        raise Error(f"{folder} has a mount that nobody keeps", 3)  # what is removed there would be removed in the store
    shutil.rmtree(folder, ignore_errors=True)
    os.unlink(f"{folder}.lock")


def _start(folder: str, store: str, options: Dict[str, Option]) -> None:
    ready, wrote = os.pipe()
    with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        subprocess.Popen([sys.executable, "-m", "zarrfs._keeper", folder, store, json.dumps(options), str(wrote)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=log, start_new_session=True, pass_fds=[wrote],
                         env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    os.close(wrote)
    with os.fdopen(ready, "rb") as pipe:
        if pipe.read(1) == b"1":
            return
    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
        said = log.read().strip().splitlines()
    raise Error(said[-1] if said else f"{store} was not mounted", 3)


def _keep(folder: str, store: str, options: Dict[str, Option], ready: int) -> None:
    with open(os.path.join(folder, "keeper"), "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = mountpoint(folder, store)
        os.makedirs(path, exist_ok=True) if not os.path.ismount(path) else None
        mount = None if os.path.ismount(path) else Mount(store, path, options)
        os.write(ready, b"1")
        os.close(ready)
        while True:
            time.sleep(_EACH)  # processes that end tell nobody
            if holders(folder):
                continue
            with locked(folder):
                if holders(folder):
                    continue
                if _ended(mount, path):
                    _remove(folder)
                    return


def _ended(mount: "Mount | None", path: str) -> bool:
    """Whether it is unmounted; not while a program that holds nothing uses it."""
    with contextlib.suppress(Error):
        if mount is not None:
            mount.unmount()
        else:
            from ._program import run
            run("umount", "--", path)
    return not os.path.ismount(path)


def mountpoint(folder: str, store: str) -> str:
    name = os.path.basename(os.path.normpath(store.split("?")[0])).removesuffix(".zarr") or "store"
    return os.path.join(folder, f"{name}.zarr")


if __name__ == "__main__":
    try:
        _keep(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4]))
    except Error as problem:
        sys.exit(str(problem))
