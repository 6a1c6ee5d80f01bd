"""What conversions, diff, verify and mark make of missing cells."""
import base64
import json
import shutil
import struct

import numpy as np
import pytest
import zarr
from conftest import run, run_json

NAMED = {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"}


def make_v2(path, name="a", dtype="i2", fill=-999, attributes=NAMED):
    group = zarr.open_group(str(path), mode="a")
    array = group.create_dataset(name, shape=(4, 4), chunks=(2, 2), dtype=dtype, fill_value=fill)
    array[:2] = np.array([[fill or 0, 1, 2, 3], [4, 5, 6, fill or 0]], dtype)
    array.attrs.put(attributes)
    return path


def document(store, name="a"):
    return json.loads((store / name / "zarr.json").read_text())


def without_mark(store, name="a"):
    """As earlier versions stored it."""
    said = document(store, name)
    del said["attributes"]["_FillValue"]
    (store / name / "zarr.json").write_text(json.dumps(said))
    return store


@pytest.mark.parametrize("in_place", [False, True])
def test_shard_says_what_the_fill_value_of_v2_means_and_unshard_goes_back(tmp_path, in_place):
    plain, store, back = make_v2(tmp_path / "plain"), tmp_path / "store", tmp_path / "back"
    make_v2(plain, "big", "f4", 1e20)
    make_v2(plain, "none", fill=None)
    make_v2(plain, "unnamed", attributes={})
    if in_place:
        shutil.copytree(plain, store)
    done = run("shard", *([store, "--in-place"] if in_place else [plain, store]), "--shard-chunks=2")
    assert "/a: its fill value -999 means missing data: it becomes _FillValue, too" in done.stdout_text
    assert done.stdout_text.count("means missing data") == 2
    assert document(store)["attributes"] == {"units": "K", "_FillValue": -999} and document(store)["fill_value"] == -999
    assert document(store, "big")["attributes"]["_FillValue"] == base64.b64encode(struct.pack("<d", float(np.float32(1e20)))).decode()
    assert all("_FillValue" not in document(store, name)["attributes"] for name in ("none", "unnamed"))
    run("diff", plain, store, "--attributes")
    run("reshard", store, tmp_path / "other", "--shard-chunks=1x2")
    run("diff", plain, tmp_path / "other", "--attributes")
    run("unshard", store, back, "--format=v2")
    for name in ("a", "big", "unnamed"):
        assert json.loads((back / name / ".zarray").read_text())["fill_value"] == json.loads((plain / name / ".zarray").read_text())["fill_value"]
        assert json.loads((back / name / ".zattrs").read_text()) == json.loads((plain / name / ".zattrs").read_text())
    assert json.loads((back / "none" / ".zarray").read_text())["fill_value"] is None
    assert (zarr.open(str(back / "none"), mode="r")[...] == zarr.open(str(plain / "none"), mode="r")[...])[:2].all()
    run("diff", plain, back, "--attributes")


def test_a_fill_value_beside_another_mark_is_told(tmp_path):
    plain = make_v2(tmp_path / "plain", fill=4, attributes={**NAMED, "_FillValue": 7})
    make_v2(plain, "same", fill=-999, attributes={**NAMED, "_FillValue": -999})
    make_v2(plain, "nan", "f4", np.nan, {**NAMED, "_FillValue": float("nan")})
    make_v2(plain, "unnamed", fill=4, attributes={"_FillValue": 7})
    said = run("shard", plain, tmp_path / "store", "--shard-chunks=2").stdout_text
    assert "/a: its fill value 4 and its _FillValue 7 differ: xarray takes the first" in said, said
    assert said.count("differ") == 1, said


def test_text_has_no_mark_in_v3_and_diff_knows_what_its_fill_value_means(tmp_path):
    """The note of zarr.json says that a writer gave the fill value, where it is the usual one."""
    plain, store, back = tmp_path / "plain", tmp_path / "store", tmp_path / "back"
    make_v2(plain, "text", "U4", "")
    make_v2(plain, "none", "U4", None)
    run("shard", plain, store, "--shard-chunks=2")
    run("diff", plain, store, "--attributes")
    run("unshard", store, back, "--format=v2")
    run("diff", plain, back, "--attributes")
    said = document(store, "text")
    del said["attributes"]["_zarrfs"]
    (store / "text/zarr.json").write_text(json.dumps(said))
    done = run("diff", plain, store, status=5)
    assert '/text: what is missing differs: "" and none' in done.stdout_text


def test_the_user_may_know_better(tmp_path):
    plain = make_v2(tmp_path / "plain")
    make_v2(plain, "unnamed", attributes={})
    run("shard", plain, tmp_path / "no", "--shard-chunks=2", "--fill-value-is-missing=no")
    run("shard", plain, tmp_path / "yes", "--shard-chunks=2", "--fill-value-is-missing=yes")
    assert "_FillValue" not in document(tmp_path / "no")["attributes"]
    assert document(tmp_path / "yes", "unnamed")["attributes"]["_FillValue"] == -999
    done = run("reshard", tmp_path / "no", tmp_path / "again", "--shard-chunks=2", "--fill-value-is-missing=yes")
    assert "/a: its fill value -999 means missing data" in done.stdout_text
    assert document(tmp_path / "again")["attributes"]["_FillValue"] == -999
    for meaning, fill in (("auto", None), ("no", None), ("yes", -999)):
        run("unshard", tmp_path / "no", tmp_path / f"v2-{meaning}", "--format=v2", f"--fill-value-is-missing={meaning}")
        assert json.loads((tmp_path / f"v2-{meaning}" / "a/.zarray").read_text())["fill_value"] == fill
        assert zarr.open(str(tmp_path / f"v2-{meaning}" / "a"), mode="r")[3, 3] == -999
    run("shard", plain, tmp_path / "x", "--fill-value-is-missing=perhaps", status=2)


def test_pixels_are_not_missing(tmp_path):
    plain = make_v2(tmp_path / "plain", "image/0", "u1", 0)
    multiscales = [{"version": "0.4", "axes": ["y", "x"], "datasets": [{"path": "image/0"}]}]
    zarr.open_group(str(plain), mode="r+").attrs["multiscales"] = multiscales
    assert "means missing" not in run("shard", plain, tmp_path / "store", "--shard-chunks=2").stdout_text
    assert "_FillValue" not in document(tmp_path / "store", "image/0")["attributes"]
    run("diff", plain, tmp_path / "store")


def test_diff_has_a_status_for_what_is_missing(tmp_path):
    plain, store = make_v2(tmp_path / "plain"), tmp_path / "store"
    run("shard", plain, store, "--shard-chunks=2")
    run("diff", plain, store)
    without_mark(store)
    done = run("diff", plain, store, status=5)
    assert done.stdout_text == "/a: what is missing differs: -999 and none\n1 array compared: values equal, what is missing differs in 1 array\n"
    said = run_json("diff", plain, store, status=5)
    assert said["differences"] == 0 and said["missing_differences"] == 1 and said["listed"][0]["array"] == "a"
    zarr.open(str(plain / "a"), mode="r+")[0, 1] = 7
    assert "1 difference, what is missing differs in 1 array" in run("diff", plain, store, status=1).stdout_text


@pytest.mark.parametrize("what", ["unit", "name", "lost", "more", "group"])
def test_diff_compares_dimensions_and_attributes_where_asked(tmp_path, what):
    plain, store = make_v2(tmp_path / "plain"), tmp_path / "store"
    zarr.open_group(str(plain), mode="r+").attrs["title"] = "here"
    run("shard", plain, store, "--shard-chunks=2")
    assert run("diff", plain, store, "--attributes").stdout_text == "1 array compared: equal\n"
    said = document(store)
    if what == "unit":
        said["attributes"]["units"] = "mK"
    elif what == "name":
        said["dimension_names"] = ["y", "z"]
    elif what == "lost":
        del said["attributes"]["units"]
    elif what == "more":
        said["attributes"]["more"] = 1
    (store / "a/zarr.json").write_text(json.dumps(said))
    if what == "group":
        group = json.loads((store / "zarr.json").read_text())
        group["attributes"]["title"] = "there"
        (store / "zarr.json").write_text(json.dumps(group))
    line = {"unit": '/a: attribute units differs: "K" and "mK"', "name": '/a: dimensions differ: ["y","x"] and ["y","z"]',
            "lost": f"/a: attribute units is only in {plain}", "more": f"/a: attribute more is only in {store}",
            "group": '/: attribute title differs: "here" and "there"'}[what]
    run("diff", plain, store)
    assert run("diff", plain, store, "--attributes", status=1).stdout_text == line + "\n1 array compared: 1 difference\n"


def test_verify_guesses_what_lacks_its_mark_and_mark_adds_it(tmp_path):
    plain, store = make_v2(tmp_path / "plain"), tmp_path / "store"
    for name, arguments in {"zero": {"fill": 0}, "nan": {"dtype": "f4", "fill": float("nan")}, "unnamed": {"attributes": {}}, "kept": {"fill": 3},
                            "said": {"attributes": {**NAMED, "missing_value": -999}}, "complex": {"dtype": "c8", "fill": 1j}}.items():
        make_v2(plain, name, **arguments)
    run("shard", plain, store, "--shard-chunks=2")
    assert run_json("verify", store)["perhaps_unmarked"] == []
    for name in ("a", "zero", "nan", "said"):
        without_mark(store, name)
    assert run_json("verify", store)["perhaps_unmarked"] == [{"array": "a", "fill_value": -999}]
    text = run("verify", store).stdout_text
    assert "/a: its fill value -999 may mark missing cells, and no _FillValue says so (a guess; zarrfs mark adds it)\n" in text
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    assert run("mark", store, "a", "/zero/").stdout_text == "/a: its fill value -999 marks missing cells\n/zero: its fill value 0 marks missing cells\n"
    changed = {path for path in store.rglob("*") if path.is_file() and before.pop(path, None) != path.read_bytes()}
    assert changed == {store / "a/zarr.json", store / "zero/zarr.json"} and not before
    assert run_json("verify", store)["perhaps_unmarked"] == []
    assert run("mark", store, "a").stdout_text == "/a: is marked already\n"


def test_mark_leaves_by_name_what_it_cannot_mark(tmp_path):
    plain, store = make_v2(tmp_path / "plain"), tmp_path / "store"
    make_v2(plain, "complex", "c8", 1j)
    run("shard", plain, store, "--shard-chunks=2")
    said = document(store)
    said["attributes"]["_FillValue"] = 5
    (store / "a/zarr.json").write_text(json.dumps(said))
    assert "/a is left as it is: it has _FillValue 5" in run("mark", store, "a", status=1).stderr_text
    assert "/complex is left as it is: readers know no marks of type complex64" in run("mark", store, "complex", status=1).stderr_text
    assert "fill value marks missing cells by itself" in run("mark", plain, "a", status=1).stderr_text
    run("mark", store, "no", status=2)
    run("mark", store, status=2)
    assert document(store) == said
