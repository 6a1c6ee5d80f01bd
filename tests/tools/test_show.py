"""show: pictures of slices."""
import json
import os
import subprocess

import numpy as np
import pytest
from conftest import GOLDEN, python_of, run
from PIL import Image



def values_of(array):
    program = f"import zarr,sys; sys.stdout.buffer.write(zarr.open_array({str(array)!r}, mode='r')[...].astype('<f8').tobytes())"
    return np.frombuffer(subprocess.run([python_of("zarr3"), "-c", program], capture_output=True, check=True).stdout, "<f8")


def picture(tmp_path, *arguments, status=0):
    path = tmp_path / "slice.png"
    told = run("show", *arguments, "-o", path, status=status)
    assert not told.stdout
    return Image.open(path), told.stderr_text


def test_each_element_is_a_square_of_its_grey(store, tmp_path):
    values = values_of(store / "a").reshape(20, 30)
    image, told = picture(tmp_path, store, "a", "--palette", "grey")
    square = image.size[0] // 30
    assert image.size == (30 * square, 20 * square) and square > 1
    got = np.asarray(image)[square // 2::square, square // 2::square, 0]
    wanted = (255 * (values - values.min()) / np.ptp(values)).astype(int)
    assert np.abs(got.astype(int) - wanted).max() <= 1
    assert f"/a [0:20, 0:30] of 20x30 int16\n{values.min():.0f} to {values.max():.0f}" in told


def test_slices_axes_and_ranges(tmp_path):
    source = os.path.join(GOLDEN, "sharding.zarr")
    values = values_of(os.path.join(source, "four_axes")).reshape(3, 4, 5, 6)
    image, told = picture(tmp_path, source, "four_axes", "--slice", "-1,1:3,...,2", "--axes", "2,1", "--palette", "grey", "--range", "0,200")
    square = image.size[0] // 2
    got = np.asarray(image)[square // 2::square, square // 2::square, 0]
    assert np.abs(got - 255 * values[2, 1:3, :, 2].T / 200).max() <= 1
    assert "[2, 1:3, 0:5, 2] of 3x4x5x6" in told and "0 to 200 (values shown" in told
    for option, value, wanted in [("--slice", "3", "axis 0"), ("--slice", "0:0", "no elements"), ("--axes", "0,9", "--axes 9"), ("--range", "2,1", "LOW"), ("--field", "a", "fields")]:
        assert wanted in run("show", source, "four_axes", option, value, status=2).stderr_text


def test_large_planes_are_thinned_out_and_read_no_more_chunks_than_points(store):
    told = run("show", store, "a", "--colours", "256").stdout_text
    assert "\u2580" in told and "\x1b[38;5;" in told and "thinned" not in told
    plain = run("show", store, "a").stdout
    assert b"\x1b" not in plain and b"@" in plain  # characters into a pipe


def test_what_attributes_mark_as_missing_is_no_value(store, tmp_path):
    document = json.loads((store / "a" / "zarr.json").read_text())
    values = values_of(store / "a")
    document["attributes"] = {"_FillValue": int(values.max()), "missing_value": int(values.min())}
    (store / "a" / "zarr.json").write_text(json.dumps(document))
    image, told = picture(tmp_path, store, "a")
    left = values[(values != values.max()) & (values != values.min())]
    assert f", {len(values) - len(left)} points missing (_FillValue, missing_value)\n{left.min():.0f} to {left.max():.0f}" in told
    square = image.size[0] // 30
    row, column = divmod(int(values.argmax()), 30)
    assert image.getpixel((column * square, row * square)) == (48, 48, 48)


def test_what_is_damaged_is_red_and_what_is_missing_is_the_fill_value(store, tmp_path):
    os.remove(store / "a" / "c" / "0" / "0")
    with open(store / "a" / "c" / "2" / "1", "r+b") as file:
        file.truncate(10)
    image, told = picture(tmp_path, store, "a", status=1)
    square = image.size[0] // 30
    assert image.getpixel((29 * square, 19 * square)) == (230, 30, 30) != image.getpixel((0, 0))
    assert "6 of 30 chunks missing (fill value)" in told and "chunks damaged" in told
    assert "X" in run("show", store, "a", status=1).stdout_text


@pytest.mark.parametrize("name,low,high", [
    ("bool", "0", "1"), ("bfloat16", "-9", "53.25"), ("int4", "-8", "4"), ("float32_nan", "-9", "53.25"), ("complex64", "0", "278.3905"),
    ("datetime_ns", "1970-01-01T00:00:00.000000000", "1970-01-01T00:00:00.000000249"), ("timedelta_ms", "0 ms", "249 ms"),
    ("uint64_large_fill", "1", "18446744073709551615"), ("fixed_text", '"none"', '"\u00e535"'), ("raw_bytes", "0x010203", "0x7878fa"), ("struct", "0", "249")])
def test_every_type_has_a_range(name, low, high):
    last = run("show", os.path.join(GOLDEN, "types.zarr"), name).stdout_text.splitlines()[-1]
    assert last.startswith(low + " ") and last.endswith(" " + high), last


def test_any_rank_and_groups(store):
    sharding = os.path.join(GOLDEN, "sharding.zarr")
    assert "of scalar int16" in run("show", sharding, "scalar").stdout_text
    assert "all 42" in run("show", sharding, "empty").stdout_text
    assert "/four_axes" in run("show", sharding).stdout_text  # that of the most axes
    brain = os.path.join(os.path.dirname(GOLDEN), "..", "..", "examples", "brain.ome.zarr")
    assert "/1 [1, 12, 0:48, 0:64]" in run("show", brain).stdout_text  # the level that fills 80 x 24 characters
    assert "no Zarr group or array" in run("show", store / "a" / "c", status=2).stderr_text
