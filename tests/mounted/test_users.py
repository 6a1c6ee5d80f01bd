"""Other users in root's mount (allow_other): what they may there is what they may in the store, and what they make is theirs.

Real processes of other users, by setpriv(1). What holds is in docs/security.md.
"""
import json
import os
import shutil
import stat
import struct
import subprocess
import tempfile

import pytest

from conftest import DAEMON, HERE, Mount, need

USER, OTHER = 54321, 54322
REFUSING = os.path.join(HERE, "refusing.py")
ZARRAY = {"zarr_format": 2, "shape": [8, 8], "chunks": [4, 4], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
          "filters": None}


@pytest.fixture
def place():
    """A directory that everybody may enter, which pytest's own are not."""
    need(os.geteuid() == 0, "only root has other users")
    need(shutil.which("setpriv"), "setpriv is missing")
    path = tempfile.mkdtemp(prefix="zarrfs-users-", dir="/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def others(place):
    """others(options="", prefix=(), damaged=False, mode=0o755) -> a mount for others of a store whose directory has `mode`."""
    mounts = []

    def make(options="", prefix=(), damaged=False, mode=0o755):
        number = len(mounts)
        store = os.path.join(place, "store")
        os.makedirs(store, exist_ok=True)
        os.chmod(store, mode)
        every = ",".join(part for part in ("rw,allow_other,flush_after=0", options) if part)
        mounts.append(Mount(store, os.path.join(place, f"mnt{number}"), os.path.join(place, f"log{number}"), every, damaged, prefix))
        return mounts[-1]

    yield make
    for one in mounts:
        one.close()


def as_user(user, code, *arguments, groups=()):
    """Runs Python `code` as `user`; its errno of an OSError, or 0."""
    wrapped = f"import os, sys\ntry:\n" + "".join(f"    {line}\n" for line in code.strip().splitlines()) + "except OSError as e:\n    sys.exit(e.errno)\n"
    chosen = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    done = subprocess.run(["setpriv", "--reuid", str(user), "--regid", str(user), *chosen, "/usr/bin/python3", "-c", wrapped, *map(str, arguments)],
                          capture_output=True, text=True, timeout=600)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def errno_name(number):
    return {0: "done", 1: "EPERM", 13: "EACCES"}.get(number, number)


def write_array(path):
    """An array of one shard with its chunks, written as a program of Zarr v2 does."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, ".zarray"), "w") as document:
        json.dump(ZARRAY, document)
    for chunk in ("0.0", "0.1", "1.0"):
        with open(os.path.join(path, chunk), "wb") as file:
            file.write(bytes(range(16)))


WRITE_ARRAY = """
import json
os.umask(0o022)
os.makedirs(sys.argv[1], exist_ok=True)
with open(sys.argv[1] + '/.zarray', 'w') as f: f.write(sys.argv[2])
for chunk in ('0.0', '0.1', '1.0'):
    with open(sys.argv[1] + '/' + chunk, 'wb') as f: f.write(bytes(range(16)))
"""
READ = "open(sys.argv[1], 'rb').read()"
WRITE = "with open(sys.argv[1], 'wb') as f: f.write(bytes(16))"
LIST = "os.listdir(sys.argv[1])"


def files_of(store):
    return [os.path.join(folder, name) for folder, _, names in os.walk(store) for name in names]


def everything(store):
    """{path below the store: status} of all that is not zarrfs's own."""
    found = {}
    for folder, folders, names in os.walk(store):
        folders[:] = [name for name in folders if not name.startswith(".zarrfs")]
        for name in folders + names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, store)] = os.lstat(path)
    return found


def test_a_chunk_before_the_shape_that_has_it_belongs_to_its_writer(others):
    mount = others(mode=0o777)
    assert as_user(USER, WRITE_ARRAY, mount / "a", json.dumps(ZARRAY)) == 0
    assert errno_name(as_user(OTHER, WRITE, mount / "a/5.0")) == "EACCES"
    assert as_user(USER, WRITE, mount / "a/5.0") == 0
    assert os.stat(mount / "a/5.0").st_uid == USER
    assert as_user(USER, "with open(sys.argv[1], 'w') as f: f.write(sys.argv[2])", mount / "a/.zarray", json.dumps({**ZARRAY, "shape": [24, 8]})) == 0
    with open(mount / "a/5.0", "rb") as file:
        assert file.read() == bytes(16)
    mount.unmount()


def test_set_user_id_bits_never_reach_the_store(others):
    mount = others(mode=0o777)
    assert as_user(USER, "os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o6755))", mount / "made") == 0
    assert as_user(USER, "open(sys.argv[1], 'w').close(); os.chmod(sys.argv[1], 0o6755)", mount / "changed") == 0
    assert as_user(USER, "os.mkdir(sys.argv[1], 0o6755)", mount / "directory") == 0
    mount.unmount()
    for name in ("made", "changed", "directory"):
        status = os.stat(os.path.join(mount.source, name))
        assert (status.st_uid, status.st_mode & 0o6000) == (USER, 0), name


@pytest.mark.parametrize("which", ["zarr.json", "shard"])
def test_set_user_id_bits_of_the_store_are_not_carried_on(others, which):
    mount = others()
    write_array(mount / "a")
    mount.unmount()
    victim = next(path for path in files_of(mount.source) if (os.path.basename(path) == "zarr.json") == (which == "zarr.json"))
    os.chown(victim, USER, USER)
    os.chmod(victim, 0o6755)
    again = others()
    if which == "zarr.json":
        with open(again / "a/.zattrs", "w") as document:
            document.write('{"x": 1}')
    else:
        with open(again / "a/0.0", "wb") as file:
            file.write(bytes(16))
    again.unmount()
    status = os.stat(victim)
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (USER, USER, 0o755)


def test_the_daemon_has_given_up_what_it_does_not_need(others):
    mount = others()
    with open(f"/proc/{mount.statistics_process()}/status") as status:
        lines = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
    for which in ("CapEff", "CapPrm"):
        kept = int(lines[which], 16)
        assert not kept & (1 << 4), "CAP_FSETID"
        assert bin(kept).count("1") <= 7, hex(kept)
    for task in os.listdir(f"/proc/{mount.statistics_process()}/task"):
        with open(f"/proc/{mount.statistics_process()}/task/{task}/status") as status:
            assert f"CapEff:\t{lines['CapEff']}" in status.read()


def test_what_another_user_makes_is_his(others):
    mount = others(mode=0o777)
    assert as_user(USER, WRITE_ARRAY, mount / "his", json.dumps(ZARRAY)) == 0
    assert as_user(USER, "open(sys.argv[1], 'w').write('notes')", mount / "his/notes.txt") == 0
    mount.unmount()
    found = {path: status for path, status in everything(mount.source).items() if path.startswith("his")}
    assert "his/zarr.json" in found and len(found) > 3
    assert {path: (status.st_uid, status.st_gid) for path, status in found.items() if (status.st_uid, status.st_gid) != (USER, USER)} == {}
    assert not [path for path, status in found.items() if status.st_mode & 0o7022]


MAKE_WITH_MASK = """
import json
os.umask(int(sys.argv[3], 8))
os.mkdir(sys.argv[1])
for name, text in (('.zarray', sys.argv[2]), ('0.0', '0' * 16), ('notes.txt', 'x')):
    with open(sys.argv[1] + '/' + name, 'w') as f: f.write(text)
os.mkdir(sys.argv[1] + '_plain')
os.close(os.open(sys.argv[1] + '_plain/file', os.O_CREAT | os.O_WRONLY, 0o666))
os.mknod(sys.argv[1] + '_plain/node', 0o666)
"""


# As zarr-python does, by another name first.
RENAME_WITH_MASK = MAKE_WITH_MASK.replace("    with open(sys.argv[1] + '/' + name, 'w') as f: f.write(text)\n", """\
    with open(sys.argv[1] + '/' + name + '.partial', 'w') as f: f.write(text)
    os.replace(sys.argv[1] + '/' + name + '.partial', sys.argv[1] + '/' + name)
""")


@pytest.mark.parametrize("mask", ["077", "027", "002", "000"])
@pytest.mark.parametrize("of_the_daemon", ["0077", "0000"])
@pytest.mark.parametrize("code", [MAKE_WITH_MASK, RENAME_WITH_MASK], ids=["directly", "renamed"])
def test_the_umask_of_who_makes_it_counts(others, mask, of_the_daemon, code):
    mount = others(mode=0o777, prefix=["sh", "-c", f'umask {of_the_daemon} && exec "$@"', "sh"])
    assert as_user(USER, code, mount / "his", json.dumps(ZARRAY), mask) == 0
    shown = os.stat(mount / "his/0.0").st_mode & 0o777
    mount.unmount()
    found = everything(mount.source)
    assert {"his/zarr.json", "his/c/0/0", "his/notes.txt", "his_plain/file", "his_plain/node"} <= set(found)
    wrong = {}
    for path, status in found.items():
        wanted = (0o777 if stat.S_ISDIR(status.st_mode) else 0o666) & ~int(mask, 8)
        if status.st_mode & 0o777 != wanted:
            wrong[path] = oct(status.st_mode)
    assert wrong == {} and shown == 0o666 & ~int(mask, 8)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_what_a_stored_file_becomes_is_as_open_as_that_was(others, mode):
    mount = others(mode=0o777, prefix=["sh", "-c", 'umask 0 && exec "$@"', "sh"])
    assert as_user(USER, "os.umask(0o22); os.mkdir(sys.argv[1])", mount / "his") == 0
    made = os.path.join(mount.source, "his/stored")
    with open(made, "w") as file:
        file.write(json.dumps(ZARRAY))
    os.chown(made, USER, USER)
    os.chmod(made, mode)
    assert as_user(USER, "os.rename(sys.argv[1] + '/stored', sys.argv[1] + '/.zarray')", mount / "his") == 0
    assert oct(os.stat(os.path.join(mount.source, "his/zarr.json")).st_mode & 0o777) == oct(mode)


@pytest.mark.parametrize("options", ["ro", "ro,immutable"])
def test_where_only_root_is_let_in_nobody_reads_what_it_has_read(place, options):
    write_array(os.path.join(place, "plain"))
    done = subprocess.run([DAEMON, "shard", os.path.join(place, "plain"), os.path.join(place, "store")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    os.mkdir(os.path.join(place, "mnt"))
    mount = Mount(os.path.join(place, "store"), os.path.join(place, "mnt"), os.path.join(place, "log"), f"{options},allow_root")
    try:
        for name in (".zarray", "0.0"):
            with open(mount / name, "rb") as file:
                assert file.read()
        assert os.listdir(mount.path)
        for code in ("open(sys.argv[1] + '/.zarray').read()", "open(sys.argv[1] + '/0.0', 'rb').read()", "os.listdir(sys.argv[1])"):
            assert errno_name(as_user(OTHER, code, mount.path)) == "EACCES"
    finally:
        mount.close()


def test_another_user_is_told_whose_mount_it_is(others):
    mount = others()
    as_other = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups"]
    done = subprocess.run([*as_other, DAEMON, "umount", mount.path], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "user 0 has mounted it; that user and root can unmount it" in done.stderr


def test_the_umask_counts_where_threads_cannot_have_their_own(others):
    mount = others(mode=0o777, prefix=["/usr/bin/python3", REFUSING, "unshare", "EPERM"])
    assert as_user(USER, MAKE_WITH_MASK, mount / "his", json.dumps(ZARRAY), "077") == 0
    mount.unmount()
    found = everything(mount.source)
    assert {path: oct(found[path].st_mode) for path in ("his", "his_plain", "his_plain/file") if found[path].st_mode & 0o077} == {}


def test_a_default_access_list_stands_for_the_umask(others):
    mount = others(mode=0o777)
    team = os.path.join(mount.source, "team")
    os.mkdir(team)
    os.chmod(team, 0o777)
    # u::rwx g::rwx o::--- of what is made in it. Layout: see core/store/access_list.cc.
    entries = b"".join(struct.pack("<HHI", tag, bits, 0xFFFFFFFF) for tag, bits in ((1, 7), (4, 7), (32, 0)))
    os.setxattr(team, "system.posix_acl_default", struct.pack("<I", 2) + entries)
    code = "os.umask(0o077); os.mkdir(sys.argv[1] + '/d'); open(sys.argv[1] + '/f', 'w').close()"
    assert as_user(USER, code, mount / "team") == 0
    assert as_user(USER, code.replace("'/d'", "'/d2'").replace("'/f'", "'/f2'"), team) == 0
    modes = {name: oct(os.stat(os.path.join(team, name)).st_mode & 0o777) for name in os.listdir(team)}
    assert modes == {"d": "0o770", "d2": "0o770", "f": "0o660", "f2": "0o660"}


@pytest.mark.parametrize("before_5_8", [False, True])
def test_without_faccessat2_nobody_may_more(others, before_5_8):
    prefix = ["/usr/bin/python3", REFUSING, "faccessat2", "ENOSYS"] if before_5_8 else ()
    mount = others(mode=0o777)
    for name in ("his", "of_a_group", "of_others", "of_nobody"):
        write_array(mount / name)
    mount.unmount()
    for name, owner, group, mode in (("his", USER, 0, 0o600), ("of_a_group", 0, 777, 0o660), ("of_others", 0, 0, 0o666), ("of_nobody", USER, USER, 0o066)):
        for path in files_of(os.path.join(mount.source, name)):
            os.chown(path, owner, group)
            os.chmod(path, mode)
    again = others(prefix=prefix, mode=0o777)
    assert {name: errno_name(as_user(USER, WRITE, again / f"{name}/0.0", groups=[777])) for name in ("his", "of_a_group", "of_others", "of_nobody")} == {
        "his": "done", "of_a_group": "done", "of_others": "done", "of_nobody": "EACCES"}
    assert errno_name(as_user(OTHER, WRITE, again / "his/0.0")) == "EACCES"
    assert errno_name(as_user(OTHER, WRITE, again / "of_a_group/0.0")) == "EACCES"
    assert errno_name(as_user(OTHER, WRITE, again / "of_others/0.0")) == "done"
    again.unmount()
    shutil.rmtree(os.path.join(mount.source, "his/c"))
    third = others(prefix=prefix, mode=0o777)
    assert errno_name(as_user(USER, WRITE, third / "his/0.0")) == "EACCES"  # a new shard, in root's directory


def test_a_group_that_a_directory_hands_down_is_kept(others):
    mount = others()
    os.mkdir(os.path.join(mount.source, "team"))
    os.chown(os.path.join(mount.source, "team"), 0, 777)
    os.chmod(os.path.join(mount.source, "team"), 0o2775)
    assert as_user(USER, WRITE_ARRAY, mount / "team/his", json.dumps(ZARRAY), groups=[777]) == 0
    assert errno_name(as_user(OTHER, WRITE_ARRAY, mount / "team/other", json.dumps(ZARRAY))) == "EACCES"
    mount.unmount()
    found = {path: status.st_gid for path, status in everything(mount.source).items() if path.startswith("team/his")}
    assert set(found.values()) == {777} and len(found) > 3


def test_the_modes_of_the_store_hold_in_the_mount(others):
    mount = others()
    for name in ("open", "closed", "private"):
        write_array(mount / name)
    mount.unmount()
    for path in files_of(os.path.join(mount.source, "private")):
        if os.path.basename(path) != "zarr.json":
            os.chmod(path, 0o600)
    os.chmod(os.path.join(mount.source, "closed"), 0o700)
    again = others()
    assert errno_name(as_user(USER, READ, again / "open/0.0")) == "done"
    assert errno_name(as_user(USER, LIST, again / "closed")) == "EACCES"
    assert errno_name(as_user(USER, READ, again / "closed/0.0")) == "EACCES"
    assert errno_name(as_user(USER, READ, again / "closed/.zarray")) == "EACCES"
    assert errno_name(as_user(USER, READ, again / "private/.zarray")) == "done"
    assert errno_name(as_user(USER, READ, again / "private/0.0")) == "EACCES"
    for name in ("open", "private"):
        assert errno_name(as_user(USER, WRITE, os.path.join(again.path, name, "0.0"))) == "EACCES"
        assert errno_name(as_user(USER, WRITE, os.path.join(again.path, name, "1.1"))) == "EACCES"  # a new chunk in root's shard


def test_the_directories_between_array_and_shard_count(others):
    mount = others()
    write_array(mount / "a")
    mount.unmount()
    os.chmod(os.path.join(mount.source, "a/c"), 0o700)
    again = others()
    assert errno_name(as_user(USER, READ, again / "a/0.0")) == "EACCES"
    assert errno_name(as_user(USER, READ, again / "a/.zarray")) == "done"


def test_the_owner_of_a_document_may_not_change_shards_of_root(others):
    mount = others()
    write_array(mount / "a")
    mount.unmount()
    os.chown(os.path.join(mount.source, "a/zarr.json"), USER, USER)
    before = {path: open(path, "rb").read() for path in files_of(mount.source) if not path.endswith("zarr.json")}
    again = others()
    smaller = json.dumps({**ZARRAY, "shape": [4, 4]})
    assert errno_name(as_user(USER, "with open(sys.argv[1], 'w') as f: f.write(sys.argv[2])", again / "a/.zarray", smaller)) == "EACCES"
    assert errno_name(as_user(USER, WRITE, again / "a/0.0")) == "EACCES"
    assert errno_name(as_user(USER, "os.unlink(sys.argv[1])", again / "a/0.0")) == "EACCES"
    assert errno_name(as_user(USER, "with open(sys.argv[1], 'w') as f: f.write('{\"mine\": 1}')", again / "a/.zattrs")) == "done"
    again.unmount()
    assert {path: open(path, "rb").read() for path in before} == before
    with open(os.path.join(mount.source, "a/zarr.json")) as document:
        assert json.load(document)["attributes"] == {"mine": 1}


def test_consolidated_metadata_tells_what_all_its_readers_may_know(others):
    mount = others()
    with open(mount / ".zgroup", "w") as group:
        group.write('{"zarr_format": 2}')
    for name in ("open", "closed"):
        write_array(mount / name)
        with open(os.path.join(mount.path, name, ".zattrs"), "w") as attributes:
            attributes.write('{"password": "x"}')
    mount.unmount()
    os.chmod(os.path.join(mount.source, "closed"), 0o700)
    again = others()
    with open(again / ".zmetadata") as text:
        told = json.load(text)["metadata"]
    assert "open/.zarray" in told and not [key for key in told if key.startswith("closed")]
    assert errno_name(as_user(USER, READ, again / ".zarrfs/report.json")) == "EACCES"
    assert errno_name(as_user(USER, READ, again / ".zarrfs/stats.json")) == "done"


def test_a_rewritten_shard_keeps_owner_mode_list_and_attributes(others):
    mount = others()
    write_array(mount / "a")
    mount.unmount()
    shard = next(path for path in files_of(mount.source) if not path.endswith("zarr.json"))
    os.chown(shard, USER, OTHER)
    os.chmod(shard, 0o640)
    os.setxattr(shard, "user.note", b"kept")
    has_lists = shutil.which("setfacl") and subprocess.run(["setfacl", "-m", f"u:{OTHER}:r", shard], check=False).returncode == 0
    before = os.stat(shard)
    again = others()
    with open(again / "a/0.0", "wb") as file:
        file.write(bytes(16))
    again.unmount()
    after = os.stat(shard)
    assert after.st_ino != before.st_ino
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert os.getxattr(shard, "user.note") == b"kept"
    if has_lists:
        assert f"user:{OTHER}:r--" in subprocess.run(["getfacl", "-n", shard], capture_output=True, text=True, check=True).stdout


def test_chmod_that_would_be_a_lie_is_refused(others):
    mount = others()
    write_array(mount / "a")
    mount.unmount()
    again = others()
    with pytest.raises(PermissionError):
        os.chmod(again / "a/0.0", 0o600)
    os.chmod(again / "a/0.0", stat.S_IMODE(os.stat(again / "a/0.0").st_mode))


def test_a_mounter_who_may_not_act_for_others_refuses_their_changes(others):
    mount = others(prefix=["setpriv", "--bounding-set", "-setuid,-setgid", "--inh-caps", "-all"], mode=0o777)
    assert errno_name(as_user(USER, WRITE, mount / "file")) == "EACCES"
    assert errno_name(as_user(USER, "os.mkdir(sys.argv[1])", mount / "directory")) == "EACCES"
    write_array(mount / "a")  # its own user's
    assert errno_name(as_user(USER, READ, mount / "a/0.0")) == "done"


def test_links_lead_only_where_everybody_may_go(others):
    mount = others()
    write_array(mount / "closed/a")
    mount.unmount()
    os.chmod(os.path.join(mount.source, "closed"), 0o700)
    os.symlink("closed/a", os.path.join(mount.source, "way"))
    again = others(damaged=True)
    assert errno_name(as_user(USER, READ, again / "way/.zarray")) != "done"
    assert errno_name(as_user(USER, READ, again / "way/0.0")) != "done"


def test_nobody_writes_through_a_link(others):
    mount = others()
    write_array(mount / "rooms")
    mount.unmount()
    os.mkdir(os.path.join(mount.source, "his"))
    os.chown(os.path.join(mount.source, "his"), USER, USER)
    os.symlink("../rooms", os.path.join(mount.source, "his/way"))
    again = others(damaged=True)
    assert errno_name(as_user(USER, WRITE, again / "his/way/0.0")) == "EACCES"


def test_files_of_others_in_a_shared_directory_stay(others):
    mount = others()
    os.mkdir(os.path.join(mount.source, "shared"))
    os.chmod(os.path.join(mount.source, "shared"), 0o1777)
    assert as_user(USER, "open(sys.argv[1], 'w').close()", mount / "shared/his") == 0
    assert errno_name(as_user(OTHER, "os.unlink(sys.argv[1])", mount / "shared/his")) == "EPERM"
    assert errno_name(as_user(USER, "os.unlink(sys.argv[1])", mount / "shared/his")) == "done"


def test_a_log_that_is_a_link_or_a_pipe_is_refused(place):
    store = os.path.join(place, "store")
    os.makedirs(store)
    with open(os.path.join(place, "precious"), "w") as precious:
        precious.write("precious")
    os.symlink("precious", os.path.join(place, "link"))
    os.mkfifo(os.path.join(place, "pipe"))
    os.link(os.path.join(place, "precious"), os.path.join(place, "second"))
    os.makedirs(os.path.join(place, "mnt"))
    for name, why in (("link", "is a symbolic link"), ("pipe", "is not a regular file"), ("second", "has other names")):
        done = subprocess.run([DAEMON, "mount", store, os.path.join(place, "mnt"), "-o", f"rw,log={place}/{name}"],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 3 and why in done.stderr, done.stderr
        assert not os.path.ismount(os.path.join(place, "mnt"))
    with open(os.path.join(place, "precious")) as precious:
        assert precious.read() == "precious"
