"""Chunks read one by one: cold, with the shard in the page cache, and again; beside the same chunks as files."""
import random

from data import Grid
from measure import Table, alternate, drop_caches, median, ratio

# Shards along each axis, chunks of a shard along each axis, elements of a chunk: 128 MiB of each size (4 KiB chunks: 16 MiB).
GRIDS = {
    "4 KiB": Grid((1, 1, 1), (16, 16, 16), (16, 16, 16)),
    "64 KiB": Grid((2, 2, 1), (8, 8, 8), (32, 32, 64)),
    "1 MiB": Grid((2, 1, 1), (4, 4, 4), (64, 128, 128)),
    "8 MiB": Grid((2, 1, 1), (2, 2, 2), (128, 256, 256)),
}
SMALL = {
    "4 KiB": Grid((1, 1, 1), (16, 16, 8), (16, 16, 16)),
    "64 KiB": Grid((2, 1, 1), (8, 8, 8), (32, 32, 64)),
}
MOUNTS = {"immutable": "ro,immutable", "default": "ro"}


def walks(bench, grid, key):
    names = grid.names()
    in_order = bench.names(key + "-in-order", names)
    random.Random(5).shuffle(names)
    return {"in order": in_order, "random": bench.names(key + "-random", names)}


def native_passes(bench, native, names, readers):
    def once():
        drop_caches(native)
        cold = bench.read(native, names, readers)
        return {"cold": cold, "cached": bench.read(native, names, readers)}
    return once


def mount_passes(bench, mount, names, readers):
    def once():
        mount.again()
        drop_caches(mount.store)
        cold = bench.read(mount.point, names, readers)
        mount.again()
        first = bench.read(mount.point, names, readers)
        again = bench.read(mount.point, names, readers)
        mount.down()
        return {"cold": cold, "first": first, "again": again}
    return once


def pick(seconds, side, state):
    return [one[state] for one in seconds[side]]


def chunks(bench):
    mounts = bench.by_transport(MOUNTS)
    header = ["chunk", "walk", "readers", "native, a chunk", *(f"mount ({name}) / native" for name in mounts)]
    tables = {"cold": Table("Everything cold:", header),
              "first": Table("Native files and shards in the page cache, never read through the mount:", header),
              "again": Table("Second read:", header)}
    for size, grid in (SMALL if bench.short else GRIDS).items():
        key = size.replace(" ", "")
        native = bench.make("native-" + key, grid.write_native)
        store = bench.make("store-" + key, grid.write_sharded)
        for walk, names in walks(bench, grid, key).items():
            for readers in (1, 4) if bench.short else (1, 2, 4, 8):
                bench.say(f"  {size}, {walk}, {readers} readers")
                sides = {"native": native_passes(bench, native, names, readers)}
                for name, options in mounts.items():
                    sides[name] = mount_passes(bench, bench.mount(store, options), names, readers)
                seconds = alternate(sides, bench.rounds)
                for state, table in tables.items():
                    base = pick(seconds, "native", "cold" if state == "cold" else "cached")
                    table.add(size, walk, readers, median(base, grid.count),
                              *(ratio(pick(seconds, name, state), base) for name in mounts))
        bench.forget("native-" + key, "store-" + key)
    return list(tables.values())


def orders(bench):
    """Cold reads where the chunks of a shard lie in other orders than they are read in."""
    size = "64 KiB"
    grid = (SMALL if bench.short else GRIDS)[size]
    native = bench.make("native-orders", grid.write_native)
    stores = {order: bench.make("store-" + order, lambda path, order=order: grid.write_sharded(path, order))
              for order in ("C", "Morton", "random")}
    table = Table(f"{size} chunks, everything cold, mount (immutable) / native:",
                  ["walk", "readers", "native, a chunk", *(f"{order} order in the shard" for order in stores), "C order, read_ahead=0"])
    for walk, names in walks(bench, grid, "orders").items():
        for readers in (1, 4):
            bench.say(f"  {walk}, {readers} readers")

            def cold(mount, names=names, readers=readers):
                def once():
                    mount.again()
                    drop_caches(mount.store)
                    seconds = bench.read(mount.point, names, readers)
                    mount.down()
                    return seconds
                return once

            def cold_native(names=names, readers=readers):
                drop_caches(native)
                return bench.read(native, names, readers)

            sides = {"native": cold_native}
            for order, store in stores.items():
                sides[order] = cold(bench.mount(store))
            sides["none"] = cold(bench.mount(stores["C"], "ro,immutable,read_ahead=0"))
            seconds = alternate(sides, bench.rounds)
            base = seconds.pop("native")
            table.add(walk, readers, median(base, grid.count), *(ratio(one, base) for one in seconds.values()))
    bench.forget("native-orders", *("store-" + order for order in stores))
    return [table]
