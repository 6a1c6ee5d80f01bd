"""zarrfs with dask.distributed: workers killed in mid-shard, cancelling, resuming, one mount a machine.

packaging/wheel/test runs it beside the wheel; needs distributed and numpy.
"""
import concurrent.futures
import os
import pickle
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
import zarrfs

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402

EXAMPLE = os.environ["ZARRFS_EXAMPLE"]
SIDE, COUNT = 64, 16


def files_of(store):
    return {os.path.relpath(os.path.join(folder, name), store): open(os.path.join(folder, name), "rb").read()
            for folder, _, names in os.walk(store) for name in names}


def within(seconds, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """96 MiB in 6,144 chunks."""
    path = tmp_path_factory.mktemp("source") / "source.zarr"
    random_bytes = os.urandom(SIDE * SIDE * 4)
    for i in range(24):
        for j in range(COUNT):
            os.makedirs(path / "a" / "c" / str(i) / str(j))
            for k in range(COUNT):
                (path / "a" / "c" / str(i) / str(j) / str(k)).write_bytes(bytes([i, j, k]) + random_bytes[3:])
    (path / "a" / "zarr.json").write_text(
        '{"zarr_format": 3, "node_type": "array", "shape": [24, %d, %d], "data_type": "int32", "fill_value": 0, "attributes": {},'
        '"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, %d, %d]}},'
        '"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},'
        '"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}' % (SIDE * COUNT, SIDE * COUNT, SIDE, SIDE))
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    return path


@pytest.fixture(scope="module")
def sharded(source, tmp_path_factory):
    made = tmp_path_factory.mktemp("sharded") / "made.zarr"
    assert zarrfs.shard(source, made, shard_chunks=(2, 8, 8))
    return made


@pytest.fixture(scope="module")
def wanted(sharded):
    return files_of(sharded)


@pytest.fixture(scope="module")
def cluster():
    with dask.config.set({"distributed.scheduler.allowed-failures": 20, "distributed.admin.large-graph-warning-threshold": "100MB"}):
        with distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as local:
            yield local


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        made.wait_for_workers(4, timeout=120)
        yield made


def test_without_an_engine(source, wanted, tmp_path):
    made = tmp_path / "made.zarr"
    plan = zarrfs.plan("shard", source, made, parts=3, shard_chunks=(2, 8, 8))
    tasks = pickle.loads(pickle.dumps(plan.tasks))
    for task in reversed(tasks[1:]):
        assert zarrfs.run(task)["part"] == task.part
    with pytest.raises(zarrfs.Error, match="part 1/3 is not complete"):
        plan.finish()
    assert plan.status()["complete_parts"] == 2
    zarrfs.run(tasks[0])
    assert plan.finish(check=True)
    assert files_of(made) == wanted
    with pytest.raises(zarrfs.Error, match="zarrfs|there already"):
        zarrfs.shard(source, made, shard_chunks=(2, 8, 8))


def test_a_part_can_be_stopped_and_goes_on(source, wanted, tmp_path):
    made = tmp_path / "made.zarr"
    plan = zarrfs.plan("shard", source, made, parts=1, shard_chunks=(2, 8, 8))
    with pytest.raises(zarrfs.Cancelled):
        zarrfs.run(plan.tasks[0], stop=lambda: True)
    zarrfs.run(plan.tasks[0])
    assert plan.finish() and files_of(made) == wanted


def killed_while_it_runs(client, cluster, convert, made):
    """How many workers with a part under way, and a piece of it half made, were killed until `convert()` was done; one every now and then."""
    killed, done = [], threading.Event()

    def kill():
        while not done.is_set() and len(killed) < 5:
            if within(1, lambda: done.is_set() or any(".zarrfs-new" in name for _, _, names in os.walk(made) for name in names)):
                for worker in list(cluster.workers.values()):
                    process = getattr(getattr(worker, "process", None), "process", None)
                    if process is not None and process.is_alive() and client.processing().get(worker.worker_address):
                        os.kill(process.pid, signal.SIGKILL)
                        killed.append(process.pid)
                        break
            done.wait(1)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert convert()
    finally:
        done.set()
        killer.join()
    return len(killed)


@pytest.mark.parametrize("command,form", [("shard", {"shard_chunks": (2, 8, 8)}), ("unshard", {}), ("reshard", {"shard_chunks": (4, 4, 4)})])
def test_workers_that_are_killed(client, cluster, source, sharded, tmp_path, command, form):
    made, alone, convert = tmp_path / "made.zarr", tmp_path / "alone.zarr", getattr(zarrfs, command)
    given = source if command == "shard" else sharded
    assert convert(given, alone, **form)
    for _ in range(10):  # on a fast machine nothing may be half made when somebody looks
        shutil.rmtree(made, ignore_errors=True)
        killed = killed_while_it_runs(client, cluster, lambda: convert(given, made, **form, client=client, parts=12, threads=1), made)
        print(f"{command}: {killed} workers killed")
        assert files_of(made) == files_of(alone)
        if killed:
            break
    assert killed
    assert zarrfs.verify(made, client=client, decode=True, parts=6)["damage"] == []
    found = zarrfs.diff(given, made, client=client, parts=6)
    assert found == zarrfs.diff(given, made) and found["differences"] == 0


def test_what_the_parts_of_a_check_find_adds_up(client, sharded, tmp_path):
    other = tmp_path / "other.zarr"
    shutil.copytree(sharded, other)
    shards = sorted(path for path in other.glob("a/c/*/*/*"))
    shards[0].unlink()
    shards[-1].write_bytes(shards[-1].read_bytes()[:-1])
    assert len(zarrfs.verify(other, client=client, parts=5)["damage"]) == 1
    shards[-1].unlink()
    found = zarrfs.diff(sharded, other, client=client, parts=5, limit=1000)
    assert found["differences"] == zarrfs.diff(sharded, other, limit=1000)["differences"] > 1
    with pytest.raises(zarrfs.Error, match="nowhere"):
        zarrfs.diff(sharded, tmp_path / "nowhere.zarr", client=client, retries=0)


def test_cancelling_ends_the_parts_and_the_same_call_goes_on(client, source, wanted, tmp_path):
    made, failed = tmp_path / "made.zarr", []

    class Ended(Exception):
        pass

    class Bar(zarrfs._parts._Bar):
        def draw(self, done, total, last=False):
            if done >= 1 and not failed:
                failed.append(done)
                raise Ended  # as Ctrl-C does

    plan = zarrfs.plan("shard", source, made, parts=48, shard_chunks=(2, 8, 8), threads=1)
    with pytest.raises(Ended):
        zarrfs._parts._all(plan.tasks, client, 0, Bar("x", False))
    assert within(60, lambda: not any(client.processing().values()))
    assert within(60, lambda: subprocess.run(["pgrep", "-f", f"shard {source} {made}"], capture_output=True).returncode == 1)
    assert plan.status()["complete_parts"] < 48
    assert zarrfs.shard(source, made, shard_chunks=(2, 8, 8), client=client, parts=48, threads=1)
    assert files_of(made) == wanted


def test_a_part_that_cannot_be_made_is_told(client, source, tmp_path):
    plan = zarrfs.plan("shard", source, tmp_path / "made.zarr", parts=2, shard_chunks=2)
    os.rename(tmp_path / "made.zarr", tmp_path / "away")
    (tmp_path / "made.zarr").write_text("in the way")
    with pytest.raises(zarrfs.Error, match="made.zarr"):
        zarrfs._parts._all(plan.tasks, client, 1, zarrfs._parts._Bar("x", False))


@pytest.mark.parametrize("shape", ["2x512x512", (2, 512, 512), np.array([2, 512, 512])], ids=["text", "tuple", "array"])
def test_a_shape_is_spelled_as_python_does(source, wanted, tmp_path, shape):
    assert zarrfs.shard(source, tmp_path / "made.zarr", shard_shape=shape)
    assert files_of(tmp_path / "made.zarr") == wanted


@pytest.mark.parametrize("wrong,names", [({"shard_shape": (2.5, 512, 512)}, "float"), ({"retries": -1}, "retries=-1"), ({"parts": 0}, "parts=0"), ({"parts": "3"}, "str")])
def test_what_makes_no_sense_is_refused(source, tmp_path, wrong, names):
    with pytest.raises((TypeError, ValueError), match=names):
        zarrfs.shard(source, tmp_path / "made.zarr", **{"shard_chunks": 2, **wrong})
    assert not (tmp_path / "made.zarr").exists()
    with pytest.raises(ValueError, match="verify"):
        zarrfs.plan("verify", source, tmp_path / "made.zarr")


def test_errors_reach_other_processes(source, tmp_path):
    """As concurrent.futures and multiprocessing bring them, which wait for ever for an exception that cannot be unpickled."""
    for error in (zarrfs.Error("it is gone", 3), zarrfs.Cancelled("ended", 130), zarrfs.FuseMissing("no fuse", 3)):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.status) == (type(error), str(error), error.status)
    plan = zarrfs.plan("shard", source, tmp_path / "made.zarr", parts=2, shard_chunks=2)
    shutil.rmtree(tmp_path / "made.zarr")
    (tmp_path / "made.zarr").write_text("in the way")
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        with pytest.raises(zarrfs.Error, match="made.zarr") as told:
            list(pool.map(zarrfs.run, plan.tasks))
    assert told.value.status == 3


def test_paths_are_those_of_the_caller(client, source, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert zarrfs.shard(os.path.relpath(source), "made.zarr", client=client, shard_chunks=(2, 8, 8))
    assert files_of(tmp_path / "made.zarr") == wanted
    assert zarrfs.diff("made.zarr", source, client=client, parts=3)["differences"] == 0


def test_a_shard_that_cannot_be_compared_is_told(sharded, tmp_path):
    for name in ("cut.zarr", "less.zarr"):
        shutil.copytree(sharded, tmp_path / name)
    (tmp_path / "cut.zarr" / "a" / "c" / "0" / "0" / "0").write_bytes(b"zz")
    (tmp_path / "less.zarr" / "a" / "c" / "0" / "0" / "0").unlink()
    for one in (sharded, tmp_path / "less.zarr"):
        found = zarrfs.diff(one, tmp_path / "cut.zarr")
        assert any("a/c/0/0/0: 2 bytes" in entry["what"] for entry in found["listed"]), found
    shutil.rmtree(tmp_path / "less.zarr")
    with pytest.raises(zarrfs.Error, match="less.zarr"):
        zarrfs.diff(sharded, tmp_path / "less.zarr")


def test_a_client_that_is_awaited_is_refused(source, tmp_path):
    class Awaited:
        asynchronous = True
    for work in (lambda: zarrfs.shard(source, tmp_path / "made.zarr", client=Awaited(), shard_chunks=2), lambda: zarrfs.verify(source, client=Awaited()),
                 zarrfs.WorkerMount(source, client=Awaited()).__enter__):
        with pytest.raises(ValueError, match="asynchronous"):
            work()


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no /dev/fuse")
def test_a_mount_that_is_used_is_told(client):
    with pytest.warns(zarrfs.MountWarning, match="still used"):
        with zarrfs.WorkerMount(EXAMPLE, client=client, ro=np.True_, idle=np.int64(600)) as path:
            used = open(os.path.join(path, ".zattrs"), "rb")
    used.close()
    assert within(60, lambda: not os.path.exists(os.path.dirname(path)))


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no /dev/fuse")
def test_one_mount_for_all_workers_of_a_machine(client, cluster):
    with zarrfs.WorkerMount(EXAMPLE, client=client, ro=True) as path:
        def look(path):
            import os as here
            return here.getpid(), here.path.ismount(path), sorted(here.listdir(path))
        looks = client.run(look, path)
        assert len({pid for pid, _, _ in looks.values()}) == 4 and all(there for _, there, _ in looks.values())
        assert len({tuple(names) for _, _, names in looks.values()}) == 1
        assert [mount["mountpoint"] for mount in zarrfs.mounts()].count(path) == 1
        folder = os.path.dirname(path)
        holders = os.listdir(os.path.join(folder, "holders"))
        assert len(holders) == 4
        first = min(os.listdir(os.path.join(folder, "holders")), key=lambda name: os.stat(os.path.join(folder, "holders", name)).st_mtime_ns)
        os.kill(int(first.split("-")[0]), signal.SIGKILL)  # the one that made the mount be made
        assert within(60, lambda: first not in os.listdir(os.path.join(folder, "holders")))
        assert os.path.ismount(path)
        client.wait_for_workers(4, timeout=120)
        assert within(120, lambda: len(os.listdir(os.path.join(folder, "holders"))) == 4)
        assert all(there for _, there, _ in client.run(look, path).values())
    assert within(60, lambda: not os.path.exists(folder)) and not os.path.exists(folder + ".lock")
    assert path not in [mount["mountpoint"] for mount in zarrfs.mounts()]


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no /dev/fuse")
def test_a_mount_ends_with_the_last_worker_that_is_killed():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local, distributed.Client(local) as its_client:
        mount = zarrfs.WorkerMount(EXAMPLE, client=its_client, ro=True)
        path = mount.__enter__()
        assert os.path.ismount(path)
        nannies = list(local.workers.values())
        for nanny in nannies:
            nanny.auto_restart = False

        def kill_all():
            """Those that hold it: a nanny may have made a worker anew meanwhile."""
            if not os.path.exists(mount.folder):
                return True
            for name in os.listdir(os.path.join(mount.folder, "holders")) if os.path.exists(os.path.join(mount.folder, "holders")) else ():
                try:
                    os.kill(int(name.split("-")[0]), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return False
        assert within(60, kill_all)


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no /dev/fuse")
def test_a_store_that_cannot_be_mounted_is_told(client, tmp_path):
    mount = zarrfs.WorkerMount(tmp_path / "nowhere.zarr", client=client, ro=True, folder=str(tmp_path))
    with pytest.raises(Exception, match="nowhere"):
        with mount:
            pass
    assert within(30, lambda: not [name for name in os.listdir(tmp_path) if mount.name in name])
