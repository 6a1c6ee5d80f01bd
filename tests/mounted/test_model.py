"""Random changes through a mount, beside the same changes to a plain directory of chunk files: after each, both look alike.

ZARRFS_MODEL_SECONDS sets how long (CI: 20 s; by hand 600). The seed is printed; ZARRFS_SEED=N repeats a run.
"""
import json
import os
import random
import shutil
import subprocess
import time

from conftest import DAEMON, kill
from stores import document, write_json

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
SECONDS = float(os.environ.get("ZARRFS_MODEL_SECONDS", "20"))
CHUNK, ROWS, COLUMNS = 2, 9, 6


class Both:
    """The mount, and the model: {name: bytes} of the chunks and scratch files of the array "a", and its attributes."""

    def __init__(self, tmp_path, rng):
        self.store, self.mountpoint, self.log = str(tmp_path / "store"), str(tmp_path / "mnt"), str(tmp_path / "log")
        os.mkdir(self.mountpoint)
        self.rng, self.rows, self.columns = rng, ROWS, COLUMNS
        self.files, self.attributes, self.handles = {}, {}, []
        write_json(os.path.join(self.store, "zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
        write_json(os.path.join(self.store, "a/zarr.json"), document((ROWS * CHUNK, COLUMNS * CHUNK), (4 * CHUNK, 4 * CHUNK), (CHUNK, CHUNK)))
        self.mount()

    def mount(self):
        options = f"rw,flush_after={self.rng.choice(['0.005', '0.1', '3600'])},log={self.log}"
        done = subprocess.run([DAEMON, "mount", self.store, self.mountpoint, "-o", options], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr

    def path(self, name):
        return f"{self.mountpoint}/a/{name}"

    def chunk(self):
        return f"{self.rng.randrange(self.rows)}.{self.rng.randrange(self.columns)}"

    def scratch(self):
        return self.rng.choice(["x", "y.txt", "0.0.1f.partial", "1.1.__lock", "2.3.tmp"])

    def bytes(self):
        return self.rng.randbytes(4 * CHUNK * CHUNK)

    def put(self, name, data, flags=os.O_CREAT | os.O_TRUNC):
        descriptor = os.open(self.path(name), os.O_WRONLY | flags, 0o644)
        try:
            cut = self.rng.randrange(len(data) + 1)
            os.pwrite(descriptor, data[cut:], cut)
            os.pwrite(descriptor, data[:cut], 0)
            if self.rng.random() < 0.1:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.files[name] = data

    # The changes.

    def write_chunk(self):
        self.put(self.chunk(), self.bytes())

    def write_scratch(self):
        self.put(self.scratch(), self.bytes())

    def patch_chunk(self):
        name = self.chunk()
        if name not in self.files:
            return
        place, byte = self.rng.randrange(16), self.rng.randbytes(1)
        descriptor = os.open(self.path(name), os.O_RDWR)
        os.pwrite(descriptor, byte, place)
        assert os.pread(descriptor, 100, 0)[place:place + 1] == byte
        os.close(descriptor)
        self.files[name] = self.files[name][:place] + byte + self.files[name][place + 1:]

    def replace_chunk(self):
        source, target = self.scratch(), self.chunk()
        if source in self.files:
            os.replace(self.path(source), self.path(target))
            self.files[target] = self.files.pop(source)

    def link_chunk(self):
        source, target = self.scratch(), self.chunk()
        if source not in self.files:
            return
        try:
            os.link(self.path(source), self.path(target))
            assert target not in self.files
            self.files[target] = self.files[source]
        except FileExistsError:
            assert target in self.files

    def rename_scratch(self):
        source, target = self.scratch(), self.scratch()
        if source in self.files and source != target:
            os.replace(self.path(source), self.path(target))
            self.files[target] = self.files.pop(source)

    def remove(self):
        name = self.chunk() if self.rng.random() < 0.8 else self.scratch()
        try:
            os.unlink(self.path(name))
            assert name in self.files
            del self.files[name]
        except FileNotFoundError:
            assert name not in self.files

    def open_for_later(self):
        name = self.chunk()
        if name in self.files and len(self.handles) < 8:
            self.handles.append((os.open(self.path(name), os.O_RDONLY), self.files[name]))

    def read_handle(self):
        if self.handles:
            descriptor, data = self.handles.pop(self.rng.randrange(len(self.handles)))
            got = os.pread(descriptor, 100, 0)
            os.close(descriptor)
            # Only what was written in place while it was open may differ.
            assert len(got) == len(data)

    def set_attributes(self):
        self.attributes = {"n": self.rng.randrange(1000)}
        with open(self.path(".zattrs.1.partial"), "w") as text:
            json.dump(self.attributes, text)
        os.replace(self.path(".zattrs.1.partial"), self.path(".zattrs"))

    def resize(self):
        self.rows, self.columns = self.rng.randrange(1, 12), self.rng.randrange(1, 9)
        with open(self.path(".zarray")) as text:
            metadata = json.load(text)
        metadata["shape"] = [self.rows * CHUNK, self.columns * CHUNK]
        with open(self.path(".zarray"), "w") as text:
            json.dump(metadata, text)
        for name in list(self.files):
            parts = name.split(".")
            if len(parts) == 2 and all(part.isdigit() for part in parts):
                if int(parts[0]) >= self.rows or int(parts[1]) >= self.columns:
                    del self.files[name]

    def sync(self):
        done = subprocess.run([DAEMON, "sync", self.mountpoint], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (0, "")

    def close_handles(self):
        for descriptor, _ in self.handles:
            os.close(descriptor)
        self.handles = []

    def unmount(self):
        self.close_handles()
        done = subprocess.run([DAEMON, "umount", self.mountpoint], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        left = [n for _, folders, names in os.walk(self.store) for n in folders + names if n.startswith(".zarrfs")]
        assert left == [], left

    def remount(self):
        self.unmount()
        self.mount()

    def kill(self):
        self.close_handles()
        kill(int(os.getxattr(self.mountpoint, "user.zarrfs.process")))
        subprocess.run(["umount", "-l", self.mountpoint], check=True)
        for name in list(self.files):  # a scratch file survives only where it was synced
            if not all(part.isdigit() for part in name.split(".")):
                del self.files[name]
        self.mount()
        for name in os.listdir(f"{self.mountpoint}/a"):
            if not name.startswith(".z") and not all(part.isdigit() for part in name.split(".")):
                os.unlink(self.path(name))

    def compare(self, whole):
        listed = {name for name in os.listdir(f"{self.mountpoint}/a") if not name.startswith(".z")}
        assert listed == set(self.files), (sorted(listed - set(self.files)), sorted(set(self.files) - listed))
        for name in self.files if whole else self.rng.sample(sorted(self.files), min(3, len(self.files))):
            with open(self.path(name), "rb") as file:
                assert file.read() == self.files[name], name
            assert os.stat(self.path(name)).st_size == len(self.files[name]), name
        with open(self.path(".zattrs")) as text:
            assert json.load(text) == self.attributes


CHANGES = ([Both.write_chunk] * 12 + [Both.write_scratch] * 4 + [Both.patch_chunk] * 4 + [Both.replace_chunk] * 6 + [Both.link_chunk] * 2 +
           [Both.rename_scratch] + [Both.remove] * 8 + [Both.open_for_later, Both.read_handle] * 2 + [Both.set_attributes, Both.resize, Both.sync])


def test_a_mount_behaves_as_a_plain_directory(tmp_path):
    end, sequences, changes = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < end:
        seed = SEED + sequences
        rng = random.Random(seed)
        folder = tmp_path / str(sequences)
        folder.mkdir()
        both = Both(folder, rng)
        history = []
        try:
            for _ in range(rng.randrange(10, 200)):
                change = rng.choice(CHANGES) if rng.random() < 0.98 else rng.choice([Both.remount, Both.kill])
                history.append(change.__name__)
                change(both)
                both.compare(rng.random() < 0.05)
                changes += 1
            both.remount()
            both.compare(True)
            both.unmount()
        except BaseException:
            print(f"seed {seed}: {history[-30:]}")
            raise
        finally:
            both.close_handles()
            subprocess.run(["umount", "-l", both.mountpoint], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder)
        sequences += 1
    print(f"seed {SEED}: {sequences} sequences, {changes} changes")
    assert changes > 0
