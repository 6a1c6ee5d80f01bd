"""Copying a plain store into a mount, with each program's own order of files and names: it looks as the copy in a plain directory
would, and is a sharded store."""
import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import python_of

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
    subprocess.run([python_of("zarr2"), "-W", "ignore", "-c", MAKE, source], check=True)
    store.mkdir()
    mounted = mount(store, option)
    copy(command, source, mounted.path)
    different = subprocess.run(["diff", "-r", "--exclude=.*", source, f"{mounted.path}/x"], capture_output=True, text=True)
    assert different.stdout == "" or "separator" in option
    subprocess.run([python_of("zarr2"), "-W", "ignore", "-c", READ, f"{mounted.path}/x"], check=True)
    mounted.unmount()
    assert not [name for _, _, files in os.walk(store) for name in files if name.startswith(".")]
    assert len([file for _, _, files in os.walk(store / "x" / "deep") for file in files if file != "zarr.json"]) == 2  # shards
    mounted = mount(store, option)
    subprocess.run([python_of("zarr2"), "-W", "ignore", "-c", READ, f"{mounted.path}/x"], check=True)
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


@pytest.mark.parametrize("command", [COPIES["cp"], COPIES["rsync"]], ids=["cp", "rsync"])
def test_a_store_of_zarr_v3(mount, tmp_path, command):
    source, store = tmp_path / "plain", tmp_path / "store"
    subprocess.run([python_of("zarr3"), "-W", "ignore", "-c",
                    "import sys, numpy as np, zarr\ng = zarr.create_group(sys.argv[1], attributes={'k': 1})\n"
                    "a = g.create_array('deep/a', shape=(20, 30), chunks=(5, 7), dtype='i4')\na[:] = np.arange(600).reshape(20, 30)",
                    source], check=True)
    store.mkdir()
    mounted = mount(store, "rw,view=v3")
    copy(command, source, mounted.path)
    different = subprocess.run(["diff", "-r", source, f"{mounted.path}/x"], capture_output=True, text=True)
    assert "Only in" not in different.stdout
    assert np.array_equal(np.fromfile(f"{source}/deep/a/c/1/1", "u1"), np.fromfile(f"{mounted.path}/x/deep/a/c/1/1", "u1"))
    mounted.unmount()
    read = "import sys, numpy as np, zarr\ng = zarr.open_group(sys.argv[1], mode='r')\nassert g.attrs['k'] == 1\n" \
           "assert g['deep/a'].shards and (g['deep/a'][:] == np.arange(600).reshape(20, 30)).all()"
    subprocess.run([python_of("zarr3"), "-W", "ignore", "-c", read, f"{store}/x"], check=True)


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
        time.sleep(rng.uniform(0, pause))
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
        subprocess.run([python_of("zarr2"), "-W", "ignore", "-c", read, array], check=True)
        rounds, pause = rounds + 1, pause * 2 + 0.002
        if complete and rounds > 5:
            break
    mounted.unmount()
    assert not [folder for _, folders, _ in os.walk(store) for folder in folders if "zarrfs" in folder]
