"""Whole arrays, by programs that know nothing of sharding through the mount, beside the same array unsharded on disk, and
beside programs that read the shards themselves."""
import itertools
import json
import os
import subprocess

from bench import HERE
from chunk_rows import MOUNTS
from measure import Table, alternate, drop_caches, median, ratio

SYSTEM = "/usr/bin/python3"


def reading(bench, python, program, path):
    """Seconds of one program for the array; the checksum is compared with all others'."""
    out = subprocess.run([python, os.path.join(HERE, "read_array.py"), program, path], check=True, stdout=subprocess.PIPE, text=True).stdout
    answer = json.loads(out)
    seen = bench.checksums.setdefault("array", answer["sum"])
    if seen != answer["sum"]:
        raise SystemExit(f"{program} reads other values from {path}")
    return answer["seconds"]


def make_sharded(bench, target):
    shape = ("128", "256", "512") if bench.short else ("256", "512", "1024")
    subprocess.run([bench.python("zarr3"), os.path.join(HERE, "make_array.py"), target, "sharded", *shape], check=True)


def arrays(bench):
    if not bench.python("zarr3") or not bench.python("zarr2"):
        bench.say("  no readers: packaging/install-test-readers installs them")
        return []
    store = bench.make("array.zarr", lambda path: make_sharded(bench, path))
    unshard = [bench.daemon, "unshard", store]
    native = bench.make("native.zarr", lambda path: subprocess.run([*unshard, path, "--format", "v2"], check=True))
    through = {"zarr-python 2": (bench.python("zarr2"), "zarr", "generic"), "GDAL": (SYSTEM, "gdal", "gdal"),
               "TensorStore": (bench.python("zarr3"), "tensorstore", "generic")}
    direct = {"zarr-python 3": "zarr", "zarrs": "zarrs", "TensorStore": "tensorstore"}

    def two(python, program, path):
        def once():
            drop_caches(path)
            cold = reading(bench, python, program, path)
            return {"cold": cold, "cached": reading(bench, python, program, path)}
        return once

    def mounted(python, program, mount):
        def once():
            mount.again()
            drop_caches(mount.store)
            seconds = {"cold": reading(bench, python, program, mount.point)}
            mount.again()
            seconds["first"] = reading(bench, python, program, mount.point)
            seconds["again"] = reading(bench, python, program, mount.point)
            mount.down()
            return seconds
        return once

    mounts = bench.by_transport(MOUNTS)
    sides = {}
    for name, (python, program, profile) in through.items():
        sides["native", name] = two(python, program, native)
        for mount, options in mounts.items():
            sides[mount, name] = mounted(python, program, bench.mount(store, f"{options},profile={profile}"))
    for name, program in direct.items():
        sides["direct", name] = two(bench.python("zarr3"), program, store)
    seconds = alternate(sides, bench.rounds)
    of = {(side, state): [one[state] for one in rounds] for side, rounds in seconds.items() for state in rounds[0]}

    beside_native = Table("Time through the mount / time from the native unsharded array:",
                          ["program", "mount", "native, cold", "cold", "native, cached", "first", "again"])
    for name in through:
        cold, cached = of[("native", name), "cold"], of[("native", name), "cached"]
        for mount in mounts:
            beside_native.add(name, mount, median(cold), ratio(of[(mount, name), "cold"], cold), median(cached),
                              ratio(of[(mount, name), "first"], cached), ratio(of[(mount, name), "again"], cached))
    beside_direct = Table("Time through an immutable mount / time of a program that reads the shards itself:",
                          ["through the mount", "mount", "reads the shards", "direct, cold", "cold", "direct, cached", "first", "again"])
    for name in through:
        for other, mount in itertools.product(direct, filter(lambda mount: mount.startswith("immutable"), mounts)):
            cold, cached = of[("direct", other), "cold"], of[("direct", other), "cached"]
            beside_direct.add(name, mount, other, median(cold), ratio(of[(mount, name), "cold"], cold), median(cached),
                              ratio(of[(mount, name), "first"], cached), ratio(of[(mount, name), "again"], cached))
    return [beside_native, beside_direct]
