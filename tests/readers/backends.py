#!/usr/bin/python3
"""The golden stores, the golden volumes of other formats and the corpus of real stores, mounted from each place a store may lie at, and read there as from a local directory.

    tests/readers/backends.py [--places NAME,...] [--stores NAME,...] [--readers NAME,...] [--short] DAEMON

Prints one line for each place and reader: stores, arrays (or files and folders), those that are equal to the local ones, their elements (or bytes),
what the reader refuses of both in the same words, folders that the place can tell no names of, and differences. Status 1 where there is one.
"""
import argparse
import collections
import contextlib
import errno
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import matrix
from matrix import DEBIAN, Row

sys.path.insert(0, os.path.join(matrix.HERE, "..", "mounted"))
os.environ["ZARRFS_DAEMON"] = os.path.realpath(sys.argv[-1])
import places  # noqa: E402
from conftest import CORPUS, GOLDEN  # noqa: E402

# Readers are those of read_store.py, but for the first, which compares listings and bytes; the document of what it reads comes last.
MATRIX = [
    Row("files of v2", DEBIAN, "files", "view=v2,profile=generic"),
    Row("files of v3", DEBIAN, "files", "view=v3,profile=generic"),
    Row("zarr-python 2.13", DEBIAN, "zarr2", "view=v2,profile=generic", ".zarray"),
    Row("zarr-python 2.18", "zarr2", "zarr2", "view=v2,profile=generic", ".zarray"),
    Row("GDAL 3.6", DEBIAN, "gdal", "view=v2,profile=gdal", ".zarray"),
    Row("zarr-python 3.1 of v2", "zarr3", "zarr3of2", "view=v2,profile=generic", ".zarray"),
    Row("zarr-python 3.1 of v3", "zarr3", "zarr3", "view=v3,profile=generic", "zarr.json"),
]
# No servers that have to be installed, and few stores.
SHORT = {"places": "s3,gs,az,http,zip,zip over http,zarrfs serve", "readers": "files of v2,zarr-python 2.13,GDAL 3.6,zarr-python 3.1 of v3",
         "stores": "golden/types.zarr,corpus/zarrita.zarr,corpus/points.zarrvectors,corpus/zarr-java/start,corpus/zarr-java/ome-0.4.zarr,corpus/zarr-java/ome-0.5.zarr,"
                   "volumes/sharded-gzip,volumes/files-labels,volumes/wkw,blosc2"}
# Documents of Zarr, and the files that mark volumes.
MARKERS = ("zarr.json", ".zgroup", ".zarray", "info", "datasource-properties.json")
# Plain servers of files: a group whose names no document tells is not listed, and has no consolidated metadata.
NAMELESS = ("http", "https nginx", "zarrfs serve")
# Shards are not seen behind it: a folder of chunks none of which is stored is not there.
WITHOUT_EMPTY_FOLDERS = "zarrfs serve"
WIDTHS = (23, 23)


def stores_below(folder):
    """Paths of the outermost nodes, volumes and folders of arrays of Blosc2 below a folder."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and any(inner in MARKERS or inner.endswith(".b2nd") for inner in os.listdir(path)):
            yield name
        elif os.path.isdir(path):
            yield from (f"{name}/{inner}" for inner in stores_below(path))


def is_nameless(folder):
    """A folder of arrays of Blosc2: nothing in it has a name that is known beforehand."""
    return not any(name in MARKERS for name in os.listdir(folder))


def answer_of(ask):
    """What `ask` gives, or the name of its error."""
    try:
        return ask()
    except OSError as error:
        return {"error": errno.errorcode[error.errno]}


def names_in(folder):
    return sorted(name for name in os.listdir(folder) if name != ".zarrfs")


def bytes_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return {"shape": [len(data)], "sha256": hashlib.sha256(data).hexdigest()}


class View:
    """All stores as one row sees them in local directories; then as it sees them elsewhere."""

    def __init__(self, made, row, stores):
        self.made, self.row, self.stores, self.top = made, row, stores, os.path.join(made.work, "mnt")
        self.local, self.hidden, self.scalars = None, {}, set()

    @contextlib.contextmanager
    def mounts(self, source_of, left_out):
        """A directory with all stores, whatever the place: the messages of readers name it."""
        with contextlib.ExitStack() as stack:
            for store in self.stores:
                if store in left_out:
                    continue
                mountpoint = os.path.join(self.top, store.replace("/", "+"))
                os.makedirs(mountpoint, exist_ok=True)
                source, options = source_of(store)
                stack.enter_context(matrix.mounted(self.made, source, ",".join(filter(None, [self.row.options, options])), mountpoint))
            yield

    def look(self):
        """What there is in the local view: its folders and files, or its arrays; what is hidden, and why."""
        for store in self.stores:
            with open(os.path.join(self.top, store.replace("/", "+"), ".zarrfs", "report.json")) as text:
                self.hidden.update({store + node["path"]: node["reason"] for node in json.load(text)["nodes"] if node["shown"] == "hidden"})
        found = []
        for folder, folders, files in os.walk(self.top):
            folders[:] = sorted(name for name in folders if name != ".zarrfs")
            path = os.path.relpath(folder, self.top)
            if ".zarray" in files and self.has_no_axes(folder):
                self.scalars.add(path)
            if self.row.reader == "files":
                found += [path] + [os.path.join(path, name) for name in sorted(files)]
            elif self.row.extra in files and self.is_array(folder):
                found.append(path)
                folders.clear()
        return found

    def is_array(self, folder):
        if self.row.extra == ".zarray":
            return True
        with open(os.path.join(folder, self.row.extra)) as text:
            return json.load(text)["node_type"] == "array"

    def has_no_axes(self, folder):
        with open(os.path.join(folder, ".zarray")) as text:
            return json.load(text)["shape"] == []

    def hangs_on_names(self, path):
        """Whether it says what lies beside it: a scalar is shown as part of a data set where the arrays beside it are."""
        return isinstance(self.local[path], list) or os.path.basename(path) == ".zmetadata" or os.path.dirname(path) in self.scalars

    def is_empty(self, path):
        """A folder with nothing but empty folders in it."""
        names = self.local.get(path)
        return isinstance(names, list) and all(self.is_empty(os.path.join(path, name)) for name in names)

    def without_empty(self, path):
        """The names in a folder but those of empty folders, or what reading it gives where it is empty itself."""
        if self.is_empty(path):
            return {"error": errno.errorcode[errno.ENOENT]}
        return [name for name in self.local[path] if not self.is_empty(os.path.join(path, name))]

    def read(self, source_of, left_out=()):
        """{path: what came out}; the first time, of the local stores."""
        with self.mounts(source_of, left_out):
            names = self.look() if self.local is None else [name for name in self.local if not is_of(name, left_out)]
            if self.row.reader == "files":
                paths = {name: os.path.join(self.top, name) for name in names}
                return {name: answer_of(lambda path=path: names_in(path) if os.path.isdir(path) else bytes_of(path)) for name, path in paths.items()}
            listed = os.path.join(self.made.work, "names.json")
            with open(listed, "w") as text:
                json.dump(names, text)
            command = [matrix.python_of(self.row.environment), *matrix.script("read_store.py", self.row.reader, self.top, listed)]
            return json.loads(subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True).stdout)


def is_of(path, stores):
    """Whether what a view has at `path` is of one of the stores."""
    return path.split("/")[0] in [store.replace("/", "+") for store in stores]


def is_alone(got, wanted):
    """Documents of an array that is not known to lie beside others, which are other ones than it has there."""
    return isinstance(wanted, dict) and "shape" in wanted and "shape" in got and got != wanted


def judge(place, view, found, left_out):
    """Prints the line of one place and reader; how many differences it has."""
    counts, different = collections.Counter(), {}
    for path, wanted in view.local.items():
        if is_of(path, left_out):
            counts["not listed"] += 1
            continue
        got = found[path]
        if place in NAMELESS and view.hangs_on_names(path) and (got == {"error": errno.errorcode[errno.EOPNOTSUPP]} or is_alone(got, wanted)):
            counts["not listed"] += 1
        elif place == WITHOUT_EMPTY_FOLDERS and isinstance(wanted, list) and got == view.without_empty(path):
            counts["equal"] += 1
        elif got != wanted:
            different[path] = f"{str(got)[:200]} for {str(wanted)[:200]}"
        elif "error" in wanted:
            counts["refused"] += 1
        else:
            counts["equal"] += 1
            counts["elements"] += math.prod(wanted["shape"]) if isinstance(wanted, dict) else 0
    print(f"{place:{WIDTHS[0]}}{view.row.label:{WIDTHS[1]}}stores {len(view.stores):3}  read {len(view.local):5}  equal {counts['equal']:5}  "
          f"elements {counts['elements']:9}  refused {counts['refused']:3}  not listed {counts['not listed']:3}  differences {len(different):3}", flush=True)
    for path, detail in list(different.items())[:6]:
        print(f"    {path}: {detail}", flush=True)
    return len(different)


def show_limits(view):
    """Why a reader does not see, or refuses, some of the local arrays, which it does wherever they lie."""
    reasons = collections.defaultdict(list)
    for path, reason in view.hidden.items():
        reasons[f"hidden: {reason.split(': ', 1)[1]}"].append(path)
    for path, wanted in view.local.items():
        if "error" in wanted:
            reasons[f"refused: {wanted['error']}"].append(path)
    for reason, paths in reasons.items():
        print(f"    {view.row.label}: {len(paths)} x {reason[:200]} ({', '.join(paths[:3])})", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("places", "stores", "readers"):
        parser.add_argument("--" + name, default="", help=f"{name}, with commas")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("daemon")
    options = parser.parse_args()
    if options.short:
        vars(options).update(SHORT)
    return options


def among(asked, name):
    return not asked or name in asked.split(",")


def gather(work):
    """A folder with all stores, by links; their names."""
    data = os.path.join(work, "data")
    os.mkdir(data)
    for name, target in (("golden", "stores"), ("volumes", "volumes"), ("blosc2", "blosc2")):
        os.symlink(os.path.join(GOLDEN, target), os.path.join(data, name))
    if os.path.isdir(CORPUS):
        os.symlink(os.path.realpath(CORPUS), os.path.join(data, "corpus"))
    else:
        print("the corpus is missing: set ZARRFS_CORPUS", flush=True)
    return data, list(stores_below(data))


def read_place(place, context, views, data, stores, work):
    lacking = places.missing(place)
    if lacking:
        print(f"{place:{WIDTHS[0]}}not installed ({lacking})", flush=True)
        return 0
    folder = tempfile.mkdtemp(dir=work)
    left_out = [store for store in stores if place in NAMELESS and is_nameless(os.path.join(data, store))]
    with context(data, stores, folder) as source_of:
        return sum(judge(place, view, view.read(source_of, left_out), left_out) for view in views)


def main():
    options = arguments()
    lacking = "run packaging/install-test-readers" if matrix.python_of("zarr3") is None else \
        "/dev/fuse may not be opened" if not os.access("/dev/fuse", os.W_OK) else None
    if lacking:
        print("skipped: " + lacking)
        return 1 if matrix.NO_SKIPS else 77
    os.environ.update(places.CREDENTIALS)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    work = tempfile.mkdtemp(prefix="zarrfs-backends-")
    try:
        data, stores = gather(work)
        stores = [name for name in stores if among(options.stores, name)]
        made = matrix.Made(os.path.realpath(options.daemon), work, data, None)
        views = [View(made, row, stores) for row in MATRIX if among(options.readers, row.label)]
        with places.local(data, stores, work) as source_of:
            for view in views:
                view.local = view.read(source_of)
                show_limits(view)
        failures = sum(read_place(place, context, views, data, stores, work) for place, context in places.PLACES.items() if among(options.places, place))
    finally:
        shutil.rmtree(work)
    print(f"failures: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
