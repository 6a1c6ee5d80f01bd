"""Mounting and unmounting: what is refused and with which words, signals, and how a mount ends."""
import errno
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import DAEMON, VENVS, Watched, kill, need, within
from object_server import ObjectServer
from stores import SmallStore, write_json
from test_files import error_of, read


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


LOOP_CLR_FD = 0x4C01
CLOCK_NANOSLEEP = ("230", "115")  # on x86_64; on aarch64


def refused(source, mountpoint, *options):
    done = subprocess.run([DAEMON, "mount", str(source), str(mountpoint), *options], capture_output=True, text=True, timeout=600,
                          stdin=subprocess.DEVNULL)
    assert done.returncode != 0, "mounted"
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    assert not os.path.ismount(str(mountpoint))
    return done.returncode, done.stderr


@pytest.fixture
def mountpoint(tmp_path):
    path = tmp_path / "mountpoint"
    path.mkdir()
    return path


def test_an_absent_source_is_named(tmp_path, mountpoint):
    status, said = refused(tmp_path / "nowhere", mountpoint)
    assert status == 3 and "nowhere" in said


def test_a_directory_without_zarr_is_refused(tmp_path, mountpoint):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file.txt").write_text("hello")
    status, said = refused(tmp_path / "plain", mountpoint)
    assert status == 3 and "plain" in said


def test_a_draft_store_is_refused_by_that_name(tmp_path, mountpoint):
    write_json(str(tmp_path / "draft/zarr.json"), {"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"})
    write_json(str(tmp_path / "draft/meta/root/a.array.json"), {"shape": [1]})
    status, said = refused(tmp_path / "draft", mountpoint)
    assert status == 3 and "draft" in said.replace(str(tmp_path), "").lower()


def test_the_unfinished_result_of_a_conversion_is_not_mounted_to_write(store, tmp_path, mountpoint, mount):
    parts = [DAEMON, "shard", store.path, tmp_path / "made", "--shard-chunks", "2"]
    subprocess.run([*parts, "--begin"], check=True, capture_output=True)
    status, said = refused(tmp_path / "made", mountpoint, "-o", "rw")
    assert status == 3 and f"{tmp_path}/made" in said and "unfinished result of a conversion" in said and "--finish" in said
    for step in (["--part", "1/1"], ["--finish"]):
        subprocess.run([*parts, *step], check=True, capture_output=True)
    again = subprocess.run([*parts, "--finish"], capture_output=True, text=True)
    assert again.returncode != 0 and "finished has no more to do" in again.stderr
    mount(tmp_path / "made", "rw")


def test_the_unfinished_result_of_a_conversion_is_read_with_a_word(store, tmp_path, mountpoint):
    shutil.copytree(store.path, tmp_path / "made")
    (tmp_path / "made" / ".zarrfs-conversion").write_text("{}")
    done = subprocess.run([DAEMON, "mount", tmp_path / "made", mountpoint, "-o", "ro"], capture_output=True, text=True)
    subprocess.run([DAEMON, "umount", mountpoint], check=True, capture_output=True)
    assert done.returncode == 0 and "unfinished result of a conversion: run that again" in done.stderr


def test_an_absent_mountpoint_is_named(store, tmp_path):
    status, said = refused(store.path, tmp_path / "nothing-here")
    assert status == 3 and "nothing-here" in said


def test_a_mountpoint_that_is_a_file_is_refused(store, tmp_path):
    (tmp_path / "file").write_text("x")
    status, said = refused(store.path, tmp_path / "file")
    assert status == 3 and "file" in said


def test_a_source_within_the_mountpoint_is_refused(store, tmp_path):
    status, _ = refused(store.path, tmp_path)
    assert status in (2, 3)


def test_a_mountpoint_within_the_source_is_refused(store):
    os.mkdir(store.file("inside"))
    status, _ = refused(store.path, store.file("inside"))
    assert status in (2, 3)


@pytest.mark.parametrize("option", ["nonsense", "view=v9", "profile=nobody", "rechunk=0", "separator=x", "index_cache=many",
                                    "materialise=perhaps", "umask=9", "view"])
def test_a_bad_option_is_named(store, mountpoint, option):
    status, said = refused(store.path, mountpoint, "-o", option)
    assert status == 2 and option.split("=")[0] in said


def test_unmounting_what_is_not_mounted_is_refused(mountpoint):
    done = subprocess.run([DAEMON, "umount", str(mountpoint)], capture_output=True, text=True)
    assert done.returncode == 3 and str(mountpoint) in done.stderr


def test_umount_waits_until_the_daemon_is_gone(mount, store):
    mounted = mount(store.path)
    daemon = Watched(mounted.statistics_process())
    mounted.unmount()
    assert daemon.has_ended()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_unmounts(mount, store, number):
    mounted = mount(store.path)
    read(mounted / "a/0.0")
    process = mounted.statistics_process()
    daemon = Watched(process)
    os.kill(process, number)
    within(60, daemon.has_ended)
    assert not os.path.ismount(mounted.path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_who_ends_a_mount_that_waits_leaves_no_daemon(mount, store, tmp_path, number):
    mount(store.path, "rw")
    (tmp_path / "second").mkdir()
    with subprocess.Popen([DAEMON, "mount", store.path, tmp_path / "second"], stderr=subprocess.PIPE, text=True) as waiting:
        assert "waiting" in waiting.stderr.readline()
        [child] = map(int, pathlib.Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children").read_text().split())
        daemon = Watched(child)
        waiting.send_signal(number)
    within(9, daemon.has_ended)
    assert not os.path.ismount(tmp_path / "second")


def test_mount_8_has_words_of_its_own_for_who_writes(store, tmp_path):
    """It says rw of every mount, and keeps the word shared for itself."""
    helper = tmp_path / "mount.zarrfs"
    helper.symlink_to(DAEMON)
    places = [tmp_path / "one", tmp_path / "two"]
    try:
        for place in places:
            place.mkdir()
            done = subprocess.run([helper, store.path, place, "-o", "rw,writers=many,shared_lease=20"], capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr
        for place in places:
            (place / "notes-of").write_text("this one writes")
    finally:
        for place in places:
            subprocess.run([DAEMON, "umount", place], timeout=600)
    done = subprocess.run([helper, store.path, places[0], "-o", "rw,spool=/tmp,writers=one"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 32 and "spool" in done.stderr


def test_a_busy_mount_is_not_unmounted(mount, store):
    mounted = mount(store.path)
    with open(mounted / "a/0.0", "rb"):
        done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
        assert done.returncode == 3, done.stderr
        assert os.path.ismount(mounted.path)


def test_a_busy_umount_names_who_holds_it(mount, store):
    mounted = mount(store.path)
    with subprocess.Popen(["sleep", "1000"], cwd=mounted / "a") as sleeper:
        try:
            done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
            assert done.returncode == 3 and f"it is in use by sleep ({sleeper.pid}): working directory" in done.stderr
        finally:
            sleeper.kill()


@pytest.fixture
def loop(mount, store):
    """A mount that a loop device keeps, for which no process stands; and how it lets go."""
    with open(store.file("notes"), "wb") as notes:
        notes.truncate(1 << 20)
    mounted = mount(store.path)
    made = subprocess.run(["losetup", "--find", "--show", "--read-only", mounted / "notes"], capture_output=True, text=True)
    need(made.returncode == 0, f"no loop device can be made here: {made.stderr}")
    device = os.open(made.stdout.strip(), os.O_RDONLY)
    kept = [device]

    def let_go():
        while kept:
            fcntl.ioctl(device, LOOP_CLR_FD)
            os.close(kept.pop())

    yield mounted, let_go
    let_go()


def test_who_lets_go_in_a_moment_keeps_no_mount(loop):
    mounted, let_go = loop
    with subprocess.Popen([DAEMON, "umount", mounted.path], stderr=subprocess.PIPE, text=True) as umount:
        within(60, lambda: umount.poll() is not None or trying(umount.pid))
        let_go()
        assert umount.wait(600) == 0, umount.stderr.read()


def trying(process):
    """Whether the program sleeps between two tries, rather than to wait for an answer."""
    with open(f"/proc/{process}/syscall") as call:
        return call.read().split()[0] in CLOCK_NANOSLEEP


def test_mounts_are_listed(mount, store):
    mounted = mount(store.path)
    listed = json.loads(subprocess.run([DAEMON, "mounts", "--json"], capture_output=True, check=True).stdout)["mounts"]
    assert {"source": store.path, "mountpoint": mounted.path, "read_only": True, "refused": []} in listed
    assert f"{store.path} on {mounted.path} (read-only)\n" in subprocess.run([DAEMON, "mounts"], capture_output=True, text=True, check=True).stdout


def mount_here(folder, *arguments, program="mount"):
    done = subprocess.run([DAEMON, *([program] if program else []), *arguments], cwd=folder, capture_output=True, text=True, timeout=600,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    return done.stderr


def test_a_mount_without_a_place_makes_one_and_umount_removes_it(store, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    name = os.path.basename(store.path).removesuffix(".zarr") + ".zarr"
    for program in ("mount", ""):
        said = mount_here(here, store.path, program=program)
        assert said.count("\n") == 1 and f"mounted on {name}, read and write" in said
        assert read(here / name / "a/1.0") == store.chunk(1, 0)
        again = subprocess.run([DAEMON, "mount", store.path, "-o", "ro"], cwd=here, capture_output=True, text=True, timeout=600)
        assert again.returncode == 3 and f"zarrfs is mounted on {here / name} already" in again.stderr
        assert subprocess.run([DAEMON, "umount", name], cwd=here, timeout=600).returncode == 0
        assert not os.listdir(here)
    # Beside the store itself its name is taken.
    beside = os.path.dirname(store.path)
    os.rename(store.path, os.path.join(beside, "own.zarr"))
    assert "mounted on own.mount.zarr" in mount_here(beside, "own.zarr", "-o", "ro")
    assert subprocess.run([DAEMON, "umount", "own.mount.zarr"], cwd=beside, timeout=600).returncode == 0
    assert os.listdir(os.path.join(beside, "own.zarr")) and not os.path.exists(os.path.join(beside, "own.mount.zarr"))


def test_in_the_store_itself_no_place_is_made(store):
    before = sorted(os.listdir(store.path))
    done = subprocess.run([DAEMON, "mount", "."], cwd=store.path, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode != 0 and done.stderr.endswith(": mount elsewhere\n") and sorted(os.listdir(store.path)) == before


def test_what_was_asked_for_is_not_told(store, mountpoint):
    assert mount_here("/", store.path, str(mountpoint), "-o", "ro,profile=generic") == ""
    assert subprocess.run([DAEMON, "umount", str(mountpoint)]).returncode == 0


def test_a_place_that_was_made_is_removed_if_the_mount_fails(tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file.txt").write_text("hello")
    done = subprocess.run([DAEMON, "mount", "plain"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and os.listdir(tmp_path) == ["plain"], done.stderr
    done = subprocess.run([DAEMON, "plan"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "neither a command nor a store" in done.stderr


def test_an_idle_mount_unmounts_itself_but_not_while_it_is_in_use(mount, store):
    mounted = mount(store.path, "idle=2")
    with open(mounted / "a/0.0", "rb"):
        daemon = Watched(mounted.statistics_process())
        for _ in range(30):
            time.sleep(0.1)  # together longer than `idle`
            os.statvfs(mounted.path)  # monitors ask, too
        assert os.path.ismount(mounted.path), "a file is open"
    within(60, daemon.has_ended)
    assert not os.path.ismount(mounted.path) and "nobody used it" in mounted.log_text()


def test_statistics_for_prometheus(mount, store):
    mounted = mount(store.path)
    read(mounted / "a/0.0")
    done = subprocess.run([DAEMON, "stats", "--prometheus", mounted / "a"], capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    assert f'zarrfs_index_reads_total{{mount="{mounted.path}"}} 1' in lines
    samples = [line for line in lines if not line.startswith("#")]
    names = {line.partition("{")[0] for line in samples}
    assert names == {line.split()[2] for line in lines if line.startswith("# HELP ") and len(line.split()) > 4}
    assert names == {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    assert len(samples) > 20 and all(re.fullmatch(r'zarrfs_\w+\{mount="[^"]+"(,(operation|part)="\w+")?\} \d+', line) for line in samples)


def test_each_number_of_the_statistics_is_a_metric(mount, store, tmp_path):
    done = subprocess.run([DAEMON, "--help-json"], capture_output=True, text=True, timeout=600)
    known = {metric["member"] for metric in json.loads(done.stdout)["metrics"]}

    def members(value, path=""):
        if isinstance(value, dict) and path not in ("requests", "errors", "memory_held", "memory_bound"):
            return set().union(*(members(below, f"{path}.{name}".strip(".")) for name, below in value.items()))
        return {path}

    with zipfile.ZipFile(tmp_path / "store.zip", "w") as archive:
        for folder, _, names in os.walk(store.path):
            for name in names:
                archive.write(os.path.join(folder, name), os.path.relpath(os.path.join(folder, name), store.path))
    server = ObjectServer(tmp_path)
    try:
        sources = {store.path: "rw", f"{server.url}/{os.path.relpath(store.path, tmp_path)}": f"ro,cache={tmp_path}/cache", f"{server.url}/store.zip": "ro"}
        for source, options in sources.items():
            assert members(mount(source, options).statistics()) <= known
    finally:
        server.close()


def test_reads_in_place_are_counted(mount, store):
    mounted = mount(store.path)
    before = mounted.statistics()["reads_in_place"]
    read(mounted / "a/0.0")
    assert mounted.statistics()["reads_in_place"] == before + 1


def test_promtool_has_nothing_to_say(mount, store):
    promtool = os.path.join(VENVS, "promtool/usr/bin/promtool")
    need(os.path.exists(promtool), "promtool is missing: run packaging/install-test-readers")
    mounted = mount(store.path, "rw")
    read(mounted / "a/0.0")
    text = subprocess.run([DAEMON, "stats", "--prometheus", mounted.path], capture_output=True, check=True, timeout=600).stdout
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, timeout=600)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_a_dead_mount_fails_and_can_be_mounted_again(mount, store, tmp_path):
    mounted = mount(store.path)
    kill(mounted.statistics_process())
    assert error_of(os.stat, mounted / "a/0.0") == errno.ENOTCONN
    done = subprocess.run([DAEMON, "mount", store.path, mounted.path, "-o", f"log={mounted.log}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert read(mounted / "a/1.0") == store.chunk(1, 0)


def test_the_short_form_mounts_too(mount, store, tmp_path):
    where = tmp_path / "short"
    where.mkdir()
    done = subprocess.run([DAEMON, store.path, str(where)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    try:
        assert read(where / "a/1.0") == store.chunk(1, 0)
    finally:
        assert subprocess.run([DAEMON, "umount", str(where)]).returncode == 0


def test_a_foreground_mount_ends_when_unmounted(store, mountpoint):
    with subprocess.Popen([DAEMON, "mount", "-f", store.path, str(mountpoint)], stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL) as process:
        within(60, lambda: os.path.ismount(mountpoint))
        assert read(mountpoint / "a/1.0") == store.chunk(1, 0)
        assert subprocess.run([DAEMON, "umount", str(mountpoint)]).returncode == 0
        assert process.wait(timeout=600) == 0, process.stderr.read()


def test_mount_works_without_standard_streams(store, mountpoint):
    done = subprocess.run(["sh", "-c", f'"{DAEMON}" mount "{store.path}" "{mountpoint}" <&- >&- 2>&-'], timeout=600)
    assert done.returncode == 0
    try:
        assert read(mountpoint / "a/1.0") == store.chunk(1, 0)
    finally:
        assert subprocess.run([DAEMON, "umount", str(mountpoint)]).returncode == 0


def test_an_array_can_be_the_source(mount, store):
    mounted = mount(store.file("a"))
    assert read(mounted / "1.0") == store.chunk(1, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace of its own needs root")
def test_a_mount_that_another_namespace_keeps_is_said(mount, golden):
    mounted = mount(golden("sharding.zarr"))
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo made; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout.readline() == b"made\n"
        with subprocess.Popen([DAEMON, "umount", mounted.path], stderr=subprocess.PIPE, text=True) as umount:
            told = umount.stderr.readline()
            assert "waiting for its daemon to end: another mount namespace" in told and f" sh ({keeper.pid})" in told, told
            assert umount.poll() is None
            keeper.communicate(b"\n", timeout=600)
            assert umount.wait(600) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace of its own needs root")
def test_umount_waits_as_long_as_it_is_told(mount, golden):
    mounted = mount(golden("sharding.zarr"))
    daemon = Watched(mounted.statistics_process())
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo made; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout.readline() == b"made\n"
        done = subprocess.run([DAEMON, "umount", "--timeout", "1", mounted.path], capture_output=True, text=True, timeout=600)
        keeper.communicate(b"\n", timeout=600)
    assert done.returncode == 4, done.stderr
    assert "has not ended within 1 s: another mount namespace" in done.stderr and "/sys/fs/fuse/connections/" in done.stderr, done.stderr
    within(60, daemon.has_ended)


def test_a_mount_without_its_daemon_is_told(mount, tmp_path):
    without_tracer = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}  # LeakSanitizer would wait for the thread that waits

    def zarrfs(*arguments):
        done = subprocess.run([DAEMON, *arguments], capture_output=True, text=True, timeout=600, env=without_tracer)
        return done.stdout + done.stderr

    mounted = mount(SmallStore(tmp_path).path, "rw")
    process = mounted.statistics_process()
    os.kill(process, signal.SIGSTOP)
    try:
        within(60, lambda: f"on {mounted.path}\n  its daemon gives no answer\n" in zarrfs("mounts"))
        assert f"zarrfs is mounted on {mounted.path} already, and its daemon gives no answer: zarrfs umount" in zarrfs("mount", mounted.source, mounted.path)
    finally:
        os.kill(process, signal.SIGCONT)  # who asks for the mount waits for it
    os.kill(process, signal.SIGSTOP)
    try:
        asked = (("stats", mounted.path), ("sync", mounted.path), ("info", mounted.path), ("verify", mounted / "a"), ("diff", mounted.source, mounted.path))
        with ThreadPoolExecutor(len(asked)) as pool:  # each waits for a minute
            for words, told in zip(asked, pool.map(lambda words: zarrfs(*words), asked)):
                waits = f"zarrfs: the daemon of {mounted.path} gives no answer: waiting for it\n"
                assert told.startswith(waits) and f"{mounted.path}: its daemon gives no answer" in told, (words, told)
    finally:
        os.kill(process, signal.SIGCONT)
    kill(process)
    assert f"on {mounted.path}\n  its daemon has ended" in zarrfs("mounts")
    assert f"{mounted.path}: its daemon has ended" in zarrfs("info", mounted.path)
    listed = [one for one in json.loads(zarrfs("mounts", "--json"))["mounts"] if one["mountpoint"] == str(mounted.path)]
    assert listed[0]["trouble"].startswith("its daemon has ended")
    for command in ("stats", "sync"):
        assert f"{mounted.path}: its daemon has ended" in zarrfs(command, mounted.path)


@pytest.mark.parametrize("words", [["sync", "MOUNT"], ["stats", "MOUNT"], ["info", "MOUNT"], ["unshard", "MOUNT", "OTHER"], ["unshard", "STORE", "MOUNT"]],
                         ids=" ".join)
def test_a_mount_that_answers_late_is_waited_for(mount, tmp_path, words):
    """A machine that stands still for a while, as for its disk."""
    store = SmallStore(tmp_path).path
    mounted = mount(store, "rw,view=v3,revalidate=0")  # nothing is known of it when the command begins
    places = {"MOUNT": str(mounted.path), "STORE": store, "OTHER": str(tmp_path / "copy")}
    process = mounted.statistics_process()
    os.kill(process, signal.SIGSTOP)
    try:
        running = subprocess.Popen([DAEMON, *(places.get(word, word) for word in words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        readable, _, _ = select.select([running.stderr], [], [], 600)
        assert readable, "it waits, and says nothing"
        told = running.stderr.readline()
    finally:
        os.kill(process, signal.SIGCONT)
    _, said_then = running.communicate(timeout=600)
    assert told == f"zarrfs: the daemon of {mounted.path} gives no answer: waiting for it\n"
    refused = words[1] == "STORE"  # the target is there already
    assert (running.returncode != 0) == refused and "gives no answer" not in said_then, (running.returncode, said_then)


def test_a_mount_whose_daemon_is_stopped_is_unmounted_in_time(mount, tmp_path):
    store = SmallStore(tmp_path)
    mounted = mount(store.path, "rw")
    with open(mounted / "a/0.0", "wb") as chunk:
        chunk.write(store.chunk(0, 0)[::-1])
    process = mounted.statistics_process()
    daemon = Watched(process)
    os.kill(process, signal.SIGSTOP)
    try:
        for _ in range(20):  # another test's command may be asking something of this mount, too
            done = subprocess.run([DAEMON, "umount", "--timeout", "1", mounted.path], capture_output=True, text=True, timeout=600,
                                  env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
            if done.returncode != 3:
                break
            assert "it is in use, and its daemon gives no answer" in done.stderr
    finally:
        os.kill(process, signal.SIGCONT)
    assert done.returncode == 4 and "gives no answer: waiting" in done.stderr and "/sys/fs/fuse/connections/" in done.stderr, done.stderr
    within(60, daemon.has_ended)
    again = mount(store.path)  # it has published when it went on
    assert read(again / "a/0.0") == store.chunk(0, 0)[::-1]


def test_commands_end_where_a_daemon_waits_for_its_store(mount, tmp_path):
    """The daemon has read the request then: the kernel lets nobody go who waits for the answer."""
    below = mount(SmallStore(tmp_path).path, "ro,view=v3")
    above = mount(below.path, "ro")
    process = below.statistics_process()
    os.kill(process, signal.SIGSTOP)
    try:
        silent = "its daemon gives no answer"
        for words, status, said in ((("mounts",), 0, silent), (("doctor",), 1, "(does not answer)"), (("umount", "--timeout", "1", above.path), 3, silent),
                                    (("umount", "-l", above.path), 4, silent)):
            done = subprocess.run([DAEMON, *words], capture_output=True, text=True, timeout=600, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
            assert done.returncode == status and said in (done.stdout + done.stderr).replace("whose", "its"), (words, done)
    finally:
        os.kill(process, signal.SIGCONT)
    assert not os.path.ismount(above.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="binding a mount needs root")
def test_a_mount_that_is_bound_elsewhere_is_not_waited_for(mount, tmp_path):
    mounted = mount(SmallStore(tmp_path).path)
    (tmp_path / "bound").mkdir()
    script = f"""mount --bind '{mounted.path}' '{tmp_path}/bound'; '{DAEMON}' umount '{mounted.path}'; echo $?
        cat '{tmp_path}/bound/a/.zarray' > /dev/null && '{DAEMON}' umount '{tmp_path}/bound'; echo $?"""
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=600)
    assert done.stdout == "0\n0\n", done.stderr
    assert f"its daemon goes on for {tmp_path}/bound, where it is mounted, too" in done.stderr


def test_a_lazy_umount_says_what_it_leaves(mount, store):
    mounted = mount(store.path)
    daemon, mounted.ends_open = Watched(mounted.statistics_process()), True
    with open(mounted / "a/1.0", "rb") as chunk:
        done = subprocess.run([DAEMON, "umount", "-l", mounted.path], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0 and f"({os.getpid()}): open file a/1.0: its daemon ends when" in done.stderr, done.stderr
        assert not os.path.ismount(mounted.path)
        assert chunk.read() == store.chunk(1, 0)
    within(60, daemon.has_ended)
