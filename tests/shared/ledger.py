"""What was acknowledged to programs that write through several mounts, and what is wrong with what is in the store then."""
import math
from dataclasses import dataclass, field

import shards


@dataclass
class Mount:
    """A mount of a store, from its beginning until its end."""
    number: int
    client: int
    cut: bool = False  # its machine's client of the file system was killed: what was only closed may be gone
    stopped: list = field(default_factory=list)  # when it, or its client, began to stand still for longer than a lease
    killed: float = math.inf
    published: list = field(default_factory=list)  # (begin, end) of each time that everything before it was put into shards


@dataclass
class Write:
    """One write, or removal, of a chunk."""
    mount: Mount
    slot: int  # the programs that follow each other at the same chunks
    worker: int
    place: tuple
    value: int
    begun: float
    removes: bool
    ended: float = math.inf
    how: str = ""  # closed, synced, or which error

    @property
    def shown(self):
        return 0 if self.removes else self.value

    def acknowledged(self):
        return self.how == "synced" or (self.how == "closed" and not self.mount.cut)

    def published(self):
        """When everybody could have known that it is in its shard."""
        return min((end for begin, end in self.mount.published if begin > self.ended), default=math.inf)

    def in_window(self):
        """Only closed, in a mount that was taken for dead, lived, and was killed: core/log/SHARED.md, "The window that stays"."""
        return self.how == "closed" and self.mount.killed < math.inf and any(self.ended > begin for begin in self.mount.stopped)

    def may_follow(self, other):
        """Whether it may be what is left of the two."""
        if self is other:
            return True
        if self.worker == other.worker:
            return self.begun > other.begun
        if self.mount is other.mount:
            return self.ended > other.begun
        return self.published() > other.begun  # else it was in its shard before the other one began


class Ledger:
    def __init__(self, told, mounts):
        self.writes, self.seen, self.told = {}, set(told_places(told, "seen")), told
        by_value, ends = {}, list(told.all("end"))  # before what began: programs may go on telling
        for mount, slot, worker, array, number, value, begun, removes in told.all("begin"):
            write = Write(mounts[mount], slot, worker, (array, number), value, begun, removes)
            by_value[value] = write
            self.writes.setdefault(write.place, []).append(write)
        for value, how, ended in ends:
            by_value[value].how, by_value[value].ended = how, ended
        for mount, begin, end in told.all("published"):
            mounts[mount].published.append((begin, end))

    def acknowledged(self):
        return sum(write.acknowledged() for writes in self.writes.values() for write in writes)

    def synced(self):
        return sum(write.how == "synced" for writes in self.writes.values() for write in writes)

    def unfinished(self, mount):
        """(place, slot) of what a program of this mount was writing when it was killed."""
        return [(place, write.slot) for place, writes in self.writes.items() for write in writes if write.mount is mount and write.how == ""]

    def errors(self):
        found = {}
        for writes in self.writes.values():
            for write in writes:
                if write.how not in ("closed", "synced", ""):
                    found[write.how] = found.get(write.how, 0) + 1
        return found

    def unknown(self):
        """What readers saw, and nobody wrote."""
        known = {(place, write.value) for place, writes in self.writes.items() for write in writes}
        return [f"a reader saw {tell(value)} at {place}, which nobody wrote" for place, value in sorted(self.seen) if value and (place, value) not in known]

    def judge(self, store):
        """{kind: lines} of what is wrong in the store: "lost", "nobody wrote", "mixed"; and what is worth to know: "in the window", "overtaken"."""
        wrong = {kind: [] for kind in ("lost", "nobody wrote", "mixed", "in the window", "overtaken")}
        for file in shards.files():
            try:
                found = shards.read_file(store, file)
            except FileNotFoundError:
                found = {}
            except ValueError as error:
                wrong["mixed"].append(f"{store}: {error}")
                continue
            for place in shards.places_of(file):
                self.judge_place(place, found.get(place, 0), wrong)
        return wrong

    def judge_place(self, place, shown, wrong):
        writes = self.writes.get(place, [])
        candidates = [write for write in writes if write.shown == shown]
        if shown and not candidates:
            wrong["nobody wrote"].append(f"{place} is {tell(shown)}, which nobody wrote")
        last = {}  # of each worker: what came before it is lost with it
        for write in writes:
            if write.acknowledged():
                last[write.worker] = write
        for write in last.values():
            after = [one for one in candidates if one.may_follow(write)]
            what = f"{place}: {tell(write.value)}{' (a removal)' if write.removes else ''}, {write.how} at {write.ended:.2f} by mount {write.mount.number}"
            if not after:
                wrong["in the window" if write.in_window() else "lost"].append(f"{what}, is lost to {tell(shown)}")
            elif all(one.slot == write.slot and one.worker < write.worker for one in after):
                wrong["overtaken"].append(f"{what}: there is {tell(shown)} of mount {after[0].mount.number}, which was written before")


def told_places(told, kind):
    for array, number, value in told.all(kind):
        yield (array, number), value


def tell(value):
    return f"{shards.worker_of(value)}:{shards.sequence_of(value)}" if value else "nothing"
