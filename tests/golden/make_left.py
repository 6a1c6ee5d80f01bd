#!/usr/bin/env python3
"""Makes tests/golden/left_by_VERSION with the zarrfs of that version: what it leaves where it is killed, for later versions to take up.

    tests/golden/make_left.py ZARRFS FOLDER

local        the store of tests/mounted/stores.py, whose mount was killed with chunks in the log
bucket       the same store, as it was in a bucket when its mount was killed, and
spool        the spool of that mount: one directory, of the bucket's URL
source       Zarr v2, and
unfinished   what `shard` had made of it when it was killed
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "mounted"))

from object_server import KEY, SECRET, ObjectServer  # noqa: E402
from stores import SmallStore, write_file, write_json  # noqa: E402


def chunk(value):
    return int(value).to_bytes(4, "little") * 4


def write_and_kill(zarrfs, source, mountpoint, options):
    """Chunk 0.0 becomes 100, 0.1 (missing until then) 101, 2.2 (in a shard that is missing) 102; 1.1 is removed."""
    os.makedirs(mountpoint)
    subprocess.run([zarrfs, "mount", source, mountpoint, "-o", f"rw,profile=generic,flush_after=3600,{options}"], check=True)
    for name, value in (("0.0", 100), ("0.1", 101), ("2.2", 102)):
        with open(f"{mountpoint}/a/{name}", "wb") as file:
            file.write(chunk(value))
    os.unlink(f"{mountpoint}/a/1.1")
    listed = subprocess.run(["pgrep", "-f", f"{zarrfs} mount {source} {mountpoint}"], capture_output=True, text=True, check=True)
    for process in listed.stdout.split():
        os.kill(int(process), signal.SIGKILL)
    subprocess.run(["umount", "-l", mountpoint], check=True)


def left_locally(zarrfs, folder, work):
    store = SmallStore(work)
    write_and_kill(zarrfs, store.path, f"{work}/mnt", "")
    shutil.copytree(store.path, f"{folder}/local")


def left_in_a_spool(zarrfs, folder, work):
    store = SmallStore(work)
    server = ObjectServer(os.path.dirname(store.path), "bucket")
    os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_EC2_METADATA_DISABLED="true")
    write_and_kill(zarrfs, "s3://bucket/store", f"{work}/mnt", f"endpoint={server.url},region={server.region},spool={work}/spool")
    server.close()
    shutil.copytree(store.path, f"{folder}/bucket")
    (own,) = os.listdir(f"{work}/spool")
    shutil.copytree(f"{work}/spool/{own}", f"{folder}/spool")


def left_unfinished(zarrfs, folder, work):
    """64 chunks of 256 bytes; killed at its 6th shard of 16."""
    write_json(f"{work}/source/.zarray", {"zarr_format": 2, "shape": [64, 64], "chunks": [1, 64], "dtype": "<i4", "compressor": None,
                                          "fill_value": 0, "order": "C", "filters": None})
    for row in range(64):
        write_file(f"{work}/source/{row}.0", int(row).to_bytes(4, "little") * 64)
    command = ["strace", "-f", "-qq", "-e", "trace=renameat", "-e", "inject=renameat:signal=SIGKILL:when=6", "-o", "/dev/null",
               zarrfs, "shard", f"{work}/source", f"{work}/unfinished", "--shard-shape", "4x64", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0, done
    shutil.copytree(f"{work}/source", f"{folder}/source")
    shutil.copytree(f"{work}/unfinished", f"{folder}/unfinished")


def main():
    zarrfs, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(folder)
    for leave in (left_locally, left_in_a_spool, left_unfinished):
        with tempfile.TemporaryDirectory() as work:
            leave(zarrfs, folder, work)


if __name__ == "__main__":
    main()
