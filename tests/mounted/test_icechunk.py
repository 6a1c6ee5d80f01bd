"""Icechunk repositories: each revision reads as icechunk reads it, a branch is seen to move, and what may not be followed is refused."""
import json
import os
import shutil
import subprocess

import pytest
from conftest import DAEMON, GOLDEN, ROOT, VENVS, read_all, within
from object_server import ObjectServer
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)
from test_remote import serve  # noqa: F401 (fixture)

MAKE = os.path.join(ROOT, "tests", "golden", "make_icechunk.py")


def expected_of(folder, specification):
    with open(os.path.join(folder, f"icechunk{specification}.json")) as text:
        return json.load(text)


def python_with(specification):
    python = os.path.join(VENVS, {1: "icechunk1", 2: "icechunk"}[specification], "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"icechunk of specification {specification} is missing: run packaging/install-test-readers all")
    return python


def differences(found, expected):
    found = {path: entry for path, entry in found.items() if entry}
    return {path: (found.get(path, "not shown"), expected.get(path, "not expected")) for path in {*found, *expected} if found.get(path) != expected.get(path)}


@pytest.mark.parametrize("reader, options", [("zarr2", "view=v2"), ("zarr3", "view=v3")])
@pytest.mark.parametrize("specification", [1, 2])
def test_each_revision_reads_as_icechunk_reads_it(mount, specification, reader, options):
    place = os.path.join(GOLDEN, f"icechunk{specification}")
    for revision, expected in expected_of(GOLDEN, specification).items():
        mounted = mount(f"icechunk:{place}?{revision}", options)
        assert not differences(read_all(reader, mounted.path), expected), revision
        mounted.unmount()
    mounted = mount(place, options)  # known by its files: branch main
    assert not differences(read_all(reader, mounted.path), expected_of(GOLDEN, specification)["branch=main"])


@pytest.mark.parametrize("specification", [1, 2])
def test_what_the_library_writes_today(mount, tmp_path, specification):
    subprocess.run([python_with(specification), MAKE, tmp_path], check=True, capture_output=True)
    for revision, expected in expected_of(tmp_path, specification).items():
        mounted = mount(f"icechunk:{tmp_path}/icechunk{specification}?{revision}", "view=v2")
        assert not differences(read_all("zarr2", mounted.path), expected), revision


COMMIT = """
import sys, icechunk, zarr
repository = icechunk.Repository.open(icechunk.local_filesystem_storage(sys.argv[1]))
session = repository.writable_session("main")
zarr.open_group(session.store)["plain"][0, 0] = 77
session.commit("third commit")
"""


@pytest.mark.parametrize("specification", [1, 2])
def test_a_branch_is_seen_to_move(mount, tmp_path, specification):
    python = python_with(specification)
    place = tmp_path / "repository"
    shutil.copytree(os.path.join(GOLDEN, f"icechunk{specification}"), place)
    main, tag = mount(place, "view=v2"), mount(f"icechunk:{place}?tag=v1", "view=v2")
    before = read_all("zarr2", main.path), read_all("zarr2", tag.path)
    subprocess.run([python, "-c", COMMIT, place], check=True, capture_output=True)
    within(30, lambda: read_all("zarr2", main.path)["plain"] != before[0]["plain"])
    after = read_all("zarr2", main.path)
    assert {path for path in after if after[path] != before[0][path]} == {"plain"}
    assert read_all("zarr2", tag.path) == before[1]


def test_at_a_server(mount, tmp_path):
    shutil.copytree(os.path.join(GOLDEN, "icechunk2"), tmp_path / "disk/repository")
    server = ObjectServer(tmp_path / "disk", "bucket")
    try:
        expected = expected_of(GOLDEN, 2)
        for source, revision in (("s3://bucket/repository", "branch=main"), ("icechunk:s3://bucket/repository?tag=v1", "tag=v1")):
            mounted = mount(source, f"view=v2,{bucket_options(server)}")
            assert not differences(read_all("zarr2", mounted.path), expected[revision])
            mounted.unmount()
    finally:
        server.close()


@pytest.mark.parametrize("kind", ["directory", "zip", "http"])
def test_info_lists_what_a_repository_has_wherever_it_lies(tmp_path, serve, kind):  # noqa: F811
    place = tmp_path / "disk/repository"
    shutil.copytree(os.path.join(GOLDEN, "icechunk2"), place)
    source = f"{serve(tmp_path / 'disk').url}/repository" if kind == "http" else place
    if kind == "zip":
        source = shutil.make_archive(str(place), "zip", place)
    for asked, shown in ((source, "branch main"), (f"icechunk:{source}?tag=v1", "tag v1")):
        told = subprocess.run([DAEMON, "info", "--json", asked], check=True, capture_output=True, text=True)
        found = json.loads(told.stdout)["icechunk"]
        assert (found["shown"], found["specification"], set(found["branches"]), set(found["tags"])) == (shown, 2, {"main", "side"}, {"v1"})
        assert [one["message"] for one in found["snapshots"]] == ["second commit", "first commit", "Repository initialized"]


def test_it_is_only_read(tmp_path):
    place = os.path.join(GOLDEN, "icechunk2")
    for source in (place, f"icechunk:{place}?branch=main"):
        refused = subprocess.run([DAEMON, "mount", source, tmp_path, "-o", "rw"], capture_output=True, text=True)
        assert refused.returncode != 0 and "is an Icechunk repository, which is only read" in refused.stderr


def chunk_of(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return error.errno


def test_damage_is_an_error_and_never_absence(mount, tmp_path):
    """Of each file that a mount of branch main reads: cut, or gone."""
    golden = os.path.join(GOLDEN, "icechunk2")
    whole = mount(golden, "view=v2,separator=.")
    keys = [f"{path}/{key}" for path in expected_of(GOLDEN, 2)["branch=main"] for key in os.listdir(whole / path) if key[0] in "0123456789"]
    truth = {key: chunk_of(whole / key) for key in keys}
    assert len(truth) > 10 and all(isinstance(value, bytes) for value in truth.values())
    harmed = 0
    for folder in ("manifests", "chunks"):
        for name in sorted(os.listdir(os.path.join(golden, folder))):
            for number, harm in enumerate((lambda path: os.truncate(path, os.path.getsize(path) // 2), os.remove)):
                place = tmp_path / f"{name}{number}"
                shutil.copytree(golden, place)
                harm(place / folder / name)
                mounted = mount(place, "view=v2,separator=.", damaged=True)
                found = {key: chunk_of(mounted / key) for key in keys}
                wrong = {key: value for key, value in found.items() if value != truth[key] and value not in (5, 117)}
                assert not wrong, (folder, name, number, wrong)
                harmed += found != truth
                mounted.unmount()
    assert harmed > 10
