"""Blosc2's arrays (b2nd): each file reads as python-blosc2 reads it, and damage is never a value; without libblosc2 they are hidden by name."""
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import DAEMON, GOLDEN, read_all

FOLDER = os.path.join(GOLDEN, "blosc2")
with open(os.path.join(GOLDEN, "blosc2.json")) as text:
    EXPECTED = json.load(text)
DECODES = "libblosc2" in subprocess.run(["ldd", DAEMON], capture_output=True, text=True).stdout


def hidden_of(mounted):
    return {node["path"].strip("/"): node["reason"] for node in mounted.report()["nodes"] if node["shown"] == "hidden"}


@pytest.mark.parametrize("reader, options", [("zarr2", "view=v2"), ("zarr3", "view=v3"), ("tensorstore3", "view=v3")])
def test_files_are_arrays(shared_mount, reader, options):
    mounted = shared_mount(FOLDER, options)
    found = read_all(reader, mounted.path)
    if not DECODES:
        assert found == {} and set(hidden_of(mounted)) == set(EXPECTED)
        assert all("blosc2" in reason for reason in hidden_of(mounted).values())
        return
    expected = dict(EXPECTED)
    if reader == "tensorstore3":  # it has neither text nor dates
        expected = {name: entry for name, entry in expected.items() if name not in ("bytes.b2nd", "dates.b2nd")}
    wrong = {name: found.get(name, "not shown") for name, entry in expected.items() if found.get(name) != entry}
    assert not wrong, json.dumps(wrong, indent=1)[:4000]


def test_a_file_may_be_the_whole_source(mount, tmp_path):
    source = os.path.join(FOLDER, "plane.b2nd")
    if not DECODES:
        refused = subprocess.run([DAEMON, "mount", source, tmp_path, "-o", "ro"], capture_output=True, text=True)
        assert refused.returncode != 0 and "blosc2" in refused.stderr
        return
    mounted = mount(source, "view=v2,separator=.")
    with open(mounted / ".zarray") as document:
        assert json.load(document)["shape"] == [17, 9]
    assert os.path.getsize(mounted / "0.0") == 8 * 4 * 2
    with pytest.raises(OSError):
        open(mounted / "0.0", "wb")


def test_an_array_of_records_is_hidden_by_name(mount, tmp_path):
    with open(os.path.join(FOLDER, "plane.b2nd"), "rb") as file:
        data = file.read()
    os.makedirs(tmp_path / "data")
    (tmp_path / "data/a.b2nd").write_bytes(data.replace(b"\xdb\0\0\0\x03<i2", b"\xdb\0\0\0\x03(i2"))
    (tmp_path / "data/note.b2nd").write_text("no frame at all")
    mounted = mount(tmp_path / "data", "view=v2")
    assert sorted(os.listdir(mounted.path))[-1] == "note.b2nd"
    assert "(i2" in hidden_of(mounted)["a.b2nd"]


def chunks_of(mounted, name):
    """{key: bytes, or the error} of all chunks; None where the array is not shown."""
    try:
        with open(mounted / f"{name}/.zarray") as document:
            found = json.load(document)
    except OSError:
        return None
    chunks = {}
    for index in np.ndindex(*(-(-size // edge) for size, edge in zip(found["shape"], found["chunks"]))):
        key = ".".join(map(str, index))
        try:
            with open(mounted / f"{name}/{key}", "rb") as file:
                chunks[key] = file.read()
        except OSError as error:
            chunks[key] = error.errno
    return chunks


@pytest.mark.parametrize("name", ["volume.b2nd", "zeros.b2nd", "zstd-shuffle.b2nd"])
def test_damage_is_an_error_and_never_absence(mount, shared_mount, tmp_path, name):
    if not DECODES:
        assert name in hidden_of(shared_mount(FOLDER, "view=v2"))
        return
    truth = chunks_of(shared_mount(FOLDER, "view=v2,separator=."), name)
    with open(os.path.join(FOLDER, name), "rb") as file:
        data = file.read()
    header = int.from_bytes(data[11:15], "big")
    chunks = int.from_bytes(data[39:47], "big")
    index = header + chunks
    harms = {
        "cut in the index": data[:index + 10], "cut in the chunks": data[:header + chunks // 2], "cut in the header": data[:100], "empty": b"",
        "index of ones": data[:index + 32] + b"\xff" * (len(data) - index - 32), "size of a chunk": data[:header + 12] + b"\xff" * 4 + data[header + 16:],
        "blocks of a chunk": data[:header + 32] + b"\xff" * 16 + data[header + 48:], "shape": data[:115] + b"\x7f" + data[116:],
    }
    os.makedirs(tmp_path / "data")
    for number, harm in enumerate(harms.values()):
        (tmp_path / "data" / f"{number}.b2nd").write_bytes(harm)
    shutil.copy(os.path.join(FOLDER, name), tmp_path / "data" / "whole.b2nd")
    mounted = mount(tmp_path / "data", "view=v2,separator=.", damaged=True)
    assert chunks_of(mounted, "whole.b2nd") == truth
    for number, harm in enumerate(harms):
        found = chunks_of(mounted, f"{number}.b2nd") or {}
        wrong = {key: value for key, value in found.items() if isinstance(value, bytes) and value != truth.get(key, value)}
        assert not wrong, f"{harm}: other values of {sorted(wrong)}"
        assert 2 not in found.values(), f"{harm}: a chunk is absent"


def test_shard_makes_it_zarr_for_good(tmp_path, shared_mount):
    target = tmp_path / "zarr"
    done = subprocess.run([DAEMON, "shard", FOLDER, target], capture_output=True, text=True)
    if not DECODES:
        assert "blosc2" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = read_all("zarr3", target)
    assert {name: entry for name, entry in found.items() if entry != EXPECTED[name]} == {}
    assert set(found) == set(EXPECTED)
