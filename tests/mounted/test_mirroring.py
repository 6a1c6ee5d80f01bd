"""A tree of Zarr v2 that rsync brings again and again, and that loses what the source has not (--delete): the two names of a chunk are one file,
and by none of them is it removed while the source has it."""
import errno
import json
import os
import subprocess

import pytest
import stores
from conftest import run_zarr
from test_files import error_of, read

MAKE = """
import sys, numpy as np, zarr
g = zarr.open_group(sys.argv[1], mode="w")
if sys.argv[2] != "plain":
    g.attrs["multiscales"] = [{"version": "0.4", "axes": [{"name": n, "type": "space"} for n in "yx"], "datasets": [
        {"path": "slashes", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]
for name, separator in (("dots", "."), ("slashes", "/")):
    if sys.argv[2] == "image" and name == "dots":
        continue
    g.create_dataset(name, data=np.arange(1, 601).reshape(20, 30), chunks=(5, 7), dtype="i4", dimension_separator=separator)
    g.create_dataset(name + "_of_rows", data=np.arange(1, 601).reshape(20, 30), chunks=(1, 30), dtype="i4", order="F",
                     dimension_separator=separator)
"""

VALUES = """
import sys, numpy as np, zarr
g = zarr.open_group(sys.argv[1], mode="r")
names = sorted(name for name, _ in g.arrays())
wrong = [name for name in names if not (g[name][:] == np.arange(1, 601).reshape(20, 30)).all()]
assert len(names) == int(sys.argv[2]) and not wrong, (names, wrong)
"""

KINDS = {"plain": 4, "image": 2, "image with dots": 4}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """{kind: a tree of Zarr v2}"""
    made = {}
    for kind in KINDS:
        made[kind] = tmp_path_factory.mktemp("plain") / "tree"
        run_zarr("zarr2", MAKE, made[kind], kind)
    return made


def check_values(store, kind):
    run_zarr("zarr3", VALUES, store, str(KINDS[kind]))


@pytest.fixture
def store(tmp_path):
    return stores.SmallStore(tmp_path)


def mirror(source, target, when):
    return subprocess.run(["rsync", "-a", when, f"{source}/", f"{target}/"], capture_output=True, text=True)


def names_in(folder):
    return sorted(os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names
                  if name not in (".zmetadata", ".zattrs") and ".zarrfs" not in path)


@pytest.mark.parametrize("when", ["--delete-before", "--delete-delay", "--delete-after"])
@pytest.mark.parametrize("kind,option", [("plain", "rw"), ("image", "rw"), ("plain", "rw,profile=ome")])
def test_a_tree_that_is_brought_again_is_whole(mount, tmp_path, plain, when, kind, option):
    (tmp_path / "store").mkdir()
    for _ in range(2):
        mounted = mount(tmp_path / "store", option)
        for _ in range(2):
            done = mirror(plain[kind], mounted.path, when)
            assert done.returncode == 0, done.stderr
        assert names_in(mounted.path) == names_in(plain[kind])
        mounted.unmount()
        check_values(tmp_path / "store", kind)


def test_dots_in_an_image_are_no_loss(mount, tmp_path, plain):
    """The next mount finds an image, and lists names with slashes, as its readers want them."""
    (tmp_path / "store").mkdir()
    for _ in range(2):
        mounted = mount(tmp_path / "store", "rw")
        done = mirror(plain["image with dots"], mounted.path, "--delete-delay")
        assert done.returncode == 0 or "Operation not permitted" in done.stderr
        mounted.unmount()
        check_values(tmp_path / "store", "image with dots")
    assert done.returncode == 23


@pytest.mark.parametrize("when", ["--delete-delay", "--delete-after"])
def test_names_that_the_view_lists_otherwise_are_not_removed_from_under_others(mount, store, tmp_path, when):
    """A copy of another view of the store, with its documents' times: rsync finds all chunks by the copy's names, and others listed."""
    first = mount(store.path, "ro,separator=/")
    copy = tmp_path / "copy"
    assert subprocess.run(["rsync", "-a", "--exclude=.zarrfs", f"{first.path}/", copy]).returncode == 0
    first.unmount()
    mounted = mount(store.path, "rw")
    for _ in range(2):  # the second finds what the kernel keeps of the first
        subprocess.run(["rsync", "-n", "-a", f"{copy}/", f"{mounted.path}/"], check=True)
    done = mirror(copy, mounted.path, when)
    assert "Operation not permitted" in done.stderr and done.returncode == 23
    for name in store.present():
        assert read(mounted / f"a/{name}") == read(copy / "a" / name.replace(".", "/"))
    told = [line for line in mounted.log_text().splitlines() if "both are one file" in line]
    assert len(told) == 1, told


def test_a_chunk_goes_by_either_name(mount, store):
    """Who uses one kind of name removes by it."""
    mounted = mount(store.path, "rw")
    flat, other = store.present()[:2]
    subprocess.run(["rm", mounted / f"a/{flat}"], check=True)
    subprocess.run(["rm", mounted / f"a/{other.replace('.', '/')}"], check=True)
    assert not {flat, other} & set(os.listdir(mounted / "a"))
    both = store.present()[2]
    command = f"import os; os.stat('a/{both.replace('.', '/')}'); os.unlink('a/{both}')"
    done = subprocess.run(["/usr/bin/python3", "-c", command], cwd=mounted.path, capture_output=True, text=True)
    assert "PermissionError" in done.stderr and both in os.listdir(mounted / "a")
    assert error_of(os.stat, mounted / f"a/{flat}") == errno.ENOENT


def test_the_separator_is_kept_for_who_reads_v2_only(mount, tmp_path, plain):
    """Later mounts and `separator=` show it; Zarr v3 has none."""
    store = tmp_path / "store"
    store.mkdir()
    mounted = mount(store, "rw")
    subprocess.run(["cp", "-r", plain["plain"], mounted / "plain"], check=True)
    mounted.unmount()
    noted = {}
    for name in ("dots", "slashes"):
        with open(store / "plain" / name / "zarr.json") as file:
            noted[name] = json.load(file)["attributes"].get("_zarrfs", {})
    assert noted == {"dots": {}, "slashes": {"separator": "/"}}
    for option, separator in (("ro", "/"), ("ro,separator=.", "."), ("ro,profile=xarray", "/")):
        mounted = mount(store, option)
        assert json.loads(read(mounted / "plain/slashes/.zarray"))["dimension_separator"] == separator
        assert ("0" in os.listdir(mounted / "plain/slashes")) == (separator == "/")
        mounted.unmount()
    assert "_zarrfs" not in json.dumps(json.loads(read(mount(store, "ro,view=v3") / "plain/slashes/zarr.json")))


OVERWRITE = {
    "zarr2": """
import sys, zarr
for fill, separator in enumerate(sys.argv[2:]):
    zarr.open_array(sys.argv[1], mode="w", shape=(4, 4), chunks=(2, 2), dimension_separator=separator)[:] = fill + 1
    assert (zarr.open_array(sys.argv[1], mode="r")[:] == fill + 1).all()
""",
    "zarr3": """
import sys, numpy as np, tensorstore as ts
for fill, separator in enumerate(sys.argv[2:]):
    made = ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": sys.argv[1]}, "create": True, "delete_existing": True, "metadata": {
        "shape": [4, 4], "chunks": [2, 2], "dtype": "<i4", "dimension_separator": separator}}).result()
    made[...] = np.full((4, 4), fill + 1, "i4")
    assert (made.read().result() == fill + 1).all()
"""}


@pytest.mark.parametrize("program", OVERWRITE)
def test_a_program_makes_an_array_anew_with_either_separator(mount, tmp_path, program):
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", "rw")
    for name in ("a", "b"):
        run_zarr(program, OVERWRITE[program], mounted / name, *"./././")
    mounted.unmount()
    check = "import sys, zarr; assert all((zarr.open_array(f'{sys.argv[1]}/{name}', mode='r')[:] == 6).all() for name in 'ab')"
    run_zarr("zarr3", check, tmp_path / "store")


def test_names_that_were_listed_before_remove_nothing(mount, store):
    """Another process may have looked them up: what is listed by then is what was brought."""
    mounted = mount(store.path, "rw")
    zarray = json.loads(read(mounted / "a/.zarray"))
    with open(mounted / "a/.zarray.new", "w") as file:
        json.dump({**zarray, "dimension_separator": "/"}, file)
    os.rename(mounted / "a/.zarray.new", mounted / "a/.zarray")
    name = store.present()[0]
    assert error_of(os.unlink, mounted / f"a/{name}") == errno.EPERM
    subprocess.run(["rm", mounted / f"a/{name.replace('.', '/')}"], check=True)
    subprocess.run(["rm", "-r", mounted / "a"], check=True)
