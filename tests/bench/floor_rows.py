"""What the kernel and libfuse cost alone: the same first passes through a FUSE daemon that answers everything from memory."""
from chunk_rows import GRIDS, SMALL
from floor_daemon import Floor
from listing_rows import COMMANDS, GRID as NAMES, SEPARATORS, SMALL as FEW_NAMES, elapsed, native as names_only, store_of
from measure import Table, alternate, median, ratio, warm

SIZES = ("4 KiB", "64 KiB", "1 MiB")


def compare(bench, table, case, count, directory, mount, floor, what):
    """Adds a row: `what(folder)` seconds in a native directory, in a new mount, and in a new floor; all bytes are in the page cache."""
    bench.say("  " + ", ".join(map(str, case)))

    def through_mount():
        mount.again()
        seconds = what(mount.point)
        mount.down()
        return seconds

    def through_floor():
        with floor as point:
            return what(point)

    warm(directory)
    warm(mount.store)
    seconds = alternate({"native": lambda: what(directory), "floor": through_floor, "mount": through_mount}, bench.rounds)
    table.add(*case, median(seconds["native"], count), median(seconds["floor"], count), ratio(seconds["floor"], seconds["native"]),
              ratio(seconds["mount"], seconds["native"]), ratio(seconds["mount"], seconds["floor"]))


def floor(bench):
    columns = ["native", "floor", "floor / native", "mount (immutable) / native", "mount (immutable) / floor"]
    reads = Table("Chunks, first read, from the page cache; each time is that of a chunk:", ["chunk", "readers", *columns])
    for size in SIZES:
        grid = (SMALL if bench.short else GRIDS).get(size)
        if grid is None:
            continue
        key = size.replace(" ", "")
        names = bench.names("floor-" + key, grid.names())
        directory = bench.make("native-" + key, grid.write_native)
        mount = bench.mount(bench.make("store-" + key, grid.write_sharded))
        for readers in (1, 2, 4, 8):
            compare(bench, reads, (size, readers), grid.count, directory, mount, Floor(bench, names, grid.size),
                    lambda folder, names=names, readers=readers: bench.read(folder, names, readers))
        bench.forget("native-" + key, "store-" + key)

    grid = FEW_NAMES if bench.short else NAMES
    listings = Table(f"{grid.count:,} names, first pass; each time is that of a name:", ["keys", "what", *columns])
    for keys, separator in SEPARATORS.items():
        directory = names_only(bench, keys, grid)
        mount = bench.mount(store_of(bench, grid), f"ro,immutable,separator={separator}")
        names = bench.names("floor-" + keys, grid.names(separator))
        compare(bench, listings, (keys, "stat"), grid.count, directory, mount, Floor(bench, names, 1),
                lambda folder, names=names: bench.read(folder, names, 1, "stat"))
        for what, command in COMMANDS.items():
            carried = "plain" if what == "find -type f" else "status"
            compare(bench, listings, (keys, what), grid.count, directory, mount, Floor(bench, names, 1, carried),
                    lambda folder, command=command: elapsed(command(folder)))
    return [reads, listings]
