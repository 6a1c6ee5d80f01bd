"""zarr-python 3's tests of a store (zarr.testing), for a LocalStore in the folder that pytest makes: see test_store_suite.py."""
from pathlib import Path

import pytest
from zarr.core.buffer import cpu
from zarr.storage import LocalStore
from zarr.testing.store import StoreTests


class TestLocalStore(StoreTests[LocalStore, cpu.Buffer]):
    store_cls = LocalStore
    buffer_cls = cpu.Buffer

    async def get(self, store, key):
        return self.buffer_cls.from_bytes((store.root / key).read_bytes())

    async def set(self, store, key, value):
        path = store.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value.to_bytes())

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"root": str(tmp_path)}

    def test_store_repr(self, store):
        assert str(store) == f"file://{Path(store.root).as_posix()}"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing
