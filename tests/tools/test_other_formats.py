"""What is no Zarr and is taken for it is named as what it is, with what reads it."""
import os

import pytest
from conftest import run

FILES = {
    "a.h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file", "h5py"),
    "block.nc": (bytes(1024) + b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file", "netCDF4"),
    "classic.nc": (b"CDF\x01" + bytes(100), "a netCDF file", "netCDF4"),
    "table.parquet": (b"PAR1" + bytes(100), "a Parquet file", "pyarrow"),
    "image.tif": (b"II*\0" + bytes(100), "a TIFF file", "tifffile"),
    "big.tiff": (b"MM\0+" + bytes(100), "a TIFF file", "tifffile"),
    "archive": (b"PK\x03\x04" + bytes(100), "a zip archive", ".zip"),
}
DIRECTORIES = {
    "ocdbt": ({"manifest.ocdbt": b"\x0c\xdb", "d/1": b""}, "an OCDBT database", "TensorStore"),
}


def make(folder, name):
    if name in FILES:
        (folder / name).write_bytes(FILES[name][0])
        return FILES[name][1:]
    for path, content in DIRECTORIES[name][0].items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_bytes(content)
    return DIRECTORIES[name][1:]


@pytest.mark.parametrize("name", [*FILES, *DIRECTORIES])
def test_what_a_source_is(tmp_path, name):
    what, reader = make(tmp_path, name)
    (tmp_path / "mnt").mkdir()
    for words in (["info"], ["verify"], ["ls"], ["map"], ["cat", "0.0"], ["locate", "0.0"], ["refs"], ["shard", tmp_path / "new"]):
        told = run(words[0], tmp_path / name, *words[1:], status=2).stderr_text
        assert f"{tmp_path / name}: is {what}" in told and reader in told, (words, told)
    assert not (tmp_path / "new").exists()
    told = run("mount", tmp_path / name, tmp_path / "mnt", "-o", "ro", status=3).stderr_text
    assert f"{tmp_path / name}: is {what}" in told and reader in told, told


def test_what_is_not_known_is_not_named(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "list.json").write_text('{"a": 1}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "repo").write_text("a folder of something")
    for name in ("text", "list.json"):
        assert "is not a directory" in run("info", tmp_path / name, status=2).stderr_text
    assert "no Zarr group or array at /" in run("info", tmp_path / "folder", status=2).stderr_text
    os.mkfifo(tmp_path / "pipe")
    assert "is not a directory" in run("info", tmp_path / "pipe", status=2).stderr_text
