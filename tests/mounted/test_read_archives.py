"""Archives as sources of mounts, and at servers."""
import errno
import json
import zipfile

import pytest
from places import pack
from test_remote import run, serve  # noqa: F401 (fixture)


def test_an_archive_without_a_node_at_its_root_is_one(serve, golden, tmp_path):
    """As a directory of stores is one. It is no file of another format, which its own first bytes would say."""
    (tmp_path / "data").mkdir()
    golden("sharding.zarr").rename(tmp_path / "data/inner.zarr")
    pack(tmp_path / "data", tmp_path / "many.zip")
    server = serve(tmp_path)
    for command in (["info"], ["verify", "--decode"]):
        run(*command, f"{server.url}/many.zip")
    run("diff", tmp_path / "data", f"{server.url}/many.zip")


def test_a_byte_that_changed_in_an_archive_is_no_value(mount, golden, tmp_path):
    """A chunk that is an entry of its own, and one that is read in many parts."""
    store = golden("sharding.zarr")
    large = store / "large"
    (large / "c").mkdir(parents=True)
    with open(store / "unsharded/zarr.json") as document:
        array = json.load(document)
    array.update(shape=[2 << 20], data_type="uint8", fill_value=0, codecs=[{"name": "bytes"}],
                 chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1 << 20]}}, chunk_key_encoding={"name": "default"})
    (large / "zarr.json").write_text(json.dumps(array))
    for name, number in (("0", 7), ("1", 8)):
        (large / "c" / name).write_bytes(bytes([number]) * (1 << 20))
    archive = pack(store, tmp_path / "store.zip")
    data = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        for name in ("unsharded/c/0/0", "large/c/0"):
            entry = opened.getinfo(name)
            data[entry.header_offset + 30 + len(name) + entry.file_size // 2] ^= 1
    archive.write_bytes(data)
    mounted = mount(str(archive), "view=v3", damaged=True)
    for chunk in ("unsharded/c/0/0", "large/c/0"):
        with pytest.raises(OSError) as refused:
            open(mounted / chunk, "rb").read()
        assert refused.value.errno == errno.EUCLEAN, chunk
    assert open(mounted / "large/c/1", "rb").read() == bytes([8]) * (1 << 20)
