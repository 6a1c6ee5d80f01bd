"""Writing to a real server (packaging/install-test-servers), behind a proxy that makes faults: run by hand, skipped where it is missing."""
import base64
import os
import random
import re
import socket
import subprocess
import time
import urllib.parse

import azure_server
import azurite
import pytest
import versitygw
from buckets import MountedBucket
from conftest import DAEMON, ROOT, Mount, is_of_killed, kill, within
from fault_proxy import FaultProxy
from object_server import KEY, SECRET
from ports import free_port
from test_remote_writing import KILLS, SEED, Writer, count_from, data, own_files, publish, put

SERVERS = os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers"))
S3 = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": ""}


class RealBucket(MountedBucket):
    """Of a server that speaks S3."""

    def __init__(self, folder, mount, proxy, server):
        super().__init__(folder, mount)
        self.proxy, self.server = proxy, server

    def place(self):
        return f"endpoint={self.proxy.url},region=us-east-1"

    def options(self, spool, more="flush_after=3600"):
        return f"rw,{self.place()},spool={self.folder}/{spool},revalidate=0,deadline={self.deadline},{more}"

    def reader(self):
        return self.mount(self.url, f"{self.place()},revalidate=0")

    def stored(self):
        return self.chunks_through(self.reader())

    def ask(self, method, path, body=b""):
        """The server's own answer, past the proxy."""
        return self.server.ask(method, path, body)

    def uploads(self):
        """What was begun in parts and is neither complete nor aborted."""
        return re.findall(r"<UploadId>([^<]+)</UploadId>", self.ask("GET", "?uploads=").decode())

    def stored_size(self, key):
        return len(self.ask("GET", f"/store/{key}"))

    deadline, shortest_deadline = 5, 1  # seconds; the shortest in which it answers for sure
    # Of what is put in parts: the requests that change something, in order.
    steps = ("begun", "copied", "sent", "complete")

    @staticmethod
    def step(method, path):
        """Which of the steps of an upload of two parts a request is; nothing where it is none."""
        return ("begun" if path.endswith("uploads=") else "sent" if "partNumber=2" in path else "copied" if "partNumber=1&" in path
                else "complete" if method == "POST" else None)


class RealContainer(RealBucket):
    """Of Azure: blocks that are in no list count for nothing, and nobody can take them away."""
    url = f"az://{azure_server.ACCOUNT}/{azure_server.CONTAINER}/store"
    deadline, shortest_deadline = 60, 20  # Azurite copies 20 MB/s
    steps = ("copied", "sent", "complete")

    @staticmethod
    def step(method, path):
        if method == "PUT" and path.endswith("comp=blocklist"):
            return "complete"
        block = re.search("comp=block&blockid=(.+)", path)
        number = block and base64.b64decode(urllib.parse.unquote(block[1])).decode()[-7:]
        return {"0000001": "copied", "0000002": "sent"}.get(number)

    def place(self):
        return f"endpoint={self.proxy.url}"

    def uploads(self):
        return []


class Minio:
    def __init__(self, folder):
        self.folder, self.port = str(folder), free_port()

    def __enter__(self):
        os.makedirs(os.path.join(self.folder, "bucket"))
        line = [os.path.join(SERVERS, "minio"), "server", "--quiet", "--address", f"127.0.0.1:{self.port}", self.folder]
        self.process = subprocess.Popen(line, env={**os.environ, "MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET}, cwd=self.folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        within(60, lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()


# The server, what a bucket there is to tests, and what mounts find in the environment.
KINDS = {"versitygw": (versitygw.Versitygw, RealBucket, S3), "minio": (Minio, RealBucket, S3),
         "azurite": (azurite.Azurite, RealContainer, {"AZURE_STORAGE_KEY": azure_server.KEY})}


@pytest.fixture(params=["versitygw", "azurite"])
def server_program(request):
    """The name of a server that is here."""
    if not os.path.exists(os.path.join(SERVERS, request.param)):
        pytest.skip(f"{request.param} is missing: packaging/install-test-servers")
    return request.param


@pytest.fixture
def bucket(tmp_path, mount, monkeypatch, server_program):
    program, kind, environment = KINDS[server_program]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with program(tmp_path / "disk") as server:
        proxy = FaultProxy(server.port)
        made = kind(tmp_path, mount, proxy, server)
        yield made
        try:
            made.close()
        finally:
            proxy.close()


@pytest.fixture
def small(bucket):
    """With the array `a`."""
    with_array = bucket.open("maker")
    os.mkdir(with_array / "a")
    with open(with_array / "a/.zarray", "w") as file:
        file.write('{"zarr_format": 2, "shape": [8, 8], "chunks": [2, 2], "dtype": "<i4", "fill_value": 7, "order": "C", "compressor": null, "filters": null}')
    with_array.close()
    return bucket


def test_two_mounts_write_chunks_of_one_shard(small):
    one, two = small.open("one"), small.open("two", damaged=True)
    put(one, "0.0", 1)
    put(two, "0.1", 2)
    publish(one)
    publish(two)
    put(one, "0.2", 3)
    put(two, "0.2", 4)
    publish(one)
    publish(two)
    assert small.stored() == {"0.0": data(1), "0.1": data(2), "0.2": data(4)}
    assert "chunk 0.2 was written by another writer as well" in two.log_text()
    for chunk in ("0.0", "0.1", "0.2"):
        os.unlink(two / f"a/{chunk}")
    publish(two)
    assert small.stored() == {}


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 500}, {"status": 503}, {"cut": 3}, {"delay": 0.5}])
def test_answers_that_go_wrong(small, fault):
    mounted = small.open("one")
    rng = random.Random(SEED)
    small.proxy.fault = lambda method, path: fault if rng.random() < 0.2 else None
    for number in range(8):
        put(mounted, f"0.{number % 4}", number)
        publish(mounted)
    small.proxy.fault = None
    assert small.stored() == {f"0.{number % 4}": data(number) for number in range(4, 8)}


def test_two_mounts_that_are_killed_lose_nothing_that_was_closed(small, tmp_path):
    rng = random.Random(SEED)
    mine = {"one": ["0.0", "1.0", "2.0", "2.2"], "two": ["0.1", "1.1", "2.1", "3.3"]}
    sure = {chunk: None for chunks in mine.values() for chunk in chunks}
    counter, kills, closed = count_from(100), 0, 0

    def trouble(method, _):
        draw = rng.random()
        if method not in ("PUT", "DELETE") or draw > 0.2:
            return None
        return {"lost": True} if draw < 0.1 else {"status": 503}

    for _ in range(max(4, KILLS // 2)):
        mounts = {}
        for spool in mine:
            options = small.options(spool, f"flush_after={rng.choice(['0.01', '0.05', '3600'])}")
            mounts[spool] = Mount(small.url, tmp_path / f"kill_{spool}", tmp_path / f"kill_{spool}.log", options, damaged=True)
        small.proxy.fault = trouble
        writers = [Writer(mounted, mine[spool], rng, sure, counter) for spool, mounted in mounts.items()]
        processes = [int(os.getxattr(mounted.path, "user.zarrfs.process")) for mounted in mounts.values()]
        for writer in writers:
            writer.start()
        time.sleep(0.1 + rng.random() * 0.4)  # killed at any moment
        for process in processes:
            kill(process)
            kills += 1
        for writer, mounted in zip(writers, mounts.values()):
            writer.join(60)
            assert is_of_killed(writer.error, mounted.log), f"seed {SEED}: {writer.error}"
            subprocess.run(["umount", "-l", mounted.path], check=False)
        small.proxy.fault = None
    for spool in mine:
        small.open(spool, damaged=True).close()
    stored = small.stored()
    wrong = {chunk: value for chunk, value in sure.items() if value is not None and stored.get(chunk) != data(value)}
    print(f"seed {SEED}: {kills} kills, {next(counter) - 101} writes, {small.proxy.requests} requests")
    assert not wrong, f"seed {SEED}: {wrong}"
    assert not own_files(tmp_path / "one") + own_files(tmp_path / "two")


@pytest.mark.parametrize("server_program", ["minio"], indirect=True)
def test_minio_is_refused_by_name(bucket):
    """It removes objects whatever If-Match says."""
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", bucket.url, bucket.folder / "mnt", "-o", bucket.options("one")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "removes objects though If-Match forbids it" in done.stderr, done.stderr
