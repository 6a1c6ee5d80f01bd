"""What the tests of the tools stand on: the program, stores to run it on, and readers that nobody here wrote."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(ROOT, "tests", "golden", "stores")
CORPUS = os.environ.get("ZARRFS_CORPUS", os.path.join(ROOT, "..", "shared", "corpus"))
VENVS = os.environ.get("ZARRFS_VENVS", os.path.join(ROOT, "build", "venvs"))
ZARRFS = os.environ.get("ZARRFS_DAEMON", os.path.join(ROOT, "build", "release", "zarrfs"))
READ_STORE = os.path.join(ROOT, "tests", "readers", "read_store.py")
SKIPS_FAIL = os.environ.get("ZARRFS_NO_SKIPS") == "1"


def need(condition, reason):
    if not condition:
        (pytest.fail if SKIPS_FAIL else pytest.skip)(reason)


def python_of(environment):
    """The Python of an environment of packaging/install-test-readers. What only its `all` makes may be missing anywhere."""
    python = os.path.join(VENVS, environment, "bin", "python")
    if environment not in ("zarr2", "zarr3") and not os.path.exists(python):
        pytest.skip(f"{environment} is missing: run packaging/install-test-readers all")
    need(os.path.exists(python), f"{environment} is missing: run packaging/install-test-readers")
    return python


def run(*arguments, status=0):
    """The finished `zarrfs ARGUMENTS`, which must end with `status`."""
    command = [ZARRFS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=600)
    done.stdout_text, done.stderr_text = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout_text[-3000:]}\n{done.stderr_text[-3000:]}"
    return done


def run_json(*arguments, status=0):
    return json.loads(run(*arguments, "--json", status=status).stdout)


def read_all(python, reader, directory):
    """{array path: shape, type and hash of its values, or an error}, as `reader` gets them."""
    done = subprocess.run([python, READ_STORE, reader, str(directory)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def compared(values, wanted):
    """Of `values` those that are wanted, but for types that zarr-python itself cannot read (it hashes a void scalar)."""
    return {path: wanted[path] if "unhashable type" in values[path].get("error", "") else values[path] for path in wanted}


def readable(values):
    return {path: value for path, value in values.items() if "error" not in value}


def arrays_of(store):
    return {node["path"]: node for node in run_json("info", store)["nodes"] if node["kind"] == "array"}


def add_array(path, **changed):
    """A plain v3 array of one axis, of which only chunk 0 is stored; members of its document as `changed` says."""
    (path / "c").mkdir(parents=True)
    (path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [7], "data_type": "int16", "fill_value": 0, "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], **changed}))
    (path / "c" / "0").write_bytes(np.arange(3, dtype="<i2").tobytes())


class Shard:
    """A shard with its index at the end (little-endian, CRC-32C), taken apart by other means than the program's."""

    def __init__(self, path, entries):
        self.path, self.data = path, bytearray(open(path, "rb").read())
        self.index = np.frombuffer(self.data[-16 * entries - 4:-4], dtype="<u8").reshape(entries, 2).copy()
        self.body = self.data[:-16 * entries - 4]

    def write(self, body=None, checksum=None):
        index = self.index.astype("<u8").tobytes()
        checksum = crc32c(index) if checksum is None else checksum
        with open(self.path, "wb") as file:
            file.write(bytes(self.body if body is None else body) + index + checksum.to_bytes(4, "little"))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.fixture
def store(tmp_path):
    """A small sharded array "a" of a golden store, in a store of its own: (20, 30) in shards (8, 15) of chunks (4, 5)."""
    path = tmp_path / "store"
    path.mkdir()
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    shutil.copytree(os.path.join(GOLDEN, "sharding.zarr", "index_end"), path / "a")
    return path


sys.path.insert(0, HERE)
