"""Documents of nodes that are there are found at each moment, while they, and nodes beside them, are written: zarr-python 2 takes any failure of stat(2) for a group that is not there."""
import json
import os
import stat
import threading

import pytest
from test_as_written import GROUP, ZARRAY, make_store, stored_array, text_of
from test_netcdf import DefaultMount

ROUNDS = int(os.environ.get("ZARRFS_DOCUMENT_ROUNDS", "60"))
V3_ARRAY = stored_array([4], ["x"])


def replace(path, text):
    with open(path + ".partial", "w") as file:
        file.write(text)
    os.replace(path + ".partial", path)


def write_over(path, text):
    with open(path, "w") as file:
        file.write(text)


def write_v2(place, number, put):
    put(f"{place}/.zattrs", text_of({"Conventions": "CF-1.8", "number": number}))
    put(f"{place}/a/.zattrs", text_of({"_ARRAY_DIMENSIONS": ["x"], "number": number}))
    put(f"{place}/a/.zarray", text_of({**ZARRAY, "shape": [4 + number % 3]}))
    os.makedirs(f"{place}/made{number}", exist_ok=True)
    put(f"{place}/made{number}/.zarray", text_of(ZARRAY))
    put(f"{place}/.zmetadata", text_of({"zarr_consolidated_format": 1, "metadata": {}}))


def write_v3(place, number, put):
    put(f"{place}/zarr.json", text_of({**GROUP, "attributes": {"number": number}}))
    put(f"{place}/a/zarr.json", text_of({**V3_ARRAY, "attributes": {"number": number}}))
    os.makedirs(f"{place}/made{number}", exist_ok=True)
    put(f"{place}/made{number}/zarr.json", text_of(V3_ARRAY))


V2 = {".zgroup": "zarr_format", ".zattrs": "Conventions", "a/.zarray": "shape", "a/.zattrs": "_ARRAY_DIMENSIONS", "inner/.zgroup": "zarr_format",
      "inner/b/.zarray": "shape", ".zmetadata": "metadata"}  # with a member that it has at each moment
V3 = {"zarr.json": "node_type", "a/zarr.json": "shape", "inner/zarr.json": "node_type", "inner/b/zarr.json": "shape"}
VIEWS = {"": (write_v2, V2), "profile=xarray": (write_v2, V2), "view=v3": (write_v3, V3)}


@pytest.mark.parametrize("put", [replace, write_over])
@pytest.mark.parametrize("options", VIEWS)
def test_documents_are_found_while_they_are_written(tmp_path, options, put):
    write, members = VIEWS[options]
    watched = list(members)
    attributes = {"attributes": {"Conventions": "CF-1.8"}}
    make_store(tmp_path / "store", {"": {**GROUP, **attributes}, "a": V3_ARRAY, "inner": GROUP, "inner/b": V3_ARRAY})
    failures, looks, ended = [], [], threading.Event()

    def watch(place, names):
        count = 0
        while not ended.is_set() or count == 0:
            for name in names:
                try:
                    assert stat.S_ISREG(os.stat(f"{place}/{name}").st_mode), name
                    with open(f"{place}/{name}") as file:
                        text = file.read()
                    if put is replace:
                        assert members[name] in json.loads(text), (name, text)  # never a part of one, nor another one
                    count += 1
                except (OSError, AssertionError, ValueError) as failure:
                    failures.append(f"{name}: {failure!r}")
        looks.append(count)

    with DefaultMount(tmp_path / "store", tmp_path / "mnt", *filter(None, ["rw", options])) as place:
        threads = [threading.Thread(target=watch, args=(place, names)) for names in (watched, watched[::-1])]
        for thread in threads:
            thread.start()
        try:
            for number in range(ROUNDS):
                write(place, number, put)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    assert not failures, failures[:5]
    assert min(looks) >= len(watched)
