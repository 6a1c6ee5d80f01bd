"""Symbolic links in directories without a document: shown, made, and followed by the kernel; and by real programs, as in a plain directory."""
import errno
import os
import shutil
import stat
import subprocess
import sys

import pytest

from conftest import need, within
from stores import SmallStore
from test_files import error_of, read


@pytest.fixture
def store(tmp_path):
    one = SmallStore(tmp_path / "store")
    os.makedirs(one.file("plain/below"))
    with open(one.file("plain/file"), "w") as file:
        file.write("text")
    return one


def test_a_link_is_a_link_where_it_stays_within_the_store(mount, store):
    targets = {"to_file": "file", "to_directory": "below", "up": "../plain/file", "to_array": "../a", "nowhere": "not here", "far": "below/../../.."}
    for name, target in targets.items():
        os.symlink(target, store.file(f"plain/{name}"))
    os.symlink("/etc/hostname", store.file("plain/absolute"))
    mounted = mount(store.path, damaged=True)
    for name in ("to_file", "to_directory", "up", "to_array", "nowhere"):
        assert os.readlink(mounted / f"plain/{name}") == targets[name]
        assert stat.S_ISLNK(os.lstat(mounted / f"plain/{name}").st_mode)
        assert os.lstat(mounted / f"plain/{name}").st_size == len(targets[name])
    assert read(mounted / "plain/to_file") == read(mounted / "plain/up") == b"text"
    assert read(mounted / "plain/to_array/0.0") == read(mounted / "a/0.0")
    assert os.listdir(mounted / "plain/to_directory") == []
    assert error_of(lambda: read(mounted / "plain/nowhere")) == errno.ENOENT  # the link is shown: this is no chunk of anything
    for name in ("far", "absolute"):
        assert error_of(lambda: os.lstat(mounted / f"plain/{name}")) == errno.EACCES
    kinds = {entry.name: entry.is_symlink() for entry in os.scandir(mounted / "plain") if not entry.name.startswith(".z")}
    assert kinds == {"below": False, "file": False, "absolute": False, **{name: name != "far" for name in targets}}


def test_links_in_nodes_look_like_what_they_lead_to(mount, store):
    os.symlink("a", store.file("b"))
    os.symlink("plain/file", store.file("file"))
    mounted = mount(store.path)
    assert os.path.isdir(mounted / "b") and not os.path.islink(mounted / "b") and not os.path.islink(mounted / "file")
    assert read(mounted / "b/0.0") == read(mounted / "a/0.0") and read(mounted / "file") == b"text"


def test_links_are_made_where_they_would_be_shown(mount, store):
    mounted = mount(store.path, "rw")
    os.symlink("file", mounted / "plain/one")
    assert os.readlink(mounted / "plain/one") == os.readlink(store.file("plain/one")) == "file"
    assert error_of(lambda: os.symlink("file", mounted / "plain/one")) == errno.EEXIST
    os.symlink("later", mounted / "plain/two")
    with open(mounted / "plain/two", "w") as through:  # the kernel follows it
        through.write("made")
    assert read(store.file("plain/later")) == b"made"
    for target in ("/etc/passwd", "../../x", "below/../../../x", "../..", ""):
        assert error_of(lambda: os.symlink(target, mounted / "plain/out")) in (errno.EPERM, errno.ENOENT), target
    for name in ("top", "a/in_array", "a/0.1", ".zarrfs/x"):
        assert error_of(lambda: os.symlink("x", mounted / name)) in (errno.EPERM, errno.EEXIST), name
    os.utime(mounted / "plain/one", ns=(5, 6 * 10**9), follow_symlinks=False)
    assert os.lstat(store.file("plain/one")).st_mtime_ns == 6 * 10**9 and os.stat(store.file("plain/file")).st_mtime_ns != 6 * 10**9
    os.rename(mounted / "plain/one", mounted / "plain/below/one")
    assert os.readlink(mounted / "plain/below/one") == "file" and error_of(lambda: read(mounted / "plain/below/one")) == errno.ENOENT
    assert error_of(lambda: os.rename(mounted / "plain/below/one", mounted / "one")) == errno.EPERM
    os.symlink("another", mounted / "plain/three")
    os.replace(mounted / "plain/three", mounted / "plain/two")
    assert os.readlink(mounted / "plain/two") == "another"
    for name in ("plain/below/one", "plain/two"):
        os.unlink(mounted / name)
        assert not os.path.lexists(store.file(name))
    os.symlink("below", mounted / "plain/to_directory")
    assert error_of(lambda: os.rmdir(mounted / "plain/to_directory")) == errno.ENOTDIR
    os.unlink(mounted / "plain/to_directory")
    assert os.path.isdir(store.file("plain/below"))


def test_a_chunk_of_zarr_v2_that_is_a_link_to_nowhere_is_no_absence(mount, store):
    os.makedirs(store.file("old/nested/0"))
    with open(store.file("old/.zgroup"), "w") as group:
        group.write('{"zarr_format": 2}')
    os.symlink("gone", store.file("old/nested/chunk"))
    os.symlink("gone", store.file("plain/0.0"))
    mounted = mount(store.path, "rw", damaged=True)
    for name in ("old/nested/chunk", "plain/0.0"):
        assert error_of(lambda: read(mounted / name)) == errno.EIO
        assert error_of(lambda: os.symlink("gone", mounted / (name + ".1" if name.endswith("0") else name + "s"))) == errno.EPERM


def test_no_links_are_made_where_the_daemon_follows_them(mount, store):
    mounted = mount(store.path, "rw,symlinks=follow")
    assert error_of(lambda: os.symlink("file", mounted / "plain/one")) == errno.EPERM
    assert error_of(lambda: os.symlink("file", mount(store.path, "ro") / "plain/one")) == errno.EROFS


def test_no_row_of_links_leaves_the_mount(mount, store, tmp_path):
    """Each link by itself stays within; a way through them would not."""
    mounted = mount(store.path, "rw", damaged=True)
    (tmp_path / "secret").write_text("secret")
    os.makedirs(mounted / "plain/deep/er")
    os.symlink("../..", mounted / "plain/deep/top")  # the root
    os.symlink("top", mounted / "plain/deep/again")
    for way in ("top/../secret", "again/../secret", "er/../top/../secret"):
        assert error_of(lambda: os.symlink(way, mounted / "plain/deep/evil")) == errno.EPERM
        os.symlink(way, store.file("plain/deep/evil"))  # whoever writes to the store may
        within(60, lambda: error_of(lambda: read(mounted / "plain/deep/evil")) is not None)
        assert error_of(lambda: read(mounted / "plain/deep/evil")) != 0
        os.unlink(store.file("plain/deep/evil"))
    os.symlink("../../plain/file", mounted / "plain/deep/near")
    os.rename(mounted / "plain/deep", mounted / "plain2")  # now it leads out
    within(60, lambda: error_of(lambda: os.lstat(mounted / "plain2/near")) == errno.EACCES)


@pytest.fixture
def tree(tmp_path):
    """A tree with links of each kind that stays within itself."""
    path = tmp_path / "tree"
    (path / "bin").mkdir(parents=True)
    (path / "lib/deep").mkdir(parents=True)
    (path / "lib/program").write_text("#!/bin/sh\necho it runs\n")
    (path / "lib/program").chmod(0o755)
    os.symlink("../lib/program", path / "bin/program")
    os.symlink("lib", path / "lib64")
    os.symlink("not there", path / "dangling")
    os.symlink("../../bin", path / "lib/deep/bin")
    for name in ("bin/program", "lib64", "dangling", "lib/deep/bin"):
        os.utime(path / name, ns=(10**9, 2 * 10**9), follow_symlinks=False)
    return path


def told(path):
    """{name: what lstat and readlink tell} of a tree."""
    found = {}
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            one = os.path.join(folder, name)
            status = os.lstat(one)
            link = os.readlink(one) if stat.S_ISLNK(status.st_mode) else read(one) if stat.S_ISREG(status.st_mode) else None
            found[os.path.relpath(one, path)] = (status.st_mode, link, status.st_mtime_ns if stat.S_ISLNK(status.st_mode) else None)
    return found


@pytest.mark.parametrize("program", ["cp -a", "cp -r", "rsync -a", "tar", "mv"])
def test_programs_copy_a_tree_of_links(mount, store, tree, program):
    need(program.split()[0] != "rsync" or shutil.which("rsync"), "rsync is missing")
    mounted = mount(store.path, "rw")
    wanted = told(tree)
    target = mounted / "plain/copy"
    if program == "tar":
        os.mkdir(target)
        subprocess.run(f"tar -C {tree} -c . | tar -C {target} -xp", shell=True, check=True)
    elif program == "rsync -a":
        subprocess.run(["rsync", "-a", f"{tree}/", f"{target}/"], check=True)
        again = subprocess.run(["rsync", "-a", "--itemize-changes", f"{tree}/", f"{target}/"], check=True, capture_output=True, text=True)
        assert again.stdout == "", "nothing is left to do"
    else:
        subprocess.run([*program.split(), tree, target], check=True)
    if program == "cp -r":
        wanted = {name: (mode, link, None) for name, (mode, link, _) in wanted.items()}
        assert {name: (mode, link, None) for name, (mode, link, _) in told(target).items()} == wanted
    else:
        assert told(target) == wanted
    assert subprocess.run([os.path.join(target, "bin/program")], capture_output=True, text=True, check=True).stdout == "it runs\n"
    shutil.rmtree(target)
    assert not os.path.lexists(store.file("plain/copy"))


def test_git_clones_and_sees_no_change(mount, store, tree):
    need(shutil.which("git"), "git is missing")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q"], cwd=tree, check=True)
    subprocess.run([*git, "add", "."], cwd=tree, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], cwd=tree, check=True)
    mounted = mount(store.path, "rw")
    subprocess.run([*git, "clone", "-q", tree, mounted / "plain/clone"], check=True)
    status = subprocess.run([*git, "status", "--porcelain"], cwd=mounted / "plain/clone", capture_output=True, text=True, check=True)
    assert status.stdout == ""
    assert os.readlink(mounted / "plain/clone/lib64") == "lib"


def test_a_virtual_environment(mount, store):
    mounted = mount(store.path, "rw")
    target = mounted / "plain/environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True, capture_output=True)
    done = subprocess.run([os.path.join(target, "bin/python"), "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == target
