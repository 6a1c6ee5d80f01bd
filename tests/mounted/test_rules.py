"""The rules of POSIX for names, files and directories, after pjdfstest's list: every call has the same result and the same errno in a
plain directory of a mount as in one of the disk's; and random use of one open file (after fsx) gives the same bytes, for chunks as well."""
import errno
import os
import random
import stat

import pytest
from stores import SmallStore

LONG, TOO_LONG = "n" * 255, "n" * 256

# Each is a list of calls; what every one of them gives is compared. Paths are below a directory of its own.
RULES = {
    "open: a new name": [("open", "f", os.O_CREAT | os.O_WRONLY), ("stat", "f")],
    "open: O_EXCL of a name that is there": [("write", "f", b"1"), ("open", "f", os.O_CREAT | os.O_EXCL | os.O_WRONLY)],
    "open: O_EXCL of a directory": [("mkdir", "d"), ("open", "d", os.O_CREAT | os.O_EXCL | os.O_WRONLY)],
    "open: a directory for writing": [("mkdir", "d"), ("open", "d", os.O_WRONLY), ("open", "d", os.O_RDWR)],
    "open: O_DIRECTORY of a file": [("write", "f", b"1"), ("open", "f", os.O_RDONLY | os.O_DIRECTORY)],
    "open: O_TRUNC empties": [("write", "f", b"12345"), ("open", "f", os.O_WRONLY | os.O_TRUNC), ("stat", "f"), ("read", "f")],
    "open: no such name": [("open", "f", os.O_RDONLY), ("open", "d/f", os.O_CREAT | os.O_WRONLY)],
    "open: below a file": [("write", "f", b"1"), ("open", "f/g", os.O_RDONLY), ("open", "f/g", os.O_CREAT | os.O_WRONLY)],
    "open: names of 255 bytes and more": [("write", LONG, b"1"), ("read", LONG), ("write", TOO_LONG, b"1"), ("unlink", LONG)],
    "open: a name with a slash behind it": [("write", "f", b"1"), ("open", "f/", os.O_RDONLY)],
    "mkdir": [("mkdir", "d"), ("mkdir", "d"), ("stat", "d"), ("mkdir", "x/y"), ("write", "f", b""), ("mkdir", "f"), ("mkdir", "f/d"), ("mkdir", TOO_LONG)],
    "rmdir": [("mkdir", "d"), ("write", "d/f", b"1"), ("rmdir", "d"), ("unlink", "d/f"), ("rmdir", "d"), ("rmdir", "d"), ("write", "f", b""), ("rmdir", "f")],
    "rmdir: of . and ..": [("mkdir", "d"), ("rmdir", "d/."), ("mkdir", "d/e"), ("rmdir", "d/e/..")],
    "unlink": [("write", "f", b"1"), ("unlink", "f"), ("stat", "f"), ("unlink", "f"), ("mkdir", "d"), ("unlink", "d"), ("unlink", "f/g")],
    "rename: a file": [("write", "f", b"1"), ("rename", "f", "g"), ("stat", "f"), ("read", "g"), ("rename", "f", "h")],
    "rename: over a file": [("write", "f", b"1"), ("write", "g", b"22"), ("rename", "f", "g"), ("read", "g"), ("list", "")],
    "rename: to itself": [("write", "f", b"1"), ("rename", "f", "f"), ("read", "f")],
    "rename: a file over a directory": [("write", "f", b"1"), ("mkdir", "d"), ("rename", "f", "d"), ("list", "")],
    "rename: a directory over a file": [("write", "f", b"1"), ("mkdir", "d"), ("rename", "d", "f"), ("list", "")],
    "rename: over an empty directory": [("mkdir", "d"), ("mkdir", "e"), ("write", "d/f", b"1"), ("rename", "d", "e"), ("read", "e/f"), ("list", "")],
    "rename: over a full directory": [("mkdir", "d"), ("mkdir", "e"), ("write", "e/f", b"1"), ("rename", "d", "e"), ("list", "")],
    "rename: into itself": [("mkdir", "d"), ("mkdir", "d/e"), ("rename", "d", "d/e/f"), ("list", "d")],
    "rename: between directories": [("mkdir", "d"), ("mkdir", "e"), ("write", "d/f", b"1"), ("rename", "d/f", "e/g"), ("read", "e/g"), ("list", "d")],
    "rename: to where nothing is": [("write", "f", b"1"), ("rename", "f", "d/f"), ("rename", "f", TOO_LONG), ("read", "f")],
    "rename: of .": [("mkdir", "d"), ("rename", "d/.", "e")],
    "link": [("write", "f", b"1"), ("link", "f", "g"), ("stat", "f"), ("stat", "g"), ("unlink", "f"), ("read", "g"), ("stat", "g")],
    "link: taken, absent, of a directory": [("write", "f", b"1"), ("write", "g", b"2"), ("link", "f", "g"), ("link", "x", "y"), ("mkdir", "d"), ("link", "d", "e")],
    "truncate": [("write", "f", b"12345"), ("truncate", "f", 2), ("read", "f"), ("truncate", "f", 6), ("read", "f"), ("truncate", "x", 1), ("mkdir", "d"), ("truncate", "d", 1)],
    "chmod": [("write", "f", b"1"), ("chmod", "f", 0o600), ("stat", "f"), ("chmod", "f", 0o444), ("stat", "f"), ("mkdir", "d"), ("chmod", "d", 0o700), ("stat", "d"), ("chmod", "x", 0o600)],
    "utimensat": [("write", "f", b"1"), ("utime", "f", 10**9, 2 * 10**9), ("times", "f"), ("utime", "x", 1, 1), ("mkdir", "d"), ("utime", "d", 3 * 10**9, 4 * 10**9), ("times", "d")],
    "listing": [("mkdir", "d"), ("write", "d/b", b""), ("write", "d/a", b""), ("list", "d"), ("unlink", "d/b"), ("list", "d"), ("list", "x"), ("write", "f", b""), ("list", "f")],
    "a removed file that is open": [("keep", "f"), ("unlink", "f"), ("kept_stat", "f"), ("kept_write", "f", b"22"), ("kept_read", "f"), ("stat", "f")],
    "a replaced file that is open": [("keep", "f"), ("write", "g", b"other"), ("rename", "g", "f"), ("kept_write", "f", b"22"), ("kept_read", "f"), ("read", "f")],
    "access": [("write", "f", b"1"), ("access", "f", os.R_OK), ("access", "f", os.X_OK), ("access", "x", os.F_OK)],
}


class Caller:
    """Makes calls in `directory`, and tells what they gave."""

    def __init__(self, directory):
        self.directory, self.kept = directory, {}

    def call(self, what, name, *words):
        path = os.path.join(self.directory, name)
        try:
            given = getattr(self, what)(path, *words)
        except OSError as error:
            return errno.errorcode[error.errno]
        return given

    def open(self, path, flags):
        os.close(os.open(path, flags, 0o644))

    def write(self, path, data):
        with open(path, "wb") as file:
            file.write(data)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def stat(self, path):
        return self.facts(os.lstat(path))

    @staticmethod
    def facts(status):
        directory = stat.S_ISDIR(status.st_mode)
        # How many names a directory has, and how long it is, are its file system's own affair.
        return oct(status.st_mode), status.st_uid, status.st_gid, *(() if directory else (status.st_size, status.st_nlink))

    def times(self, path):
        status = os.lstat(path)
        return status.st_atime_ns, status.st_mtime_ns

    def list(self, path):
        return sorted(os.listdir(path))

    def utime(self, path, accessed, modified):
        os.utime(path, ns=(accessed, modified))

    def rename(self, path, to):
        os.rename(path, os.path.join(self.directory, to))

    def link(self, path, to):
        os.link(path, os.path.join(self.directory, to))

    def access(self, path, mode):
        return os.access(path, mode)

    def keep(self, path):
        self.kept[path] = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        os.write(self.kept[path], b"1111")

    def kept_stat(self, path):
        return self.facts(os.fstat(self.kept[path]))

    def kept_write(self, path, data):
        return os.pwrite(self.kept[path], data, 1)

    def kept_read(self, path):
        return os.pread(self.kept[path], 100, 0)

    def close(self):
        for descriptor in self.kept.values():
            os.close(descriptor)

    mkdir, rmdir, unlink, truncate, chmod = (staticmethod(call) for call in (os.mkdir, os.rmdir, os.unlink, os.truncate, os.chmod))


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def test_calls_have_the_results_of_a_plain_directory(mount, store, tmp_path):
    mounted = mount(store.path, "rw")
    wrong = []
    for number, (rule, calls) in enumerate(RULES.items()):
        callers = [Caller(os.path.join(str(place), f"rule{number}")) for place in (tmp_path, mounted.path)]
        for caller in callers:
            os.mkdir(caller.directory)
        for call in calls:
            plain, shown = (caller.call(*call) for caller in callers)
            if plain != shown:
                wrong.append(f"{rule}: {call[0]}{call[1:]}: {shown}, and on the disk {plain}")
        for caller in callers:
            caller.close()
    assert not wrong, "\n".join(wrong)


class Exerciser:
    """Random use of one file, and what it must hold."""

    def __init__(self, path, size, rng):
        self.path, self.size, self.rng, self.bytes = path, size, rng, bytearray()
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)

    def step(self):
        at, count = self.rng.randrange(self.size), self.rng.randrange(1, self.size)
        what = self.rng.choice(["write", "write", "read", "read", "truncate", "append", "reopen", "sync", "stat"])
        if what == "write":
            self.write(at, self.rng.randbytes(min(count, self.size - at)))
        elif what == "append":
            self.write(len(self.bytes), self.rng.randbytes(min(count, self.size - len(self.bytes))))
        elif what == "read":
            assert os.pread(self.descriptor, count, at) == self.bytes[at:at + count]
        elif what == "truncate":
            os.ftruncate(self.descriptor, at)
            self.bytes = self.bytes[:at] + bytes(max(0, at - len(self.bytes)))
        elif what == "reopen":
            self.make_whole()
            os.close(self.descriptor)
            self.descriptor = os.open(self.path, os.O_RDWR)
        elif what == "sync":
            self.make_whole()
            os.fsync(self.descriptor)
        else:
            assert os.fstat(self.descriptor).st_size == len(self.bytes)

    def write(self, at, data):
        assert os.pwrite(self.descriptor, data, at) == len(data)
        self.bytes += bytes(max(0, at + len(data) - len(self.bytes)))
        self.bytes[at:at + len(data)] = data

    def make_whole(self):
        """Of a chunk without a codec: one of another length is EINVAL at close(2) and fsync(2)."""
        self.write(0, self.rng.randbytes(self.size))

    def finish(self):
        self.make_whole()
        os.close(self.descriptor)
        return bytes(self.bytes)


@pytest.mark.parametrize("name, size", [("plain", 200_000), ("a/0.0", 2 * 2 * 4), ("a/3.3", 2 * 2 * 4), ("a/temporary", 5_000)])
def test_one_file_at_random_holds_what_was_written(mount, store, name, size):
    seed = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"ZARRFS_SEED={seed}")
    steps = int(os.environ.get("ZARRFS_STEPS", "400"))
    mounted = mount(store.path, "rw,flush_after=0.05", damaged=True)
    used = Exerciser(mounted / name, size, random.Random(seed))
    for _ in range(steps):
        used.step()
    written = used.finish()
    with open(mounted / name, "rb") as file:
        assert file.read() == written
    if name == "a/temporary":
        return
    mounted.unmount()
    with open(mount(store.path, "ro") / name, "rb") as file:
        assert file.read() == written
