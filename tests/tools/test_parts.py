"""shard, unshard and reshard in parts, and verify and diff: any part on any machine, in any order, whatever happens to it."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import GOLDEN, ZARRFS, Shard, add_array, need, run, run_json
from test_convert import files_of

SHARDING = os.path.join(GOLDEN, "sharding.zarr")
SEED = int(os.environ.get("ZARRFS_SEED", random.randrange(10**9)))
KILLS = int(os.environ.get("ZARRFS_KILLS", 12))


def contents_of(store):
    return {name: open(os.path.join(store, name), "rb").read() for name in files_of(store)}


def assert_same_store(made, wanted):
    """The same files with the same bytes, no other directories, and nothing that is zarrfs's own."""
    assert contents_of(made) == contents_of(wanted)
    directories = [{os.path.relpath(folder, store) for folder, _, _ in os.walk(store)} for store in (made, wanted)]
    assert directories[0] == directories[1]
    assert not [name for name in files_of(made) if ".zarrfs" in name]


@pytest.fixture
def plain(tmp_path):
    """Plain arrays of many kinds, a group, files that are not Zarr's: within an array, beside it and below a folder."""
    run("unshard", SHARDING, tmp_path / "plain")
    (tmp_path / "plain" / "notes.txt").write_text("hello")
    (tmp_path / "plain" / "index_end" / "LICENCE").write_text("mine")
    (tmp_path / "plain" / "more" / "deep").mkdir(parents=True)
    (tmp_path / "plain" / "more" / "deep" / "notes.txt").write_text("hello")
    return tmp_path / "plain"


@pytest.fixture
def large(tmp_path):
    """One array of 24 MiB in 1,536 chunks, some of which are missing."""
    path = tmp_path / "large"
    side, count = 64, 16
    chunks = [(i, j, k) for i in range(6) for j in range(count) for k in range(count)]
    add_array(path / "a", shape=[6 * 1, count * side, count * side], data_type="int32",
              chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, side, side]}})
    os.remove(path / "a" / "c" / "0")
    values = random.Random(7)
    for number, (i, j, k) in enumerate(chunks):
        if number % 11 == 3 or i == 4:
            continue
        os.makedirs(path / "a" / "c" / str(i) / str(j), exist_ok=True)
        (path / "a" / "c" / str(i) / str(j) / str(k)).write_bytes(values.randbytes(side * side * 4))
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    return path


FORMS = [("shard", ["--shard-chunks", "2"]), ("reshard", ["--shard-chunks", "3"]), ("unshard", []), ("unshard", ["--format", "v2"]),
         ("unshard", ["--format", "v2", "--profile", "gdal"])]


@pytest.mark.parametrize("command,words", FORMS, ids=lambda value: "-".join(value).replace("--", "") if isinstance(value, list) else value)
@pytest.mark.parametrize("parts", [1, 3, 1000])
def test_parts_in_any_order_make_what_one_process_makes(plain, tmp_path, command, words, parts):
    source = plain if command == "shard" else SHARDING
    alone, made = tmp_path / "alone", tmp_path / "made"
    status = subprocess.run([ZARRFS, command, str(source), str(alone), *words], capture_output=True).returncode
    assert status in (0, 1)
    run(command, source, made, *words, "--begin", status=status)
    order = [1, 3, 2] if parts == 3 else [1]
    for part in order if parts != 1000 else random.Random(SEED).sample(range(1, 1001), 40):
        run(command, source, made, *words, "--part", f"{part}/{parts}")
    if parts == 1000:  # of far more parts than pieces the other ones
        run(command, source, made, *words, "--begin", "--parts", "2", status=status)
        for part in (2, 1):
            run(command, source, made, *words, "--part", f"{part}/2")
    told = run_json(command, source, made, *words, "--status")
    assert told["done"] == told["pieces"] and told["complete_parts"] == told["parts"] == (2 if parts == 1000 else parts)
    assert sum(array["done"] for array in told["arrays"].values()) + told["files"]["done"] == told["done"]
    run(command, source, made, *words, "--finish", *(["--check"] if parts == 3 else []), status=status)
    assert_same_store(made, alone)


def test_a_part_begins_where_nobody_has(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words[:2], tmp_path / "alone", *words[3:])
    running = [subprocess.Popen([ZARRFS, *map(str, words), "--part", f"{part}/4"], stderr=subprocess.PIPE) for part in (1, 2, 3, 4)]
    for process in running:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    run(*words, "--finish", "--check")
    assert_same_store(tmp_path / "made", tmp_path / "alone")


def test_what_is_refused(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    for part in ("0/3", "4/3", "1/0", "1", "1/", "/3", "-1/3", "1/3/3", "1.5/3", "01x/3", "1/1000001", "99999999999999999999/3"):
        told = run(*words, f"--part={part}", status=2).stderr_text
        assert f"'{part}'" in told and "I/N" in told, told
    for wrong in (["--begin", "--finish"], ["--part", "1/2", "--status"], ["--begin", "--discard"], ["--part", "1/2", "--check"],
                  ["--parts", "3"], ["--json"], ["--begin", "--parts", "0"]):
        run(*words, *wrong, status=2)
    run("shard", plain, "--in-place", "--begin", status=2)
    assert not (tmp_path / "made").exists()
    for step in ("--status", "--finish"):
        assert "made" in run(*words, step, status=2).stderr_text
    told = run("shard", plain, tmp_path / "made.zip", "--begin", status=3).stderr_text
    assert "made.zip" in told and "not in parts" in told and not (tmp_path / "made.zip").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").write_text("")
    assert "not empty" in run("shard", plain, tmp_path / "other", "--begin", status=3).stderr_text
    for command in (words, ["verify", plain], ["diff", plain, plain]):
        assert "''" in run(*command, "--part", "", status=2).stderr_text
    assert not (tmp_path / "made").exists()
    run(*words, "--part", "1/3")
    for step in (["--part", "1/4"], ["--part", "2/2"]):
        told = run(*words, *step, status=2).stderr_text
        assert "3 parts" in told and "--begin --parts" in told
    for other in ([], ["--shard-chunks", "3", "--part", "2/3"], ["--shard-chunks", "3", "--finish"], ["--shard-chunks", "3", "--begin"]):
        told = run(*words[:3], *other, status=3).stderr_text
        assert "another conversion, in parts" in told
    assert "--shard-chunks 2; this is zarrfs shard" in run(*words[:3], "--shard-chunks", "3", "--status", status=3).stderr_text
    assert "3 parts" in run(*words[:3], "--status").stdout_text
    told = run(*words, "--fill-value-is-missing", "yes", "--part", "2/3", status=3).stderr_text
    assert "this is zarrfs shard" in told and told.rstrip().endswith("--fill-value-is-missing yes")
    assert "another conversion" in run("shard", SHARDING, tmp_path / "made", "--status", status=3).stderr_text
    run(*words, "--discard")
    assert not (tmp_path / "made").exists()


def test_a_finish_that_is_killed_as_it_cleans_up_is_finished(plain, tmp_path):
    need(shutil.which("strace"), "strace is missing")
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    alone = tmp_path / "alone"
    run("shard", plain, alone, "--shard-chunks", "2")
    kills = 0
    for number in range(1, 100):
        for part in (1, 2, 3):
            run(*words, "--part", f"{part}/3")
        killed = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=unlink,unlinkat", "-e", f"inject=unlink,unlinkat:signal=KILL:when={number}", ZARRFS,
                                 *map(str, words), "--finish"], capture_output=True).returncode
        if killed == 0:
            break
        kills += 1
        run(*words, "--finish")
        assert not [name for name in files_of(tmp_path / "made") if ".zarrfs" in name]
        assert_same_store(tmp_path / "made", alone)
        shutil.rmtree(tmp_path / "made")
    assert kills >= 3, kills


def test_what_one_process_began_is_not_gone_on_with_in_parts(plain, tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    (made / ".zarrfs-conversion").write_text('{"source": "' + str(plain) + '"}')
    told = run("shard", plain, made, "--shard-chunks", "2", "--part", "1/2", status=3).stderr_text
    assert "another conversion" in told and "in parts" not in told


def test_finish_names_what_is_missing(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words, "--begin")
    assert "no part" in run(*words, "--finish", status=1).stdout_text
    run(*words, "--part", "1/3")
    run(*words, "--part", "3/3")
    told = run(*words, "--finish", status=1)
    assert "part 2/3 is not complete: " in told.stdout_text and "part 1/3" not in told.stdout_text
    assert not (tmp_path / "made" / "zarr.json").exists() and (tmp_path / "made" / ".zarrfs-conversion").exists()
    run(*words, "--part", "2/3")
    lost = tmp_path / "made" / "index_end" / "c" / "1" / "1"
    lost.unlink()
    told = run(*words, "--finish", status=1).stdout_text
    assert "/index_end chunk " in told and " is not complete" in told
    part = told.split("part ")[1].split("/")[0]
    run(*words, "--part", f"{part}/3")
    os.truncate(lost, os.path.getsize(lost) - 3)
    told = run(*words, "--finish", status=1).stdout_text
    assert "/index_end chunk " in told or "index_end/c/1/1" in told
    run(*words, "--part", f"{part}/3")
    run(*words, "--finish")
    run(*words[:2], tmp_path / "alone", *words[3:])
    assert_same_store(tmp_path / "made", tmp_path / "alone")


def test_a_part_that_is_there_is_kept_and_a_damaged_piece_is_made_again(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words, "--part", "1/1")
    shards = [tmp_path / "made" / "index_end" / "c" / place for place in ("0/0", "0/1", "1/0", "1/1")]
    before = [shard.stat().st_ino for shard in shards]
    whole = [shard.read_bytes() for shard in shards]
    shards[0].write_bytes(whole[0][:-1])                                      # cut
    shards[1].write_bytes(whole[1][:-30] + b"\xff" * 26 + whole[1][-4:])      # an index whose checksum is wrong
    shards[2].write_bytes(b"")
    run(*words, "--part", "1/1")
    assert [shard.read_bytes() for shard in shards] == whole
    assert shards[3].stat().st_ino == before[3]
    # bytes of a chunk are compared by --check alone
    shards[3].write_bytes(bytes([whole[3][0] ^ 1]) + whole[3][1:])
    assert "other bytes" in run(*words, "--finish", "--check", status=3).stderr_text
    shards[3].unlink()
    run(*words, "--part", "1/1")
    run(*words, "--finish", "--check")


@pytest.mark.parametrize("ended", ["note", "temporary", "root"])
def test_finish_goes_on_where_it_was_killed(plain, tmp_path, ended):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words[:2], tmp_path / "alone", *words[3:])
    for part in (1, 2):
        run(*words, "--part", f"{part}/2")
    made = tmp_path / "made"
    if ended == "note":  # the notes are removed one by one
        (made / ".zarrfs-part-1").unlink()
    elif ended == "root":
        shutil.copy(tmp_path / "alone" / "zarr.json", made / "zarr.json")
        (made / ".zarrfs-part-1").unlink()
        (made / ".zarrfs-part-2").unlink()
    else:
        (made / "index_end" / "c" / "0" / ".zarrfs-new-0-77").write_text("half of it")
        (made / ".zarrfs-new-zarr.json-5").write_text("half of it")
    run(*words, "--finish")
    assert_same_store(made, tmp_path / "alone")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"part": 1}', '{"part": -1, "parts": 2, "arrays": {}, "files": {}}',
                                  '{"part": 1, "parts": 2, "arrays": {"index_end": {"pieces": 0, "done": 0, "objects": 0, "bytes": 0}}, '
                                  '"files": {"pieces": 0, "done": 0, "objects": 0, "bytes": 0}}',
                                  '{"part": 1, "parts": 2, "arrays": {"a": {"pieces": 18446744073709551615, "done": 1, "objects": 1, "bytes": 1}}, "files": {}}'])
def test_a_note_is_no_proof(plain, tmp_path, text):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words, "--part", "2/2")
    (tmp_path / "made" / ".zarrfs-part-1").write_text(text)
    run(*words, "--status")
    assert "is not complete" in run(*words, "--finish", status=1).stdout_text
    run(*words, "--part", "1/2")
    run(*words, "--finish", "--check")


def test_a_number_of_parts_that_cannot_be_is_told(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words, "--begin")
    for text in ("", "{}", '{"parts": 0}', '{"parts": 99999999999}', '{"parts": "3"}'):
        (tmp_path / "made" / ".zarrfs-parts").write_text(text)
        assert ".zarrfs-parts" in run(*words, "--part", "1/2", status=3).stderr_text
    run(*words, "--begin", "--parts", "1")
    run(*words, "--part", "1/1")
    run(*words, "--finish")


@pytest.mark.parametrize("member,value", [("shape", [7, 1024, 1024]), ("data_type", "float32"), ("fill_value", 1),
                                          ("codecs", [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}])],
                         ids=["shape", "type", "fill", "codecs"])
def test_a_source_that_changed_is_told(large, tmp_path, member, value):
    words = ["shard", large, tmp_path / "made", "--shard-chunks", "1x4x4"]
    run(*words, "--part", "1/2")
    document = json.loads((large / "a" / "zarr.json").read_text())
    document[member] = value
    (large / "a" / "zarr.json").write_text(json.dumps(document))
    for step in (["--part", "2/2"], ["--finish"], ["--begin"]):
        told = run(*words, *step, status=3).stderr_text
        assert "are not those of --begin" in told and "--discard" in told, told


def test_pieces_that_are_too_many_to_visit_are_found_by_listing(tmp_path):
    """A grid of 10^12 places, of which three are there."""
    source = tmp_path / "source"
    add_array(source / "a", shape=[3 * 10**6, 3 * 10**6], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [3, 3]}})
    os.remove(source / "a" / "c" / "0")
    for place in ("0/0", "500000/17", "999999/999999"):
        path = source / "a" / "c" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.arange(9, dtype="<i2").tobytes())
    words = ["shard", source, tmp_path / "made", "--shard-chunks", "2"]
    run(*words[:2], tmp_path / "alone", *words[3:])
    for part in (2, 1, 3):
        run(*words, "--part", f"{part}/3")
    run(*words, "--finish")
    assert_same_store(tmp_path / "made", tmp_path / "alone")


@pytest.mark.parametrize("command,words", [("shard", ["--shard-chunks", "1x4x4"]), ("unshard", [])])
def test_kills_and_two_machines_at_one_piece(large, tmp_path, command, words):
    """Parts are started again and again, some of them twice at once, and killed at random moments, until none is missing."""
    print("ZARRFS_SEED", SEED)
    chance = random.Random(SEED)
    source = large
    if command == "unshard":
        run("shard", large, tmp_path / "sharded", "--shard-chunks", "1x4x4")
        source = tmp_path / "sharded"
    alone, made, parts = tmp_path / "alone", tmp_path / "made", 4
    begin = time.monotonic()
    run(command, source, alone, *words)
    whole = time.monotonic() - begin
    hits = 0
    for _ in range(KILLS):
        running = [subprocess.Popen([ZARRFS, command, str(source), str(made), *words, "-j", "2", "--part", f"{chance.randint(1, parts)}/{parts}"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        time.sleep(chance.random() * whole)  # killed at any moment
        for process in running:
            process.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        hits += sum(process.wait(timeout=60) != 0 for process in running)
    left = [name for name in files_of(made) if ".zarrfs-new" in name]
    print(f"{hits} of {2 * KILLS} were hit, {len(left)} temporary files left")
    for part in range(1, parts + 1):
        run(command, source, made, *words, "--part", f"{part}/{parts}")
    run(command, source, made, *words, "--finish", "--check")
    assert_same_store(made, alone)
    assert hits > 0


def test_a_disk_that_is_full(large, tmp_path):
    need(os.geteuid() == 0, "root mounts a small file system")
    alone, disk = tmp_path / "alone", tmp_path / "disk"
    words = ["--shard-chunks", "1x4x4"]
    run("shard", large, alone, *words)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    try:
        full = 0
        for part in (1, 2, 3):
            done = subprocess.run([ZARRFS, "shard", str(large), str(disk / "made"), *words, "--part", f"{part}/3"], capture_output=True, text=True)
            if done.returncode:
                full += 1
                assert "No space left" in done.stderr and done.returncode == 3, done.stderr
        assert full > 0
        assert not [name for name in files_of(disk / "made") if ".zarrfs-new" in name]
        subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
        for part in (1, 2, 3):
            run("shard", large, disk / "made", *words, "--part", f"{part}/3")
        run("shard", large, disk / "made", *words, "--finish", "--check")
        assert_same_store(disk / "made", alone)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_begin_that_is_killed_begins_again(plain, tmp_path):
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words[:2], tmp_path / "alone", *words[3:])
    chance, whole, hits = random.Random(SEED), 0.02, 0
    for _ in range(KILLS):
        process = subprocess.Popen([ZARRFS, *map(str, words), "--begin"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * whole)  # killed at any moment
        process.kill()
        hits += process.wait(timeout=60) != 0
    print(f"ZARRFS_SEED {SEED}: {hits} of {KILLS} were hit")
    (tmp_path / "made").mkdir(exist_ok=True)
    (tmp_path / "made" / ".zarrfs-new-.zarrfs-conversion-77").write_text('{"sour')  # the moment before it stands
    run(*words, "--begin", "--parts", "2")
    for part in (1, 2):
        run(*words, "--part", f"{part}/2")
    run(*words, "--finish", "--check")
    assert_same_store(tmp_path / "made", tmp_path / "alone")
    assert hits > 0


def test_several_finish_at_once(plain, tmp_path):
    """One of them does, or the next; the others say that there is nothing to finish, or that it was finished meanwhile."""
    words = ["shard", plain, tmp_path / "made", "--shard-chunks", "2"]
    run(*words[:2], tmp_path / "alone", *words[3:])
    for _ in range(3):
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        run(*words, "--part", "1/1")
        running = [subprocess.Popen([ZARRFS, *map(str, words), "--finish"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        told = [process.communicate(timeout=300)[1] for process in running]
        if (tmp_path / "made" / ".zarrfs-conversion").exists():
            run(*words, "--finish")
        assert_same_store(tmp_path / "made", tmp_path / "alone")
        assert all(process.returncode == 0 or text for process, text in zip(running, told))
    assert "no conversion in parts is under way" in run(*words, "--finish", status=2).stderr_text


def test_a_target_on_a_mount_that_is_gone(large, tmp_path):
    """Nothing is made on the disk below, as its directory is not there."""
    need(os.geteuid() == 0, "root mounts")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = disk / "project" / "made"
    words = ["shard", str(large), str(made), "--shard-chunks", "1x1x1"]
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
    try:
        made.parent.mkdir()
        run(*words, "--begin", "--parts", "2")
        running = subprocess.Popen([ZARRFS, *words, "-j", "1", "--part", "1/2"], stderr=subprocess.PIPE, text=True)
        while not (made / "a").exists() and running.poll() is None:
            time.sleep(0.001)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    _, told = running.communicate(timeout=300)
    assert running.returncode in (0, 3), told  # 0: what it had open was still there
    for step in (["--part", "1/2"], ["--part", "2/2"], ["--finish"], ["--begin"], ["--status"]):
        assert "made" in run(*words, *step, status=2 if step[0] in ("--finish", "--status") else 3).stderr_text
    assert os.listdir(disk) == []


def test_a_part_ends_where_the_rest_is_finished_or_discarded(large, tmp_path):
    made = tmp_path / "made"
    words = ["shard", str(large), str(made), "--shard-chunks", "1x1x1"]
    run(*words, "--begin")
    process = subprocess.Popen([ZARRFS, *words, "-j", "1", "--part", "1/1"], stderr=subprocess.PIPE, text=True)
    while not (made / "a").exists() and process.poll() is None:
        time.sleep(0.001)
    (made / ".zarrfs-conversion").rename(tmp_path / "marker")
    _, told = process.communicate(timeout=300)
    if process.returncode == 0:
        pytest.skip("the part was done before")
    assert process.returncode == 3 and "finished or discarded" in told


def test_a_part_that_sleeps_until_the_rest_is_finished_leaves_nothing(large, tmp_path):
    made = tmp_path / "made"
    words = ["shard", str(large), str(made), "--shard-chunks", "6x16x16"]
    process = subprocess.Popen([ZARRFS, *words, "--part", "1/1"], stderr=subprocess.PIPE, text=True)
    while not (made / "a").exists() and process.poll() is None:
        pass
    process.send_signal(signal.SIGSTOP)
    for name in (".zarrfs-conversion", ".zarrfs-parts", ".zarrfs-part-1"):
        (made / name).unlink(missing_ok=True)  # as another machine's --finish does
    process.send_signal(signal.SIGCONT)
    _, told = process.communicate(timeout=300)
    if process.returncode == 0:
        pytest.skip("the part was done before")
    assert process.returncode == 3 and "finished or discarded" in told
    assert not list(made.glob(".zarrfs-*"))


def test_verify_in_parts_adds_up(tmp_path):
    store = tmp_path / "store"
    shutil.copytree(SHARDING, store)
    shard = Shard(store / "index_end" / "c" / "1" / "1", 16)
    (store / "index_end" / "c" / "1" / "1").write_bytes(bytes(shard.data[:-1]))
    (store / "nested" / "zarr.json").write_text("{")
    wanted = run_json("verify", store, status=1)
    results = [tmp_path / f"part{part}" for part in (1, 2, 3)]
    statuses = [subprocess.run([ZARRFS, "verify", str(store), "--part", f"{part}/3", "--result", str(results[part - 1])],
                               capture_output=True).returncode for part in (1, 2, 3)]
    assert sorted(set(statuses)) in ([0, 1], [1])
    got = run_json("verify", "--sum", *reversed(results), status=1)
    for member in ("store", "complete", "objects", "chunks", "bytes", "not_understood", "perhaps_unmarked"):
        assert got[member] == wanted[member], member
    key = lambda damage: json.dumps(damage, sort_keys=True)  # noqa: E731
    assert sorted(got["damage"], key=key) == sorted(wanted["damage"], key=key) and len(wanted["damage"]) == 2
    assert "2 damaged" in run("verify", "--sum", *results, status=1).stdout_text
    assert "2" in run("verify", "--sum", results[0], results[2], status=3).stderr_text
    assert "twice" in run("verify", "--sum", *results, results[0], status=2).stderr_text
    run("verify", "--sum", *results, "--part", "1/3", status=2)
    run("verify", store, "--sum", *results, status=2)
    run("verify", status=2)
    run("verify", store, "--result", results[0], status=2)
    assert "'4/3'" in run("verify", store, "--part", "4/3", status=2).stderr_text
    shutil.copytree(SHARDING, tmp_path / "other")
    run("verify", tmp_path / "other", "--part", "3/3", "--result", results[2])
    told = run("verify", "--sum", *results, status=2).stderr_text
    assert f'part3 is of "{tmp_path}/other", ' in told and f'part1 of "{store}"' in told
    for text in ('{"command": "verify"}', ""):
        results[0].write_text(text)
        assert "part1" in run("verify", "--sum", *results, status=3).stderr_text


def test_a_check_that_fails_leaves_no_result_of_an_earlier_one(tmp_path):
    store, result = tmp_path / "store", tmp_path / "part1"
    shutil.copytree(SHARDING, store)
    run("diff", SHARDING, store, "--part", "1/1", "--result", result)
    assert result.exists()
    shutil.rmtree(store)
    run("diff", SHARDING, store, "--part", "1/1", "--result", result, status=2)
    assert not result.exists()
    assert "no such file" in run("diff", "--sum", result, status=2).stderr_text


def test_an_unfinished_conversion_in_parts_is_damage(plain, tmp_path):
    run("shard", plain, tmp_path / "made", "--shard-chunks", "2", "--part", "1/2")
    assert "unfinished result of a conversion" in run("verify", tmp_path / "made", status=1).stdout_text


def test_diff_in_parts_adds_up(tmp_path):
    store = tmp_path / "store"
    run("reshard", SHARDING, store, "--shard-chunks", "1", status=1)
    shutil.rmtree(store / "vector")
    (store / "index_end" / "c" / "0" / "0").unlink()
    (store / "scalar" / "c").unlink()
    wanted = run_json("diff", SHARDING, store, "--limit", "1000", status=1)
    results = [tmp_path / f"part{part}" for part in (1, 2, 3)]
    for part in (1, 2, 3):
        done = subprocess.run([ZARRFS, "diff", SHARDING, str(store), "--limit", "1000", "--part", f"{part}/3", "--result", str(results[part - 1])], capture_output=True)
        assert done.returncode in (0, 1)
    got = run_json("diff", "--sum", *results, status=1)
    key = lambda entry: json.dumps(entry, sort_keys=True)  # noqa: E731
    assert sorted(got.pop("listed"), key=key) == sorted(wanted.pop("listed"), key=key)
    assert got == wanted and wanted["differences"] > 2
    run("diff", "--sum", results[0], results[1], status=3)
    run("diff", SHARDING, status=2)
    assert "no result of zarrfs verify" in run("verify", "--sum", *results, status=2).stderr_text
