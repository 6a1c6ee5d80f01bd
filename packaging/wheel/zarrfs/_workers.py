"""A mount on each machine of a dask cluster. Needs dask.distributed: `pip install zarrfs[dask]`."""
from __future__ import annotations

import os
import time
import warnings
from typing import Any, Dict

from distributed import WorkerPlugin

from . import _keeper
from ._options import Option, PathLike, place, text_of
from ._parts import check_client
from ._program import MountWarning


class WorkerMount(WorkerPlugin):  # type: ignore[misc]
    """Mounts `store` on each machine that has workers of `client`, at the same path, which the `with` statement gives.

    All workers of a machine share one mount: it ends when the last of them lets it go or ends, also by kill -9. Workers that
    come later have it, too. `folder`: where mountpoints are made, on each machine; `options` are those of `zarrfs.mount`.
    """
    idempotent = True

    def __init__(self, store: PathLike, *, client: Any = None, folder: str = "/tmp", **options: Option) -> None:
        self.store = place(store)
        self.options = {name: text_of(value) for name, value in options.items()}
        self.name = f"zarrfs-{os.urandom(16).hex()}"
        self.folder = os.path.join(folder, self.name)
        self.path = _keeper.mountpoint(self.folder, self.store)
        self._client = client

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_client": None}

    def setup(self, worker: Any) -> None:
        _keeper.hold(self.folder, self.store, dict(self.options), str(worker.id))

    def teardown(self, worker: Any) -> None:
        _keeper.let_go(self.folder, str(worker.id))

    def __enter__(self) -> str:
        if self._client is None:
            raise ValueError("WorkerMount: client is None, so no worker is known that could mount")
        check_client(self._client)
        self._client.register_plugin(self, name=self.name)
        return self.path

    def __exit__(self, *problem: object) -> None:
        if self._client.status != "running":  # the mounts end with the workers
            return
        self._client.unregister_worker_plugin(self.name)
        for worker, gone in self._client.run(_wait_until_gone, self.folder).items():
            if not gone:
                warnings.warn(f"{worker}: {self.path} is still used: it is unmounted once nobody does", MountWarning, stacklevel=2)


def _wait_until_gone(folder: str, seconds: float = 30) -> bool:
    """A mount that a program still uses stays until it does not."""
    end = time.monotonic() + seconds
    while os.path.exists(folder) and time.monotonic() < end:
        time.sleep(0.1)
    return not os.path.exists(folder)
