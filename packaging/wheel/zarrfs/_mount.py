"""A mount that belongs to one Python process."""
from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import re
import tempfile
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Type

from ._options import Option, PathLike, option_list
from ._program import Error, MountWarning, check_fuse, run, run_and_hear

_here: "weakref.WeakSet[Mount]" = weakref.WeakSet()

# What a mount says that nobody needs to be warned of: that it writes, as what it shows what, and how much.
_EXPECTED = re.compile(r"(read and write(, |$))?(profile \w+ \(.*?\), (no arrays|(more than )?\d+ arrays?)(, |$))?")


def _warn(said: str) -> None:
    """Tells, as warnings of who mounts, what the daemon said when it mounted."""
    for line in said.splitlines():
        line = _EXPECTED.sub("", line.removeprefix("zarrfs: "), count=1)
        if line:
            warnings.warn(line, MountWarning, stacklevel=4)


class Mount:
    """A mounted store: a path (os.PathLike), and in a `with` statement the path as a string.

    Only the process that has mounted unmounts: a forked child has a copy of this object that does nothing. The mount ends
    with that process, however it ends; with `stays` it does not, and `unmount` or `zarrfs umount` ends it.
    """

    def __init__(self, store: PathLike, mountpoint: Optional[PathLike], options: Mapping[str, Option], stays: bool = False) -> None:
        check_fuse()
        self.store = os.fspath(store)
        self._process = os.getpid()
        self._mounted = False
        self._lock = threading.Lock()
        self._folder: Optional[str] = None
        if mountpoint is None:
            name = os.path.basename(os.path.normpath(self.store.split("?")[0])).removesuffix(".zarr") or "store"
            self._folder = tempfile.mkdtemp(prefix="zarrfs-")
            mountpoint = os.path.join(self._folder, f"{name}.zarr")
            os.mkdir(mountpoint)
        self.path = os.path.abspath(os.fspath(mountpoint))
        of_itself: Dict[str, Option] = {"temporary": self._folder is not None, "ends_with": None if stays else self._process}
        chosen = option_list({**of_itself, **options})
        try:
            said = run_and_hear("mount", *(["-o", chosen] if chosen else []), "--", self.store, self.path)
        except BaseException:
            self._remove_folder()
            raise
        self._mounted = True
        if not stays:
            _here.add(self)
        _warn(said)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<zarrfs.Mount {self.store!r} on {self.path!r}{'' if self.mounted else ', unmounted'}>"

    @property
    def mounted(self) -> bool:
        """Whether this process has it mounted."""
        return self._mounted and self._process == os.getpid()

    def sync(self) -> None:
        """Puts what was written into its shards. Raises Error with what cannot be."""
        run("sync", "--", self.path)

    def statistics(self) -> Dict[str, Any]:
        """The counters of the mount."""
        return self._document("stats.json")

    def report(self) -> Dict[str, Any]:
        """How each array met so far is shown, and which faults were met."""
        return self._document("report.json")

    def unmount(self) -> None:
        """Puts what was written into its shards, unmounts, and waits until that is done.

        Raises Error where a program still uses it (it stays mounted), or where something could not be put into its shards.
        Does nothing where it is unmounted, or in a forked child.
        """
        with self._lock:
            if not self.mounted:
                return
            try:
                self._unmount()
            finally:
                if not os.path.ismount(self.path):
                    self._mounted = False
                    _here.discard(self)
                    self._remove_folder()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.unmount()
        except Error as problem:
            if error is None:
                raise
            warnings.warn(f"zarrfs: {problem}", RuntimeWarning, stacklevel=2)

    def _unmount(self) -> None:
        if not os.path.ismount(self.path):
            return  # somebody else did, or it was idle
        try:
            run("umount", "--", self.path)
        except Error:
            # Arrays and datasets that nobody refers to any more may still have files open.
            gc.collect()
            if not os.path.ismount(self.path):
                raise
            run("umount", "--", self.path)

    def _document(self, name: str) -> Dict[str, Any]:
        with open(os.path.join(self.path, ".zarrfs", name), encoding="utf-8") as text:
            document: Dict[str, Any] = json.load(text)
            return document

    def _remove_folder(self) -> None:
        if self._folder is None:
            return
        for folder in (self.path, self._folder):  # empty, or something is still mounted there
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _unmount_all() -> None:
    for mount in list(_here):
        try:
            mount.unmount()
        except Error as problem:
            warnings.warn(f"zarrfs: {problem}", RuntimeWarning, stacklevel=1)


atexit.register(_unmount_all)
