"""Mounts sharded Zarr v3 stores, so that programs that read Zarr v2, or v3 without sharding, read and write them.

    import xarray, zarrfs
    with zarrfs.mount("brain.zarr", profile="xarray") as path:
        xarray.open_zarr(path)

`mount` returns when the mount answers, and what it gives unmounts and puts what was written into its shards. It works in
notebooks (no `with` is needed) and with forked or spawned workers: they use the path, and only the process that has mounted
unmounts, at the latest when it exits.

`shard`, `unshard`, `reshard`, `verify` and `diff` are the commands of the same name, done by the workers of a dask cluster where they
are given its client, or in tasks for any other engine (`plan`, `run`); `WorkerMount` mounts on each machine of a dask cluster.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, NoReturn, Optional

from ._mount import Mount
from ._options import Option, PathLike
from ._parts import Cancelled, Plan, Task, diff, plan, reshard, run, shard, unshard, verify
from ._program import Error, FuseMissing, MountWarning, program, run_json

__all__ = ["Cancelled", "Error", "FuseMissing", "Mount", "MountWarning", "Plan", "Task", "WorkerMount", "diff", "info", "main", "mount", "mounts",
           "plan", "program", "reshard", "run", "shard", "unshard", "verify"]


def __getattr__(name: str) -> Any:
    if name == "WorkerMount":  # needs dask.distributed
        from ._workers import WorkerMount
        return WorkerMount
    raise AttributeError(f"module 'zarrfs' has no attribute {name!r}")


def mount(store: PathLike, mountpoint: Optional[PathLike] = None, *, stays: bool = False, **options: Option) -> Mount:
    """Mounts `store`: a directory, or what else `zarrfs mount` takes.

    `mountpoint`: an existing directory; otherwise a temporary one is made, whose name ends with ".zarr". `options` are those
    of `zarrfs mount -o`: `ro=True`, `profile="xarray"`, `rechunk=(1, 64, 64)`, `idle=600`; None and False leave one out.
    Numbers may be numpy's, and names of files paths.

    The mount ends with this process, also where that is killed (`ends_with`); with `stays=True` it goes on until it is unmounted.

    Raises Error with the daemon's words where it cannot be mounted, FuseMissing where this machine lacks FUSE. What the daemon
    says where it can, such as that it only reads, is a MountWarning.
    """
    return Mount(store, mountpoint, options, stays)


def mounts() -> List[Dict[str, Any]]:
    """The zarrfs mounts that this process sees: "source", "mountpoint" and whether it is "read_only"."""
    return run_json("mounts", "--json")["mounts"]


def info(store: PathLike, path: str = "") -> Dict[str, Any]:
    """What `store` holds at and below `path`, as `zarrfs info --json` tells it. Nothing is mounted."""
    return run_json("info", os.fspath(store), *([path] if path else []), "--json")


def main() -> NoReturn:
    """The command `zarrfs`."""
    os.execv(program(), ["zarrfs", *sys.argv[1:]])
