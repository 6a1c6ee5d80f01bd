"""Names that programs have seen: what cannot be read any more is an error of read(2). To many readers a file that cannot be looked up is a
missing one, and so the fill value; what they write then, they make of it."""
import errno
import os
import time

import pytest
from conftest import within
from stores import SmallStore, write_file
from test_remote_writing import bucket, credentials, data  # noqa: F401, two are fixtures


def wait_for_a_look():
    """Until a document that was looked at is not taken for granted any more."""
    time.sleep(1.2)  # nothing tells


def read(mounted, chunk):
    with open(mounted / f"a/{chunk}", "rb") as file:
        return file.read()


def reads(mounted, chunk):
    """What a read gives; the errno of one that fails, of a file that is there."""
    assert os.path.isfile(mounted / f"a/{chunk}"), "it is missing"
    try:
        return read(mounted, chunk)
    except OSError as error:
        return error.errno


def server_mount(bucket, mount, more):
    return mount("s3://bucket/store", f"endpoint={bucket.server.url},region={bucket.server.region},deadline=2,{more}", damaged=True)


@pytest.mark.parametrize("refused", ["/a/zarr.json", "/a", ""])
@pytest.mark.parametrize("status,expected", [(403, errno.EACCES), (400, errno.EIO)])
def test_chunks_of_an_array_that_the_server_refuses_by_now(bucket, mount, refused, status, expected):
    mounted = server_mount(bucket, mount, "revalidate=0,memory_cache=0")
    stored = read(mounted, "0.0"), read(mounted, "1.1")
    bucket.server.fault = lambda seen: {"status": status} if f"/store{refused}" in seen["path"] else None
    wait_for_a_look()
    for _ in range(2):
        assert [reads(mounted, chunk) for chunk in ("0.0", "1.1", "3.3")] == [expected] * 3
    bucket.server.fault = None
    within(20, lambda: os.path.isfile(mounted / "a/0.0") and reads(mounted, "0.0") == stored[0])
    assert reads(mounted, "1.1") == stored[1]
    assert not os.path.exists(mounted / "a/3.3"), "it is absent"


def test_an_array_in_a_group_that_the_server_refuses_by_now(bucket, mount):
    mounted = server_mount(bucket, mount, "revalidate=0,memory_cache=0")
    stored = read(mounted, "0.0")
    bucket.server.fault = lambda seen: {"status": 403} if seen["path"].endswith("/store/zarr.json") else None
    wait_for_a_look()
    assert reads(mounted, "0.0") == stored
    assert not os.path.exists(mounted / "a/3.3"), "it is absent"


def test_a_refusal_that_passes_costs_no_value(bucket, mount):
    mounted = bucket.open("spool", "flush_after=3600", damaged=True)
    stored = read(mounted, "0.0")
    left = [2]

    def refuse_twice(seen):
        if seen["path"].endswith("zarr.json") and left[0] > 0:
            left[0] -= 1
            return {"status": 403}
        return None

    wait_for_a_look()
    bucket.server.fault = refuse_twice
    for _ in range(20):
        assert reads(mounted, "0.0") in (stored, errno.EACCES)
        time.sleep(0.1)  # a look at each of the moments in which it is asked again
    assert left == [0] and reads(mounted, "0.0") == stored


def test_what_is_being_written_is_there_while_the_document_is_refused(bucket):
    mounted = bucket.open("spool", "flush_after=3600", damaged=True)
    assert read(mounted, "0.0")
    with open(mounted / "a/1.1", "wb") as file:
        file.write(data(5))
        file.flush()
        bucket.server.fault = lambda seen: {"status": 403} if seen["path"].endswith("zarr.json") else None
        wait_for_a_look()
        assert os.path.isfile(mounted / "a/1.1")
        bucket.server.fault = None
    within(20, lambda: reads(mounted, "1.1") == data(5))


def test_chunks_of_an_array_whose_document_was_replaced_by_garbage(mount, tmp_path):
    store = SmallStore(tmp_path)
    mounted = mount(store.path, damaged=True)
    stored, document = read(mounted, "0.0"), open(store.file("a/zarr.json"), "rb").read()
    write_file(store.file("a/zarr.json"), b'{"zarr_for')
    wait_for_a_look()
    assert [reads(mounted, chunk) for chunk in ("0.0", "3.3")] == [errno.EUCLEAN] * 2
    write_file(store.file("a/zarr.json"), document)
    within(20, lambda: reads(mounted, "0.0") == stored)


def test_an_answer_to_head_that_says_nothing_is_no_absence(bucket, mount):
    mounted = server_mount(bucket, mount, "revalidate=0,memory_cache=0")
    assert read(mounted, "0.0")
    bucket.server.fault = lambda seen: {"status": 416} if "/c/0/0" in seen["path"] else None
    assert reads(mounted, "0.0") == errno.EIO


def test_a_chunk_that_is_put_together_is_of_one_version_of_its_shard(bucket, mount):
    mounted = server_mount(bucket, mount, "rechunk=4x4,revalidate=60")
    replaced = []

    def replace(seen):
        """Between two ranges of the shard."""
        if "/c/0/0" in seen["path"] and not (seen["range"] or "bytes=-").startswith("bytes=-") and len(replaced) < 2:
            replaced.append(seen)
            if len(replaced) == 2:
                bucket.store.write_shard(0, 0, add=100)
        return None

    bucket.server.fault = replace
    values = memoryview(read(mounted, "0.0")).cast("i").tolist()
    assert len(replaced) == 2, "the shard was not read by ranges"
    assert not ({0, 10, 11} & set(values) and {100, 110, 111} & set(values)), f"two versions: {values}"
