"""Random data sets as JSON, for the matrix of writing: `make(rng)` describes one, `array_of(spelled)` gives numpy's array of its values in any
environment.

A CF data set is {"kind": "cf", "dims", "unlimited", "attributes", "variables", "groups"}, an image {"kind": "image", ...}. Values are as they are
stored, before `_FillValue`, `scale_factor` and calendars are applied. An attribute is [type, value]: a numpy type, or "text", "texts" or "tree".
"""
import base64

import numpy as np

TEXTS = ["°C", "m s-1", "日本の気温", "", "kg m⁻²", "a \"quoted\" \\ text\nof two lines", "{not json", "[1, 2]", "12", "Größe", "🜁"]
NUMBERS = ["i1", "u1", "i2", "u2", "i4", "i8", "f4", "f8"]
CALENDARS = [("days since 2000-01-01", "proleptic_gregorian"), ("hours since 1999-12-31 18:00:00", "standard"), ("days since 1850-01-01", "noleap"),
             ("days since 2001-01-01", "360_day")]


def array_of(spelled):
    dtype, shape = np.dtype(spelled["dtype"]), spelled["shape"]
    if dtype.kind in "OU":
        return np.array(spelled["values"], dtype).reshape(shape)
    return np.frombuffer(base64.b64decode(spelled["values"]), dtype).reshape(shape).copy()


def spell(values):
    values = np.asarray(values)
    if values.dtype.kind in "OU":
        return {"dtype": values.dtype.str, "shape": list(values.shape), "values": values.ravel().tolist()}
    return {"dtype": values.dtype.str, "shape": list(values.shape), "values": base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()}


def attribute_of(spelled):
    """The attribute as a program would give it: text, a list, or a number or array of numpy."""
    kind, value = spelled
    if kind in ("text", "texts", "tree"):
        return value
    return np.array(value, kind) if isinstance(value, list) else np.dtype(kind).type(value)


def random_attributes(rng, most=4):
    found = {}
    for name in rng.sample(["units", "long_name", "comment", "valid_range", "level", "flags", "Quelle", "history", "names", "ratio"], rng.randrange(most + 1)):
        kind = rng.choice(NUMBERS)
        number = rng.choice([0, 1, 7, 100]) if kind[0] != "f" else rng.choice([0.5, -2.25, 1e20, 3.0])
        if name in ("units", "long_name", "comment", "Quelle", "history"):
            found[name] = ["text", rng.choice(TEXTS)]
        elif name == "names":
            found[name] = ["texts", rng.sample(TEXTS, rng.randrange(1, 4))]
        elif name in ("level", "ratio"):
            found[name] = [kind, number]
        else:
            found[name] = [kind, [number] * rng.randrange(1, 4)]
    return found


def numbers(rng, dtype, shape):
    made = np.random.default_rng(rng.randrange(2**32)).integers(0, 60, shape).astype(dtype)
    if made.size:
        made.flat[rng.randrange(made.size)] = 0
    return made


def sprinkle(rng, values, mark):
    """Some cells, or a whole block, become `mark`."""
    for _ in range(rng.randrange(1, 5)):
        values.flat[rng.randrange(values.size)] = mark
    if values.ndim and rng.random() < 0.4:
        values[-1:] = mark


def packed(rng, shape):
    dtype = np.dtype(rng.choice(["<i2", "<i2", "<i4", "|u1", "|i1"]))
    values, attributes = numbers(rng, dtype, shape), {"scale_factor": ["f8", 0.5], "add_offset": ["f8", 10.0]}
    mark = 100 if dtype.itemsize == 1 else -999
    if rng.random() < 0.8:
        attributes["_FillValue"] = [dtype.str[1:], mark]
        sprinkle(rng, values, mark)
        if rng.random() < 0.4:
            attributes["missing_value"] = [dtype.str[1:], mark]
    return values, attributes


def masked(rng, shape):
    dtype = np.dtype(rng.choice(["<i2", "<i4", "<i8", "|u1", "|i1", "<u2"]))
    mark = rng.choice([0, 100]) if dtype.kind == "u" or dtype.itemsize == 1 else rng.choice([-999, 0])
    values, attributes = numbers(rng, dtype, shape), {"_FillValue": [dtype.str[1:], mark]}
    sprinkle(rng, values, mark)
    if rng.random() < 0.4:
        attributes["missing_value"] = [dtype.str[1:], mark]
    return values, attributes


def floats(rng, shape):
    dtype = np.dtype(rng.choice(["<f4", "<f8"]))
    values, attributes = numbers(rng, dtype, shape) / dtype.type(4), {}
    kind = rng.choice(["plain", "nan", "1e20", "missing"])
    if kind == "plain" and rng.random() < 0.5:
        sprinkle(rng, values, np.nan)
    elif kind == "nan":
        sprinkle(rng, values, np.nan)
        attributes["_FillValue"] = [dtype.str[1:], float("nan")]
    elif kind == "1e20":
        sprinkle(rng, values, 1e20)
        attributes["_FillValue"] = [dtype.str[1:], 1e20]
    elif kind == "missing":
        sprinkle(rng, values, -9999)
        attributes["missing_value"] = [dtype.str[1:], -9999.0]
    return values, attributes


def counts(rng, shape):
    return numbers(rng, rng.choice(["<i2", "<i4", "<i8", "|u1", "|i1"]), shape), {}


def switches(rng, shape):
    return numbers(rng, "|u1", shape) % 2 == 1, {}


def words(rng, shape):
    chosen = [rng.choice(["", "a", "Zürich", "東京", "long name of a place"]) for _ in range(int(np.prod(shape)))]
    return np.array(chosen, rng.choice(["O", "<U20"])).reshape(shape), {}


def letters(rng, shape):
    chosen = [rng.choice([b"a", b"bc", b"xyz", b""]) for _ in range(int(np.prod(shape)))]
    return np.array(chosen, rng.choice(["S1", "S3"])).reshape(shape), {}


KINDS = {"packed": packed, "masked": masked, "floats": floats, "counts": counts, "switches": switches, "words": words, "letters": letters}


def times(rng, length):
    units, calendar = rng.choice(CALENDARS)
    values = np.arange(length, dtype=rng.choice(["<i4", "<i8", "<f8"])) * 3 + 10
    return {"name": "time", "dims": ["time"], "kind": "times", "attributes": {"units": ["text", units], "calendar": ["text", calendar]}, "data": spell(values)}


def coordinates(rng, dims):
    found = [times(rng, dims["time"])]
    if rng.random() < 0.7:
        found.append({"name": "x", "dims": ["x"], "kind": "floats", "attributes": {"units": ["text", "degrees_east"]}, "data": spell(np.arange(dims["x"]) * 1.5)})
    return found


def variables_of(rng, dims, prefix, most):
    found = []
    names = rng.choices(list(KINDS), weights=[4, 3, 4, 2, 1, 1, 1], k=rng.randrange(1, most))
    for number, kind in enumerate(names):
        chosen = rng.choice([["time", "y", "x"], ["time", "y", "x"], ["y", "x"], ["time"], ["time", "one", "x"], ["x"]])
        values, attributes = KINDS[kind](rng, [dims[name] for name in chosen])
        found.append({"name": f"{prefix}{kind}{number}", "dims": chosen, "kind": kind, "attributes": {**random_attributes(rng), **attributes}, "data": spell(values)})
    return found


def crs(rng):
    attributes = {"grid_mapping_name": ["text", "latitude_longitude"], "semi_major_axis": ["f8", 6378137.0], "crs_wkt": ["text", 'GEOGCS["WGS 84 °"]']}
    return {"name": "crs", "dims": [], "kind": "counts", "attributes": attributes, "data": spell(np.array(rng.choice([0, 7]), "<i4"))}


def cf(rng):
    dims = {"time": rng.randrange(4, 7), "y": rng.randrange(1, 5), "x": rng.randrange(2, 6), "one": 1}
    variables = coordinates(rng, dims) + variables_of(rng, dims, "", 6)
    if rng.random() < 0.5:
        variables.append(crs(rng))
    groups = {}
    if rng.random() < 0.3:
        inner = dims if rng.random() < 0.5 else {**dims, "x": dims["x"] + 1}
        groups["inner"] = {"attributes": random_attributes(rng), "variables": variables_of(rng, inner, "v", 3), "dims": inner}
    return {"kind": "cf", "dims": dims, "unlimited": ["time"] if rng.random() < 0.5 else [], "attributes": {"Conventions": ["text", "CF-1.8"], **random_attributes(rng)},
            "variables": variables, "groups": groups}


def image(rng):
    axes = rng.choice(["yx", "zyx", "cyx", "czyx", "tczyx"])
    shape = [rng.choice([8, 12, 16]) if axis in "yx" else rng.randrange(1, 4) for axis in axes]
    dtype = rng.choice(["|u1", "<u2", "<u2", "<f4", "<i2"])
    levels = []
    for level in range(rng.randrange(1, 3)):
        size = [n >> level if axis in "yx" else n for axis, n in zip(axes, shape)]
        values = numbers(rng, dtype, size)
        values[..., :2] = 0
        levels.append(spell(values))
    return {"kind": "image", "axes": axes, "levels": levels, "dimension_names": rng.random() < 0.5, "name": rng.choice(["image", "Größe", "画像"]),
            "scale": [rng.choice([0.5, 1.0, 0.325]) if axis in "zyx" else 1.0 for axis in axes], "separator": rng.choice([".", "/"]), "attributes": random_attributes(rng, 2)}
