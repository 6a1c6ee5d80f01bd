"""A chunk of a large shard at a server: what is unchanged is copied there (packaging/install-test-servers; skipped where it is missing)."""
import os
import random
import struct
import subprocess
import time

import pytest
from conftest import DAEMON, Mount, kill, within
from damages import damage_xml
from test_remote_writing import SEED, own_files, publish
from test_servers import bucket, server_program  # noqa: F401, these are fixtures

CHUNK, CHUNKS = 64 << 10, 384
SHARD = CHUNK * CHUNKS


def bytes_of(seed):
    return random.Random(seed).randbytes(CHUNK)


def write(mounted, number, seed):
    with open(mounted / f"big/{number}", "wb") as file:
        file.write(bytes_of(seed))


def read(mounted, number):
    with open(mounted / f"big/{number}", "rb") as file:
        return file.read()


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A directory with the array `big`: one shard of 24 MiB, whose chunk N has the bytes of seed N."""
    folder = tmp_path_factory.mktemp("big")
    os.mkdir(folder / "store")
    maker = Mount(folder / "store", folder / "mnt", folder / "log", f"rw,flush_after=3600,shards={CHUNKS}chunks")
    os.mkdir(maker / "big")
    with open(maker / "big/.zarray", "w") as file:
        file.write(f'{{"zarr_format": 2, "shape": [{SHARD}], "chunks": [{CHUNK}], "dtype": "|u1", "fill_value": 0, "order": "C", "compressor": null, "filters": null}}')
    for number in range(CHUNKS):
        write(maker, number, number)
    maker.close()
    return folder / "store/big"


@pytest.fixture
def big(bucket, local, request):
    """A bucket with that array; with parameter "start" its index is in front."""
    document, shard = (local / "zarr.json").read_text(), (local / "c/0").read_bytes()
    if getattr(request, "param", "end") == "start":
        document = document.replace('"index_location": "end"', '"index_location": "start"')
        shard = front_index(shard)
    bucket.ask("PUT", "/store/big/zarr.json", document.encode())
    bucket.ask("PUT", "/store/big/c/0", shard)
    return bucket


def front_index(shard):
    """The same shard with its index in front: chunks lie that much further behind."""
    size = 16 * CHUNKS + 4
    entries = struct.unpack(f"<{2 * CHUNKS}Q", shard[-size:-4])
    moved = struct.pack(f"<{2 * CHUNKS}Q", *(value + (0 if i % 2 else size) for i, value in enumerate(entries)))
    return moved + struct.pack("<I", crc32c(moved)) + shard[:-size]


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def check(bucket, changed):
    reader = bucket.reader()
    for number in {*changed, 0, 1, CHUNKS // 2 - 1, CHUNKS - 1}:
        assert read(reader, number) == bytes_of(changed.get(number, number)), number
    reader.close()


def sent(bucket):
    return sum(size for _, _, size in bucket.proxy.seen)


def changes(bucket):
    return [one for one in bucket.proxy.seen if one[0] not in ("GET", "HEAD")]


@pytest.mark.parametrize("number", [0, CHUNKS // 2, CHUNKS - 1])
def test_a_chunk_of_a_large_shard_is_sent_alone(big, number):
    mounted = big.open()
    big.proxy.seen.clear()
    write(mounted, number, "new")
    publish(mounted)
    assert sent(big) < 200 << 10, f"{sent(big)} bytes for a chunk of {CHUNK}"
    assert len(changes(big)) < 25, "with those that try the server"
    write(mounted, 7, "second")
    big.proxy.seen.clear()
    publish(mounted)
    assert sent(big) < 200 << 10
    assert sorted(big.step(method, path) for method, path, _ in changes(big)) == sorted(big.steps)
    check(big, {number: "new", 7: "second"})
    mounted.close()
    assert not own_files(big.folder / "spool")
    assert not big.uploads()


@pytest.mark.parametrize("big", ["start"], indirect=True)
def test_an_index_at_the_start_sends_the_first_part(big):
    mounted = big.open()
    big.proxy.seen.clear()
    write(mounted, CHUNKS // 2, "new")
    publish(mounted)
    assert (5 << 20) < sent(big) < 12 << 20
    check(big, {CHUNKS // 2: "new"})


def test_two_mounts_copy_and_lose_nothing(big):
    one, two = big.open("one"), big.open("two")
    for number in range(0, 20, 2):
        write(one, number, f"one {number}")
        write(two, number + 1, f"two {number + 1}")
        if number % 4:
            publish(one), publish(two)
    publish(one), publish(two)
    check(big, {number: f"{'two' if number % 2 else 'one'} {number}" for number in range(20)})


def test_a_shard_that_is_mostly_dead_is_put_as_a_whole(big):
    """The third of a shard may be what is superseded, and no more."""
    mounted = big.open()
    for turn in range(4):
        for number in range(CHUNKS // 5):
            write(mounted, number, f"{turn} {number}")
        publish(mounted)
        assert big.stored_size("big/c/0") < 1.6 * SHARD
    check(big, {number: f"3 {number}" for number in range(CHUNKS // 5)})


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 500}, {"status": 503}, {"status": 409, "code": "ConditionalRequestConflict"}, {"cut": 3}])
def test_answers_that_go_wrong(big, fault):
    mounted = big.open("spool", f"flush_after=3600,deadline={max(20, big.shortest_deadline)}", damaged=True)
    rng = random.Random(SEED)
    big.proxy.fault = lambda method, path: fault if method != "GET" and rng.random() < 0.2 else None
    for turn in range(4):
        write(mounted, turn, f"new {turn}")
        within(60, lambda: tried(mounted))
    big.proxy.fault = None
    check(big, {turn: f"new {turn}" for turn in range(4)})


def tried(mounted):
    return subprocess.run([DAEMON, "sync", mounted.path], capture_output=True, timeout=600).returncode == 0


@pytest.mark.parametrize("at", ["begun", "copied", "sent", "complete", "completed"])
def test_a_daemon_that_is_killed_in_the_middle_leaves_no_upload(big, at):
    if at not in (*big.steps, "completed"):
        pytest.skip(f"{big.url} has no such step")
    mounted = big.open(damaged=True)
    write(mounted, 1, "before")
    publish(mounted)  # the server has been tried
    write(mounted, 3, "new")
    state = {"stage": None}

    def hold(method, path):
        stage = big.step(method, path)
        if stage == ("complete" if at == "completed" else at) and state["stage"] is None:
            state["stage"] = stage
            return {"lost": True} if at == "completed" else {"delay": 3600}
        return {"status": 503} if state["stage"] else None

    process = mounted.statistics_process()
    big.proxy.fault = hold
    publishing = subprocess.Popen([DAEMON, "sync", mounted.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    within(60, lambda: state["stage"] is not None)
    time.sleep(3 if at == "sent" else 0.2)  # the server copies meanwhile; what it has in hand when an upload is aborted may stay
    kill(process)
    publishing.wait(600)
    subprocess.run(["umount", "-l", mounted.path], check=True)
    big.proxy.fault = None
    assert len(big.uploads()) == (0 if at in ("begun", "completed") or "begun" not in big.steps else 1)
    again = big.open()
    assert read(again, 3) == bytes_of("new")
    publish(again)
    check(big, {1: "before", 3: "new"})
    assert not big.uploads()
    again.close()
    assert not own_files(big.folder / "spool")


@pytest.mark.parametrize("step, status", [("begun", 501), ("copied", 400), ("copied", 501)])
def test_a_server_that_copies_nothing_gets_the_whole(big, step, status):
    if step not in big.steps:
        pytest.skip(f"{big.url} has no such step")
    mounted = big.open(damaged=True)
    big.proxy.fault = lambda asked, path: {"status": status, "code": "NotImplemented"} if big.step(asked, path) == step else None
    for number in (3, 4):
        write(mounted, number, f"new {number}")
        publish(mounted)
    check(big, {3: "new 3", 4: "new 4"})
    lines = [line for line in mounted.log_text().splitlines() if "sent as a whole" in line]
    assert len(lines) == 1, lines


@pytest.fixture
def plain(tmp_path):
    """A plain array of one megabyte more than what is sent as one, in chunks of 3 MiB."""
    os.makedirs(tmp_path / "plain/a")
    (tmp_path / "plain/.zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "plain/a/.zarray").write_text(f'{{"zarr_format": 2, "shape": [{43 * 3 << 20}], "chunks": [{3 << 20}], "dtype": "|u1", "fill_value": 0, '
                                              '"order": "C", "compressor": null, "filters": null}')
    for number in range(43):
        (tmp_path / f"plain/a/{number}").write_bytes(random.Random(number).randbytes(3 << 20))
    return tmp_path / "plain"


@pytest.mark.parametrize("refused", [False, True])
def test_conversions_put_large_shards_in_parts(bucket, plain, refused):
    """Where the server takes none, as one."""
    if refused:
        bucket.proxy.fault = lambda method, path: {"status": 501, "code": "NotImplemented"} if bucket.step(method, path) == bucket.steps[0] else None
    place = f"{bucket.place()},deadline=60"
    subprocess.run([DAEMON, "shard", plain, bucket.url, "--shard-bytes", "1G", "--target-remote", place], check=True, timeout=600)
    large = [size for _, path, size in bucket.proxy.seen if "/a/c/0" in path and size > 1 << 20]
    whole = [size for size in large if size > 43 * 3 << 20]
    # As one it is put once more where a slow server has not taken it in time.
    assert large and whole == large if refused else len(large) > 8 and max(large) < 20 << 20, large
    bucket.proxy.fault = None
    assert bucket.stored_size("a/c/0") > 43 * 3 << 20
    reader = bucket.reader()
    for number in (0, 5, 42):
        with open(reader / f"a/{number}", "rb") as file:
            assert file.read() == (plain / f"a/{number}").read_bytes(), number
    reader.close()
    assert not bucket.uploads()


def test_random_damage_of_what_is_said_of_parts_is_never_success(big):
    """ZARRFS_DAMAGES=1500 for a long run. What is damaged: the answer that begins an upload, that copies, and that completes; and the
    refusal, with status 200, of an upload that then is not completed."""
    rng = random.Random(SEED)
    error = b"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>InternalError</Code><Message>try again</Message></Error>"
    expected, mounted = {}, None
    for turn in range(int(os.environ.get("ZARRFS_DAMAGES", "20"))):
        if turn % 10 == 0:  # a server that is no good at parts is sent the whole from then on
            if mounted:
                mounted.close()
            mounted = big.open("spool", f"flush_after=3600,deadline={big.shortest_deadline}", damaged=True)
            write(mounted, 0, f"tried {turn}")
            within(60, lambda: tried(mounted))
            expected[0] = f"tried {turn}"
        kind, done = rng.choice([*big.steps, "refuse"]), []

        def fault(method, path):
            stage = big.step(method, path)
            if done or stage != ("complete" if kind == "refuse" else kind):
                return None
            done.append(path)
            if kind == "refuse":
                return {"instead": (200, damage_xml(rng, error))}
            return {"edit": lambda status, body: (status, damage_xml(rng, body))}

        number = 1 + turn % 16
        expected[number] = f"damage {SEED} {turn}"
        write(mounted, number, expected[number])
        big.proxy.fault = fault
        said = tried(mounted)
        big.proxy.fault = None
        there = bytes_of(expected[number]) in big.ask("GET", "/store/big/c/0")
        assert there or not said, f"seed {SEED}, turn {turn}, {kind}: told as done, and it is not"
        assert read(mounted, number) == bytes_of(expected[number])
        if not said:
            within(60, lambda: tried(mounted))
    mounted.close()
    check(big, expected)
