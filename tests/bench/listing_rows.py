"""Names: what lists many chunks, as `find`, `ls -l`, `du` and `tar` do, and stats of them."""
import random
import subprocess
import time

from data import Grid
from measure import Table, alternate, drop_caches, median, ratio

MILLION = Grid((2, 2, 1), (64, 64, 64), (1, 1, 1))  # 1,048,576 chunks of one byte
GRID = Grid((2, 2, 1), (32, 32, 16), (1, 1, 1))     # 65,536
SMALL = Grid((2, 2, 1), (16, 16, 16), (1, 1, 1))    # 16,384
FEW = Grid((1, 1, 1), (16, 16, 16), (1, 1, 1))      # 4,096
SEPARATORS = {"flat": ".", "nested": "/"}


def elapsed(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def native(bench, keys, grid):
    return bench.make(f"native-{keys}-{grid.count}", lambda path: grid.write_native(path, SEPARATORS[keys]))


def store_of(bench, grid):
    return bench.make(f"store-{grid.count}", grid.write_sharded)


def mounts_of(bench, keys, grid, mounts):
    """{name: mount} of {name: options}, by each transport."""
    return {name: bench.mount(store_of(bench, grid), f"{options},separator={SEPARATORS[keys]}")
            for name, options in bench.by_transport(mounts).items()}


IMMUTABLE = {"mount": "ro,immutable"}
COMMANDS = {
    "find -type f": lambda point: ["find", point, "-type", "f"],
    "find -type f -size +9k": lambda point: ["find", point, "-type", "f", "-size", "+9k"],
    "ls -lRU": lambda point: ["ls", "-lRU", point],
    "du -s --apparent-size": lambda point: ["du", "-s", "--apparent-size", point],
    # Not straight to /dev/null: tar reads no files then.
    "tar c": lambda point: ["bash", "-o", "pipefail", "-c", 'tar cf - -C "$1" . | cat', "bash", point],
}


def listings(bench):
    return list_all(bench, SMALL if bench.short else GRID)


def million(bench):
    """As `listings`, with 16 times as many names: takes long."""
    return list_all(bench, SMALL if bench.short else MILLION)


def list_all(bench, grid):
    names = list(bench.by_transport(IMMUTABLE))
    table = Table(f"{grid.count:,} chunk files:", ["keys", "command", "native, cold", *(f"{name} / native, cold" for name in names),
                                                  "native, again", *(f"{name} / native, again" for name in names)])
    for keys in SEPARATORS:
        directory, mounts = native(bench, keys, grid), mounts_of(bench, keys, grid, IMMUTABLE)
        for what, command in COMMANDS.items():
            bench.say(f"  {keys}, {what}")

            def through(mount, command=command):
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

            sides = {name: lambda mount=mount: through(mount) for name, mount in mounts.items()}
            seconds = alternate({"native": directly, **sides}, bench.rounds)
            cells = []
            for state in ("cold", "again"):
                base = [one[state] for one in seconds["native"]]
                cells += [median(base), *(ratio([one[state] for one in seconds[name]], base) for name in names)]
            table.add(keys, what, *cells)
        if grid is MILLION:
            bench.forget(f"native-{keys}-{grid.count}")
    return [table]


def stats(bench):
    """Stats of random names, as readers ask whether a chunk exists."""
    grid = SMALL if bench.short else GRID
    ways = list(bench.by_transport(IMMUTABLE))
    rest = [way.removeprefix("mount") for way in ways]
    table = Table(f"stat of random names among {grid.count:,}:",
                  ["keys", "threads", "native, cold", *(f"{way} / native, cold" for way in ways), "native, cached",
                   *(f"first{way} / native" for way in rest), *(f"again{way} / native" for way in rest)])
    for keys, separator in SEPARATORS.items():
        directory, mounts = native(bench, keys, grid), mounts_of(bench, keys, grid, IMMUTABLE)
        names = random.Random(3).sample(grid.names(separator), min(grid.count, 100000))
        listed = bench.names("stats-" + keys, names)
        for threads in (1, 4):
            bench.say(f"  {keys}, {threads} threads")

            def through(mount, listed=listed, threads=threads):
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

            sides = {way: lambda mount=mount: through(mount) for way, mount in mounts.items()}
            seconds = alternate({"native": directly, **sides}, bench.rounds)
            cold, cached = ([one[state] for one in seconds["native"]] for state in ("cold", "cached"))

            def ratios(state, base, seconds=seconds):
                return [ratio([one[state] for one in seconds[way]], base) for way in ways]

            table.add(keys, threads, median(cold, len(names)), *ratios("cold", cold), median(cached, len(names)),
                      *ratios("first", cached), *ratios("again", cached))
    return [table]


PAUSE = 1.3  # seconds: longer than the kernel keeps what may change and is not watched
SECOND_PASSES = {"ro": "ro", "ro,watch=off": "ro,watch=off", "ro,immutable": "ro,immutable"}


def watched(bench):
    """Second passes, where the store is watched, where it is not, and where it never changes."""
    names = list(bench.by_transport(SECOND_PASSES))
    table = Table(f"{FEW.count:,} chunks, second pass, with a pause of {PAUSE} s before each; each time is that of a name:",
                  ["keys", "what", "native", *names])
    for keys, separator in SEPARATORS.items():
        directory, mounts = native(bench, keys, FEW), mounts_of(bench, keys, FEW, SECOND_PASSES)
        listed = bench.names("watched-" + keys, FEW.names(separator))
        passes = {"stat of each name": lambda folder, listed=listed: bench.read(folder, listed, 1, "stat")}
        for what in ("find -type f -size +9k", "find -type f"):
            passes[what] = lambda folder, what=what: elapsed(COMMANDS[what](folder))
        for what, once in passes.items():
            bench.say(f"  {keys}, {what}")

            def second(folder, once=once):
                for _ in range(2):
                    time.sleep(PAUSE)  # what the kernel keeps of names is too old then
                    seconds = once(folder)
                return seconds

            def through(mount, second=second):
                mount.again()
                seconds = second(mount.point)
                mount.down()
                return seconds

            sides = {name: lambda mount=mount: through(mount) for name, mount in mounts.items()}
            seconds = alternate({"native": lambda directory=directory: second(directory), **sides}, bench.rounds)
            table.add(keys, what, *(median(seconds[side], FEW.count) for side in ("native", *names)))
    return [table]
