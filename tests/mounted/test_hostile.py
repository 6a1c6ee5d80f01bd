"""Hundreds of random damages to shards and metadata: an error where bytes cannot be trusted, never absence, never a crash.

The seed is printed; ZARRFS_SEED=N repeats a run, ZARRFS_HOSTILE=N sets how many damages.
"""
import errno
import json
import os
import random

from conftest import within
from stores import SmallStore, write_file
from test_files import error_of, read

SEED = int(os.environ.get("ZARRFS_SEED", random.SystemRandom().randrange(2**32)))
ROUNDS = int(os.environ.get("ZARRFS_HOSTILE", "300"))
NEVER = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)


def damage_bytes(rng, data):
    kind = rng.randrange(5)
    if not data or kind == 0:
        return data[:rng.randrange(len(data) + 1)]
    if kind == 1:
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1:]
    if kind == 2:
        place = rng.randrange(len(data))
        return data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place:]
    if kind == 3:
        return rng.randbytes(rng.randrange(200))
    place = rng.randrange(len(data))
    return data[:place] + b"\xff" * 8 + data[place + 8:]


STRANGE = [None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 1.5, -1e308, "", "x", "NaN", [], {}, [[]], [0], [-1], [2**62, 2**62], {"name": "x"}]


def damage_json(rng, value):
    """The document with one random member replaced, removed or doubled."""
    holders = []

    def walk(node):
        if isinstance(node, dict) and node:
            holders.append(node)
        if isinstance(node, list) and node:
            holders.append(node)
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            walk(child)

    value = json.loads(json.dumps(value))
    walk(value)
    holder = rng.choice(holders)
    key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    action = rng.randrange(3)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = rng.choice(STRANGE)
    return value


def test_random_damage_to_shards(mount, tmp_path):
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    store = SmallStore(tmp_path)
    with open(store.file("a/c/0/0"), "rb") as shard:
        good = shard.read()
    mounted = mount(store.path, "timeout=0", damaged=True)
    cells = {"0.0": store.chunk(0, 0), "1.0": store.chunk(1, 0), "1.1": store.chunk(1, 1)}
    index = good[48:]
    for number in range(ROUNDS):
        bad = damage_bytes(rng, good)
        write_file(store.file("a/c/0/0"), bad)
        intact = bad[-len(index):] == index
        for name, chunk in cells.items():
            problem = error_of(read, mounted / f"a/{name}")
            assert problem not in NEVER, f"seed {SEED}, damage {number}: {name} is absent"
            assert problem in (0, errno.EUCLEAN, errno.EIO, errno.ESTALE), f"seed {SEED}, damage {number}: {name}: {problem}"
            if bad == good:
                assert read(mounted / f"a/{name}") == chunk
            elif not intact:
                assert problem != 0, f"seed {SEED}, damage {number}: {name} was read from a shard with a bad index"
        assert set(cells) <= set(os.listdir(mounted / "a")), f"seed {SEED}, damage {number}"
        assert read(mounted / "a/0.2") == store.chunk(0, 2)
    write_file(store.file("a/c/0/0"), good)
    within(60, lambda: error_of(read, mounted / "a/0.0") == 0)
    assert read(mounted / "a/0.0") == store.chunk(0, 0)


def test_random_damage_to_metadata(mount, tmp_path):
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    store = SmallStore(tmp_path)
    with open(store.file("a/zarr.json")) as text:
        good = json.load(text)
    shard = read(store.file("a/c/0/0"))
    for number in range(ROUNDS):
        name = f"damaged{number:04}"
        bad = damage_json(rng, good)
        text = json.dumps(bad).encode()
        if rng.randrange(5) == 0:
            text = damage_bytes(rng, json.dumps(good).encode())
        write_file(store.file(f"{name}/zarr.json"), text)
        write_file(store.file(f"{name}/c/0/0"), shard)
    mounted = mount(store.path, damaged=True)
    listed = set(os.listdir(mounted.path))
    outcomes = {"hidden": 0, "damaged": 0, "shown": 0}
    for number in range(ROUNDS):
        name = f"damaged{number:04}"
        if name not in listed:
            assert error_of(os.stat, mounted / name) == errno.ENOENT, f"seed {SEED}: {name} is there but not listed"
            assert name in json.dumps(mounted.report()), f"seed {SEED}: {name} is hidden and not reported"
            outcomes["hidden"] += 1
            continue
        problem = error_of(read, mounted / f"{name}/.zarray")
        if problem == 0:
            outcomes["shown"] += 1
            json.loads(read(mounted / f"{name}/.zarray"))
            os.listdir(mounted / name)
            continue
        if problem == errno.ENOENT:
            assert error_of(read, mounted / f"{name}/.zgroup") == 0, f"seed {SEED}: {name} is neither array nor group"
            continue
        assert problem == errno.EUCLEAN, f"seed {SEED}: {name}: {problem}"
        assert error_of(read, mounted / f"{name}/0.0") == errno.EUCLEAN, f"seed {SEED}: {name}/0.0"
        outcomes["damaged"] += 1
    print(outcomes)
    assert read(mounted / "a/1.0") == store.chunk(1, 0)
    assert outcomes["damaged"] > ROUNDS // 10
