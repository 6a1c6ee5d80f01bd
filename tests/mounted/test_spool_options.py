"""What a user may choose about writing to a server: conflicts=fail, fsync=commit, spool_bytes."""
import errno
import os
import shutil
import signal
import subprocess

import pytest
from conftest import DAEMON, GOLDEN, kill, within
from test_remote_writing import bucket, come_back, credentials, data, own_files, publish, put, puts_of  # noqa: F401, two are fixtures


def read(mounted, chunk):
    with open(mounted / f"a/{chunk}", "rb") as file:
        return file.read()


def test_conflicts_fail_keeps_what_was_put_first(bucket):
    more = "flush_after=3600,conflicts=fail"
    one, two = bucket.open("one", more), bucket.open("two", more, damaged=True)
    put(one, "0.0", 60)
    put(two, "0.0", 61)
    put(two, "1.0", 62)
    publish(one)
    told = publish(two, status=3)
    assert "chunk 0.0" in told and "conflicts=fail" in told and "chunk 1.0" not in told, told
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.0"]) == (data(60), data(62))
    assert read(two, "0.0") == data(61), "it is kept, and shown where it was written"
    with pytest.raises(OSError) as raised:
        put_synced = os.open(two / "a/0.0", os.O_RDWR)
        try:
            os.fsync(put_synced)
        finally:
            os.close(put_synced)
    assert raised.value.errno == errno.EBUSY
    # It stays so when the daemon dies, and ends when the chunk is written again.
    kill(two.statistics_process())
    subprocess.run(["umount", "-l", two.path], check=True)
    again = bucket.open("two", more, damaged=True)
    assert read(again, "0.0") == data(61) and bucket.stored()["0.0"] == data(60)
    put(again, "0.0", 63)
    publish(again)
    assert bucket.stored()["0.0"] == data(63)
    again.close()
    assert not own_files(bucket.folder / "two")


def test_a_close_that_meets_a_conflict_says_so(bucket):
    one = bucket.open("one", "flush_after=3600")
    two = bucket.open("two", "flush_after=3600,conflicts=fail,revalidate=60", damaged=True)
    put(two, "1.1", 70)
    put(one, "1.1", 71)
    publish(one)
    publish(two, status=3)
    closing = bucket.open("three", "flush=close,conflicts=fail,revalidate=60", damaged=True)
    assert read(closing, "1.1") == data(71)
    put(one, "1.1", 72)
    publish(one)
    with pytest.raises(OSError) as raised:
        put(closing, "1.1", 73)
    assert raised.value.errno == errno.EBUSY
    put(closing, "0.1", 74)  # another chunk of the shard
    stored = bucket.stored()
    assert (stored["1.1"], stored["0.1"]) == (data(72), data(74))
    put(closing, "1.1", 75)
    put(two, "1.1", 75)
    publish(two, status=3)  # others have written it since the conflict before
    put(two, "1.1", 76)
    publish(two)
    assert bucket.stored()["1.1"] == data(76)


def decide(mounted, chunk, value):
    """Else it is in the spool for ever, and unmounting says so."""
    put(mounted, chunk, value)
    publish(mounted)


def answers(act):
    """The errno of what `act` raises; 0 where it raises nothing."""
    try:
        act()
    except OSError as raised:
        return raised.errno
    return 0


def test_each_close_of_a_chunk_in_conflict_says_so(bucket):
    one = bucket.open("one", "flush_after=3600")
    closing = bucket.open("two", "flush=close,conflicts=fail,revalidate=60", damaged=True)
    assert read(closing, "0.0") and read(closing, "1.1")
    put(one, "0.0", 20)
    publish(one)
    first = os.open(closing / "a/0.0", os.O_WRONLY)
    second = os.dup(first)
    os.pwrite(first, data(21), 0)
    assert answers(lambda: os.close(first)) == errno.EBUSY
    assert answers(lambda: os.close(second)) == errno.EBUSY
    assert bucket.stored()["0.0"] == data(20) and read(closing, "0.0") == data(21)
    decide(closing, "0.0", 22)


def test_a_conflict_is_told_to_its_own_chunks_writer(bucket):
    one = bucket.open("one", "flush_after=3600")
    closing = bucket.open("two", "flush=close,conflicts=fail,revalidate=60,deadline=1", damaged=True)
    assert read(closing, "0.0") and read(closing, "1.1")
    put(one, "0.0", 30)
    publish(one)
    bucket.server.fault = lambda seen: {"status": 503}
    assert answers(lambda: put(closing, "0.0", 31)) == errno.EIO
    come_back(bucket, closing)
    assert answers(lambda: put(closing, "1.1", 32)) == 0
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.1"]) == (data(30), data(32))
    assert read(closing, "0.0") == data(31)
    assert "chunk 0.0" in publish(closing, status=3)
    decide(closing, "0.0", 33)


def test_what_is_held_outlives_a_lost_answer_and_a_kill(bucket):
    more = "flush_after=3600,conflicts=fail,revalidate=60,deadline=1"
    one, two = bucket.open("one", "flush_after=3600"), bucket.open("two", more, damaged=True)
    assert read(two, "0.0")
    put(two, "0.0", 50)
    put(two, "1.1", 51)
    put(one, "0.0", 52)
    publish(one)
    gone = []

    def no_answer(seen):
        if seen["method"] == "PUT":
            gone.append(seen)
            return {"lost": True}
        return {"status": 503} if gone else None

    bucket.server.fault = no_answer
    publish(two, status=3)
    assert gone
    kill(two.statistics_process())
    subprocess.run(["umount", "-l", two.path], check=True)
    bucket.server.fault = None
    again = bucket.open("two", more, damaged=True)
    assert read(again, "0.0") == data(50), "what was acknowledged is gone"
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.1"]) == (data(52), data(51))
    assert "chunk 0.0" in publish(again, status=3)
    os.unlink(again / "a/0.0")
    publish(again)
    assert "0.0" not in bucket.stored()


def test_unmounting_says_that_it_is_in_the_spool(bucket):
    mounted = bucket.open("spool", "flush_after=3600,revalidate=60,deadline=1", damaged=True)
    put(mounted, "0.0", 48)
    bucket.server.fault = lambda seen: {"status": 503}
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "kept in the spool:\n" in done.stderr and "chunk 0.0" in done.stderr, done.stderr
    bucket.server.fault = None
    bucket.open("spool")
    assert bucket.stored()["0.0"] == data(48)


def test_removing_a_chunk_that_another_wrote_is_a_conflict(bucket):
    one = bucket.open("one", "flush_after=3600")
    two = bucket.open("two", "flush_after=3600,conflicts=fail,revalidate=60", damaged=True)
    assert read(two, "0.0")
    os.unlink(two / "a/0.0")
    put(one, "0.0", 53)
    publish(one)
    assert "chunk 0.0" in publish(two, status=3)
    assert bucket.stored()["0.0"] == data(53) and not os.path.exists(two / "a/0.0")
    put(two, "0.0", 54)
    publish(two)
    assert bucket.stored()["0.0"] == data(54)


def test_a_chunk_is_decided_on_what_is_shown_then(bucket):
    """Others have gone on writing since: what this mount shows of them is no conflict any more."""
    one = bucket.open("one", "flush_after=3600")
    two = bucket.open("two", "flush_after=3600,conflicts=fail", damaged=True)
    put(two, "0.0", 55)
    put(one, "0.0", 56)
    publish(one)
    publish(two, status=3)
    put(one, "1.1", 57)
    publish(one)
    assert read(two, "1.1") == data(57)
    put(two, "1.1", 58)
    assert "1.1" not in publish(two, status=3)
    assert bucket.stored()["1.1"] == data(58)
    decide(two, "0.0", 59)


def test_fsync_commit_says_that_a_chunk_is_held(bucket):
    one = bucket.open("one", "flush_after=3600")
    two = bucket.open("two", "flush_after=3600,fsync=commit,conflicts=fail,revalidate=60", damaged=True)
    assert read(two, "0.0") and read(two, "2.0")
    put(one, "0.0", 59)
    publish(one)
    put(two, "2.0", 60)
    assert answers(lambda: put(two, "0.0", 61, sync=True)) == errno.EBUSY
    put(two, "1.1", 62, sync=True)
    folder = os.open(two / "a", os.O_RDONLY)
    assert answers(lambda: os.fsync(folder)) == errno.EBUSY
    os.close(folder)
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.1"], stored["2.0"]) == (data(59), data(62), data(60))
    decide(two, "0.0", 63)


def test_fsync_commit_returns_when_the_shard_is_there(bucket):
    mounted = bucket.open("spool", "flush_after=3600,fsync=commit")
    put(mounted, "0.0", 80)
    assert bucket.stored()["0.0"] != data(80)
    put(mounted, "0.1", 81, sync=True)
    stored = bucket.stored()
    assert (stored["0.0"], stored["0.1"]) == (data(80), data(81))
    put(mounted, "2.2", 82)
    folder = os.open(mounted / "a", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    assert bucket.stored()["2.2"] == data(82)


def test_fsync_commit_fails_where_the_server_is_gone(bucket):
    mounted = bucket.open("spool", "flush_after=3600,fsync=commit,revalidate=60", damaged=True)
    assert read(mounted, "0.0")
    bucket.server.fault = lambda seen: {"status": 503} if seen["method"] == "PUT" else None
    with pytest.raises(OSError) as raised:
        put(mounted, "0.0", 83, sync=True)
    assert raised.value.errno == errno.EIO
    come_back(bucket, mounted)
    publish(mounted)
    assert bucket.stored()["0.0"] == data(83)


def test_a_full_spool_is_put_before_more_is_taken(bucket):
    mounted = bucket.open("spool", "flush_after=3600,spool_bytes=40")
    bucket.server.forget()
    for number, chunk in enumerate(("0.0", "0.1", "2.0", "2.2", "1.0")):
        put(mounted, chunk, 90 + number)
    assert puts_of(bucket.server, ""), "nothing was put"
    publish(mounted)
    stored = bucket.stored()
    assert [stored[chunk] for chunk in ("0.0", "0.1", "2.0", "2.2", "1.0")] == [data(90 + number) for number in range(5)]


def test_a_full_spool_takes_nothing_while_the_server_is_gone(bucket):
    mounted = bucket.open("spool", "flush_after=3600,spool_bytes=40,revalidate=60,deadline=1", damaged=True)
    put(mounted, "0.0", 41)
    put(mounted, "1.1", 42)
    bucket.server.fault = lambda seen: {"status": 503}
    with pytest.raises(OSError) as raised:
        put(mounted, "0.0", 43)
    assert raised.value.errno == errno.ENOSPC
    assert (read(mounted, "0.0"), read(mounted, "1.1")) == (data(41), data(42))
    come_back(bucket, mounted)
    publish(mounted)
    put(mounted, "2.0", 44)
    publish(mounted)
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.1"], stored["2.0"]) == (data(41), data(42), data(44))


def test_a_signal_hides_no_error(bucket):
    """EINTR of close(2) says to many programs that all is well."""
    mounted = bucket.open("spool", "flush_after=3600,spool_bytes=40,revalidate=60,deadline=1", damaged=True)
    put(mounted, "0.0", 41)
    put(mounted, "1.1", 42)
    bucket.server.fault = lambda seen: {"status": 503}
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        assert answers(lambda: put(mounted, "0.0", 43)) == errno.ENOSPC
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    come_back(bucket, mounted)
    publish(mounted)


def test_removing_gives_room_while_the_server_is_gone(bucket):
    mounted = bucket.open("spool", "flush_after=3600,spool_bytes=40,revalidate=60,deadline=1", damaged=True)
    put(mounted, "0.0", 45)
    put(mounted, "1.1", 46)
    bucket.server.fault = lambda seen: {"status": 503}
    assert answers(lambda: put(mounted, "1.0", 47)) == errno.ENOSPC
    os.unlink(mounted / "a/1.1")
    # What is just being published, in vain, keeps its room until that has failed.
    within(60, lambda: answers(lambda: put(mounted, "1.0", 47)) == 0)
    come_back(bucket, mounted)
    publish(mounted)
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.0"], "1.1" in stored) == (data(45), data(47), False)


def test_conflicts_are_of_buckets_only(bucket):
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", bucket.store.path, bucket.folder / "mnt", "-o", "conflicts=fail"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "conflicts=fail" in done.stderr and "s3://" in done.stderr, done.stderr


@pytest.mark.parametrize("option", ["conflicts=maybe", "fsync=never", "spool_bytes=much"])
def test_what_is_no_value_is_said(bucket, option):
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", bucket.folder / "mnt", "-o", bucket.options("spool", option)],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and option.split("=")[0] in done.stderr, done.stderr


def test_a_volume_beside_an_array_is_only_read(bucket):
    shutil.copytree(os.path.join(GOLDEN, "volumes/files"), os.path.join(bucket.store.path, "volume"))
    mounted = bucket.open(more="view=v3,flush_after=0")
    assert os.listdir(mounted / "volume/fine/c/0/0/0")
    with pytest.raises(OSError) as raised, open(mounted / "volume/fine/c/0/0/0/0", "wb") as file:
        file.write(b"x")
    assert raised.value.errno == errno.EROFS
    assert not puts_of(bucket.server, "volume/fine/c/0/0/0/0")


@pytest.mark.parametrize("source", ["s3://bucket/store", "gs://bucket/store"])
def test_what_is_written_to_a_server_is_not_for_others(tmp_path, source):
    os.mkdir(tmp_path / "mnt")
    done = subprocess.run([DAEMON, "mount", source, tmp_path / "mnt", "-o", "rw,allow_other"], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "options allow_other and rw exclude each other for stores at a server" in done.stderr, done.stderr


def test_who_syncs_is_told_that_the_spool_was_deleted(bucket):
    mounted = bucket.open("spool", "flush_after=3600,revalidate=60", damaged=True)
    put(mounted, "0.0", 90, sync=True)
    shutil.rmtree(bucket.folder / "spool")
    assert answers(lambda: put(mounted, "0.0", 91, sync=True)) == errno.EIO
    told = publish(mounted, status=3)
    assert "chunk 0.0" in told and "was deleted" in told, told
    unmounted = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True)
    assert unmounted.returncode == 3 and "chunk 0.0" in unmounted.stderr, unmounted.stderr


def test_recover_names_the_store_of_a_spool(bucket):
    mounted = bucket.open("spool", "flush_after=3600,revalidate=60", damaged=True)
    put(mounted, "0.0", 92, sync=True)
    kill(mounted.statistics_process())
    subprocess.run(["umount", "-l", mounted.path], check=True)
    own = next((bucket.folder / "spool").iterdir())
    for place in (bucket.folder / "spool", own, own / "store"):
        done = subprocess.run([DAEMON, "recover", place], capture_output=True, text=True)
        assert done.returncode != 0 and "is a spool" in done.stderr and "s3://bucket/store" in done.stderr, (place, done)
    again = bucket.open("spool", "flush_after=3600,revalidate=60", damaged=True)
    assert read(again, "0.0") == data(92)
    publish(again)
    assert bucket.stored()["0.0"] == data(92)
