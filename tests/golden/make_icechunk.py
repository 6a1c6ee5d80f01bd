"""Writes the golden repositories of Icechunk beside this file, and icechunk.json: what icechunk itself reads of each revision.

    build/venvs/icechunk/bin/python tests/golden/make_icechunk.py FOLDER     (icechunk 2: specification 2)
    build/venvs/icechunk1/bin/python tests/golden/make_icechunk.py FOLDER    (icechunk 1: specification 1)

Without FOLDER it is tests/golden. Run it there only to add something: they are committed, so that the tests do not depend on what today's writers do.
"""
import json
import os
import shutil
import sys

import icechunk
import numpy as np
import zarr

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "readers"))
from read_store import describe  # noqa: E402

SPECIFICATION = int(icechunk.__version__.split(".")[0])


def create(folder):
    """An empty repository in which chunks of up to 64 bytes are inline, and an array may have several manifests."""
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 64
    condition = {icechunk.ManifestSplitCondition.name_matches("split"): {icechunk.ManifestSplitDimCondition.Any(): 2}}
    config.manifest = icechunk.ManifestConfig(splitting=icechunk.ManifestSplittingConfig.from_dict(condition))
    return icechunk.Repository.create(icechunk.local_filesystem_storage(folder), config=config)


def first(store):
    group = zarr.group(store=store, attributes={"title": "golden"})
    plain = group.create_array("plain", shape=(6, 8), chunks=(3, 4), dtype="<i4", fill_value=7)
    plain[:3] = np.arange(24).reshape(3, 8)
    sharded = group.create_array("deep/sharded", shape=(8, 8), chunks=(2, 2), shards=(4, 8), dtype="<f8", fill_value=-1)
    sharded[:4] = np.arange(32).reshape(4, 8)
    group.create_array("time", shape=(5,), chunks=(5,), dtype="<i8")[:] = np.arange(5)
    group.create_array("scalar", shape=(), dtype="<i4")[...] = 42
    group.create_array("split", shape=(8, 8), chunks=(1, 8), dtype="|u1")[1:7] = 3
    group.create_array("empty", shape=(4,), chunks=(2,), dtype="<f4", fill_value=2)


def second(store):
    group = zarr.open_group(store)
    group["plain"][3:] = 1000
    group["deep/sharded"][2:6, 3:5] = 5
    group["time"].resize((7,))
    del group["empty"]


def contents(session):
    """{path: what icechunk reads}."""
    found = {}
    for path, node in zarr.open_group(session.store, mode="r").members(max_depth=None):
        if isinstance(node, zarr.Array):
            found[path] = describe(np.asarray(node[...]))
    return found


def main(folder):
    place = os.path.join(folder, f"icechunk{SPECIFICATION}")
    shutil.rmtree(place, ignore_errors=True)
    repository = create(place)
    session = repository.writable_session("main")
    first(session.store)
    begin = session.commit("first commit")
    repository.create_tag("v1", snapshot_id=begin)
    repository.create_branch("side", begin)
    session = repository.writable_session("main")
    second(session.store)
    repository_end = session.commit("second commit")
    revisions = {"branch=main": {"branch": "main"}, "branch=side": {"branch": "side"}, "tag=v1": {"tag": "v1"},
                 f"snapshot={begin}": {"snapshot_id": begin}, f"snapshot={repository_end}": {"snapshot_id": repository_end}}
    expected = {word: contents(repository.readonly_session(**how)) for word, how in revisions.items()}
    shutil.rmtree(os.path.join(place, "transactions"))
    shutil.rmtree(os.path.join(place, "overwritten"), ignore_errors=True)
    with open(os.path.join(folder, f"icechunk{SPECIFICATION}.json"), "w") as file:
        json.dump(expected, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:] or [HERE])
