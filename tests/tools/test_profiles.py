"""Profiles as files: what `zarrfs profiles` prints is taken where a profile's name is, and says the same."""
import json
import os

import pytest
from conftest import GOLDEN, run, run_json

TYPES = os.path.join(GOLDEN, "types.zarr")
NAMES = ["generic", "xarray", "ome", "gdal", "netcdf"]


def test_they_are_listed():
    listed = [line.split(maxsplit=1) for line in run("profiles").stdout_text.splitlines()]
    assert [name for name, _ in listed] == ["auto", *NAMES] and all(summary for _, summary in listed)
    told = run("profiles", "mine", status=2).stderr_text
    assert '"mine" is no profile; zarrfs profiles lists them' in told


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_printed_shows_what_its_name_shows(tmp_path, name):
    file = tmp_path / "printed.json"
    file.write_text(run("profiles", name).stdout_text)
    assert json.loads(file.read_text())["profile"] == name
    assert run_json("info", TYPES, "--profile", file) == run_json("info", TYPES, "--profile", name)


def test_one_that_is_changed_shows_something_else(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('{"types": ["i4"]}')
    def shown_as(profile):
        return [node["shown"] for node in run_json("info", TYPES, "--profile", profile)["nodes"] if node["kind"] == "array"]
    mine, generic = shown_as(file), shown_as("generic")
    assert len(mine) == len(generic) > 0 and mine != generic


def test_what_is_wrong_in_one_is_named(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('{"types": "i4"}')
    told = run("info", TYPES, "--profile", file, status=2).stderr_text
    assert f'{file}: "types": "i4" is no list of names' in told
