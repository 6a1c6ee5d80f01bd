#!/usr/bin/python3
"""Random sharded arrays, mounted under each profile and read by the programs the profile is for.

    tests/readers/run.py [--seed N] [--arrays M] [--readers NAME,...] [--keep DIRECTORY] DAEMON

Prints one line for each reader: arrays read, equal, refused by the reader, hidden by zarrfs, wrong. Status 1 where a
value is wrong, or where a reader refuses what its profile shows. The seed makes the same arrays again.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENVS = os.environ.get("ZARRFS_VENVS", os.path.join(HERE, "..", "..", "build", "venvs"))
DEBIAN = "/usr/bin/python3"

# name, Python (environment or path), reader of read_store.py, mount options; and how the view is copied first, if so
ZARR_JL = "separator=.,compressors=blosc+zlib+zstd,filters=none,types=b1+i1+i2+i4+i8+u1+u2+u4+u8+f2+f4+f8,big_endian=no,fortran=no,fill=numeric"
Z5 = "compressors=blosc+bz2+gzip+lz4+zlib+zstd,filters=none,types=i1+i2+i4+i8+u1+u2+u4+u8+f4+f8,big_endian=no,fortran=no,fill=numeric"
MATRIX = [
    ("zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic"),
    ("zarr-python 2.13, '/'", DEBIAN, "zarr2", "view=v2,profile=generic,separator=/"),
    ("zarr-python 2.18", "zarr2", "zarr2", "view=v2,profile=generic"),
    ("zarr-python 2.13, rechunked", DEBIAN, "zarr2", "view=v2,profile=generic,rechunk=3"),
    ("xarray 2023.01", DEBIAN, "xarray", "view=v2,profile=xarray"),
    ("xarray 2025.01", "zarr2", "xarray", "view=v2,profile=xarray"),
    ("GDAL 3.6", DEBIAN, "gdal", "view=v2,profile=gdal"),
    ("netCDF 4.9.0", DEBIAN, "netcdf", "view=v2,profile=netcdf"),
    ("zarr-python 2.13, profile ome", DEBIAN, "zarr2", "view=v2,profile=ome"),
    ("TensorStore v2", "zarr3", "tensorstore2", "view=v2,profile=ome"),
    ("zarr-python 3.1", "zarr3", "zarr3", "view=v3"),
    ("TensorStore v3", "zarr3", "tensorstore3", "view=v3"),
    ("zarrs", "zarr3", "zarrs", "view=v3"),
    ("zarr-python 3.4", "zarr34", "zarr3", "view=v3"),
    ("zarrita.js 0.5, v2", "zarrita", "zarrita", "view=v2,profile=ome"),
    ("zarrita.js 0.5, v3", "zarrita", "zarrita3", "view=v3"),
    ("zarr.js 0.6", "zarrjs", "zarrjs", "view=v2,profile=ome"),
    ("ome-zarr 0.8", "ome", "ome", "view=v2,profile=ome"),
    ("ngff-zarr 0.50", "images", "ngff", "view=v2,profile=ome"),
    ("bioio-ome-zarr 3.8", "images", "bioio", "view=v2,profile=ome"),
    ("iohub 0.3", "images", "iohub", "view=v2,profile=ome"),
    ("z5py 3.0", "z5", "z5", "view=v2," + Z5),
    ("jzarr 0.4", "jzarr", "jzarr", "view=v2,profile=ome,compressors=blosc+zlib"),
    ("ncdump 4.9.0", DEBIAN, "ncdump", "view=v2,profile=netcdf"),
    ("gdalinfo, gdal_translate", DEBIAN, "gdal_translate", "view=v2,profile=gdal"),
    ("Zarr.jl's row, zarr-python 2.13", DEBIAN, "zarr2", "view=v2," + ZARR_JL),
    ("z5's row, zarr-python 2.13", DEBIAN, "zarr2", "view=v2," + Z5),
    ("cp -a, zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic,materialise=list", ["cp", "-a", "VIEW/.", "COPY"]),
    ("rsync -a, xarray 2023.01", DEBIAN, "xarray", "view=v2,profile=xarray,materialise=list", ["rsync", "-a", "VIEW/", "COPY"]),
    ("tar, zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic,materialise=list", ["sh", "-c", "tar -C VIEW -c . | tar -C COPY -x"]),
    ("cp -a, zarr-python 3.4", "zarr34", "zarr3", "view=v3", ["cp", "-a", "VIEW/.", "COPY"]),
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


def has_big_complex(document):
    return "complex" in str(document["data_type"]) and "'big'" in str(document["codecs"])


# Wrong values that come of the reader, as they do from stores that no zarrfs has touched.
OWN_BUGS = {
    "zarrs": ("swaps the parts of big-endian complex numbers at the array's edge", has_big_complex),
    "zarrita": ("takes any array without dimensions for 0", lambda document: document["shape"] == []),
    "zarrita3": ("takes any array without dimensions for 0", lambda document: document["shape"] == []),
}


def python_of(environment):
    if environment in ("zarrita", "zarrjs", "jzarr"):
        os.environ["ZARRFS_READERS"] = VENVS
        return DEBIAN if os.path.isdir(os.path.join(VENVS, environment)) else None
    path = environment if environment.startswith("/") else os.path.join(VENVS, environment, "bin", "python")
    return path if os.path.exists(path) else None


def run_reader(python, reader, directory, truth):
    """{array: verdict}. A reader that crashes is asked again array by array."""
    done = subprocess.run([python, os.path.join(HERE, "read_store.py"), reader, directory, truth], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return json.loads(done.stdout)
    verdicts = {}
    for group in sorted(os.listdir(directory)):
        if not os.path.isdir(os.path.join(directory, group)) or not os.path.exists(os.path.join(truth, f"{group}+a.npy")):
            continue
        one_truth = tempfile.mkdtemp(dir=os.path.dirname(truth))
        shutil.copy(os.path.join(truth, f"{group}+a.npy"), os.path.join(one_truth, "a.npy"))
        done = subprocess.run([python, os.path.join(HERE, "read_store.py"), reader, os.path.join(directory, group), one_truth],
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


def judge(label, reader, verdicts, hidden, store, names, limits):
    """Prints the line of one reader; how many failures it has."""
    bug, has_bug = OWN_BUGS.get(reader, ("", lambda document: False))
    counts = {"equal": 0, "refused": 0, "hidden": 0, "wrong": 0, "not from the store either": 0}
    details = []
    failures = 0
    for name in names:
        verdict = verdicts.get(name)
        if verdict == "equal":
            counts["equal"] += 1
        elif is_own_limit(verdict, limits.get(name)):
            counts["not from the store either"] += 1
        elif verdict is not None and verdict.startswith("differs") and bug and has_bug(document_of(store, name)):
            counts["refused"] += 1
            details.append((name, f"the reader {bug}"))
        elif verdict is None:
            counts["hidden"] += 1
            if name not in hidden:
                failures += 1
            details.append((name, "hidden: " + hidden.get(name, "and not in the report")))
        elif verdict.startswith("error"):
            counts["refused"] += 1
            failures += not any(part in verdict for part in KNOWN_REFUSALS.get(reader, []))
            details.append((name, verdict))
        else:
            counts["wrong"] += 1
            failures += 1
            details.append((name, "WRONG: " + verdict))
    print(f"{label:32} arrays {len(names):5}  " + "  ".join(f"{key} {value:4}" for key, value in counts.items()), flush=True)
    seen = {}
    for name, detail in details:
        kind = "".join(c for c in detail if not c.isdigit())[:60]
        seen.setdefault(kind, []).append((name, detail))
    for group in seen.values():
        print(f"    {len(group)} x {group[0][1][:220]}  ({', '.join(name for name, _ in group[:3])})", flush=True)
    return failures


def read_mounted(daemon, work, store, truth, names, row, limited=True):
    label, environment, reader, options, *copier = row
    python = python_of(environment)
    if python is None:
        print(f"{label:32} not installed ({environment})")
        return os.environ.get("ZARRFS_NO_SKIPS") == "1" and environment in ("zarr2", "zarr3")
    mountpoint = tempfile.mkdtemp(dir=work)
    log = os.path.join(work, "log")
    mounted = subprocess.run([daemon, "mount", store, mountpoint, "-o", f"ro,{options},log={log}"], capture_output=True, text=True)
    if mounted.returncode != 0:
        print(f"{label:32} NOT MOUNTED: {mounted.stderr.strip()}")
        return 1
    try:
        shown = copied(mountpoint, work, copier[0]) if copier else mountpoint
        verdicts = run_reader(python, reader, shown, truth)
        hidden = hidden_reasons(mountpoint)
        limits = own_limits(python, reader, store, truth) if limited else {}
    finally:
        subprocess.run([daemon, "umount", mountpoint], check=True)
    return judge(label, reader, verdicts, hidden, store, names, limits)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--arrays", type=int, default=60)
    parser.add_argument("--readers", default="")
    parser.add_argument("--keep", help="where the arrays are written and left")
    parser.add_argument("daemon")
    options = parser.parse_args()
    maker = python_of("zarr3")
    if maker is None or not os.access("/dev/fuse", os.W_OK):
        print("skipped: " + ("run packaging/install-test-readers" if maker is None else "/dev/fuse may not be opened"))
        return 1 if os.environ.get("ZARRFS_NO_SKIPS") == "1" else 77
    print(f"seed {options.seed}", flush=True)
    work = options.keep or tempfile.mkdtemp(prefix="zarrfs-readers-")
    os.makedirs(work, exist_ok=True)
    store, truth = os.path.join(work, "store"), os.path.join(work, "truth")
    try:
        made = subprocess.run([maker, os.path.join(HERE, "make_random.py"), str(options.seed), str(options.arrays), store, truth],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if made.returncode != 0:
            print(made.stderr)
            return 1
        print(made.stdout)
        names = sorted(f"{group}/a" for group in os.listdir(store) if os.path.isdir(os.path.join(store, group)))
        rows = [row for row in MATRIX if not options.readers or any(part in row[0] for part in options.readers.split(","))]
        failures = sum(read_mounted(os.path.realpath(options.daemon), work, store, truth, names, row) for row in rows)
    finally:
        if not options.keep:
            shutil.rmtree(work)
    print(f"failures: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
