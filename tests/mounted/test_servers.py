"""Writing to a real server (packaging/install-test-servers), behind a proxy that makes faults: run by hand, skipped where it is missing."""
import os
import random
import re
import socket
import subprocess
import time

import pytest
import versitygw
from buckets import MountedBucket
from conftest import DAEMON, KILLED, ROOT, Mount, kill, within
from fault_proxy import FaultProxy
from object_server import KEY, SECRET
from ports import free_port
from test_remote_writing import KILLS, SEED, Writer, count_from, data, own_files, publish, put

SERVERS = os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers"))


class RealBucket(MountedBucket):
    def __init__(self, folder, mount, proxy):
        super().__init__(folder, mount)
        self.proxy = proxy

    def options(self, spool, more="flush_after=3600"):
        return f"rw,endpoint={self.proxy.url},region=us-east-1,spool={self.folder}/{spool},revalidate=0,deadline=5,{more}"

    def reader(self):
        return self.mount("s3://bucket/store", f"endpoint={self.proxy.url},region=us-east-1,revalidate=0")

    def stored(self):
        return self.chunks_through(self.reader())

    def ask(self, method, path, body=b""):
        """The server's own answer, past the proxy."""
        return versitygw.ask(self.proxy.behind, method, path, body)

    def uploads(self):
        return re.findall(r"<UploadId>([^<]+)</UploadId>", self.ask("GET", "?uploads=").decode())

    def stored_size(self, key):
        return len(self.ask("GET", f"/store/{key}"))


@pytest.fixture(params=["versitygw"])
def server_program(request):
    """The name of a server, and its program."""
    program = os.path.join(SERVERS, request.param)
    if not os.path.exists(program):
        pytest.skip(f"{request.param} is missing: packaging/install-test-servers")
    return request.param, program


def start_server(name, program, folder, port):
    """A server of the bucket `bucket` below `folder`."""
    if name == "minio":
        line = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", f"{folder}/disk"]
    else:
        line = [program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", f"{folder}/disk"]
    environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET, "MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET}
    server = subprocess.Popen(line, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    within(60, lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
    return server


@pytest.fixture
def bucket(tmp_path, mount, monkeypatch, server_program):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    port = free_port()
    os.makedirs(tmp_path / "disk/bucket")
    server = start_server(*server_program, tmp_path, port)
    proxy = FaultProxy(port)
    made = RealBucket(tmp_path, mount, proxy)
    yield made
    try:
        made.close()
    finally:
        proxy.close()
        server.kill()
        server.wait()


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
            mounts[spool] = Mount("s3://bucket/store", tmp_path / f"kill_{spool}", tmp_path / f"kill_{spool}.log", options, damaged=True)
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
            assert writer.error in KILLED, f"seed {SEED}: {writer.error}"
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
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", bucket.folder / "mnt", "-o", bucket.options("one")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "removes objects though If-Match forbids it" in done.stderr, done.stderr
