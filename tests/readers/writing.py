#!/usr/bin/python3
"""The matrix of writing: random data sets, written by each program into a plain directory and through a mount, converted, and read by others.

    tests/readers/writing.py [--seed N] [--sets M] [--writers NAME,...] [--readers NAME,...] [--short] DAEMON

What a reader sees through the mount, through the next default mount, in the store itself, and after `shard`, `reshard` and `unshard`, has to be what it
sees of the plain directory: values, masks, types, dimensions and attributes. What it refuses of the plain directory is not compared.
Where it differs, the plain directory is read again, in other words and by new processes with other bytes in their memory: what an explicit profile says
otherwise (docs/readers.md; a writer that reads what it wrote may fail on that as well), and what a reader sees of the plain directory otherwise each time, or ends by a signal of,
is counted apart and printed; so is what a program writes otherwise into a plain directory each time (netCDF-C 4.10.1: what lies in memory behind the end of a text).
Status 1 where something differs. First planted losses are shown to the comparer, which has to find each.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import make_sets
import matrix
import plant_losses
import spell_out
from compare_sets import without_names
from matrix import DEBIAN
from plain_directory import IN_WORDS, OF_PROFILES, Plain, Worker

# Of a writer: what it is called, where it runs, the program of write_sets.py, kinds of data sets, orders, and what its plan has besides.
Writer = collections.namedtuple("Writer", "label environment program kinds orders plan", defaults=[{}])
# Of a reader: likewise; which formats it reads.
Reader = collections.namedtuple("Reader", "label environment program formats", defaults=[(2,)])
Finding = collections.namedtuple("Finding", "writer reader told command lines")

XARRAY_ORDERS = ["at once", "at once", "appended", "appended", "regions", "over", "by variable"]
NETCDF_ORDERS = ["at once", "at once", "appended", "regions"]
V2, V3 = {"formats": {"zarr_format": 2}}, {"formats": {"zarr_format": 3}}
OLD = {"unlimited": False, "strings": False}  # what netCDF-C 4.9.0 does not write as Zarr
FRESH = {"fresh": True}  # a writer that makes its directory, or removes what is there: a mount's root is in its way
WRITERS = [
    Writer("xarray 2023.01, zarr-python 2.13", DEBIAN, "xarray", ["cf"], XARRAY_ORDERS),
    Writer("xarray 2025.01, zarr-python 2.18", "zarr2", "xarray", ["cf"], XARRAY_ORDERS),
    Writer("xarray 2025.06, zarr-python 3, v2", "zarr3", "xarray", ["cf"], XARRAY_ORDERS, V2),
    Writer("xarray 2025.06, zarr-python 3, v3", "zarr3", "xarray", ["cf"], XARRAY_ORDERS, V3),
    Writer("netCDF-C 4.9.0, zarr", DEBIAN, "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "zarr,file", **OLD}),
    Writer("netCDF-C 4.9.0, nczarr", DEBIAN, "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "nczarr,file", **OLD}),
    Writer("netCDF-C 4.9.0, xarray", DEBIAN, "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "xarray,zarr,file", **OLD}),
    Writer("netCDF-C 4.10.1, zarr", "masks", "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "zarr,file"}),
    Writer("netCDF-C 4.10.1, nczarr", "masks", "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "nczarr,file"}),
    Writer("netCDF-C 4.10.1, xarray", "masks", "netcdf", ["cf"], NETCDF_ORDERS, {"mode": "xarray,zarr,file"}),
    Writer("nccopy 4.9.0, zarr", DEBIAN, "nccopy", ["cf"], ["at once"], {"mode": "zarr,file", **OLD}),
    Writer("nccopy 4.9.0, nczarr", DEBIAN, "nccopy", ["cf"], ["at once"], {"mode": "nczarr,file", **OLD}),
    Writer("GDAL 3.6, mdim", DEBIAN, "gdal", ["cf"], ["at once"], FRESH),
    Writer("gdal_translate 3.6", DEBIAN, "gdal_translate", ["cf"], ["at once"], FRESH),
    Writer("zarr-python 2.13", DEBIAN, "zarr", ["cf", "image", "image"], ["at once", "appended"]),
    Writer("zarr-python 2.18", "zarr2", "zarr", ["cf", "image", "image"], ["at once", "appended"]),
    Writer("zarr-python 3.1, v2", "zarr3", "zarr", ["cf", "image", "image"], ["at once", "appended"], V2),
    Writer("zarr-python 3.1, v3", "zarr3", "zarr", ["cf"], ["at once"], V3),
    Writer("ome-zarr 0.8", "ome", "ome_zarr", ["image"], ["at once"]),
    Writer("ngff-zarr 0.50", "images", "ngff_zarr", ["image"], ["at once"], FRESH),
]
READERS = [
    Reader("xarray 2023.01", DEBIAN, "xarray"),
    Reader("xarray 2025.01", "zarr2", "xarray"),
    Reader("xarray 2025.06", "zarr3", "xarray", (2, 3)),
    Reader("zarr-python 2.13", DEBIAN, "zarr"),
    Reader("zarr-python 2.18", "zarr2", "zarr"),
    Reader("zarr-python 3.1", "zarr3", "zarr", (2, 3)),
    Reader("netCDF-C 4.9.0", DEBIAN, "netcdf"),
    Reader("netCDF-C 4.10.1", "masks", "netcdf"),
    Reader("ncdump 4.9.0", DEBIAN, "ncdump"),
    Reader("cdo 2.1.1", DEBIAN, "cdo"),
    Reader("nco 5.1.4", DEBIAN, "nco"),
    Reader("GDAL 3.6", DEBIAN, "gdal"),
    Reader("GDAL 3.6, mdim", DEBIAN, "gdal_mdim"),
    Reader("rasterio 1.4", "masks", "rasterio"),
    Reader("TensorStore", "zarr3", "tensorstore", (2, 3)),
    Reader("zarrita.js 0.5", "zarrita", "zarrita"),
    Reader("zarrita.js 0.5, v3", "zarrita", "zarrita3", (3,)),
    Reader("zarr.js 0.6", "zarrjs", "zarrjs"),
    Reader("jzarr 0.4", "jzarr", "jzarr"),
    Reader("ome-zarr 0.8", "ome", "ome_zarr"),
    Reader("ngff-zarr 0.50", "images", "ngff_zarr"),
]
DECODES_NOTHING = ("netcdf", "ncdump", "cdo", "nco")  # netCDF-C without its filters gives the bytes as they are, without an error
TAKES_FILL_FOR_MARK = ("gdal", "gdal_mdim", "rasterio")
STORE_READER = next(reader for reader in READERS if reader.label == "xarray 2025.06")
PROFILES = ["", "", "generic", "xarray", "ome", "gdal", "netcdf"]
# What a mount with an explicit profile may refuse (docs/semantics.md); any other refusal is a difference.
REFUSALS = ["it would be shown as", "cannot be made in this mount"]
# What every mount refuses, though a directory takes it: docs/writing.md says why.
NEVER_KEPT = ["netCDF-C 4.9.0 writes characters as"]
NOT_OF_IMAGES = ["netcdf"]  # it shows metadata of images as text, for netCDF-C reads no data set that has them
OWN_NAMES = ("_zarrfs", "_nczarr")  # what Zarr v3 and its readers have no words for, in the store itself
EXAMPLES = 2  # of a kind of difference
NOT_PUBLISHED = 3  # status of umount
READERS_OF_A_SET = 12


def kind_of(line, names):
    """What a difference is about: its line without the names of variables and without values."""
    where, _, what = line.partition(": ")
    if not where.startswith("/"):
        return line[:60]
    where = "/".join("*" if part in names else "0" if part.isdigit() else part for part in where.split("/"))
    return f"{where.replace('//', '/')} {what.split(',')[0] if what.startswith(('gone', 'came')) else 'differs'}" if "/lines/" not in where else "/lines"


class World:
    """What a run has: the daemon, a directory, the workers, and the figures."""

    def __init__(self, daemon, work):
        self.daemon, self.work, self.log = daemon, work, os.path.join(work, "log")
        self.workers, self.threads = {}, concurrent.futures.ThreadPoolExecutor(8)
        self.compared, self.written = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
        self.findings, self.notes, self.apart = collections.defaultdict(list), collections.Counter(), collections.defaultdict(list)

    def has(self, row):
        return matrix.python_of(row.environment) is not None and matrix.missing_of(matrix.Row(row.label, row.environment, row.program, "")) is None

    def ask(self, environment, request):
        place = matrix.python_of(environment)
        return self.workers.setdefault(place, Worker(environment)).ask(request)

    def run(self, *command):
        done = subprocess.run([self.daemon, *command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"zarrfs {' '.join(command)}: status {done.returncode}: {done.stderr.strip()[:300]}")
        return done

    @contextlib.contextmanager
    def mounted(self, store, options, lost=None):
        """A mount of `store`; lost(text) is told what could not be published when it ends."""
        mountpoint = tempfile.mkdtemp(dir=self.work, prefix="mnt")
        given = ",".join(filter(None, [options, f"log={self.log}"]))
        self.run("mount", store, mountpoint, "-o", given)
        try:
            yield mountpoint
        finally:
            done = subprocess.run([self.daemon, "umount", mountpoint], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode == NOT_PUBLISHED and lost:
            lost(done.stderr.strip())
        elif done.returncode:
            raise RuntimeError(f"zarrfs umount: status {done.returncode}: {done.stderr.strip()[:300]}")

    def end(self):
        for worker in self.workers.values():
            worker.end()
        self.threads.shutdown()


def with_marks(found, wanted, arrays):
    """What GDAL finds with the marks of `arrays`, whose axes have no names: it takes each fill value of a plain directory for nodata. Written without
    profile=gdal it is a value (docs/semantics.md), which a default mount of CF data shows as none. Cells that it masked may have their values then."""
    found = dict(found)
    for name in {name for array in arrays for name in (array, "/" + array)} & set(found) & set(wanted):
        if found[name].get("nodata") in ("None", "nan"):
            data, cells = found[name]["data"], wanted[name]["data"]["values"]
            values = ["_" if gone == "_" else value for gone, value in zip(cells, data["values"])] if len(cells) == len(data["values"]) else data["values"]
            found[name] = {**found[name], "nodata": wanted[name]["nodata"], "data": {**data, "values": values}}
    return found


def without_axes(plain, arrays):
    """Arrays of Zarr v2 that tell no names of axes."""
    return [array for array in arrays if "_ARRAY_DIMENSIONS" not in spell_out.load(os.path.join(plain, array, ".zattrs"))]


def reading_plan(plain, data, form, mode):
    """What readers are told of a data set besides its place: its arrays, those that are rasters, its groups."""
    document, arrays, rasters, encoded = "zarr.json" if form == 3 else ".zarray", [], [], False
    for folder, _, names in os.walk(plain):
        if document in names:
            with open(os.path.join(folder, document)) as text:
                described = json.load(text)
            if "shape" in described:
                arrays.append(os.path.relpath(folder, plain))
                encoded = encoded or bool(described.get("compressor") or described.get("filters"))
                if len(described["shape"]) >= 2 and os.sep not in arrays[-1]:
                    rasters.append(arrays[-1])
    calendars = [v["attributes"]["calendar"][1] for v in data.get("variables", []) if v["kind"] == "times"]
    return {"arrays": sorted(arrays), "rasters": sorted(rasters), "groups": sorted(data.get("groups", {})), "mode": mode, "encoded": encoded,
            "dates": all(one in ("standard", "proleptic_gregorian") for one in calendars)}


class Set:
    """One data set: what the seed draws, the plain directory, and what every reader sees of it."""

    def __init__(self, world, seed, writer, readers):
        self.world, self.seed, self.writer = world, seed, writer
        rng = random.Random(f"{seed} {writer.label}")
        self.data = {"cf": make_sets.cf, "image": make_sets.image}[rng.choice(writer.kinds)](rng)
        self.format = 3 if writer.plan.get("formats") == V3["formats"] else 2
        self.profile = rng.choice(PROFILES) if self.format == 2 else ""
        if self.data["kind"] == "image" and self.profile in NOT_OF_IMAGES:
            self.profile = ""
        self.full, self.copied = rng.choice([None, None, "cf", "image"]), rng.random() < 0.2
        self.plan = self.make_plan(rng)
        if not self.plan["unlimited"]:
            self.data["unlimited"] = []
        self.inside = "new" if self.full or self.plan["order"] == "over" or self.plan.get("fresh") or rng.random() < 0.5 else "."
        drawn = rng.sample(READERS, len(READERS))
        self.readers = [reader for reader in drawn if reader.program == writer.program and reader.environment == writer.environment]
        self.readers += [STORE_READER] * (STORE_READER not in self.readers)
        self.readers += [reader for reader in drawn if reader not in self.readers][:READERS_OF_A_SET]
        self.readers = [reader for reader in self.readers if reader in readers]
        self.converted = rng.random() < 0.5
        self.rng, self.plain_as = rng, None
        self.reads = {"arrays": []}
        self.top = tempfile.mkdtemp(dir=world.work, prefix="set")
        # GDAL calls an array as its directory.
        self.plain = os.path.join(self.top, "plain", self.inside) if writer.plan.get("fresh") else os.path.join(self.top, "plain")
        os.makedirs(os.path.dirname(self.plain), exist_ok=True)

    def make_plan(self, rng):
        length = self.data["dims"]["time"] if self.data["kind"] == "cf" else 2
        plan = {"order": rng.choice(self.writer.orders), "cut": rng.randrange(1, length), "consolidated": rng.random() < 0.5, "chunks": rng.random() < 0.5, "compress": rng.random() < 0.5,
                "drop": rng.random() < 0.5, "zlib": rng.random() < 0.4, "fill": rng.choice([0, 0, 7, None]), "mode": "zarr,file", "formats": {}, "changes": [],
                "unlimited": True, "strings": rng.random() < 0.5}
        if rng.random() < 0.3:
            nodes = [""] + [v["name"] for v in self.data.get("variables", []) if v["kind"] not in ("times", "words", "letters")]
            for _ in range(rng.randrange(1, 4)):
                plan["changes"].append({"do": rng.choice(["set", "set", "remove"]), "node": rng.choice(nodes), "name": rng.choice(["units", "comment", "neu"]),
                                        "value": ["text", rng.choice(make_sets.TEXTS)]})
        return {**plan, **self.writer.plan}

    def told(self):
        return (f"{self.writer.label}, profile={self.profile or '(none)'}, {'full store of ' + self.full if self.full else 'empty store'}{'' if self.inside == '.' else ', in a directory'}, "
                f"{'copied' if self.copied else self.plan['order']}{', attributes changed' if self.plan['changes'] else ''}")

    def repeat(self, reader):
        return f"tests/readers/writing.py --seed {self.seed} --sets 1 --writers '{self.writer.label}' --readers '{reader}' DAEMON"

    def write(self, path):
        return self.world.ask(self.writer.environment, self.order(path))

    def order(self, path):
        return {"call": "write", "program": self.writer.program, "data": self.data, "path": path, "plan": self.plan}

    def keep_names(self, path):
        """GDAL writes the attributes of an array anew when it changes them, and drops the names of axes without coordinates. A mount keeps them (docs/semantics.md)."""
        spell_out.with_names_that_stay(path, os.path.join(self.top, "store", self.inside), [change["node"] for change in self.plan["changes"]])

    def write_again(self, filling, path):
        worker = Worker(matrix.python_of(self.writer.environment), MALLOC_PERTURB_=filling)
        worker.ask(self.order(path))
        worker.end()

    def copy(self, path):
        files = sorted(os.path.relpath(os.path.join(folder, name), self.plain) for folder, _, names in os.walk(self.plain) for name in names)
        self.rng.shuffle(files)
        return self.world.ask(DEBIAN, {"call": "write", "program": "copy", "data": None, "path": path, "plan": {"files": files, "source": self.plain}})

    def compare(self, place, path, form, only=None):
        """What the readers see at `path`, which holds Zarr of version `form`."""
        readers = [reader for reader in self.readers if form in reader.formats and reader.label in self.plain_as.seen and (only is None or reader in only)]
        if form != self.format:  # to other readers the formats themselves differ
            readers = [reader for reader in readers if reader.program == "xarray"]
        in_store = place.endswith("store itself")
        for reader, found in zip(readers, self.plain_as.read(readers, path, form)):
            if place.endswith("default mount") and "answer" in found and self.format == 2 and reader.program in TAKES_FILL_FOR_MARK:
                found["answer"] = with_marks(found["answer"], self.plain_as.seen[reader.label]["answer"], self.unnamed)
            if in_store and "answer" in found:
                found["answer"] = without_names(found["answer"], OWN_NAMES)
            counts = self.world.compared[self.writer.label, reader.label]
            counts["comparisons"] += 1
            detail, why = self.plain_as.different(reader, found, self.profile if place.startswith("same mount") else "", in_store)
            if detail and why:
                counts[why] += 1
                self.world.apart[why].append(f"{reader.label}: {place}: {self.repeat(reader.label)}: {detail[0][:200]}")
            elif detail:
                counts["differences"] += 1
                self.find(place, reader.label, detail)

    def find(self, place, reader, detail):
        """Differences of one comparison. Those that are of one kind are told together."""
        names = {part for array in self.reads["arrays"] for part in array.split("/")}
        for kind in sorted({kind_of(line, names) for line in detail}):
            lines = [line for line in detail if kind_of(line, names) == kind]
            if (place, kind) not in self.world.findings:
                print(f"differs: {place} | {kind}: {self.repeat(reader)}", flush=True)
            self.world.findings[place, kind].append(Finding(self.writer.label, reader, self.told(), self.repeat(reader), lines))

    def look_at_plain(self):
        """Readers that read the plain directory, and what they see."""
        self.reads = reading_plan(self.plain, self.data, self.format, self.plan["mode"])
        beside = spell_out.dimensions_of_stored(os.path.join(self.world.work, "full-" + self.full)) if self.full else []
        self.plain_as = Plain(self.world, self.plain, self.format, self.reads, beside, None if self.copied else self.write_again,
                              self.keep_names if self.writer.program == "gdal" and self.plan["changes"] else None)
        readers = [reader for reader in self.readers if self.format in reader.formats and not (self.reads["encoded"] and reader.program in DECODES_NOTHING)]
        if self.data.get("separator") == ".":  # it looks for chunks behind slashes only, and takes what it does not find for black
            readers = [reader for reader in readers if reader.program != "ome_zarr"]
        for reader, answer in zip(readers, self.plain_as.read(readers, self.plain, self.format)):
            if "error" in answer:
                self.world.compared[self.writer.label, reader.label]["refused of plain"] += 1
            else:
                self.plain_as.seen[reader.label] = answer
        self.unnamed = without_axes(self.plain, self.reads["arrays"])

    def run(self):
        answer = self.write(self.plain)
        counts = self.world.written[self.writer.label]
        counts["sets"] += 1
        if "error" in answer:
            counts["refused of plain"] += 1
            self.world.notes[f"{self.writer.label}: not written into a plain directory: {re.sub(r'/[^ ]*set[^ ]*', 'PATH', answer['error'])[:150]}"] += 1
            return
        self.look_at_plain()
        self.through_mount(counts)
        if self.converted:
            self.convert()

    def through_mount(self, counts):
        store = os.path.join(self.top, "store")
        if self.full:
            shutil.copytree(os.path.join(self.world.work, "full-" + self.full), store)
        else:
            os.mkdir(store)
        options = "view=v3" if self.format == 3 else f"profile={self.profile}" if self.profile else ""
        begins = os.path.getsize(self.world.log) if os.path.exists(self.world.log) else 0
        with self.world.mounted(store, ",".join(filter(None, ["rw", options])), self.lost) as mountpoint:
            path = os.path.normpath(os.path.join(mountpoint, self.inside))
            answer = self.copy(path) if self.copied else self.write(path)
            if "error" in answer:
                self.refused(counts, answer["error"], begins)
                return
            self.compare(f"same mount ({options or 'default'})", path, self.format)
        counts["written"] += 1
        with self.world.mounted(store, "ro") as mountpoint:
            self.compare("next default mount", os.path.normpath(os.path.join(mountpoint, self.inside)), 2)
        self.compare("store itself", os.path.normpath(os.path.join(store, self.inside)), 3, [STORE_READER])

    def lost(self, text):
        """What a mount could not publish; not chunks that came before anything told that no mount keeps their array: the document that tells it is refused."""
        lines = text.splitlines()
        never = [name for line in lines if any(one in line for one in NEVER_KEPT) for name in re.findall(r"and (/.*)/\.zarray in it cannot be kept", line)]
        chunks = [line.strip() for line in lines if re.match(r"\s*/.* chunk [0-9.]+: ", line)]
        if chunks and all(any(line.startswith(f"{name} chunk ") for name in never) for line in chunks):
            return
        self.failed("writing", "(umount)", text.splitlines())

    def failed(self, place, who, detail):
        self.world.written[self.writer.label]["differences"] += 1
        self.find(place, who, detail)

    def reads_no_words(self, error):
        """Whether the program, which reads what it writes, fails likewise on the plain directory in the words of the profile."""
        own = [reader for reader in READERS if (reader.program, reader.environment) == (self.writer.program, self.writer.environment)]
        if self.profile not in OF_PROFILES or not own or own[0].label not in self.plain_as.seen:
            return False
        answer = self.plain_as.in_words(self.profile, OF_PROFILES[self.profile], own[0])
        return answer.get("error", "").split(":")[0] == error.split(":")[0]

    def refused(self, counts, error, begins):
        with open(self.world.log) as log:
            log.seek(begins)
            lines = log.read()
        known = NEVER_KEPT + (REFUSALS if self.profile else [])
        reason = next((line for line in lines.splitlines() if any(one in line for one in known)), None)
        if reason is None and self.reads_no_words(error):
            counts["refused by the mount"] += 1
            self.world.apart[IN_WORDS].append(f"{self.writer.label}: writing: {self.repeat('')}: fails on the plain directory in these words, too: {error[:200]}")
        elif reason is None:
            self.failed("writing", "(the writer)", ["refused, though not of a plain directory", error, *lines.splitlines()[-2:]])
        else:
            counts["refused by the mount"] += 1
            self.world.notes[f"{self.writer.label}, profile={self.profile or '(none)'}: refused by the mount: {reason[-160:]}"] += 1

    def convert(self):
        sharded, other, back = (os.path.join(self.top, name) for name in ("sharded", "resharded", "unsharded"))
        for place, command in (("shard", ["shard", self.plain, sharded]), ("reshard", ["reshard", "--shard-chunks", "2", sharded, other])):
            done = self.world.run(*command)
            if done.returncode:
                self.failed(place, "(zarrfs)", [done.stdout.strip()[-300:] + done.stderr.strip()[-300:]])
                return
            self.compare(f"{place}, store itself", command[-1], 3, [STORE_READER])
            with self.world.mounted(command[-1], "ro") as mountpoint:
                self.compare(f"{place}, default mount", mountpoint, 2)
        done = self.world.run("unshard", "--format", f"v{self.format}", other, back)
        if done.returncode:
            self.failed("unshard", "(zarrfs)", [done.stdout.strip()[-300:] + done.stderr.strip()[-300:]])
            return
        self.compare("unshard", back, self.format)

    def end(self, keep):
        if not keep:
            if self.plain_as:
                self.plain_as.end()
            shutil.rmtree(self.top, ignore_errors=True)


class Planted:
    """The check of the comparer before a run: a copy of a store is as the store, and a copy that lost something is not."""

    def __init__(self, world):
        self.world, self.top = world, tempfile.mkdtemp(dir=world.work, prefix="planted")
        self.plains, writers = {}, {writer.label: writer for writer in WRITERS}
        self.readers = {reader.label: reader for reader in READERS}
        for name, (label, data, more) in plant_losses.stores().items():
            writer, path = writers[label], os.path.join(self.top, name)
            plan = {"order": "at once", "cut": 2, "chunks": False, "compress": False, "zlib": False, "changes": [], "formats": {}, "mode": "zarr,file", **writer.plan, **more}
            answer = world.ask(writer.environment, {"call": "write", "program": writer.program, "data": data, "path": path, "plan": plan})
            if "error" in answer:
                raise RuntimeError(f"the store {name} of the planted losses: {answer['error']}")
            self.plains[name] = Plain(world, path, 2, reading_plan(path, data, 2, plan["mode"]))

    def is_told(self, loss, plant):
        """Whether a difference is found, and counted."""
        reader, plain = self.readers[loss.reader], self.plains[loss.store]
        if loss.reader not in plain.seen:
            plain.seen[loss.reader] = plain.read([reader], plain.path, 2)[0]
        if "error" in plain.seen[loss.reader]:
            raise RuntimeError(f"{loss.reader} does not read the store {loss.store} of the planted losses: {plain.seen[loss.reader]['error']}")
        copy = tempfile.mkdtemp(dir=self.top) + "/copy"
        shutil.copytree(plain.path, copy)
        plant(copy)
        lines, why = plain.different(reader, plain.read([reader], copy, 2)[0])
        return bool(lines) and not why

    def missed(self):
        """Losses that the comparer does not find, and readers to which a copy is another store."""
        wrong = [f"not found: {loss.what}, by {loss.reader}" for loss in plant_losses.LOSSES if not self.is_told(loss, loss.plant)]
        unchanged = {(loss.store, loss.reader): loss for loss in plant_losses.LOSSES}
        return wrong + [f"a copy of {store} differs, to {reader}" for (store, reader), loss in unchanged.items() if self.is_told(loss, lambda path: None)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--writers", default="", help="parts of writers' names, with commas")
    parser.add_argument("--readers", default="", help="parts of readers' names, with commas")
    parser.add_argument("--short", action="store_true", help="only environments that packaging/install-test-readers makes without `all`")
    parser.add_argument("--keep", help="where the data is made and left")
    parser.add_argument("daemon")
    return parser.parse_args()


def chosen(world, rows, asked, short):
    """The rows asked for that are installed. A name that is asked for is all of its row, or a part between no commas."""
    found = []
    for row in rows:
        if asked and row.label != asked and not any(part in row.label for part in asked.split(",")):
            continue
        if short and row.environment not in matrix.ALWAYS:
            continue
        if world.has(row):
            found.append(row)
        else:
            print(f"not installed: {row.label}", flush=True)
    exact = [row for row in found if row.label == asked]
    return exact or found


def show(world):
    print(f"\n{'writer':{matrix.WIDTH}} {'sets':>5} {'written':>8} {'refused of plain':>17} {'refused by mount':>17} {'comparisons':>12} {'differences':>12}")
    for label, counts in world.written.items():
        rows = [row for (writer, _), row in world.compared.items() if writer == label]
        different = sum(row["differences"] for row in rows) + counts["differences"]
        print(f"{label:{matrix.WIDTH}} {counts['sets']:5} {counts['written']:8} {counts['refused of plain']:17} {counts['refused by the mount']:17} "
              f"{sum(row['comparisons'] for row in rows):12} {different:12}")
    print(f"\n{'reader':{matrix.WIDTH}} {'comparisons':>12} {'differences':>12} {'refused of plain':>17}")
    for label in [reader.label for reader in READERS]:
        rows = [row for (_, reader), row in world.compared.items() if reader == label]
        if rows:
            print(f"{label:{matrix.WIDTH}} {sum(row['comparisons'] for row in rows):12} {sum(row['differences'] for row in rows):12} {sum(row['refused of plain'] for row in rows):17}")
    for why, found in world.apart.items():
        print(f"\napart: {len(found)} {why}, as")
        for one in found[:EXAMPLES]:
            print(f"    {one}")
    for note, times in sorted(world.notes.items()):
        print(f"note: {times} x {note}")
    for (place, kind), found in sorted(world.findings.items(), key=lambda item: -len(item[1])):
        writers, readers = ({getattr(one, name) for one in found} for name in ("writer", "reader"))
        print(f"\nDIFFERS {len(found)} x {place} | {kind}\n    written by: {'; '.join(sorted(writers))}\n    read by: {'; '.join(sorted(readers))}")
        for one in found[:EXAMPLES]:
            print(f"    {one.told}\n    {one.command}")
            for line in one.lines[:3]:
                print(f"        {line[:300]}")
    failures = sum(row["differences"] for row in [*world.compared.values(), *world.written.values()])
    comparisons = sum(row["comparisons"] for row in world.compared.values())
    apart = "".join(f", {len(found)} {why}" for why, found in world.apart.items())
    print(f"\nsets {sum(counts['sets'] for counts in world.written.values())}, comparisons {comparisons}, differences {failures}{'; counted apart' if apart else ''}{apart}")
    return failures


def write_and_read(one, keep):
    try:
        one.run()
    except RuntimeError as error:  # of zarrfs itself
        one.failed("running", "(zarrfs)", [str(error)])
    finally:
        one.end(keep)


def main():
    options = arguments()
    lacking = "run packaging/install-test-readers" if matrix.python_of("zarr3") is None or matrix.python_of("zarr2") is None else \
        "/dev/fuse may not be opened" if not os.access("/dev/fuse", os.W_OK) else None
    if lacking:
        print("skipped: " + lacking)
        return 1 if matrix.NO_SKIPS else 77
    print(f"seed {options.seed}", flush=True)
    work = options.keep or tempfile.mkdtemp(prefix="zarrfs-writing-")
    os.makedirs(work, exist_ok=True)
    world = World(os.path.realpath(options.daemon), work)
    try:
        writers, readers = chosen(world, WRITERS, options.writers, options.short), chosen(world, READERS, options.readers, options.short)
        for environment in dict.fromkeys(row.environment for row in writers + readers):
            print(f"{environment}: {world.ask(environment, {'call': 'versions'}).get('answer')}", flush=True)
        for kind in ("cf", "image"):
            subprocess.run([matrix.python_of("zarr3"), *matrix.script("make_full.py", kind, os.path.join(work, "full-" + kind))], check=True)
        missed = Planted(world).missed()
        print(f"planted losses: {len(plant_losses.LOSSES)}, not found: {len(missed)}", *missed, sep="\n    ", flush=True)
        try:
            for number, writer in zip(range(options.sets), itertools.cycle(writers)):
                write_and_read(Set(world, options.seed + number, writer, readers), options.keep)
        except KeyboardInterrupt:
            print("interrupted: what was seen until then")
        return 1 if show(world) + len(missed) else 0
    finally:
        world.end()
        if not options.keep:
            shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
