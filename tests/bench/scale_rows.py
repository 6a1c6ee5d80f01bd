"""The example of ZEP 2 as sparse files, 10.36 million inner chunks in 351 shards of (25000, 18000, 6000) uint8, and one ten
times larger: time to mount, single steps, and the daemon's memory as it goes."""
import itertools
import os
import random
import statistics
import struct
import subprocess
import time

from data import crc32c, write_document
from measure import Table, drop_caches, spell_seconds

SHAPE, CHUNK, SHARD = (25000, 18000, 6000), 64, 2048


def write_sparse(store, times):
    shape = (SHAPE[0] * times, *SHAPE[1:])
    write_document(store, shape, [SHARD] * 3, [CHUNK] * 3)
    size, entries = CHUNK ** 3, (SHARD // CHUNK) ** 3
    index = b"".join(struct.pack("<QQ", number * size, size) for number in range(entries))
    index += struct.pack("<I", crc32c(index))
    for at in itertools.product(*(range(-(-extent // SHARD)) for extent in shape)):
        path = os.path.join(store, "c", *map(str, at))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as shard:
            shard.seek(entries * size)
            shard.write(index)


def timed(act):
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def scale(bench):
    tables = []
    for times in (1,) if bench.short else (1, 10):
        store = bench.make(f"zep2-{times}", lambda path: write_sparse(path, times))
        shape = (SHAPE[0] * times, *SHAPE[1:])
        counts = [-(-extent // CHUNK) for extent in shape]
        total = counts[0] * counts[1] * counts[2]
        rng = random.Random(7)
        mount = bench.mount(store, "ro,immutable,separator=/")
        table = Table(f"{total / 1e6:.2f} million chunks in {sum(len(files) for _, _, files in os.walk(store)) - 1} shards:",
                      ["step", "time", "memory of the daemon after it"])
        starts = []
        for _ in range(bench.rounds):
            mount.down()
            drop_caches(store)
            begin = time.perf_counter()
            mount.up()
            os.stat(mount.point + "/.zarray")
            starts.append(time.perf_counter() - begin)

        def add(step, seconds, table=table, mount=mount):
            table.add(step, spell_seconds(seconds), f"{mount.memory():.1f} MiB")

        add("mount until it answers, cold", statistics.median(starts))
        lookups = []
        for _ in range(bench.rounds):
            chunk = os.path.join(mount.point, *(str(rng.randrange(count)) for count in counts))
            lookups.append(timed(lambda chunk=chunk: os.stat(chunk)))
        add("stat of a chunk in a new shard, cold", statistics.median(lookups))
        lists = [timed(lambda at=at: os.listdir(os.path.join(mount.point, str(at), "7"))) for at in range(5, 5 + bench.rounds)]
        add(f"a directory of {counts[2]} names", statistics.median(lists))
        amount = 20000 if bench.short else 250000 // times
        for part in range(1, 5):
            names = ["/".join(str(rng.randrange(count)) for count in counts) for _ in range(amount)]
            listed = bench.names("scale", names)
            add(f"random stats, 4 threads: {(part - 1) * amount:,} to {part * amount:,}",
                bench.read(mount.point, listed, 4, "stat"))
        if times == 1 and not bench.short:
            find = ["find", mount.point, "-type", "f"]
            add("find over all chunks", timed(lambda find=find: subprocess.run(find, check=True, stdout=subprocess.DEVNULL)))
        mount.down()
        bench.forget(f"zep2-{times}")
        tables.append(table)
    return tables
