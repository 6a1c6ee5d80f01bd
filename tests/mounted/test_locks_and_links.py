"""Files that are open while their names go, links, locks, shared mappings, and documents that wait: as on a plain directory."""
import errno
import mmap
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest
from conftest import DAEMON, is_of_killed, kill, need, within
from stores import SmallStore, write_json

ZGROUP = b'{"zarr_format": 2}'
PATIENCE = 9.9  # seconds; zarrfs has a document wait for 10


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def is_asleep(task):
    """Whether the process or thread waits, and not for a processor."""
    with open(f"/proc/{task}/stat") as text:
        return text.read().rpartition(")")[2].split()[0] in ("S", "D")


def exchange_attributes(descriptor):
    """What programs ask of an open file, whatever has become of its name."""
    size = os.fstat(descriptor).st_size
    os.fchmod(descriptor, 0o600)
    os.fchown(descriptor, os.getuid(), os.getgid())
    os.utime(descriptor, (1, 1))
    assert os.fstat(descriptor).st_size == size


@pytest.mark.parametrize("name", ["a/0.0", "a/0.0.__lock", "a/.zattrs", "plain"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR])
@pytest.mark.parametrize("how", ["unlink", "replace"])
def test_an_open_file_answers_when_its_name_is_gone(mount, store, tmp_path, name, flags, how):
    write_json(store.file("plain"), {})
    for top in (tmp_path / "copy", mount(store.path, "rw")):
        if top == tmp_path / "copy":
            shutil.copytree(top.parent / "mnt0", top) if (top.parent / "mnt0").exists() else os.makedirs(top / "a")
        path = os.path.join(str(top) if top == tmp_path / "copy" else top.path, name)
        if not os.path.exists(path):
            with open(path, "wb") as out:
                out.write(b"{}" if "zattrs" in name else store.chunk(0, 0))
        descriptor = os.open(path, flags)
        try:
            before = os.fstat(descriptor)
            if how == "unlink":
                os.unlink(path)
            else:
                other = os.path.join(os.path.dirname(path), "temporary")
                with open(other, "wb") as out:
                    out.write(b"{ }" if "zattrs" in name else store.chunk(5, 5))
                os.rename(other, path)
            exchange_attributes(descriptor)
            assert len(os.read(descriptor, 1000)) == before.st_size
            if flags == os.O_RDWR:
                os.ftruncate(descriptor, 3)
                assert os.fstat(descriptor).st_size == 3
        finally:
            os.close(descriptor)


def test_a_link_of_a_plain_file_is_the_same_file(mount, store):
    write_json(store.file("plain"), {})
    mounted = mount(store.path, "rw")
    os.link(mounted / "plain", mounted / "second")
    assert os.stat(mounted / "plain").st_nlink == 2
    assert os.path.samefile(mounted / "plain", mounted / "second")
    assert os.path.samefile(store.file("plain"), store.file("second"))
    with open(mounted / "second", "w") as out:
        out.write("both")
    with open(mounted / "plain") as text:
        assert text.read() == "both"
    with pytest.raises(FileExistsError):
        os.link(mounted / "plain", mounted / "second")
    with pytest.raises(PermissionError):
        os.link(mounted / "plain", mounted / "a/other")


def test_a_document_being_written_linked_to_its_own_name_is_an_error_and_no_deadlock(mount, store):
    mounted = mount(store.path, "rw")
    os.mkdir(mounted / "g")
    path = mounted / "g/.zgroup"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(descriptor, ZGROUP)
    program = f"import os; os.link('/proc/{os.getpid()}/fd/{descriptor}', {path!r}, follow_symlinks=True)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert "FileExistsError" in done.stderr
    os.close(descriptor)
    with open(path, "rb") as text:
        assert text.read().replace(b"\n", b"").replace(b" ", b"") == ZGROUP.replace(b" ", b"")


def test_documents_that_wait_leave_every_request_of_others_served(mount, store):
    """Twelve documents that wait for chunks still being written, more than there are threads."""
    mounted = mount(store.path, "rw")
    chunks, documents, ended = [], [], []
    for number in range(12):
        os.mkdir(mounted / f"n{number}")
        chunks.append(os.open(mounted / f"n{number}/0.0", os.O_WRONLY | os.O_CREAT))
        documents.append(os.open(mounted / f"n{number}/.zgroup", os.O_WRONLY | os.O_CREAT))
        os.write(documents[-1], ZGROUP)

    def close(descriptor):
        os.close(descriptor)
        ended.append(descriptor)

    threads = [threading.Thread(target=close, args=(descriptor,)) for descriptor in documents]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    within(60, lambda: sum(is_asleep(f"self/task/{thread.native_id}") for thread in threads) == 12)  # in close(2)
    for _ in range(5):
        with open(mounted / "a/0.0", "rb") as chunk:
            assert len(chunk.read()) == 16
        assert "a" in os.listdir(mounted.path)
    assert not ended or time.monotonic() - start > PATIENCE, "others were served while they waited, not after it"
    for descriptor in chunks:
        os.close(descriptor)
    for thread in threads:
        thread.join(120)
    assert sorted(ended) == sorted(documents)
    assert os.path.exists(store.file("n3/zarr.json"))


def test_who_waits_can_be_interrupted(mount, store):
    mounted = mount(store.path, "rw")
    os.mkdir(mounted / "n")
    chunk = os.open(mounted / "n/0.0", os.O_WRONLY | os.O_CREAT)
    program = f"import os; d = os.open({mounted / 'n/.zgroup'!r}, os.O_WRONLY | os.O_CREAT); os.write(d, {ZGROUP!r}); print('w', flush=True); os.close(d)"
    waiting = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert waiting.stdout.readline() == "w\n"
    start = time.monotonic()
    within(60, lambda: is_asleep(waiting.pid))  # in close(2)
    waiting.kill()
    waiting.wait(600)
    assert time.monotonic() - start < PATIENCE
    os.close(chunk)
    waiting.stdout.close()
    within(60, lambda: os.path.exists(store.file("n/zarr.json")))  # its release was served


def test_a_killed_daemon_leaves_nobody_hanging(mount, store):
    mounted = mount(store.path, "rw")
    pid = mounted.statistics_process()
    keep, threads, ended = [], [], []
    for number in range(12):
        os.mkdir(mounted / f"n{number}")
        keep.append(os.open(mounted / f"n{number}/0.0", os.O_WRONLY | os.O_CREAT))
        document = os.open(mounted / f"n{number}/.zgroup", os.O_WRONLY | os.O_CREAT)
        os.write(document, ZGROUP)

        def close(descriptor=document):
            try:
                os.close(descriptor)
            except OSError as error:
                assert is_of_killed(error.errno, mounted.log), error
            ended.append(descriptor)

        threads.append(threading.Thread(target=close))
    for thread in threads:
        thread.start()
    within(60, lambda: sum(is_asleep(f"self/task/{thread.native_id}") for thread in threads) == 12)  # in close(2)
    kill(pid)
    for thread in threads:
        thread.join(120)
    assert len(ended) == 12, "somebody still waits for a daemon that is dead"
    for descriptor in keep:
        with pytest.raises(OSError):
            os.close(descriptor)
    subprocess.run(["umount", "-l", mounted.path], check=False)
    mount(store.path, "rw")


def test_a_chunk_is_mapped_for_reading_and_not_while_it_is_open_for_writing(mount, store):
    mounted = mount(store.path, "rw")
    with open(mounted / "a/1.0", "rb") as chunk, mmap.mmap(chunk.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == store.chunk(1, 0)
    with open(mounted / "a/1.0", "r+b") as chunk:
        with pytest.raises(OSError) as refused:
            mmap.mmap(chunk.fileno(), 0, flags=mmap.MAP_SHARED)
        assert refused.value.errno == errno.ENODEV
        with mmap.mmap(chunk.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapped:
            assert mapped[:] == store.chunk(1, 0)


def test_git_clones_and_commits_in_a_mount(mount, store, tmp_path):
    need(shutil.which("git"), "git is missing")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                   "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}

    def git(folder, *words):
        return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True, env=environment, timeout=600).stdout

    mounted = mount(store.path, "rw")
    os.mkdir(mounted / "work")
    git(mounted / "work", "init", "-q")
    for number in range(20):
        with open(mounted / f"work/f{number}", "w") as out:
            out.write(str(number) * 1000)
    git(mounted / "work", "add", ".")
    git(mounted / "work", "commit", "-q", "-m", "all")
    git(mounted.path, "clone", "-q", mounted / "work", mounted / "clone")
    assert git(mounted / "clone", "status", "--porcelain") == ""
    git(mounted / "clone", "fsck", "--strict")
    git(str(tmp_path), "clone", "-q", mounted / "clone", str(tmp_path / "outside"))
    assert (tmp_path / "outside/f7").read_text() == "7" * 1000


def test_sqlite_with_a_rollback_journal(mount, store):
    sqlite3 = pytest.importorskip("sqlite3")
    mounted = mount(store.path, "rw")
    program = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=60); c.execute('pragma journal_mode=delete')\n"
               "for i in range(20):\n    with c: c.execute('update t set n = n + 1'); c.execute('insert into log values (?)', (int(sys.argv[2]),))")
    with sqlite3.connect(mounted / "data.db") as made:
        made.execute("create table t (n integer)")
        made.execute("create table log (who integer)")
        made.execute("insert into t values (0)")
    made.close()
    running = [subprocess.Popen([sys.executable, "-c", program, mounted / "data.db", str(number)]) for number in range(3)]
    assert [process.wait(600) for process in running] == [0, 0, 0]
    mounted.unmount()
    read = sqlite3.connect(store.file("data.db"))
    assert read.execute("select n from t").fetchall() == [(60,)]
    assert read.execute("select count(*) from log").fetchall() == [(60,)]
    assert read.execute("pragma integrity_check").fetchall() == [("ok",)]
    read.close()


def test_fio_verifies_a_plain_file(mount, store, tmp_path):
    need(shutil.which("fio"), "fio is missing")
    mounted = mount(store.path, "rw")
    subprocess.run(["fio", "--name=verify", f"--directory={mounted.path}", "--rw=randrw", "--bs=4k-64k", "--size=8m", "--verify=crc32c",
                    "--ioengine=psync", "--numjobs=2", "--fallocate=none"], check=True, capture_output=True, timeout=600, cwd=tmp_path)


def test_what_a_mount_does_not_offer_is_refused_by_its_errno(mount, store):
    mounted = mount(store.path, "rw")
    os.mkdir(mounted / "x")
    done = subprocess.run(["fallocate", "-l", "100", mounted / "x/file"], capture_output=True, text=True)
    assert done.returncode == 1 and "not supported" in done.stderr, done
    with pytest.raises(OSError) as refused:
        os.open(mounted / "x", os.O_TMPFILE | os.O_RDWR)
    assert refused.value.errno == errno.EOPNOTSUPP
    with pytest.raises(OSError) as refused:
        os.mkfifo(mounted / "x/pipe")
    assert refused.value.errno == errno.EPERM
    with pytest.raises(OSError) as refused:
        os.rename(mounted / "a/0.0", mounted / "a/0.1")
    assert refused.value.errno == errno.EXDEV


def test_an_array_and_the_store_around_it_are_not_both_written(mount, store, tmp_path):
    """Each would publish shards that do not hold what the other took."""
    empty = tmp_path / "empty"
    empty.mkdir()

    def refused(source):
        done = subprocess.run([DAEMON, "mount", str(source), str(empty), "-o", "rw"], capture_output=True, text=True, timeout=600)
        assert done.returncode != 0 and "is already written by process" in done.stderr, done.stderr

    around = mount(store.path, "rw")
    refused(store.file("a"))
    around.close()
    within_it = mount(store.file("a"), "rw")
    refused(store.path)
    mount(store.path, "ro")
    within_it.close()
    assert not os.path.exists(os.path.join(store.path, ".zarrfs"))
    mount(store.path, "rw")


def test_what_a_killed_mount_of_an_array_left_is_not_overtaken(mount, store):
    """It is older than what the store around it would write, and would be put over that later."""
    def put(path, value):
        with open(path, "wb", buffering=0) as file:
            file.write(store.chunk(0, 0, value))

    array = mount(store.file("a"), "rw,flush_after=3600")
    put(array / "0.0", 100)
    kill(array.statistics_process())
    subprocess.run(["umount", "-l", array.path], check=True)

    around = mount(store.path, "rw", damaged=True)
    with pytest.raises(OSError) as refused:
        put(around / "a/0.0", 200)
    assert refused.value.errno == errno.EBUSY
    assert f"{store.file('a')} has chunks that are not published yet: unmount {store.path}" in around.log_text()
    around.close()
    subprocess.run([DAEMON, "recover", store.file("a")], check=True, timeout=600)

    around = mount(store.path, "rw")
    with open(around / "a/0.0", "rb") as file:
        assert file.read() == store.chunk(0, 0, 100)
    put(around / "a/0.0", 200)
    around.close()
    with open(mount(store.path, "ro") / "a/0.0", "rb") as file:
        assert file.read() == store.chunk(0, 0, 200)


def test_names_behind_links_are_there_or_not_as_in_the_store(mount, store):
    """Links to directories that are no nodes, that hold some, and through others; what lies behind one, and what does not."""
    os.makedirs(store.file("plain/below"))
    for name in ("plain/f", "plain/below/f"):
        with open(store.file(name), "w") as out:
            out.write(name)
    os.makedirs(store.file("u"))
    for link, leads in {"u/plain": "../plain", "u/array": "../a", "u/up": "..", "u/through": "plain/below", "u/nowhere": "gone", "u/0.0": "gone"}.items():
        os.symlink(leads, store.file(link))
    names = ["f", "none", "below/f", "below/none", "none/none", "plain/below/f", "u/plain/none"]
    for view in ("v2", "v3"):
        mounted = mount(store.path, f"ro,view={view}", damaged=True)
        for link in ("plain", "u/plain", "u/up", "u/through", "u/array"):
            for name in names:
                path = os.path.join(link, name)
                assert os.path.exists(mounted / path) == os.path.exists(store.file(path)), path
                if not os.path.exists(mounted / path):
                    with pytest.raises(OSError) as missing:
                        os.stat(mounted / path)
                    assert missing.value.errno in (errno.ENOENT, errno.ENOTDIR), path
        assert os.readlink(mounted / "u/nowhere") == "gone"  # it is seen to be a link
        with pytest.raises(OSError) as nowhere:
            os.stat(mounted / "u/0.0")
        assert nowhere.value.errno == errno.EIO  # no absence: readers would take it for the fill value
