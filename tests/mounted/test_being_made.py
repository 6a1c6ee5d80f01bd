"""What programs are making, and have not closed yet, is listed, as in a plain directory."""
import json
import os

import pytest

from stores import SmallStore


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path / "store")


@pytest.mark.parametrize("separator", [".", "/"])
def test_what_is_being_made_is_listed_at_once(mount, store, separator):
    mounted = mount(store.path, f"rw,flush_after=3600,separator={separator}")
    name, folder = f"a/1{separator}0", "a/1" if separator == "/" else "a"
    os.unlink(mounted / name)
    leaf = os.path.basename(name)
    before = sorted(os.listdir(mounted / folder))
    assert leaf not in before
    descriptor = os.open(mounted / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    assert sorted(os.listdir(mounted / folder)) == sorted([*before, leaf])
    os.write(descriptor, bytes(5))
    with os.scandir(mounted / folder) as entries:
        found = {entry.name: (entry.stat().st_size, entry.inode() == entry.stat().st_ino) for entry in entries}
    assert found[leaf] == (5, True)
    listing = os.scandir(mounted / folder)  # begun before it is closed, and read after it
    os.pwrite(descriptor, store.chunk(1, 0), 0)
    os.close(descriptor)
    assert sorted(entry.name for entry in listing) == sorted([*before, leaf]), "once"
    assert sorted(os.listdir(mounted / folder)) == sorted([*before, leaf])
    os.unlink(mounted / name)
    assert sorted(os.listdir(mounted / folder)) == before
    os.mkdir(mounted / "new")
    with open(mounted / "new/.zarray", "w") as document:
        assert os.listdir(mounted / "new") == [".zarray"] and os.stat(mounted / "new/.zarray").st_size == 0
        document.write("{")
        document.flush()
        assert os.stat(mounted / "new/.zarray").st_size == 1
        os.unlink(mounted / "new/.zarray")
        assert os.listdir(mounted / "new") == []
    with open(mounted / "a/.zattrs", "w") as attributes:
        attributes.write("{}")
        assert os.listdir(mounted / "a").count(".zattrs") == 1


@pytest.mark.parametrize("fill", ["0", "-1", "null"])
@pytest.mark.parametrize("profile", ["generic", "ome", "xarray", "gdal"])
def test_no_attributes_are_there_before_a_program_writes_them(mount, tmp_path, profile, fill):
    """`cp -n`, `tar -k` and zarr.copy_store leave alone what is there."""
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", f"rw,profile={profile}")
    os.mkdir(mounted / "a")
    with open(mounted / "a/.zarray", "w") as document:
        document.write('{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":%s,"order":"C","filters":null,"compressor":null}' % fill)
    assert os.listdir(mounted / "a") == [".zarray"]
    descriptor = os.open(mounted / "a/.zattrs", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(descriptor, b'{"units": "m", "_ARRAY_DIMENSIONS": ["x"]}')
    os.close(descriptor)
    mounted.unmount()
    again = mount(tmp_path / "store", f"ro,profile={profile}")
    with open(again / "a/.zattrs") as attributes:
        found = json.load(attributes)
    assert (found["units"], found["_ARRAY_DIMENSIONS"]) == ("m", ["x"])
