"""Documents that Zarr v3 has no words for are shown by the next mount, and by `unshard`, as their program wrote them: the rule of the note in docs/semantics.md."""
import base64
import json
import os
import pathlib
import struct
import subprocess

import pytest
from conftest import DAEMON, run_zarr
from test_netcdf import DefaultMount

CHUNK = bytes(range(8))
ZARRAY = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i2", "fill_value": 0, "order": "C", "filters": None, "compressor": None}
IMAGE = {"multiscales": [{"version": "0.4", "axes": [{"name": "x", "type": "space"}],
                          "datasets": [{"path": "a", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}]}]}


def of_netcdf(attributes, **members):
    """Attributes as netCDF-C 4.9.3 writes them: its own are among them, with a list of all types."""
    types = {name: "|J0" if name in members else "<i2" for name in (*attributes, *members, "_nczarr_attr")}
    return {**attributes, **members, "_nczarr_attr": {"types": types}}


NETCDF_ROOT = of_netcdf({"_NCProperties": "version=2,netcdf=4.9.3,nczarr=2.0.0"}, _nczarr_superblock={"version": "2.0.0"},
                        _nczarr_group={"dims": [{"name": "x", "size": 4}], "vars": ["a"], "groups": []})
NETCDF_ARRAY = {"dimrefs": ["/x"], "storage": "chunked"}


def text_of(document):
    return json.dumps(document, indent=1)


def documents(zattrs="{}", root="{}", **zarray):
    return {".zgroup": '{"zarr_format": 2}', ".zattrs": root, "a/.zarray": text_of({**ZARRAY, **zarray}), "a/.zattrs": zattrs}


# Each as a program writes them: the text counts where it is a text of attributes, and the value where it is `.zarray`.
CASES = {
    "UTF-8": documents('{"units": "°C", "Größe": 1}', '{"title": "日本"}'),
    "ASCII": documents('{"units": "\\u00b0C"}'),
    "bare numbers": documents('{"missing_value": NaN, "range": [-Infinity, Infinity], "text": "NaN", "a/b": {"~": NaN}}', '{"x": NaN}'),
    "bare numbers in UTF-8": documents('{"missing_value": NaN, "units": "°C"}'),
    "no fill value, no names": documents('{"units": "K"}', fill_value=None),
    "no fill value, names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', fill_value=None),
    "dates without a fill value": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="<M8[s]", shape=[1], chunks=[1], fill_value=None),
    "durations without a fill value": documents('{}', dtype="<m8[ns]", shape=[1], chunks=[1], fill_value=None),
    "a fill value, names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', fill_value=7),
    "a mark without a fill value": documents('{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": -9}', fill_value=None),
    "a mark beside the fill value": documents('{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": -9}', fill_value=7),
    "a mark as a list": documents('{"_FillValue": [-9]}', fill_value=0),
    "text, with a fill value and names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="|S2", fill_value="eHg="),
    "text, with the usual fill value and names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="|S2", fill_value="AAA="),
    "Unicode text, with a fill value and names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="<U1", shape=[2], chunks=[2], fill_value="n"),
    "complex numbers, with a fill value and names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="<c8", shape=[1], chunks=[1], fill_value=[1.0, 0.0]),
    "text, without a fill value, with names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="|S2", fill_value=None),
    "text, without names": documents(dtype="|S2", fill_value="AAA="),
    "the level of an image": documents('{}', text_of(IMAGE)),
    "the level of an image, with names": documents('{"_ARRAY_DIMENSIONS": ["x"]}', text_of(IMAGE)),
    "netCDF": documents(text_of(of_netcdf({"_FillValue": [-9]}, _nczarr_array=NETCDF_ARRAY)), text_of(NETCDF_ROOT), fill_value=-9),
    "netCDF, with names": documents(text_of(of_netcdf({"_ARRAY_DIMENSIONS": ["x"]}, _nczarr_array=NETCDF_ARRAY)), text_of(NETCDF_ROOT), fill_value=-32767),
}
# By default an array with names and a mark is shown with the words of netCDF, too.
AS_WRITTEN = {"a fill value, names": ["profile=generic"], "a mark without a fill value": ["profile=generic"]}


def write(folder, written):
    for path, text in {**written, "a/0": None}.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as file:
            file.write(CHUNK if text is None else text.encode())


def spelled(text):
    """What a text says, and how: bare numbers stay apart from words, and characters from their escapes. The chunks of one dimension have no separator."""
    said = json.loads(text, parse_constant=lambda name: {"bare": name})
    said.pop("dimension_separator", None)
    return said, text.isascii()


def assert_as_written(folder, written):
    for path, text in written.items():
        if not os.path.exists(os.path.join(folder, path)):
            assert json.loads(text) == {}, path
            continue
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            assert spelled(file.read()) == spelled(text), path
    with open(os.path.join(folder, "a/0"), "rb") as file:
        assert file.read() == CHUNK


def run(*command):
    done = subprocess.run([DAEMON, *map(str, command)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=["mounted", "sharded"])
def stored(request, tmp_path):
    """A function that stores documents, by a mount or by `shard`, and gives the store."""
    def store(written):
        path = tmp_path / "store"
        if request.param == "mounted":
            path.mkdir()
            with DefaultMount(path, tmp_path / "mnt") as place:
                write(place, written)
                assert_as_written(place, written)
        else:
            write(tmp_path / "plain", written)
            run("shard", tmp_path / "plain", path, "--shard-shape", "4")
        return path
    return store


@pytest.mark.parametrize("case", CASES)
def test_the_next_mount_and_unshard_show_what_was_written(tmp_path, stored, case):
    store = stored(CASES[case])
    with DefaultMount(store, tmp_path / "mnt", *AS_WRITTEN.get(case, [])) as place:
        assert_as_written(place, CASES[case])
    run("unshard", store, tmp_path / "back", "--format", "v2")
    assert_as_written(tmp_path / "back", CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_what_is_changed_later_stays_as_it_was_but_for_the_change(tmp_path, stored, case):
    store = stored(CASES[case])
    with DefaultMount(store, tmp_path / "mnt", "rw", *AS_WRITTEN.get(case, [])) as place:
        path = os.path.join(place, "a/.zattrs")
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else "{}"
        changed = text.rstrip().removesuffix("}").rstrip() + (", " if json.loads(text) else "") + '"history": "x"}'
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
    with DefaultMount(store, tmp_path / "mnt", *AS_WRITTEN.get(case, [])) as place:
        assert_as_written(place, {**CASES[case], "a/.zattrs": changed})


@pytest.mark.parametrize("case", CASES)
def test_no_view_has_the_note(tmp_path, stored, case):
    store = stored(CASES[case])
    for options in ((), ("view=v3",), ("profile=xarray",), ("profile=generic",)):
        with DefaultMount(store, tmp_path / "mnt", *options) as place:
            for folder, _, names in os.walk(place):
                for name in names:
                    if ".zarrfs" not in folder and name.startswith((".z", "zarr.json")):
                        with open(os.path.join(folder, name), encoding="utf-8") as file:
                            assert "_zarrfs" not in file.read(), os.path.join(folder, name)


def test_names_that_only_netcdf_tells_are_names_to_readers_of_zarr_v3(stored):
    store = stored(CASES["netCDF"])
    assert json.loads((store / "a/zarr.json").read_text())["dimension_names"] == ["x"]


def test_netcdf_groups_have_consolidated_metadata_where_it_was_written(tmp_path, stored):
    store = stored(CASES["netCDF"])
    with DefaultMount(store, tmp_path / "mnt", "rw") as place:
        assert ".zmetadata" not in os.listdir(place)
        run_zarr("zarr2", "import sys, zarr; zarr.consolidate_metadata(sys.argv[1])", place)
    with DefaultMount(store, tmp_path / "mnt") as place, open(f"{place}/.zmetadata") as file:
        assert set(json.load(file)["metadata"]) == {".zgroup", ".zattrs", "a/.zarray", "a/.zattrs"}


def test_bare_numbers_of_zarr_v3_come_back(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"missing_value": float("nan"), "units": "NaN"}}
    with DefaultMount(store, tmp_path / "mnt", "view=v3") as place:
        with open(f"{place}/zarr.json", "w") as file:
            json.dump(document, file)
    with DefaultMount(store, tmp_path / "mnt", "view=v3") as place, open(f"{place}/zarr.json") as file:
        assert spelled(json.dumps(document))[0]["attributes"] == spelled(file.read())[0]["attributes"]
    run("unshard", store, tmp_path / "back", "--format", "v3")
    assert spelled(json.dumps(document))[0]["attributes"] == spelled((tmp_path / "back/zarr.json").read_text())[0]["attributes"]


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_bare_numbers_that_the_store_has_stay_bare(tmp_path, view):
    """zarr-python 3 writes them so: they are shown as numbers, and an edit of another attribute leaves them as they are."""
    attributes = {"valid_max": float("nan"), "flags": [1.5, float("inf"), "NaN"], "text": "-Infinity", "units": "°C"}
    store = tmp_path / "store"
    make_store(store, {"": {**GROUP, "attributes": attributes}, "a": {**stored_array([4], ["x"]), "attributes": attributes}})
    name = {"v2": ".zattrs", "v3": "zarr.json"}[view]

    def attributes_in(text):
        said = spelled(text)[0]
        said = said.get("attributes", said)
        return {key: said[key] for key in [*attributes, *({"added"} & set(said))]}

    wanted = attributes_in(json.dumps(attributes))
    for node in ("", "a"):
        with DefaultMount(store, tmp_path / "mnt", "rw", f"view={view}") as place:
            with open(f"{place}/{node}/{name}") as file:
                document = json.load(file)
            assert attributes_in(json.dumps(document)) == wanted
            document.get("attributes", document)["added"] = 1
            with open(f"{place}/{node}/{name}", "w") as file:
                json.dump(document, file)
        text = (store / node / "zarr.json").read_text()
        assert attributes_in(text) == {**wanted, "added": 1} and "_zarrfs" not in text


def stored_array(shape, names=None):
    document = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int16", "fill_value": 0, "attributes": {},
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}}, "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    return {**document, "dimension_names": names} if names else document


def make_store(path, nodes):
    for name, document in nodes.items():
        (path / name).mkdir(parents=True, exist_ok=True)
        (path / name / "zarr.json").write_text(json.dumps(document))


GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


# zarr-python 3 writes no names of dimensions where there are none, and xarray reads no group of Zarr v2 in which an array has none.
@pytest.mark.parametrize("names", [["x"], None])
def test_a_scalar_beside_arrays_with_names_has_as_many_as_axes(tmp_path, names):
    store = tmp_path / "store"
    make_store(store, {"": GROUP, "x": stored_array([4], names), "crs": stored_array([])})
    wanted = {"_ARRAY_DIMENSIONS": []} if names else {}
    with DefaultMount(store, tmp_path / "mnt", "profile=generic") as place:
        with open(f"{place}/crs/.zattrs") as file:
            assert json.load(file) == wanted
        with open(f"{place}/crs/.zarray") as file:  # 0 is a value, where xarray would take it for a mark
            assert json.load(file)["fill_value"] == (None if names else 0)
    run("unshard", store, tmp_path / "back", "--format", "v2")
    assert json.loads((tmp_path / "back/crs/.zattrs").read_text()) == wanted


@pytest.mark.parametrize("names, fill", [(None, 0), (None, None), (["x"], None)])
def test_missing_value_is_no_mark_where_its_writer_made_none(tmp_path, names, fill):
    """Where the axes have names netCDF-C's tools, which know `_FillValue` alone, are told it as that; not where its writer says null, nor of an array that is none of CF."""
    store = tmp_path / "store"
    make_store(store, {"": {**GROUP, "attributes": {"Conventions": "CF-1.8"}}, "x": {**stored_array([4], ["x"]), "attributes": {"missing_value": -9}}})
    wanted = {**({"_ARRAY_DIMENSIONS": names} if names else {}), "missing_value": -9}
    with DefaultMount(store, tmp_path / "mnt", "rw") as place:
        write(f"{place}/new", documents(text_of(wanted), fill_value=fill))
    with DefaultMount(store, tmp_path / "mnt") as place:
        shown = {name: json.loads(pathlib.Path(place, name).read_text()) for name in ("x/.zattrs", "new/a/.zattrs", "new/a/.zarray")}
    assert shown["x/.zattrs"]["_FillValue"] == -9
    assert "_FillValue" not in shown["new/a/.zattrs"] and shown["new/a/.zattrs"]["missing_value"] == -9
    assert shown["new/a/.zarray"]["fill_value"] != -9


@pytest.mark.parametrize("fill", [0, 7, None])
def test_pixels_written_beside_cf_are_shown_with_their_fill_value(tmp_path, fill):
    store = tmp_path / "store"
    make_store(store, {"": {**GROUP, "attributes": {"Conventions": "CF-1.8"}}})
    with DefaultMount(store, tmp_path / "mnt", "rw") as place:
        write(f"{place}/image", documents("{}", text_of(IMAGE), fill_value=fill))
        with open(f"{place}/image/a/.zarray") as file:
            assert json.load(file)["fill_value"] == fill


# As zarrita.js 0.5 makes arrays where it is not told `fill_value` or `codecs`; Zarr v3 wants both, and zarr-python 3 opens none without.
@pytest.mark.parametrize("lacking,told", [({"fill_value": None}, "fill_value null"), ({"codecs": []}, "codecs is []")])
def test_an_array_of_zarr_v3_that_lacks_something_is_refused_and_told_why(tmp_path, lacking, told):
    (tmp_path / "store").mkdir()
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw,view=v3") as place:
        os.mkdir(f"{place}/a")
        with pytest.raises(OSError, match="Invalid argument"), open(f"{place}/a/zarr.json", "w") as file:
            file.write(json.dumps({**stored_array([4]), **lacking}))
        assert told in os.getxattr(f"{place}/a", "user.zarrfs.refused").decode()


# netCDF-C would know one length of a name only, and be shown `x_3`.
def test_a_default_mount_renames_no_dimension(tmp_path):
    store = tmp_path / "store"
    make_store(store, {"": {**GROUP, "attributes": {"Conventions": "CF-1.8"}}, "x": stored_array([4], ["x"]), "inner": GROUP, "inner/x": stored_array([3], ["x"])})
    with DefaultMount(store, tmp_path / "mnt", "ro") as place:
        for path in ("x", "inner/x"):
            with open(f"{place}/{path}/.zattrs") as file:
                assert json.load(file)["_ARRAY_DIMENSIONS"] == ["x"]


# A store that something else made may say anything where the note is.
@pytest.mark.parametrize("written", [["°C"], ["a", "b"], [], None, {"a": [1, "b"]}])
def test_a_default_mount_shows_attributes_of_any_form(tmp_path, written):
    store = tmp_path / "store"
    array = {**stored_array([4], ["x"]), "attributes": {"names": written, "units": "K"}}
    make_store(store, {"": {**GROUP, "attributes": {"Conventions": "CF-1.8", "names": written}}, "x": array})
    with DefaultMount(store, tmp_path / "mnt", "ro") as place:
        for path in (".zattrs", "x/.zattrs"):
            with open(f"{place}/{path}") as file:
                assert json.load(file)["names"] == written
    with DefaultMount(store, tmp_path / "mnt", "ro,profile=netcdf") as place, open(f"{place}/.zattrs") as file:
        assert json.loads(json.load(file)["names"]) == written


# Beside an image the default mount is for its readers, of whom some know no text.
def test_text_beside_an_image_is_shown(tmp_path):
    store, codec = tmp_path / "store", [{"name": "bytes", "configuration": {"endian": "little"}}]
    text = {**stored_array([2], ["x"]), "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, "fill_value": "", "codecs": codec}
    image = {**GROUP, "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "x", "type": "space"}], "datasets": [
        {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}]}]}}}
    make_store(store, {"": GROUP, "image": image, "image/0": stored_array([4]), "image/names": text, "data": GROUP, "data/words": text})
    with DefaultMount(store, tmp_path / "mnt", "rw") as place:
        assert "words" in os.listdir(f"{place}/data") and "names" not in os.listdir(f"{place}/image")
        with open(f"{place}/data/words/0", "wb") as file:
            file.write("grün"[:4].encode("utf-32-le"))
        with open(f"{place}/.zarrfs/report.json") as file:
            assert json.load(file)["profile"] == "ome"
    with DefaultMount(store, tmp_path / "mnt", "ro") as place, open(f"{place}/data/words/0", "rb") as file:
        assert file.read().decode("utf-32-le") == "grün"


def document_in(place, name):
    path = os.path.join(place, name)
    return json.loads(pathlib.Path(path).read_text()) if os.path.exists(path) else {}


# zarr-python 2 removes one attribute after the other until none is left.
@pytest.mark.parametrize("options", [[], ["profile=xarray"], ["profile=netcdf"]], ids=["default", "xarray", "netcdf"])
def test_names_that_are_removed_are_gone_and_come_back_with_the_mark(tmp_path, options):
    os.mkdir(tmp_path / "store")
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        write(place, documents('{"_ARRAY_DIMENSIONS": ["x"], "units": "K"}', fill_value=-9))
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw", *options) as place:
        for _ in range(10):
            left = document_in(place, "a/.zattrs")
            if not left:
                break
            left.pop(next(iter(left)))
            pathlib.Path(place, "a/.zattrs").write_text(json.dumps(left))
        assert document_in(place, "a/.zattrs") == {}
        pathlib.Path(place, "a/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    stored = json.loads((tmp_path / "store/a/zarr.json").read_text())
    assert (stored["dimension_names"], stored["attributes"]["_FillValue"]) == (["x"], -9)


@pytest.mark.parametrize("fill, mark", [(-9, -9), (0, None), (None, None)])
def test_names_of_a_later_mount_make_a_mark(tmp_path, fill, mark):
    os.mkdir(tmp_path / "store")
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        write(place, documents('{}', fill_value=fill))
        os.makedirs(f"{place}/x")
        pathlib.Path(place, "x/.zarray").write_text(text_of({**ZARRAY, "fill_value": None}))
        pathlib.Path(place, "x/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        pathlib.Path(place, "a/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    stored = json.loads((tmp_path / "store/a/zarr.json").read_text())
    assert stored["attributes"].get("_FillValue") == mark


# Programs leave out the zeros at the end of the fill value, and resize the array by it.
def test_text_with_a_short_fill_value_is_resized_later(tmp_path):
    os.mkdir(tmp_path / "store")
    written = documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype="|S4", shape=[2], chunks=[2], fill_value="TkE=")
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        write(place, written)
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        pathlib.Path(place, "a/.zarray").write_text(text_of({**json.loads(written["a/.zarray"]), "shape": [6]}))
    assert json.loads((tmp_path / "store/a/zarr.json").read_text())["shape"] == [6]


# Zarr v3 has one order of bytes for all fields.
def test_fields_of_both_orders_of_bytes_are_refused(tmp_path):
    os.mkdir(tmp_path / "store")
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        os.makedirs(f"{place}/a")
        with pytest.raises(OSError, match="Invalid argument"), open(f"{place}/a/.zarray", "w", encoding="utf-8") as file:
            file.write(text_of({**ZARRAY, "dtype": [["a", "<i2"], ["b", ">f8"]], "fill_value": None}))


# As netCDF-C spells it.
def test_the_fill_value_of_text_stays_with_an_order_of_bytes(tmp_path):
    os.mkdir(tmp_path / "store")
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "rw") as place:
        write(place, documents('{"_ARRAY_DIMENSIONS": ["x"]}', dtype=">S2", fill_value=""))
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "ro") as place, open(f"{place}/a/.zarray") as file:
        assert json.load(file)["fill_value"] == "AAA="


# What xarray wrote into Zarr v3 without a mark: the usual fill value marks nothing, and another one may.
@pytest.mark.parametrize("beside", [{}, {"image": {**GROUP, "attributes": IMAGE}, "image/a": stored_array([4])}], ids=["alone", "beside an image"])
@pytest.mark.parametrize("fill, shown", [("", None), ("eHg=", "eHg=")])
def test_the_usual_fill_value_of_text_marks_nothing(tmp_path, beside, fill, shown):
    text = {**stored_array([2], ["x"]), "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}, "fill_value": fill,
            "codecs": [{"name": "bytes"}]}
    make_store(tmp_path / "store", {"": GROUP, "words": text, **beside})
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", "ro") as place, open(f"{place}/words/.zarray") as file:
        assert json.load(file)["fill_value"] == shown


# GDAL 3.6 ends by a signal where an array without dimensions has a slash as its separator.
@pytest.mark.parametrize("options", ["ro", "ro,profile=ome", "ro,separator=/"])
def test_an_array_without_dimensions_has_no_slash(tmp_path, options):
    make_store(tmp_path / "store", {"": GROUP, "crs": stored_array([])})
    with DefaultMount(tmp_path / "store", tmp_path / "mnt", options) as place, open(f"{place}/crs/.zarray") as file:
        assert json.load(file)["dimension_separator"] == "."


@pytest.mark.parametrize("note", [7, {"bare": 7}, {"bare": ["", "/a/9", "~2", "/" * 4000]}, {"fill_value": {}, "_FillValue": {}, "dimensions": [], "utf8": "x", "consolidated": 0, "nested": "x"}])
def test_any_note_is_shown_past(tmp_path, note):
    store = tmp_path / "store"
    write(tmp_path / "plain", documents('{"a": 1}'))
    run("shard", tmp_path / "plain", store, "--shard-shape", "4")
    for path in ("zarr.json", "a/zarr.json"):
        document = json.loads((store / path).read_text())
        document.setdefault("attributes", {})["_zarrfs"] = note
        (store / path).write_text(json.dumps(document))
    with DefaultMount(store, tmp_path / "mnt") as place:
        assert_as_written(place, documents('{"a": 1}'))


def six_digits(value):
    """What netCDF-C 4.9.0 prints of a number that it has read."""
    return float("%g" % value) if isinstance(value, float) else [six_digits(one) for one in value] if isinstance(value, list) else value


def test_what_netcdf_prints_anew_with_fewer_digits_stays(tmp_path):
    """ncatted writes each document again, whichever variable it edits, and its floats with six digits: marks of missing cells and packing stay."""
    marks = {"a": ("float32", 1e20), "b": ("float32", -999.9), "c": ("float64", 9.969209968386869e36), "d": ("float64", 1 / 3), "e": ("int32", -2147483647)}
    store, more = tmp_path / "store", {"scale_factor": 1.5259021896696422e-05, "valid_range": [1 / 3, 2e10], "units": "K"}
    nodes = {"": {**GROUP, "attributes": {}}}
    for name, (kind, mark) in marks.items():
        spelled = base64.b64encode(struct.pack("<d", struct.unpack("<f", struct.pack("<f", mark))[0] if kind == "float32" else mark)).decode()
        nodes[name] = {**stored_array([4], ["x"]), "data_type": kind, "attributes": {**more, "_FillValue": spelled if kind[0] == "f" else mark}}
    make_store(store, nodes)
    for name in marks:
        (store / name / "c").mkdir()
        (store / name / "c/0").write_bytes(bytes(32 if marks[name][0] == "float64" else 16))

    def documents(place, name):
        return [json.loads(open(f"{place}/{name}/{document}").read()) for document in (".zarray", ".zattrs")]

    mounted = DefaultMount(store, tmp_path / "mnt", "rw,profile=netcdf")
    with mounted as place:
        shown = {name: documents(place, name) for name in marks}
        for name in marks:
            zarray, zattrs = shown[name]
            zattrs = {key: six_digits(value) for key, value in zattrs.items() if key != "_NCZARR_ATTR"}
            texts = {".zattrs": {**zattrs, "note": name}, ".zarray": {**zarray, "fill_value": six_digits(zarray["fill_value"])}}
            for document, content in texts.items():
                with open(f"{place}/{name}/{document}", "w") as file:
                    json.dump(content, file)
        assert {name: documents(place, name)[1] for name in marks} == {name: {**shown[name][1], "note": name} for name in marks}
    assert "refused" not in mounted.said.stderr
    for name in marks:
        assert json.loads((store / name / "zarr.json").read_text())["attributes"] == {**nodes[name]["attributes"], "note": name}
    with DefaultMount(store, tmp_path / "mnt", "profile=netcdf") as place:
        assert {name: documents(place, name)[0] for name in marks} == {name: shown[name][0] for name in marks}
