"""What a user may choose about writing to a server: conflicts=fail, fsync=commit, spool_bytes."""
import errno
import os
import subprocess

import pytest
from conftest import DAEMON, kill
from test_remote_writing import bucket, credentials, data, own_files, publish, put, puts_of  # noqa: F401, two are fixtures


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
    bucket.server.fault = None
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
    bucket.server.fault = None
    publish(mounted)
    put(mounted, "2.0", 44)
    publish(mounted)
    stored = bucket.stored()
    assert (stored["0.0"], stored["1.1"], stored["2.0"]) == (data(41), data(42), data(44))


@pytest.mark.parametrize("option", ["conflicts=maybe", "fsync=never", "spool_bytes=much"])
def test_what_is_no_value_is_said(bucket, option):
    os.mkdir(bucket.folder / "mnt")
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", bucket.folder / "mnt", "-o", bucket.options("spool", option)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and option.split("=")[0] in done.stderr, done.stderr
