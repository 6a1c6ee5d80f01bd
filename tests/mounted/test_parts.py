"""Conversions in parts to and from a bucket: what several machines put there is what one makes in a directory."""
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import DAEMON
from object_server import KEY, SECRET
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)
from test_remote_targets import Bucket, bucket, run, store  # noqa: F401 (fixtures)
from versitygw import PROGRAM, Versitygw

SEED = int(os.environ.get("ZARRFS_SEED", random.randrange(10**9)))
KILLS = int(os.environ.get("ZARRFS_KILLS", 8))


def contents_of(folder):
    return {os.path.relpath(os.path.join(place, name), folder): open(os.path.join(place, name), "rb").read()
            for place, _, names in os.walk(folder) for name in names}


@pytest.fixture
def sharded(store):  # noqa: F811
    """Of which everything can be resharded."""
    shutil.rmtree(store / "unsharded")
    return store


def all_at_once(commands):
    """The standard errors of the commands, which all have to be good."""
    running = [subprocess.Popen([DAEMON, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for words in commands]
    for process in running:
        _, told = process.communicate(timeout=600)
        assert process.returncode == 0, told


@pytest.mark.parametrize("command,words", [("unshard", []), ("reshard", ["--shard-chunks", "1"]), ("unshard", ["--format", "v2"]), ("shard", [])])
def test_parts_at_once_make_what_a_directory_gets(bucket, store, tmp_path, command, words):  # noqa: F811
    """Each part is made by two machines at once, and none of them was told to begin."""
    local, target = tmp_path / "local.zarr", "s3://bucket/made.zarr"
    status = subprocess.run([DAEMON, command, str(store), str(local), *words], capture_output=True).returncode
    remote = ["--remote", bucket.options]
    all_at_once([[command, store, target, *words, "--part", f"{part}/3", *remote] for part in (1, 2, 3, 1, 2, 3)])
    told = run(command, store, target, *words, "--status", *remote).stdout
    assert "3 of 3 parts complete" in told
    run(command, store, target, *words, "--finish", "--check", *remote, status=status)
    assert contents_of(os.path.join(bucket.server.root, "made.zarr")) == contents_of(local)


def test_a_note_that_another_machine_replaces_while_it_is_compared(bucket, sharded):  # noqa: F811
    """Two machines that begin the same part say the same of it; then one of them is done."""
    note = os.path.join(bucket.server.root, "made.zarr/.zarrfs-part-1")
    said, replaced = [], []

    def contents():
        with open(note, "rb") as file:
            return file.read()

    def watch(seen):
        if seen["method"] == "PUT" and seen["path"].endswith("/.zarrfs-part-1") and os.path.exists(note):
            said.append(contents())

    def replace(seen):
        if seen["method"] == "GET" and seen["path"].endswith("/.zarrfs-part-1") and not replaced:
            replaced.append(contents())
            with open(note + ".new", "wb") as file:
                file.write(done)
            os.rename(note + ".new", note)

    words = "reshard", sharded, "made.zarr", "--shard-chunks", "1", "--part", "1/1"
    bucket.server.fault = watch
    bucket.convert(*words)
    done = contents()
    assert said and said[0] != done
    with open(note, "wb") as file:
        file.write(said[0])
    bucket.server.fault = replace
    bucket.convert(*words)
    assert replaced == [said[0]]
    assert contents() == done


def test_finish_names_what_is_missing_in_a_bucket(bucket, sharded):  # noqa: F811
    def step(*words, status=0):
        return bucket.convert("reshard", sharded, "made.zarr", "--shard-chunks", "1", *words, status=status)
    step("--begin", "--parts", "2")
    assert "2 parts" in step("--part", "1/3", status=2).stderr
    step("--part", "2/2")
    assert "part 1/2 is not complete" in step("--finish", status=1).stdout
    step("--part", "1/2")
    root = os.path.join(bucket.server.root, "made.zarr")
    lost = next(name for name in bucket.files("made.zarr") if name.startswith("chunks_big_endian/c/"))
    os.remove(os.path.join(root, lost))
    assert "is not complete: /chunks_big_endian chunk" in step("--finish", status=1).stdout
    for part in (1, 2):
        step("--part", f"{part}/2")
    step("--finish")
    assert not [name for name in bucket.files("made.zarr") if ".zarrfs" in name]
    assert "finished or discarded" not in step("--begin", status=3).stderr


def test_parts_are_read_from_a_bucket(bucket, store, tmp_path):  # noqa: F811
    bucket.convert("unshard", store, "plain.zarr")
    source, remote = "s3://bucket/plain.zarr", ["--remote", bucket.options]
    words = ["--shard-chunks", "2"]
    run("shard", source, tmp_path / "alone", *words, *remote)
    all_at_once([["shard", source, tmp_path / "made", *words, *remote, "--part", f"{part}/2"] for part in (1, 2)])
    run("shard", source, tmp_path / "made", *words, *remote, "--finish", "--check")
    assert contents_of(tmp_path / "made") == contents_of(tmp_path / "alone")


def kill_and_repeat(convert, chance, seconds):
    """How many of the processes, two at each part, were killed before they were done."""
    hits = 0
    for number in range(1, KILLS + 1):
        part = f"{chance.randint(1, 3)}/3"
        running = [subprocess.Popen([*convert, "--part", part], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        time.sleep(chance.random() * seconds * number / KILLS)  # killed at any moment, the first ones early
        for process in running:
            process.send_signal(signal.SIGKILL)
        hits += sum(process.wait(timeout=600) != 0 for process in running)
    for part in (1, 2, 3):
        subprocess.run([*convert, "--part", f"{part}/3"], check=True, capture_output=True)
    subprocess.run([*convert, "--finish", "--check"], check=True, capture_output=True)
    return hits


def test_kills_in_a_bucket(bucket, sharded, tmp_path):  # noqa: F811
    print("ZARRFS_SEED", SEED)
    words = ["reshard", str(sharded), "--shard-chunks", "1"]
    local = tmp_path / "local.zarr"
    begin = time.monotonic()
    run(*words[:2], local, *words[2:])
    run(*words[:2], "s3://bucket/once.zarr", *words[2:], "--remote", bucket.options)
    whole = time.monotonic() - begin
    convert = [DAEMON, *words[:2], "s3://bucket/made.zarr", *words[2:], "--remote", bucket.options]
    hits = kill_and_repeat(convert, random.Random(SEED), whole)
    assert contents_of(os.path.join(bucket.server.root, "made.zarr")) == contents_of(local)
    assert hits > 0


@pytest.mark.parametrize("command,words", [("shard", ["--shard-chunks", "2"]), ("unshard", []), ("reshard", ["--shard-chunks", "1"])])
def test_parts_at_versitygw(sharded, tmp_path, monkeypatch, command, words):  # noqa: F811
    """Two at each part, all parts at once; and two at one part that are killed."""
    if not os.path.exists(PROGRAM):
        pytest.skip("versitygw is missing: packaging/install-test-servers")
    print("ZARRFS_SEED", SEED)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    local, source = tmp_path / "local.zarr", sharded
    if command == "shard":
        source = tmp_path / "plain.zarr"
        run("unshard", sharded, source)
    run(command, source, local, *words)
    (tmp_path / "served").mkdir()
    with Versitygw(tmp_path / "served") as server:
        remote = ["--remote", bucket_options(server)]
        begin = time.monotonic()
        all_at_once([[command, source, "s3://bucket/made.zarr", *words, "--part", f"{part}/2", *remote] for part in (1, 2, 1, 2)])
        whole = time.monotonic() - begin
        run(command, source, "s3://bucket/made.zarr", *words, "--finish", "--check", *remote)
        hits = kill_and_repeat([DAEMON, command, str(source), "s3://bucket/killed.zarr", *words, *remote], random.Random(SEED), whole)
        print(f"{command}: {hits} of {2 * KILLS} processes killed before they were done")
        for name in ("made.zarr", "killed.zarr"):
            run("diff", local, f"s3://bucket/{name}", *remote)
            assert contents_of(tmp_path / "served" / "bucket" / name) == contents_of(local)
        assert hits > 0
