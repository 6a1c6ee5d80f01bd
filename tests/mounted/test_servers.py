"""Writing to a real server (packaging/install-test-servers), behind a proxy that makes faults: run by hand, skipped where it is missing."""
import errno
import os
import random
import socket
import subprocess
import time

import pytest
from buckets import MountedBucket
from conftest import ROOT, Mount, kill, within
from fault_proxy import FaultProxy
from object_server import KEY, SECRET
from test_remote_writing import KILLS, SEED, Writer, count_from, data, own_files, publish, put

SERVERS = os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers"))


class RealBucket(MountedBucket):
    def __init__(self, folder, mount, proxy):
        super().__init__(folder, mount)
        self.proxy = proxy

    def options(self, spool, more="flush_after=3600"):
        return f"rw,endpoint={self.proxy.url},region=us-east-1,spool={self.folder}/{spool},revalidate=0,deadline=5,{more}"

    def stored(self):
        return self.chunks_through(self.mount("s3://bucket/store", f"endpoint={self.proxy.url},region=us-east-1,revalidate=0"))


@pytest.fixture
def bucket(tmp_path, mount, monkeypatch):
    program = os.path.join(SERVERS, "versitygw")
    if not os.path.exists(program):
        pytest.skip("versitygw is missing: packaging/install-test-servers")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.makedirs(tmp_path / "disk/bucket")
    server = subprocess.Popen([program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(tmp_path / "disk")],
                              env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}, cwd=tmp_path)
    within(20, lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
    proxy = FaultProxy(port)
    made = RealBucket(tmp_path, mount, proxy)
    with_array = made.open("maker")
    os.mkdir(with_array / "a")
    with open(with_array / "a/.zarray", "w") as file:
        file.write('{"zarr_format": 2, "shape": [8, 8], "chunks": [2, 2], "dtype": "<i4", "fill_value": 7, "order": "C", "compressor": null, "filters": null}')
    with_array.close()
    yield made
    try:
        made.close()
    finally:
        proxy.close()
        server.kill()
        server.wait()


def test_two_mounts_write_chunks_of_one_shard(bucket):
    one, two = bucket.open("one"), bucket.open("two", damaged=True)
    put(one, "0.0", 1)
    put(two, "0.1", 2)
    publish(one)
    publish(two)
    put(one, "0.2", 3)
    put(two, "0.2", 4)
    publish(one)
    publish(two)
    assert bucket.stored() == {"0.0": data(1), "0.1": data(2), "0.2": data(4)}
    assert "chunk 0.2 was written by another writer as well" in two.log_text()
    for chunk in ("0.0", "0.1", "0.2"):
        os.unlink(two / f"a/{chunk}")
    publish(two)
    assert bucket.stored() == {}


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 500}, {"status": 503}, {"cut": 3}, {"delay": 0.5}])
def test_answers_that_go_wrong(bucket, fault):
    mounted = bucket.open("one")
    rng = random.Random(SEED)
    bucket.proxy.fault = lambda method, path: fault if rng.random() < 0.2 else None
    for number in range(8):
        put(mounted, f"0.{number % 4}", number)
        publish(mounted)
    bucket.proxy.fault = None
    assert bucket.stored() == {f"0.{number % 4}": data(number) for number in range(4, 8)}


def test_two_mounts_that_are_killed_lose_nothing_that_was_closed(bucket, tmp_path):
    rng = random.Random(SEED)
    mine = {"one": ["0.0", "1.0", "2.0", "2.2"], "two": ["0.1", "1.1", "2.1", "3.3"]}
    sure = {chunk: None for chunks in mine.values() for chunk in chunks}
    counter, kills, closed = count_from(100), 0, 0

    def trouble(method, _):
        draw = rng.random()
        if method not in ("PUT", "DELETE") or draw > 0.2:
            return None
        return {"lost": True} if draw < 0.1 else {"status": 503}

    for round_number in range(max(4, KILLS // 5)):
        mounts = {}
        for spool in mine:
            options = bucket.options(spool, f"flush_after={rng.choice(['0.01', '0.05', '3600'])}")
            mounts[spool] = Mount("s3://bucket/store", tmp_path / f"kill_{spool}", tmp_path / f"kill_{spool}.log", options, damaged=True)
        bucket.proxy.fault = trouble
        writers = [Writer(mounted, mine[spool], rng, sure, counter) for spool, mounted in mounts.items()]
        processes = [int(os.getxattr(mounted.path, "user.zarrfs.process")) for mounted in mounts.values()]
        for writer in writers:
            writer.start()
        time.sleep(0.1 + rng.random() * 0.4)
        for process in processes:
            kill(process)
            kills += 1
        for writer, mounted in zip(writers, mounts.values()):
            writer.join(60)
            assert writer.error in (errno.ENOTCONN, errno.ECONNABORTED), f"seed {SEED}: {writer.error}"
            subprocess.run(["umount", "-l", mounted.path], check=False)
        bucket.proxy.fault = None
    for spool in mine:
        bucket.open(spool, damaged=True).close()
    stored = bucket.stored()
    wrong = {chunk: value for chunk, value in sure.items() if value is not None and stored.get(chunk) != data(value)}
    print(f"seed {SEED}: {kills} kills, {next(counter) - 101} writes, {bucket.proxy.requests} requests")
    assert not wrong, f"seed {SEED}: {wrong}"
    assert not own_files(tmp_path / "one") + own_files(tmp_path / "two")
