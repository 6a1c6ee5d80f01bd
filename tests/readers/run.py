#!/usr/bin/python3
"""Random sharded arrays, mounted under each profile and read by the programs the profile is for.

    tests/readers/run.py [--seed N] [--arrays M] [--readers NAME,...] [--keep DIRECTORY] DAEMON

Prints one line for each reader: arrays read, equal, refused by the reader, hidden by zarrfs, wrong. Status 1 where a
value is wrong, or where a reader refuses what its profile shows. The seed makes the same arrays again.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import matrix
from matrix import DEBIAN, Row

PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "profiles")
ZARR_JL, Z5, JZARR = (f"profile={PROFILES}/{name}.json" for name in ("zarr_jl", "z5", "jzarr"))
# Readers are those of read_store.py; what comes last copies the view first.
MATRIX = [
    Row("zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic"),
    Row("zarr-python 2.13, '/'", DEBIAN, "zarr2", "view=v2,profile=generic,separator=/"),
    Row("zarr-python 2.18", "zarr2", "zarr2", "view=v2,profile=generic"),
    Row("zarr-python 2.13, rechunked", DEBIAN, "zarr2", "view=v2,profile=generic,rechunk=3"),
    Row("xarray 2023.01", DEBIAN, "xarray", "view=v2,profile=xarray"),
    Row("xarray 2025.01", "zarr2", "xarray", "view=v2,profile=xarray"),
    Row("GDAL 3.6", DEBIAN, "gdal", "view=v2,profile=gdal"),
    Row("netCDF 4.9.0", DEBIAN, "netcdf", "view=v2,profile=netcdf"),
    Row("zarr-python 2.13, profile ome", DEBIAN, "zarr2", "view=v2,profile=ome"),
    Row("TensorStore v2", "zarr3", "tensorstore2", "view=v2,profile=ome"),
    Row("zarr-python 3.1", "zarr3", "zarr3", "view=v3"),
    Row("TensorStore v3", "zarr3", "tensorstore3", "view=v3"),
    Row("zarrs", "zarr3", "zarrs", "view=v3"),
    Row("zarr-python 3.4", "zarr34", "zarr3", "view=v3"),
    Row("zarrita.js 0.5, v2", "zarrita", "zarrita", "view=v2,profile=ome"),
    Row("zarrita.js 0.5, v3", "zarrita", "zarrita3", "view=v3"),
    Row("zarr.js 0.6", "zarrjs", "zarrjs", "view=v2,profile=ome"),
    Row("ome-zarr 0.8", "ome", "ome", "view=v2,profile=ome"),
    Row("ngff-zarr 0.50", "images", "ngff", "view=v2,profile=ome"),
    Row("bioio-ome-zarr 3.8", "images", "bioio", "view=v2,profile=ome"),
    Row("iohub 0.3", "images", "iohub", "view=v2,profile=ome"),
    Row("z5py 3.0", "z5", "z5", "view=v2," + Z5),
    Row("jzarr 0.4", "jzarr", "jzarr", "view=v2," + JZARR),
    Row("ncdump 4.9.0", DEBIAN, "ncdump", "view=v2,profile=netcdf"),
    Row("gdalinfo, gdal_translate", DEBIAN, "gdal_translate", "view=v2,profile=gdal"),
    Row("Zarr.jl's row, zarr-python 2.13", DEBIAN, "zarr2", "view=v2," + ZARR_JL),
    Row("z5's row, zarr-python 2.13", DEBIAN, "zarr2", "view=v2," + Z5),
    Row("cp -a, zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic,materialise=list", ["cp", "-a", "VIEW/.", "COPY"]),
    Row("rsync -a, xarray 2023.01", DEBIAN, "xarray", "view=v2,profile=xarray,materialise=list", ["rsync", "-a", "VIEW/", "COPY"]),
    Row("tar, zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic,materialise=list", ["sh", "-c", "tar -C VIEW -c . | tar -C COPY -x"]),
    Row("cp -a, zarr-python 3.4", "zarr34", "zarr3", "view=v3", ["cp", "-a", "VIEW/.", "COPY"]),
]

# What a reader cannot do whatever the view shows: part of its message.
KNOWN_REFUSALS = {
    "gdal": ["compound type"], "gdal_translate": ["not read by this test"], "ome": ["no image"], "ngff": ["no image"], "bioio": ["no image"], "iohub": ["no image"],
    # zarrita.js fails to fill arrays of 64-bit integers, and node.js 20 has no half floats.
    "zarrita": ["not read by this test", "to a BigInt", "data_type: float16", "offset is out of bounds"],
    "zarrita3": ["not read by this test", "to a BigInt", "data_type: float16"],
    "zarrjs": ["Dtype not recognized", "not supported natively", "Shape [] indexing", "dtype |O"],
    # jzarr has no unsigned 64-bit integers, half floats, booleans or text, and finds no key for arrays without dimensions.
    "jzarr": ["No enum constant", "String index out of range: -1"],
    # TensorStore wants true and false where n5-zarr wants 1 and 0, and has no type for strings.
    "tensorstore2": ["Expected boolean", 'member "dtype"', "not read by this test"],
}


# Readers without a profile that hides what they do not know: what they refuse is compared with a plain directory.
COMPARED = {"z5", "ngff", "bioio", "iohub"}


def has_big_complex(document):
    return "complex" in str(document["data_type"]) and "'big'" in str(document["codecs"])


# Wrong values that come of the reader, as they do from stores that no zarrfs has touched.
OWN_BUGS = {
    "zarrs": ("swaps the parts of big-endian complex numbers at the array's edge", has_big_complex),
    "zarrita": ("takes any array without dimensions for 0", lambda document: document["shape"] == []),
    "zarrita3": ("takes any array without dimensions for 0", lambda document: document["shape"] == []),
}


def run_reader(python, reader, directory, truth):
    """{array: verdict}. A reader that crashes is asked again array by array."""
    done = subprocess.run([python, *matrix.script("read_store.py", reader, directory, truth)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return json.loads(done.stdout)
    verdicts = {}
    for group in sorted(os.listdir(directory)):
        if not os.path.isdir(os.path.join(directory, group)) or not os.path.exists(os.path.join(truth, f"{group}+a.npy")):
            continue
        one_truth = tempfile.mkdtemp(dir=os.path.dirname(truth))
        shutil.copy(os.path.join(truth, f"{group}+a.npy"), os.path.join(one_truth, "a.npy"))
        done = subprocess.run([python, *matrix.script("read_store.py", reader, os.path.join(directory, group), one_truth)],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout) if done.returncode == 0 else {"a": f"error: the reader died, status {done.returncode}"}
        verdicts.update({f"{group}/a": verdict for verdict in answer.values()})
    return verdicts


def copied(view, work, command):
    """A copy of the view by another program, compared with it byte by byte; without .zarrfs."""
    target = tempfile.mkdtemp(dir=work)
    subprocess.run([part.replace("VIEW", view).replace("COPY", target) for part in command], check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["diff", "-rq", "--exclude=.zarrfs", view, target], check=True, stdin=subprocess.DEVNULL)
    return target


def hidden_reasons(mountpoint):
    """{array path: reason} of what the report says is hidden."""
    with open(os.path.join(mountpoint, ".zarrfs", "report.json")) as text:
        nodes = json.load(text)["nodes"]
    return {node["path"].strip("/"): node["reason"] for node in nodes if node["shown"] == "hidden"}


def own_limits(python, reader, store, truth):
    """What a v3 reader makes of the arrays that it does not read rightly from the store itself, without zarrfs."""
    if reader not in ("zarr3", "tensorstore3", "zarrs", "zarrita3"):
        return {}
    return {name: verdict for name, verdict in run_reader(python, reader, store, truth).items() if verdict != "equal"}


def is_own_limit(verdict, from_store):
    """Whether the reader fails as it does without zarrfs: it may never be wrong where it otherwise refuses."""
    return from_store is not None and (verdict is None or verdict.startswith("error") or not from_store.startswith("error"))


def document_of(store, name):
    with open(os.path.join(store, name, "zarr.json")) as text:
        return json.load(text)


def is_known_refusal(reader, verdict):
    return any(part in verdict for part in KNOWN_REFUSALS.get(reader, []))


def refused_of_plain(python, reader, view, work, truth, verdicts):
    """The arrays that the reader refuses in the same words in a plain Zarr v2 directory, which zarr-python writes with the same metadata."""
    errors = [name for name, verdict in verdicts.items() if verdict.startswith("error") and not is_known_refusal(reader, verdict)]
    if not errors or reader not in COMPARED:
        return set()
    plain = tempfile.mkdtemp(dir=work)
    subprocess.run([DEBIAN, *matrix.script("write_plain.py", view, plain, *errors)], check=True, stdin=subprocess.DEVNULL)
    of_plain = run_reader(python, reader, plain, truth)
    return {name for name in errors if of_plain.get(name, "").replace(plain, view) == verdicts[name]}


class Counts:
    """The line of one reader: how many arrays came out how, and what is to be said of those that are not equal."""

    def __init__(self):
        self.numbers = dict.fromkeys(["equal", "refused", "hidden", "wrong", "not from the store either", "refused of plain too"], 0)
        self.details, self.failures = [], 0

    def add(self, kind, name, detail="", failed=False):
        self.numbers[kind] += 1
        self.failures += failed
        if detail:
            self.details.append((name, detail))

    def show(self, label, arrays):
        print(f"{label:{matrix.WIDTH}} arrays {arrays:5}  " + "  ".join(f"{key} {value:4}" for key, value in self.numbers.items()), flush=True)
        seen = {}
        for name, detail in self.details:
            seen.setdefault("".join(c for c in detail if not c.isdigit())[:60], []).append((name, detail))
        for group in seen.values():
            print(f"    {len(group)} x {group[0][1][:220]}  ({', '.join(name for name, _ in group[:3])})", flush=True)


def judge(row, verdicts, hidden, store, names, limits, plain):
    """Prints the line of one reader; how many failures it has."""
    bug, has_bug = OWN_BUGS.get(row.reader, ("", lambda document: False))
    counts = Counts()
    for name in names:
        verdict = verdicts.get(name)
        if verdict == "equal":
            counts.add("equal", name)
        elif is_own_limit(verdict, limits.get(name)):
            counts.add("not from the store either", name)
        elif verdict is None:
            counts.add("hidden", name, "hidden: " + hidden.get(name, "and not in the report"), failed=name not in hidden)
        elif name in plain:
            counts.add("refused of plain too", name, verdict)
        elif verdict.startswith("differs") and bug and has_bug(document_of(store, name)):
            counts.add("refused", name, f"the reader {bug}")
        elif verdict.startswith("error"):
            counts.add("refused", name, verdict, failed=not is_known_refusal(row.reader, verdict))
        else:
            counts.add("wrong", name, "WRONG: " + verdict, failed=True)
    counts.show(row.label, len(names))
    return counts.failures


def array_names(truth):
    return sorted(name.removesuffix(".npy").replace("+", "/") for name in os.listdir(truth) if name.endswith(".npy"))


def read(made, row, limited=True):
    python = matrix.python_of(row.environment)
    with matrix.mounted(made, made.store, row.options) as mountpoint:
        shown = copied(mountpoint, made.work, row.extra) if row.extra else mountpoint
        verdicts = run_reader(python, row.reader, shown, made.truth)
        hidden = hidden_reasons(mountpoint)
        limits = own_limits(python, row.reader, made.store, made.truth) if limited else {}
        plain = refused_of_plain(python, row.reader, shown, made.work, made.truth, verdicts)
    return judge(row, verdicts, hidden, made.store, array_names(made.truth), limits, plain)


if __name__ == "__main__":
    sys.exit(matrix.main(__doc__, "arrays", 60, MATRIX, matrix.make_with("make_random.py"), read))
