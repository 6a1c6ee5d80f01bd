"""Names: `find` and `ls -l` over many chunks, and stats of them."""
import os
import random
import subprocess
import time

from data import Grid
from measure import Table, alternate, drop_caches, median, ratio

MILLION = Grid((2, 2, 1), (64, 64, 64), (1, 1, 1))  # 1,048,576 chunks of one byte
GRID = Grid((2, 2, 1), (32, 32, 16), (1, 1, 1))     # 65,536
SMALL = Grid((2, 2, 1), (16, 16, 16), (1, 1, 1))    # 16,384
SEPARATORS = {"flat": ".", "nested": "/"}


def write_empty(directory, separator, grid):
    """Empty files: a native directory is no slower for them than for chunks."""
    names = grid.names(separator)
    for parent in {os.path.dirname(name) for name in names}:
        os.makedirs(os.path.join(directory, parent), exist_ok=True)
    top = os.open(directory, os.O_RDONLY)
    for name in names:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=top))
    os.close(top)


def elapsed(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def native(bench, keys, grid):
    return bench.make(f"native-{keys}-{grid.count}", lambda path: write_empty(path, SEPARATORS[keys], grid))


def store_of(bench, grid):
    return bench.make(f"store-{grid.count}", grid.write_sharded)


def mount_of(bench, keys, grid):
    return bench.mount(store_of(bench, grid), f"ro,immutable,separator={SEPARATORS[keys]}")


COMMANDS = {
    "find -type f": lambda point: ["find", point, "-type", "f"],
    "find -type f -size +9k": lambda point: ["find", point, "-type", "f", "-size", "+9k"],
    "ls -lRU": lambda point: ["ls", "-lRU", point],
}


def listings(bench):
    return list_all(bench, SMALL if bench.short else GRID)


def million(bench):
    """As `listings`, with 16 times as many names: takes long."""
    tables = list_all(bench, SMALL if bench.short else MILLION)
    bench.forget(*(name for name in bench.made if name.endswith(f"-{MILLION.count}")))
    return tables


def list_all(bench, grid):
    table = Table(f"{grid.count:,} chunk files:", ["keys", "command", "native, cold", "mount / native, cold", "native, again",
                                                  "mount / native, again"])
    for keys in SEPARATORS:
        directory, mount = native(bench, keys, grid), mount_of(bench, keys, grid)
        for name, command in COMMANDS.items():
            bench.say(f"  {keys}, {name}")

            def through_mount(command=command, mount=mount):
                mount.again()
                drop_caches(mount.store)
                seconds = {"cold": elapsed(command(mount.point))}
                seconds["again"] = elapsed(command(mount.point))
                mount.down()
                return seconds

            def directly(command=command, directory=directory):
                drop_caches(directory)
                seconds = {"cold": elapsed(command(directory))}
                seconds["again"] = elapsed(command(directory))
                return seconds

            seconds = alternate({"native": directly, "mount": through_mount}, bench.rounds)
            cells = []
            for state in ("cold", "again"):
                base = [one[state] for one in seconds["native"]]
                cells += [median(base), ratio([one[state] for one in seconds["mount"]], base)]
            table.add(keys, name, *cells)
    return [table]


def stats(bench):
    """Stats of random names, as readers ask whether a chunk exists."""
    grid = SMALL if bench.short else GRID
    table = Table(f"stat of random names among {grid.count:,}:",
                  ["keys", "threads", "native, cold", "mount / native, cold", "native, cached", "first / native", "again / native"])
    for keys, separator in SEPARATORS.items():
        directory, mount = native(bench, keys, grid), mount_of(bench, keys, grid)
        names = random.Random(3).sample(grid.names(separator), min(grid.count, 100000))
        listed = bench.names("stats-" + keys, names)
        for threads in (1, 4):
            bench.say(f"  {keys}, {threads} threads")

            def through_mount(mount=mount, listed=listed, threads=threads):
                mount.again()
                drop_caches(mount.store)
                seconds = {"cold": bench.read(mount.point, listed, threads, "stat")}
                mount.again()
                seconds["first"] = bench.read(mount.point, listed, threads, "stat")
                seconds["again"] = bench.read(mount.point, listed, threads, "stat")
                mount.down()
                return seconds

            def directly(directory=directory, listed=listed, threads=threads):
                drop_caches(directory)
                seconds = {"cold": bench.read(directory, listed, threads, "stat")}
                seconds["cached"] = bench.read(directory, listed, threads, "stat")
                return seconds

            seconds = alternate({"native": directly, "mount": through_mount}, bench.rounds)
            cold, cached = ([one[state] for one in seconds["native"]] for state in ("cold", "cached"))
            of_mount = {state: [one[state] for one in seconds["mount"]] for state in ("cold", "first", "again")}
            table.add(keys, threads, median(cold, len(names)), ratio(of_mount["cold"], cold), median(cached, len(names)),
                      ratio(of_mount["first"], cached), ratio(of_mount["again"], cached))
    return [table]
