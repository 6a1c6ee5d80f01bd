"""Copying a plain store into a mount, with each program's own order of files and names: it looks as the copy in a plain directory
would, and is a sharded store."""
import concurrent.futures
import errno
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import DAEMON, run_zarr
from test_files import error_of, read
from test_writing import write

MAKE = """
import sys, numpy as np, zarr
g = zarr.open_group(sys.argv[1], mode="w")
g.attrs["title"] = "whole"
inner = g.create_group("deep/inner")
for name, separator in (("dots", "."), ("slashes", "/")):
    a = inner.create_dataset(name, shape=(20, 30), chunks=(5, 7), dtype="i4", dimension_separator=separator)
    a[:] = np.arange(600).reshape(20, 30)
    a.attrs["unit"] = name
g.create_dataset("bare", data=np.arange(9), chunks=4)
zarr.consolidate_metadata(sys.argv[1])
"""

READ = """
import sys, numpy as np, zarr
for g in (zarr.open_group(sys.argv[1], mode="r"), zarr.open_consolidated(sys.argv[1])):
    assert g.attrs["title"] == "whole"
    for name in ("dots", "slashes"):
        a = g["deep/inner"][name]
        assert a.attrs["unit"] == name and (a[:] == np.arange(600).reshape(20, 30)).all()
    assert (g["bare"][:] == np.arange(9)).all()
"""

COPIES = {
    "cp": "cp -r $FROM $TO/x", "cp-a": "cp -a $FROM $TO/x", "rsync": "rsync -a $FROM/ $TO/x/",
    "rsync-inplace": "rsync -a --inplace $FROM/ $TO/x/", "tar": "mkdir $TO/x && tar -C $FROM -c . | tar -C $TO/x -x",
    "chunks-first": "mkdir $TO/x && cd $FROM && tar -c $(find . -type f | sort -r) | tar -C $TO/x -x",
    "install": "cd $FROM && find . -type f -exec install -D {} $TO/x/{} ';'"}


def copy(command, source, target):
    done = subprocess.run(["sh", "-c", command], env=dict(os.environ, FROM=str(source), TO=str(target)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("option", ["rw", "rw,separator=/"])
def test_a_store_of_zarr_v2(mount, tmp_path, command, option):
    source, store = tmp_path / "plain", tmp_path / "store"
    run_zarr("zarr2", MAKE, source)
    store.mkdir()
    mounted = mount(store, option)
    copy(command, source, mounted.path)
    different = subprocess.run(["diff", "-r", "--exclude=.*", source, f"{mounted.path}/x"], capture_output=True, text=True)
    assert different.stdout == "" or "separator" in option
    run_zarr("zarr2", READ, f"{mounted.path}/x")
    mounted.unmount()
    assert not [name for _, _, files in os.walk(store) for name in files if name.startswith(".")]
    assert len([file for _, _, files in os.walk(store / "x" / "deep") for file in files if file != "zarr.json"]) == 2  # shards
    mounted = mount(store, option)
    run_zarr("zarr2", READ, f"{mounted.path}/x")
    assert os.path.exists(f"{mounted.path}/x/bare/.zattrs")  # what the view makes up is in sight again


def test_a_node_that_was_made_here_has_no_documents_but_its_own(mount, tmp_path):
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", "rw")
    os.mkdir(f"{mounted.path}/g")
    os.mkdir(f"{mounted.path}/g/a")
    with open(f"{mounted.path}/g/a/.zarray", "x") as file:
        file.write('{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C", '
                   '"compressor": null, "filters": null}')
    assert os.listdir(f"{mounted.path}/g/a") == [".zarray"] and os.listdir(f"{mounted.path}/g") == ["a"]
    for name in (".zgroup", ".zattrs", ".zmetadata"):
        with open(f"{mounted.path}/g/{name}", "x") as file:
            file.write('{"zarr_format": 2}' if name == ".zgroup" else "{}")
    assert sorted(os.listdir(f"{mounted.path}/g")) == [".zattrs", ".zgroup", ".zmetadata", "a"]
    os.rename(f"{mounted.path}/g", f"{mounted.path}/h")
    assert os.listdir(f"{mounted.path}/h/a") == [".zarray"]


@pytest.mark.parametrize("renamed", [False, True], ids=["written", "renamed"])
def test_a_chunk_that_came_first_is_no_other_file(mount, tmp_path, renamed):
    """The file that it was is removed from the store; another file with its number there is not read by its name, which the kernel knows for a while."""
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", "rw,timeout=60")
    for name in ("a", "b"):
        os.mkdir(mounted / name)
    for name in ("a/0", "a/1"):
        write(mounted / name, bytes(16))
    numbers = {os.stat(tmp_path / "store" / name).st_ino for name in ("a/0", "a/1")}
    write(mounted / ("a/.zarray.partial" if renamed else "a/.zarray"),
          b'{"zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "<i4", "fill_value": -1, "order": "C", "compressor": null, "filters": null}')
    if renamed:
        os.rename(mounted / "a/.zarray.partial", mounted / "a/.zarray")
    for number in range(2000):
        write(mounted / f"b/{number}", b"another file")
        if os.stat(tmp_path / "store" / f"b/{number}").st_ino in numbers:
            break
    else:
        pytest.skip("this file system gives no number twice")
    for name in ("a/0", "a/1"):
        assert os.stat(mounted / name).st_size == 16
        assert read(mounted / name) == bytes(16)


@pytest.mark.parametrize("command", [COPIES["cp"], COPIES["rsync"]], ids=["cp", "rsync"])
def test_a_store_of_zarr_v3(mount, tmp_path, command):
    source, store = tmp_path / "plain", tmp_path / "store"
    run_zarr("zarr3", "import sys, numpy as np, zarr\ng = zarr.create_group(sys.argv[1], attributes={'k': 1})\n"
                    "a = g.create_array('deep/a', shape=(20, 30), chunks=(5, 7), dtype='i4')\na[:] = np.arange(600).reshape(20, 30)",
                    source)
    store.mkdir()
    mounted = mount(store, "rw,view=v3")
    copy(command, source, mounted.path)
    different = subprocess.run(["diff", "-r", source, f"{mounted.path}/x"], capture_output=True, text=True)
    assert "Only in" not in different.stdout
    assert np.array_equal(np.fromfile(f"{source}/deep/a/c/1/1", "u1"), np.fromfile(f"{mounted.path}/x/deep/a/c/1/1", "u1"))
    mounted.unmount()
    read = "import sys, numpy as np, zarr\ng = zarr.open_group(sys.argv[1], mode='r')\nassert g.attrs['k'] == 1\n" \
           "assert g['deep/a'].shards and (g['deep/a'][:] == np.arange(600).reshape(20, 30)).all()"
    run_zarr("zarr3", read, f"{store}/x")


EARLY = 200


def write_early(directory, nested):
    """Chunks of an array that has no document yet: chunk i holds i."""
    for i in range(EARLY):
        name = f"{i // 20}/{i % 20}" if nested else f"{i // 20}.{i % 20}"
        os.makedirs(os.path.dirname(f"{directory}/{name}"), exist_ok=True)
        with open(f"{directory}/{name}", "wb") as file:
            file.write(np.full((2, 2), i, "<i4").tobytes())


def write_document(directory, separator):
    with open(f"{directory}/.zarray", "w") as file:
        file.write('{"zarr_format": 2, "shape": [20, 40], "chunks": [2, 2], "dtype": "<i4", "fill_value": -1, "order": "C", '
                   f'"compressor": null, "filters": null, "dimension_separator": "{separator}"}}')


@pytest.mark.parametrize("nested", [False, True], ids=["dots", "slashes"])
def test_chunks_that_came_first_survive_a_kill(mount, tmp_path, nested):
    store, seed = tmp_path / "store", random.randrange(10**6)
    rng = random.Random(seed)
    print(f"seed {seed}")
    store.mkdir()
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    mounted = mount(store, "rw")
    pause, rounds = 0.0, 0
    while True:
        array = f"{mounted.path}/a{rounds}"
        os.mkdir(array)
        write_early(array, nested)
        daemon = mounted.statistics_process()
        writer = os.fork()
        if writer == 0:
            try:
                write_document(array, "/" if nested else ".")
                os._exit(0)
            except OSError:
                os._exit(1)
        time.sleep(rng.uniform(0, pause))  # killed at any moment
        os.kill(daemon, signal.SIGKILL)
        complete = os.waitpid(writer, 0)[1] == 0
        subprocess.run(["umount", "-l", mounted.path], check=True)
        mounted = mount(store, "rw", damaged=True)
        array = f"{mounted.path}/a{rounds}"
        if not os.path.exists(f"{array}/.zarray"):
            assert not complete
            write_document(array, "/" if nested else ".")
        read = "import sys, zarr, numpy as np\na = zarr.open_array(sys.argv[1], mode='r')[::2, ::2]\n" \
               f"assert (a.ravel() == np.arange({EARLY})).all(), a"
        run_zarr("zarr2", read, array)
        rounds, pause = rounds + 1, pause * 2 + 0.002
        if complete and rounds > 5:
            break
    mounted.unmount()
    assert not [folder for _, folders, _ in os.walk(store) for folder in folders if "zarrfs" in folder]


def zarray(dtype="<i4", chunks=(2, 2), **more):
    return json.dumps({"zarr_format": 2, "shape": [4, 4], "chunks": chunks, "dtype": dtype, "fill_value": 0, "order": "C", "compressor": None,
                       "filters": None, **more}).encode()


@pytest.fixture
def empty(mount, tmp_path):
    (tmp_path / "store").mkdir()
    return mount(tmp_path / "store", "rw,flush_after=3600", damaged=True)


@pytest.mark.parametrize("round", range(3))
def test_files_copied_side_by_side_in_any_order(mount, tmp_path, round):
    """Chunks are made while others come, and while the document does."""
    source, store = tmp_path / "plain", tmp_path / "store"
    run_zarr("zarr2", MAKE, source)
    store.mkdir()
    mounted = mount(store, f"rw,flush_after={[5, 0.05, 3600][round]}")
    files = sorted(os.path.relpath(os.path.join(folder, name), source) for folder, _, names in os.walk(source) for name in names)
    random.Random(round).shuffle(files)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        one = 'mkdir -p "$(dirname "$2")" && cp "$1" "$2"'
        for done in pool.map(lambda name: subprocess.run(["sh", "-c", one, "sh", source / name, f"{mounted.path}/x/{name}"], capture_output=True), files):
            assert done.returncode == 0, done.stderr
    for _ in range(2):
        run_zarr("zarr2", READ, f"{mounted.path}/x")
        mounted.unmount()
        mounted = mount(store, "rw")
    assert not [name for folder, _, names in os.walk(store) for name in names if name != "zarr.json" and os.path.basename(folder) not in ("c", "0")]


def test_an_array_is_not_made_around_a_chunk_that_is_being_written(empty):
    os.mkdir(empty / "a")
    with open(empty / "a/0.0", "wb") as chunk:
        assert error_of(write, empty / "a/.zarray", zarray()) == errno.EBUSY
        chunk.write(b"\2" * 16)
    write(empty / "a/.zarray", zarray())
    assert read(empty / "a/0.0") == b"\2" * 16


def interleavings(counts):
    """Each order in which so many steps of each program may go."""
    if not any(counts.values()):
        yield ()
    for name in [name for name, count in counts.items() if count]:
        for rest in interleavings({**counts, name: counts[name] - 1}):
            yield (name, *rest)


def steps(path, text, flags, at_once=False):
    """Opens, writes and closes a file, one after the other; `at_once`: is closed with the write."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | flags)
    yield
    assert os.write(file, text) == len(text)
    if not at_once:
        yield
    os.close(file)
    yield


def test_programs_that_write_the_parts_of_an_array_go_in_any_order(empty):
    """Each opens, writes and closes a file; the document is closed last."""
    parts = {".zattrs": b'{"k": 1}', "0.0": b"\1" * 16, ".zarray": zarray()}
    for number, order in enumerate(interleavings({".zattrs": 3, "0.0": 2, ".zarray": 2})):
        os.mkdir(empty / f"{number}")
        programs = {name: steps(empty / f"{number}/{name}", text, os.O_EXCL, at_once=name == "0.0") for name, text in parts.items()}
        for name in (*order, ".zarray"):
            next(programs[name])
        assert json.loads(read(empty / f"{number}/.zattrs")) == {"k": 1} and read(empty / f"{number}/0.0") == parts["0.0"], order


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_a_document_that_two_programs_write_goes_in_any_order(mount, tmp_path, view):
    """Each empties the file, writes the same and closes it; what the last one closes counts, and only that."""
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", f"rw,flush_after=3600,view={view}", damaged=True)
    group = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"k": 1}}).encode()
    documents = {".zgroup": b'{"zarr_format": 2}', ".zarray": zarray(), ".zattrs": b'{"k": 1}'} if view == "v2" else {"zarr.json": group}
    for place, (name, text) in enumerate(documents.items()):
        for number, order in enumerate(interleavings({"a": 3, "b": 3})):
            directory = pathlib.Path(mounted / f"{place}.{number}")
            os.mkdir(directory)
            if name == ".zattrs":
                write(directory / ".zgroup", documents[".zgroup"])
            programs = {program: steps(directory / name, text, os.O_TRUNC) for program in "ab"}
            for program in order:
                next(programs[program])
            kept = json.loads(read(directory / name))
            assert {member: kept.get(member) for member in json.loads(text)} == json.loads(text), order
        others, last = (os.open(directory / name, os.O_TRUNC | os.O_WRONLY) for _ in range(2))
        os.write(last, text[:-1])
        os.close(others)
        assert error_of(os.close, last) == errno.EINVAL
        assert json.loads(read(directory / name)) == kept


def test_attributes_that_are_no_document_refuse_the_array_at_its_close(empty):
    os.mkdir(empty / "a")
    write(empty / "a/.zattrs", b'{"k": ')
    document = os.open(empty / "a/.zarray", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(document, zarray())
    assert error_of(os.close, document) == errno.EINVAL


def test_a_new_array_has_none_of_the_chunks_of_the_one_before(empty):
    for kind in ("array", "group"):
        os.mkdir(empty / kind)
        write(empty / f"{kind}/.zarray", zarray())
        write(empty / f"{kind}/0.0", b"\1" * 16)
        subprocess.run([DAEMON, "sync", empty.path], check=True)
        for name in (".zarray", "0.0"):
            os.unlink(empty / f"{kind}/{name}")
    write(empty / "array/.zarray", zarray("<f4"))
    write(empty / "group/.zgroup", b'{"zarr_format": 2}')
    assert os.listdir(empty / "array") == [".zarray"] and os.listdir(empty / "group") == [".zgroup"]
    empty.unmount()
    assert os.listdir(f"{empty.source}/array") == ["zarr.json"] and os.listdir(f"{empty.source}/group") == ["zarr.json"]


def test_a_node_that_became_another_one_stays(mount, empty):
    os.mkdir(empty / "x")
    write(empty / "x/.zgroup", b'{"zarr_format": 2}')
    os.unlink(empty / "x/.zgroup")
    write(empty / "x/.zarray", zarray())
    write(empty / "x/.zattrs", b'{"k": 1}')
    empty.unmount()
    assert json.loads(read(mount(empty.source) / "x/.zattrs")) == {"k": 1}


def test_a_temporary_file_of_a_copy_that_runs_becomes_its_chunk(mount, empty):
    os.makedirs(empty / "a/0")
    os.mkdir(empty / "a/1")
    write(empty / "a/0/.0.Xy12", b"\1" * 16)
    write(empty / "a/0/.1.Xy34", b"\2" * 16)
    write(empty / "a/1/0", b"\3" * 16)
    write(empty / "a/.zarray", zarray(dimension_separator="/"))
    assert sorted(os.listdir(empty / "a/0")) == [".0.Xy12", ".1.Xy34"] and read(empty / "a/0/.1.Xy34") == b"\2" * 16
    assert error_of(os.rmdir, empty / "a/0") == errno.ENOTEMPTY
    os.rename(empty / "a/0/.0.Xy12", empty / "a/0/0")
    assert sorted(os.listdir(empty / "a/0")) == [".1.Xy34", "0"] and read(empty / "a/0/0") == b"\1" * 16
    write(empty / "a/0/.1.Xy34", b"\4" * 16)
    os.unlink(empty / "a/0/.1.Xy34")
    assert os.listdir(empty / "a/0") == ["0"]
    empty.unmount()
    assert not [name for _, folders, files in os.walk(empty.source) for name in folders + files if name.startswith(".")]
    again = mount(empty.source)
    assert read(again / "a/0.0") == b"\1" * 16 and read(again / "a/1.0") == b"\3" * 16


def test_an_array_is_not_made_around_another_one(empty):
    os.makedirs(empty / "a/0")
    write(empty / "a/0/.zarray", zarray())
    write(empty / "a/0/0.0", b"\1" * 16)
    assert error_of(write, empty / "a/.zarray", zarray()) == errno.EINVAL
    assert read(empty / "a/0/0.0") == b"\1" * 16


def test_a_directory_that_is_made_again_lives_though_somebody_is_in_the_old_one(empty):
    os.mkdir(empty / "x")
    inside = os.open(empty / "x", os.O_RDONLY)
    os.rmdir(empty / "x")
    os.mkdir(empty / "x")
    write(empty / "x/f", b"new")
    os.close(inside)
    assert read(empty / "x/f") == b"new"


def test_directories_of_chunks_can_be_made_after_their_shard_was_published(mount, tmp_path):
    source, store = tmp_path / "plain", tmp_path / "store"
    write_early(source, True)
    write_document(source, "/")
    store.mkdir()
    mounted = mount(store, "rw,flush=close")
    copy(COPIES["cp"], source, mounted.path)
    assert subprocess.run(["diff", "-r", "--exclude=.z*", source, f"{mounted.path}/x"], capture_output=True, text=True).stdout == ""


def test_a_store_that_was_only_begun_can_be_mounted_again(mount, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw")
    os.mkdir(mounted / "a")
    write(mounted / "a/0.0", b"\1" * 16)
    mounted.unmount()
    mounted = mount(store, "rw")
    write(mounted / "a/.zarray", zarray())
    assert read(mounted / "a/0.0") == b"\1" * 16


def test_an_array_that_is_moved_keeps_its_documents_words(empty):
    os.mkdir(empty / "a")
    write(empty / "a/.zarray", zarray(dimension_separator="/"))
    os.mkdir(empty / "a/0")
    write(empty / "a/0/0", b"\1" * 16)
    words = read(empty / "a/.zarray")
    os.rename(empty / "a", empty / "b")
    assert read(empty / "b/.zarray") == words and json.loads(words)["dimension_separator"] == "/"
    assert sorted(os.listdir(empty / "b")) == [".zarray", "0"] and read(empty / "b/0/0") == b"\1" * 16


MAKE_WITH_FILL_VALUES = """
import sys, numpy as np, zarr
g = zarr.open_group(sys.argv[1], mode="w")
for name, fill in (("none", None), ("seven", 7)):
    g.create_dataset(name, data=np.arange(1, 73).reshape(12, 6), chunks=(4, 3), dtype="i4", fill_value=fill)
"""

READ_WITH_FILL_VALUES = """
import sys, numpy as np, zarr
g = zarr.open_group(sys.argv[1], mode="r")
assert sorted(g) == ["none", "seven"]
assert all((g[name][:] == np.arange(1, 73).reshape(12, 6)).all() for name in g)
"""


def plain_and_empty(folder):
    source, store = folder / "plain", folder / "store"
    run_zarr("zarr2", MAKE_WITH_FILL_VALUES, source)
    store.mkdir()
    return source, store


# Documents first, so that all chunks could be made up while they are copied.
CAREFUL_COPIES = {
    "cp-n": "cp -n", "cp-u": "cp -u", "rsync-u": "rsync -u", "rsync-ignore-existing": "rsync --ignore-existing"}


@pytest.mark.parametrize("command", CAREFUL_COPIES.values(), ids=CAREFUL_COPIES)
@pytest.mark.parametrize("options", ["rw", "rw,profile=ome", "rw,profile=xarray"])
def test_chunks_that_are_not_made_yet_are_absent(mount, tmp_path, command, options):
    source, store = plain_and_empty(tmp_path)
    mounted = mount(store, options)
    script = f"""mkdir $TO/none $TO/seven && cp $FROM/.zgroup $TO && for a in none seven; do
        cp $FROM/$a/.zarray $TO/$a && {command} $FROM/$a/[0-9]* $TO/$a/; done"""
    copy(script, source, mounted.path)
    run_zarr("zarr2", READ_WITH_FILL_VALUES, mounted.path)
    mounted.unmount()
    run_zarr("zarr2", READ_WITH_FILL_VALUES, mount(store, "ro").path)


@pytest.mark.parametrize("options", ["rw", "rw,profile=ome", "rw,profile=xarray"])
def test_an_archive_replaces_the_chunks_of_an_earlier_mount(mount, tmp_path, options):
    """tar removes what is in its way, and expects it to be gone."""
    source, store = plain_and_empty(tmp_path)
    mounted = mount(store, options)
    copy("cp -a $FROM/. $TO/ && rm $TO/seven/0.0 $TO/none/1.1", source, mounted.path)
    mounted.unmount()
    again = mount(store, options + ",separator=.")
    copy("timeout 60 tar -C $FROM -c . | timeout 60 tar -C $TO -x", source, again.path)
    run_zarr("zarr2", READ_WITH_FILL_VALUES, again.path)


def test_absent_chunks_without_a_fill_value_are_made_up_for_readers_only(mount, tmp_path):
    source, store = plain_and_empty(tmp_path)
    mounted = mount(store, "rw")
    copy("cp -a $FROM/. $TO/ && rm $TO/none/0.0", source, mounted.path)
    assert error_of(read, f"{mounted.path}/none/0.0") == errno.ENOENT
    mounted.unmount()
    again = mount(store, "rw")
    assert error_of(read, f"{again.path}/none/0.0") == errno.ENOENT
    again.unmount()
    zeros = "import sys, zarr; assert not zarr.open_array(sys.argv[1], mode='r')[:4, :3].any()"
    run_zarr("zarr2", zeros, mount(store, "ro") / "none")


def test_a_node_in_an_array_is_refused(empty):
    """No view would show it: `cp -a group array/` says so."""
    os.makedirs(empty / "a")
    write(empty / "a/.zarray", zarray())
    os.makedirs(empty / "a/inner/deep")
    for folder in ("a/inner", "a/inner/deep"):
        for name, text in ((".zgroup", b'{"zarr_format": 2}'), (".zarray", zarray())):
            assert error_of(write, f"{empty.path}/{folder}/{name}", text) == errno.EINVAL
    assert "can hold no other node" in empty.log_text()
    assert not [path for path, _, names in os.walk(os.path.join(empty.source, "a/inner")) if "zarr.json" in names]
