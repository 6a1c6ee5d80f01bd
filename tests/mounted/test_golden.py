"""Every golden array reads through the mount as zarr-python 3 reads it from the store."""
import functools
import json
import os

import pytest
from conftest import CORPUS, GOLDEN, read_all

with open(os.path.join(GOLDEN, "expected.json")) as text:
    EXPECTED = json.load(text)
STORES = sorted({name.split("/")[0] for name in EXPECTED})

read_once = functools.lru_cache(maxsize=None)(read_all)


def expected_of(store):
    return {name.split("/", 1)[1]: entry for name, entry in EXPECTED.items() if name.startswith(store + "/")}


def assert_equal(found, expected, context):
    wrong = {name: (found.get(name, "not shown"), entry) for name, entry in expected.items() if found.get(name) != entry}
    assert not wrong, f"{context}: {len(wrong)} of {len(expected)} arrays: " + json.dumps(wrong, indent=1)[:6000]
    assert set(found) == set(expected)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("reader", ["zarr2", "zarr2.18"])
def test_v2_view_reads_as_the_store(shared_mount, store, reader):
    mounted = shared_mount(os.path.join(GOLDEN, "stores", store), "view=v2")
    assert_equal(read_once(reader, mounted.path), expected_of(store), f"{reader} of {store}")


@pytest.mark.parametrize("store", STORES)
def test_v2_view_with_slashes_reads_as_the_store(shared_mount, store):
    mounted = shared_mount(os.path.join(GOLDEN, "stores", store), "view=v2,separator=/")
    assert_equal(read_once("zarr2", mounted.path), expected_of(store), f"zarr2 of {store} with '/'")


@pytest.mark.parametrize("store", STORES)
def test_v3_view_reads_as_the_store(shared_mount, store):
    mounted = shared_mount(os.path.join(GOLDEN, "stores", store), "view=v3")
    expected = expected_of(store)
    found = read_once("zarr3", mounted.path)
    by_tensorstore = read_once("tensorstore3", mounted.path)
    # What one of the two cannot open, the other must read.
    best = {name: entry if "error" not in entry else by_tensorstore[name] for name, entry in found.items()}
    assert_equal(best, expected, f"zarr-python 3 and TensorStore of {store}")


@pytest.mark.parametrize("store", STORES)
def test_no_sharding_is_left_in_the_v3_view(shared_mount, store):
    mounted = shared_mount(os.path.join(GOLDEN, "stores", store), "view=v3")
    for name in expected_of(store):
        with open(mounted / f"{name}/zarr.json") as document:
            assert "sharding_indexed" not in document.read(), name


# A store of Zarr v2, which passes through every view: the readers of Zarr v2 read it.
ZARR_V2 = "ome-0.4.zarr"
# What zarr-python 3.1 does not read, and why. In the v2 view it has another, regular grid.
REFUSED = {("zarr3", "rectilinear.zarr/by_month"): "it does not know rectilinear grids"}


def corpus_expected():
    with open(os.path.join(CORPUS, "expected.json")) as document:
        return json.load(document)


@pytest.fixture
def corpus():
    if not os.path.exists(os.path.join(CORPUS, "expected.json")):
        pytest.skip("the corpus is missing: set ZARRFS_CORPUS")
    return corpus_expected()


@pytest.mark.parametrize("reader,view", [("zarr2", "v2"), ("zarr2.18", "v2"), ("zarr3", "v3")])
def test_corpus_reads_as_the_stores(shared_mount, corpus, reader, view):
    wrong = {}
    roots = sorted({name.split("/")[0] if not name.startswith("zarr-java/ome") else "/".join(name.split("/")[:2])
                    for name in corpus})
    for root in roots:
        if view == "v3" and root.endswith(ZARR_V2):
            continue
        found = read_once(reader, shared_mount(os.path.join(CORPUS, root), f"view={view}").path)
        for name, entry in corpus.items():
            if name.split(root, 1)[0] or "sha256" not in entry or (view == "v3" and ZARR_V2 in name):
                continue
            wanted = {key: entry[key] for key in ("shape", "dtype", "sha256")}
            got = found.get(os.path.relpath(name, root), "not shown")
            if wanted["dtype"] == "StringDType()" and "dtype" in got:
                wanted["dtype"] = got["dtype"]  # how a reader holds strings is its own choice
            if (reader, name) in REFUSED:
                assert "sha256" not in got, f"{name} is no longer refused"
            elif got != wanted:
                wrong[name] = (got, wanted)
    assert not wrong, f"{len(wrong)} arrays: " + json.dumps(wrong, indent=1)[:6000]
