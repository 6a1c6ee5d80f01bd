"""zarr-python's own tests of stores, hierarchies and arrays, with their stores on a mount: what fails there is known by name."""
import os
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import HERE, python_of

ARRAYS = ["TestArrayWithDirectoryStore", "TestArrayWithNestedDirectoryStore", "TestArrayWithFSStore"]
STORES = ["TestDirectoryStore", "TestNestedDirectoryStore"]
GROUPS = ["TestGroupWithDirectoryStore", "TestGroupWithNestedDirectoryStore"]

ZARR2_EXCEPTIONS = {
    "a hash over the bytes of .zarray, which a mount writes in its own way": ["test_hexdigest"],
    "a field that is an array has no name in Zarr v3": ["test_structured_array_subshapes", "test_structured_array_nested"],
    "Python objects, in codecs that Zarr v3 has no name for": [
        "test_object_arrays", "test_object_arrays_danger", "test_object_arrays_vlen_array", "test_object_arrays_vlen_bytes",
        "test_object_arrays_vlen_text", "test_structured_array_contain_object", "test_structured_with_object"],
}

ZARR3_EXCEPTIONS = {
    "a zarr.json that is no document of Zarr v3": [
        r"test_set[\x01\x02\x03\x04-zarr.json]", "test_set[-zarr.json]", "test_set_many", "test_get_partial_values[key_ranges1]",
        "test_get_partial_values[key_ranges2]", "test_exists", "test_delete", "test_delete_dir", "test_list", "test_list_prefix",
        "test_list_empty_path", "test_list_dir", "test_get_bytes", "test_get_bytes_sync", "test_get_json", "test_get_json_sync"],
}


def run_suite(python, arguments, folder, results):
    """{class::test: whether it passed} of pytest, whose temporary files are in `folder`."""
    alone = {"TMPDIR": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [python, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "--tb=short",
               f"--junitxml={results}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2700, env={**os.environ, **alone},
                          cwd=os.path.dirname(results))
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr == "", "removing what the tests left behind"
    outcomes = {}
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        if case.find("skipped") is None:
            name = case.get("classname").split(".")[-1] + "::" + case.get("name")
            outcomes[name] = case.find("failure") is None and case.find("error") is None
    return outcomes, done.stdout


def check_outcomes(outcomes, output, classes, exceptions, least):
    failed = {name for name, passed in outcomes.items() if not passed}
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    assert failed == {f"{one}::{name}" for one in classes for names in exceptions.values() for name in names}, output[-20000:]
    assert len(outcomes) - len(failed) >= least


def mount_group(mount, tmp_path, options, name, document):
    """A mounted store with one group, made through the mount by its document."""
    (tmp_path / "store").mkdir()
    mounted = mount(tmp_path / "store", options)
    os.mkdir(mounted / "group")
    with open(mounted / f"group/{name}", "w") as text:
        text.write(document)
    return mounted


def run_zarr_python_2(mount, tmp_path, file, classes, exceptions, least):
    mounted = mount_group(mount, tmp_path, "rw", ".zgroup", '{"zarr_format": 2}')
    python = python_of("zarr2.18")
    tests = subprocess.run([python, "-W", "ignore", "-c", "import zarr.tests; print(zarr.tests.__path__[0])"],
                           capture_output=True, text=True, check=True).stdout.strip()
    outcomes, output = run_suite(python, [f"{tests}/{file}::{name}" for name in classes], mounted / "group", tmp_path / "results.xml")
    check_outcomes(outcomes, output, classes, exceptions, least)
    assert sorted(os.listdir(mounted / "group")) == [".zgroup"]
    mounted.unmount()
    assert os.listdir(tmp_path / "store/group") == ["zarr.json"]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_zarr_python_2(mount, tmp_path, name):
    run_zarr_python_2(mount, tmp_path, "test_core.py", [name], ZARR2_EXCEPTIONS, 37)


def test_stores_of_zarr_python_2(mount, tmp_path):
    run_zarr_python_2(mount, tmp_path, "test_storage.py", STORES, {}, 64)


def test_groups_of_zarr_python_2(mount, tmp_path):
    run_zarr_python_2(mount, tmp_path, "test_hierarchy.py", GROUPS, {}, 50)


def test_zarr_python_3(mount, tmp_path):
    mounted = mount_group(mount, tmp_path, "rw,view=v3", "zarr.json", '{"zarr_format": 3, "node_type": "group"}')
    arguments = ["-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto", os.path.join(HERE, "suites/local_store.py")]
    outcomes, output = run_suite(python_of("zarr3"), arguments, mounted / "group", tmp_path / "results.xml")
    check_outcomes(outcomes, output, ["TestLocalStore"], ZARR3_EXCEPTIONS, 56)
