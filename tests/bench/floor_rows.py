"""What the kernel and libfuse cost alone: the same first passes through a FUSE daemon that answers everything from memory, by each way in
which requests can come here."""
from chunk_rows import GRIDS, SMALL
from floor_daemon import Floor
from listing_rows import COMMANDS, GRID as NAMES, SEPARATORS, SMALL as FEW_NAMES, elapsed, native as names_only, store_of
from measure import Table, alternate, median, ratio, warm

SETTING = "/sys/module/fuse/parameters/enable_uring"
SIZES = ("4 KiB", "64 KiB", "1 MiB")


def transports():
    """{name: the mount option for it}."""
    try:
        with open(SETTING) as text:
            rings = text.read().startswith("Y")
    except FileNotFoundError:
        rings = False
    return {"device": "io_uring=off", "io_uring": "io_uring=on"} if rings else {"device": "io_uring=off"}


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
    reads = Table("Chunks, first read, from the page cache; each time is that of a chunk:", ["chunk", "readers", "requests by", *columns])
    for size in SIZES:
        grid = (SMALL if bench.short else GRIDS).get(size)
        if grid is None:
            continue
        key = size.replace(" ", "")
        names = bench.names("floor-" + key, grid.names())
        directory = bench.make("native-" + key, grid.write_native)
        store = bench.make("store-" + key, grid.write_sharded)
        for readers in (1, 2, 4, 8):
            for way, option in transports().items():
                mount = bench.mount(store, f"ro,immutable,{option}")
                compare(bench, reads, (size, readers, way), grid.count, directory, mount, Floor(bench, names, grid.size, transport=way),
                        lambda folder, names=names, readers=readers: bench.read(folder, names, readers))
        bench.forget("native-" + key, "store-" + key)

    grid = FEW_NAMES if bench.short else NAMES
    listings = Table(f"{grid.count:,} names, first pass; each time is that of a name:", ["keys", "what", "requests by", *columns])
    for keys, separator in SEPARATORS.items():
        directory = names_only(bench, keys, grid)
        store = store_of(bench, grid)
        names = bench.names("floor-" + keys, grid.names(separator))
        for way, option in transports().items():
            mount = bench.mount(store, f"ro,immutable,separator={separator},{option}")
            compare(bench, listings, (keys, "stat", way), grid.count, directory, mount, Floor(bench, names, 1, transport=way),
                    lambda folder, names=names: bench.read(folder, names, 1, "stat"))
            for what, command in COMMANDS.items():
                carried = "plain" if what == "find -type f" else "status"
                compare(bench, listings, (keys, what, way), grid.count, directory, mount, Floor(bench, names, 1, carried, way),
                        lambda folder, command=command: elapsed(command(folder)))
    return [reads, listings]
