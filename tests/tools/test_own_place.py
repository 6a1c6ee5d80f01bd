"""Tests see nothing of what the shell of whoever starts them sets: on machines with many packages that made suites fail."""
import os
import pathlib
import subprocess

TESTS = pathlib.Path(__file__).parents[1]
SET = {"PYTHONPATH": "/another/numpy", "PYTEST_ADDOPTS": "-x", "AWS_PROFILE": "a", "GDAL_DRIVER_PATH": "/a", "https_proxy": "http://a", "ZARR_FORMAT": "3",
       "DASK_CONFIG": "/a", "LC_TIME": "de_DE.UTF-8", "NODE_OPTIONS": "--no"}


def test_what_a_shell_sets_is_taken_out():
    environment = {**os.environ, **SET}
    environment.pop("ZARRFS_TEST_TIMEOUT", None)  # it sets one of them anew
    said = subprocess.run(["bash", "-c", f"umask 077; {TESTS}/in_own_place bash -c 'env; umask'"], env=environment, capture_output=True, text=True, check=True)
    lines = said.stdout.splitlines()
    assert not {line.partition("=")[0] for line in lines}.intersection(SET)
    assert {"LC_ALL=C.UTF-8", "PYTHONNOUSERSITE=1", "0022"} <= set(lines)


def test_each_suite_of_ctest_runs_so():
    for line in (TESTS / "CMakeLists.txt").read_text().splitlines():
        if line.startswith("add_test") and ("/run" in line or ".py " in line and "/layers/" not in line):
            program = pathlib.Path(line.split("${CMAKE_SOURCE_DIR}/tests/")[1].split()[0])
            assert program.name == "in_own_place" or ". \"$here/../own_place\"" in (TESTS / program).read_text(), line
