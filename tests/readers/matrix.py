"""What the matrices of readers share: their command line, the programs that read, mounts, and the loop over the readers."""
import argparse
import collections
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENVS = os.environ.get("ZARRFS_VENVS", os.path.join(HERE, "..", "..", "build", "venvs"))
DEBIAN = "/usr/bin/python3"
NO_SKIPS = os.environ.get("ZARRFS_NO_SKIPS") == "1"
WIDTH = 36  # of a reader's name, as it is printed

# name; Python, as python_of() takes it; the reader that the matrix' script calls; mount options; and what the matrix adds.
Row = collections.namedtuple("Row", "label environment reader options extra", defaults=[None])
# What a matrix reads: STORE was made by the seed, TRUTH says what stands in it, WORK is for mountpoints and logs.
Made = collections.namedtuple("Made", "daemon work store truth")

# Readers that are programs, or call one.
PROGRAMS = {"cdo": "cdo", "nco": "ncks", "ncdump": "ncdump", "gdal_translate": "gdal_translate"}
# Environments that `packaging/install-test-readers` makes without `all`.
ALWAYS = ("zarr2", "zarr3", DEBIAN)


def python_of(environment):
    """The Python of an environment of packaging/install-test-readers (Debian's, for those of JavaScript and Java), or of a path."""
    if environment in ("zarrita", "zarrjs", "viv", "jzarr"):
        os.environ["ZARRFS_READERS"] = VENVS
        return DEBIAN if os.path.isdir(os.path.join(VENVS, environment)) else None
    path = environment if environment.startswith("/") else os.path.join(VENVS, environment, "bin", "python")
    return path if os.path.exists(path) else None


def script(name, *arguments):
    """The command line of a script beside this file, without its Python."""
    return [os.path.join(HERE, name), *map(str, arguments)]


def make_with(name):
    """What makes the data of most matrices: a script that takes seed, number, store and truth, in the environment zarr3."""

    def make(options, store, truth):
        subprocess.run([python_of("zarr3"), *script(name, options.seed, options.count, store, truth)], check=True, stdin=subprocess.DEVNULL)

    return make


@contextlib.contextmanager
def mounted(made, store, options, mountpoint=None):
    """A read-only mount of `store`; its directory."""
    mountpoint = mountpoint or tempfile.mkdtemp(dir=made.work)
    given = ",".join(filter(None, ["ro", options, f"log={made.work}/log"]))
    subprocess.run([made.daemon, "mount", store, mountpoint, "-o", given], check=True, stderr=subprocess.DEVNULL)
    try:
        yield mountpoint
    finally:
        subprocess.run([made.daemon, "umount", mountpoint], check=True)


def missing_of(row):
    """What a row needs and this machine has not, or nothing."""
    if python_of(row.environment) is None:
        return row.environment
    program = PROGRAMS.get(row.reader)
    return program if program and shutil.which(program) is None else None


def arguments(description, counted, default, more):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--" + counted, dest="count", type=int, default=default)
    parser.add_argument("--readers", default="", help="parts of readers' names, with commas")
    parser.add_argument("--keep", help="where the data is made and left")
    for name, value in more.items():
        parser.add_argument("--" + name, default=value)
    parser.add_argument("daemon")
    return parser.parse_args()


def read_rows(made, rows, read):
    failures = 0
    for row in rows:
        missing = missing_of(row)
        if missing is None:
            failures += read(made, row)
            continue
        print(f"{row.label:{WIDTH}} not installed ({missing})", flush=True)
        failures += NO_SKIPS and row.environment in ALWAYS
    return failures


def main(description, counted, default, rows, make, read, more=None):
    """Makes `counted` things and has each row read them: read(made, row) gives the number of failures. The status to exit with."""
    options = arguments(description, counted, default, more or {})
    lacking = "run packaging/install-test-readers" if python_of("zarr3") is None else \
        "/dev/fuse may not be opened" if not os.access("/dev/fuse", os.W_OK) else None
    if lacking:
        print("skipped: " + lacking)
        return 1 if NO_SKIPS else 77
    print(f"seed {options.seed}", flush=True)
    work = options.keep or tempfile.mkdtemp(prefix="zarrfs-readers-")
    os.makedirs(work, exist_ok=True)
    made = Made(os.path.realpath(options.daemon), work, os.path.join(work, "store"), os.path.join(work, "truth"))
    try:
        make(options, made.store, made.truth)
        wanted = options.readers.split(",")
        failures = read_rows(made, [row for row in rows if any(part in row.label for part in wanted)], read)
    finally:
        if not options.keep:
            shutil.rmtree(work)
    print(f"failures: {failures}")
    return 1 if failures else 0

