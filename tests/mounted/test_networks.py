"""Two mounts of one bucket, each in a network of its own with a spool of its own, whose links are cut while they write: nothing that was closed is lost.

`ZARRFS_CUTS=200` for the long form. Skipped where this user may make no networks, and for versitygw and Azurite where they are missing (packaging/install-test-servers).
"""
import errno
import os
import random
import subprocess
import sys
import threading
import time

import azure_server
import azurite
import pytest
import versitygw
from conftest import DAEMON, within
from networks import Network
from object_server import ObjectServer
from stores import SmallStore
from test_remote_writing import SEED, Bucket, count_from, credentials, data, own_files, put  # noqa: F401, one is a fixture

CUTS = int(os.environ.get("ZARRFS_CUTS", "6"))
MINE = {"one": ["0.0", "1.0", "2.0", "2.2"], "two": ["0.1", "1.1", "2.1", "3.3"]}


@pytest.fixture
def networks():
    try:
        made = [Network(1)]
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this user may make no networks (ip netns add): {getattr(error, 'stderr', error)}")
    try:
        made.append(Network(2))
        yield dict(zip(MINE, made))
    finally:
        for network in made:
            network.remove()


class Networks(Bucket):
    """The small server of the tests."""
    region = ",region=us-east-1"

    def __init__(self, folder, mount, networks):
        self.folder, self.mount, self.mounts, self.networks = folder, mount, [], networks
        self.store = SmallStore(folder)
        self.start()

    def start(self):
        self.server = ObjectServer(os.path.dirname(self.store.path), "bucket", host="0.0.0.0")
        self.region = f",region={self.server.region}"
        self.port = self.server.server_address[1]

    def stop(self):
        self.server.close()

    def open_in(self, name, more):
        network = self.networks[name]
        options = (f"rw,endpoint=http://{network.here}:{self.port}{self.region},spool={self.folder}/{name},"
                   f"deadline=2,{more}")
        self.mounts.append(self.mount(self.url, options, damaged=True, prefix=network.prefix()))
        return self.mounts[-1]


class RealNetworks(Networks):
    """versitygw."""
    program = versitygw.Versitygw

    def start(self):
        self.server = self.program(os.path.join(self.folder, "disk"), "0.0.0.0").__enter__()
        self.port = self.server.port
        self.server.put(self.store.path, "store")

    def stop(self):
        self.server.__exit__()

    def stored(self):
        return self.chunks_through(self.mount(self.url, f"endpoint={self.server.url}{self.region}"))


class AzureNetworks(RealNetworks):
    """Azurite."""
    program, url, region = azurite.Azurite, f"az://{azure_server.ACCOUNT}/{azure_server.CONTAINER}/store", ""


PLACES = {"small": Networks, "versitygw": RealNetworks, "azurite": AzureNetworks}


@pytest.fixture(params=PLACES)
def bucket(request, tmp_path, mount, networks, monkeypatch):
    program = getattr(PLACES[request.param], "program", None)
    if program and not os.path.exists(sys.modules[program.__module__].PROGRAM):  # takes long to install: not part of the usual tests
        pytest.skip(f"{request.param} is missing: packaging/install-test-servers")
    monkeypatch.setenv("AZURE_STORAGE_KEY", azure_server.KEY)
    made = PLACES[request.param](tmp_path, mount, networks)
    yield made
    try:
        for network in networks.values():
            network.set("up")
        made.close()
    finally:
        made.stop()


class Writer(threading.Thread):
    """Writes its own chunks until it is told to end. `sure`: acknowledged; nothing where either value will do."""

    def __init__(self, mounted, chunks, sure, counter):
        super().__init__()
        self.mounted, self.chunks, self.sure, self.counter = mounted, chunks, sure, counter
        self.random, self.ends, self.refused, self.written, self.wrong = random.Random(f"{SEED} {chunks}"), False, 0, 0, []

    def run(self):
        while not self.ends:
            chunk, value = self.random.choice(self.chunks), next(self.counter)
            try:
                put(self.mounted, chunk, value, sync=self.random.random() < 0.2)
                self.sure[chunk] = value
                self.written += 1
            except OSError as error:
                self.sure[chunk] = None
                self.refused += 1
                if error.errno not in (errno.EIO, errno.ESTALE, errno.EBUSY):
                    self.wrong.append(error)
                time.sleep(0.01)


def is_published(mounted):
    return subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, timeout=600).returncode == 0


def test_networks_that_are_cut_lose_nothing_that_was_closed(bucket):
    rng, sure, lock = random.Random(SEED), {}, threading.Lock()
    numbers = count_from(100)

    class Counter:
        def __next__(self):
            with lock:
                return next(numbers)

    counter = Counter()
    mounts = {name: bucket.open_in(name, "flush_after=0.05,revalidate=60") for name in MINE}
    writers = [Writer(mounts[name], MINE[name], sure, counter) for name in MINE]
    for writer in writers:
        writer.start()
    for _ in range(CUTS):
        cut = rng.choice([["one"], ["two"], ["one", "two"]])
        for name in cut:
            bucket.networks[name].set("down")
        time.sleep(rng.choice([0.02, 0.1, 0.5, 2.5]))  # less than what is noticed, and more
        for name in cut:
            bucket.networks[name].set("up")
        time.sleep(rng.choice([0.05, 0.3]))  # they write again
    for writer in writers:
        writer.ends = True
    for writer in writers:
        writer.join(120)
    for mounted in mounts.values():
        within(120, lambda mounted=mounted: is_published(mounted))
    stored = bucket.stored()
    writes, refused = sum(writer.written for writer in writers), sum(writer.refused for writer in writers)
    requests = sum(mounted.statistics()["remote"]["requests"] for mounted in mounts.values())
    print(f"seed {SEED}: {CUTS} cuts, {writes} writes acknowledged, {refused} refused, {requests} requests")
    assert not [error for writer in writers for error in writer.wrong], [writer.wrong for writer in writers]
    wrong = {chunk: value for chunk, value in sure.items() if value is not None and stored.get(chunk) != data(value)}
    assert not wrong, f"seed {SEED}: {wrong}"
    alarms = [line for mounted in mounts.values() for line in mounted.log_text().splitlines() if "was written by another writer" in line]
    assert not alarms, f"seed {SEED}: each writes chunks of its own: {alarms}"
    for mounted in mounts.values():
        mounted.close()
    assert not own_files(bucket.folder / "one") + own_files(bucket.folder / "two")
