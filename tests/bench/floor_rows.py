"""What the kernel and libfuse cost alone: the same first passes through a FUSE daemon that answers everything from memory, by each way in
which requests can come here."""
from chunk_rows import GRIDS, SMALL
from floor_daemon import Floor
from listing_rows import COMMANDS, GRID as NAMES, SEPARATORS, SMALL as FEW_NAMES, elapsed, native as names_only, store_of
from measure import Table, alternate, median, ratio, warm

SIZES = ("4 KiB", "64 KiB", "1 MiB")


def compare(bench, table, case, count, directory, mount, floor, what):
    """Adds a row for each transport: `what(folder)` seconds in a native directory, in a new mount, and in a new floor, all of them in turn;
    all bytes are in the page cache. `mount(option)`, `floor(way)`: give them."""
    bench.say("  " + ", ".join(map(str, case)))

    def through_mount(made):
        made.again()
        seconds = what(made.point)
        made.down()
        return seconds

    def through_floor(way):
        with floor(way) as point:
            return what(point)

    mounts = {way: mount(option) for way, option in bench.transports.items()}
    warm(directory)
    warm(next(iter(mounts.values())).store)
    sides = {"native": lambda: what(directory)}
    for way, made in mounts.items():
        sides["floor", way] = lambda way=way: through_floor(way)
        sides["mount", way] = lambda made=made: through_mount(made)
    seconds = alternate(sides, bench.rounds)
    native, first = seconds["native"], seconds["floor", next(iter(mounts))]
    for way in mounts:
        below, above = seconds["floor", way], seconds["mount", way]
        cells = [median(native, count), median(below, count), ratio(below, native), ratio(above, native), ratio(above, below)]
        if len(mounts) > 1:
            cells.append(ratio(below, first))
        table.add(*case, way, *cells)


def floor(bench):
    columns = ["requests by", "native", "floor", "floor / native", "mount (immutable) / native", "mount (immutable) / floor"]
    if len(bench.transports) > 1:
        columns.append("floor / floor by device")
    reads = Table("Chunks, first read, from the page cache; each time is that of a chunk:", ["chunk", "readers", *columns])
    for size in SIZES:
        grid = (SMALL if bench.short else GRIDS).get(size)
        if grid is None:
            continue
        key = size.replace(" ", "")
        names = bench.names("floor-" + key, grid.names())
        directory = bench.make("native-" + key, grid.write_native)
        store = bench.make("store-" + key, grid.write_sharded)
        for readers in (1, 2, 4, 8):
            compare(bench, reads, (size, readers), grid.count, directory, lambda option, store=store: bench.mount(store, f"ro,immutable,{option}"),
                    lambda way, names=names, grid=grid: Floor(bench, names, grid.size, transport=way),
                    lambda folder, names=names, readers=readers: bench.read(folder, names, readers))
        bench.forget("native-" + key, "store-" + key)

    grid = FEW_NAMES if bench.short else NAMES
    listings = Table(f"{grid.count:,} names, first pass; each time is that of a name:", ["keys", "what", *columns])
    for keys, separator in SEPARATORS.items():
        directory = names_only(bench, keys, grid)
        store = store_of(bench, grid)
        names = bench.names("floor-" + keys, grid.names(separator))

        def mount(option, store=store, separator=separator):
            return bench.mount(store, f"ro,immutable,separator={separator},{option}")

        compare(bench, listings, (keys, "stat"), grid.count, directory, mount, lambda way, names=names: Floor(bench, names, 1, transport=way),
                lambda folder, names=names: bench.read(folder, names, 1, "stat"))
        for what, command in COMMANDS.items():
            carried = "plain" if what == "find -type f" else "status"
            compare(bench, listings, (keys, what), grid.count, directory, mount,
                    lambda way, names=names, carried=carried: Floor(bench, names, 1, carried, way),
                    lambda folder, command=command: elapsed(command(folder)))
    return [reads, listings]
