"""A writer that follows core/log/SHARED.md to the letter, and nothing else: shards are JSON, there are no documents, and one epoch. For rehearse."""
import json
import os
import random
import sys
import time

RECORDS, WRITERS, SHARDS = "records", "writers", "shards"


def new_id():
    return os.urandom(6).hex()


def sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def write_synced(path, value):
    with open(path, "x") as file:
        file.write(json.dumps(value) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_whole(path):
    """None: there is none, as far as this machine knows."""
    try:
        with open(path) as file:
            return json.loads(file.read())
    except (FileNotFoundError, OSError) as error:
        if isinstance(error, FileNotFoundError) or error.errno == 116:  # ESTALE
            return None
        raise


def consume(source, target):
    """rename(2) whose source is the token: whether it was there."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno in (2, 116):
            return False
        raise
    return True


def remove(path):
    try:
        os.unlink(path)
    except OSError as error:
        if error.errno not in (2, 116):
            raise


class Writer:
    def __init__(self, root, caches, lease, tell, planted=False):
        self.root, self.caches, self.lease, self.tell, self.planted = root, caches, lease, tell, planted
        self.mount, self.sequence = new_id(), 0
        self.drafts = {}  # (mount, shard, chunk): (sequence, value)
        self.taken = {}
        self.seen, self.records = {}, {}
        self.watched = {}
        self.joined = time.monotonic()
        self.begin_log({})

    def path(self, *names):
        return os.path.join(self.root, *names)

    # The log and its token.

    def begin_log(self, published):
        self.name, self.moves = new_id(), 0
        self.published = dict(published)
        folder = self.path(WRITERS, self.name)
        os.mkdir(folder)
        self.log = open(os.path.join(folder, "log"), "x")
        for (mount, shard, chunk), (sequence, value) in self.drafts.items():
            self.append("put", mount, sequence, shard, chunk, value)
        for shard, (generation, payload) in self.published.items():
            self.append("publish", shard, generation, payload)
        self.sync_log()
        write_synced(os.path.join(folder, "alive-0"), self.mount)
        sync_directory(folder)
        sync_directory(self.path(WRITERS))
        self.beaten = time.monotonic()

    def append(self, *record):
        self.log.write(json.dumps(record) + "\n")
        self.log.flush()

    def sync_log(self):
        os.fsync(self.log.fileno())

    def move_token(self):
        """Whether the log will be read: what was synced before is safe then."""
        folder = self.path(WRITERS, self.name)
        moved = consume(f"{folder}/alive-{self.moves}", f"{folder}/alive-{self.moves + 1}")
        self.moves += 1
        self.beaten = time.monotonic()
        return moved

    def come_again(self):
        while True:
            self.tell("count", "came again", 1)
            self.begin_log(self.published)
            if self.move_token():
                return

    def make_sure(self):
        self.sync_log()
        if not self.move_token():
            self.come_again()

    def beat(self):
        if time.monotonic() - self.beaten > self.lease / 4:
            self.make_sure()

    def write(self, shard, chunk, value):
        """A program's write, and its fsync: (sequence) once it is acknowledged."""
        self.sequence += 1
        self.drafts[self.mount, shard, chunk] = (self.sequence, value)
        self.append("put", self.mount, self.sequence, shard, chunk, value)
        self.make_sure()
        return self.sequence

    # Commits.

    def record(self, shard, generation):
        key = (shard, generation)
        if key not in self.records:
            found = read_whole(self.path(RECORDS, f"{shard}.{generation}"))
            if found is None:
                return None
            self.records[key] = found
        return self.records[key]

    def find_tip(self, shard):
        tip = self.seen.get(shard, 0)
        while self.record(shard, tip + 1) is not None:
            tip += 1
        self.seen[shard] = tip
        return tip

    def way_out(self, payload):
        return self.path(SHARDS, f".zarrfs-next-{payload}")

    def kept(self, payload):
        return self.path(SHARDS, f".zarrfs-kept-{payload}")

    def shard_path(self, shard):
        return self.path(SHARDS, shard)

    def base_of(self, shard, tip):
        """What the tip is, settled; None: look for a later tip."""
        if tip == 0:
            while time.monotonic() - self.joined < self.caches:  # adopting: what caches say is of this epoch then
                self.beat()
                time.sleep(0.05)  # only time makes an old answer go
            return {}, read_whole(self.shard_path(shard)) or {"generation": 0, "chunks": {}}
        record = self.record(shard, tip)
        consume(self.way_out(record["payload"]), self.shard_path(shard))
        sync_directory(self.path(SHARDS))
        if tip > 1:
            remove(self.kept(self.record(shard, tip - 1)["payload"]))
        try:
            base = read_whole(self.kept(record["payload"]))
        except ValueError:
            self.tell("count", "old sizes", 1)
            base = None
        return None if base is None else (record["notes"], base)

    def commit(self, shard, decide=0):
        for _ in range(200):
            self.beat()
            tip = self.find_tip(shard)
            found = self.base_of(shard, tip)
            if found is None:
                time.sleep(0.02)  # the later record cannot be seen yet
                continue
            notes, base = found
            fresh = {}
            for drafts in (self.taken, self.drafts):
                fresh.update({key: draft for key, draft in drafts.items() if key[1] == shard and notes.get(f"{key[0]}:{key[2]}", 0) < draft[0]})
            if not fresh and decide <= tip:
                return self.done(shard)
            if self.put(shard, tip + 1, notes, base, fresh):
                return self.done(shard)
        sys.exit(f"shard {shard}: 200 races were lost")

    def put(self, shard, generation, notes, base, fresh):
        payload, chunks = new_id(), dict(base["chunks"])
        for (_, _, chunk), (_, value) in fresh.items():
            chunks[chunk] = value
        write_synced(self.way_out(payload), {"generation": generation, "chunks": chunks})
        os.link(self.way_out(payload), self.kept(payload))
        sync_directory(self.path(SHARDS))
        self.published[shard] = (generation, payload)
        self.append("publish", shard, generation, payload)
        self.make_sure()
        notes = {**notes, **{f"{mount}:{chunk}": sequence for (mount, _, chunk), (sequence, _) in fresh.items()}}
        own, made = self.path(RECORDS, f".new-{payload}"), self.path(RECORDS, f"{shard}.{generation}")
        write_synced(own, {"payload": payload, "before": self.seen.get(shard, 0), "notes": notes})
        try:
            if self.planted:  # as if it had a lock
                os.rename(own, made)
            else:
                os.link(own, made)
        except FileExistsError:
            begin = time.monotonic()
            while (found := self.record(shard, generation)) is None:
                self.beat()
                time.sleep(0.02)  # an old absence
                if time.monotonic() - begin > self.caches + 120:
                    sys.exit(f"{made} exists, and cannot be seen")
            if found["payload"] != payload:
                self.tell("count", "lost races", 1)
                for name in (own, self.way_out(payload), self.kept(payload)):
                    remove(name)
                return False
        sync_directory(self.path(RECORDS))
        remove(own)
        consume(self.way_out(payload), self.shard_path(shard))
        sync_directory(self.path(SHARDS))
        self.tell("count", "commits", 1)
        return True

    def done(self, shard):
        self.append("done", shard)
        self.published.pop(shard, None)
        for drafts in (self.drafts, self.taken):
            for key in [key for key in drafts if key[1] == shard]:
                del drafts[key]

    def commit_all(self):
        for shard in sorted({key[1] for key in self.drafts}):
            self.commit(shard)

    # Logs of others.

    def suspects(self):
        """(folder, the name of its token) of logs whose writer, or who takes them, has not moved its token for a lease."""
        now, tokens = time.monotonic(), {}
        for name in os.listdir(self.path(WRITERS)):
            tokens[name] = sorted(one for one in os.listdir(self.path(WRITERS, name)) if one != "log")
            if self.watched.get(name, (None,))[0] != tokens[name]:
                self.watched[name] = (tokens[name], now)

        def is_still(name):
            return now - self.watched[name][1] >= self.lease
        found = []
        for name, its in tokens.items():
            if name == self.name or len(its) != 1 or its[0] in ("left", "finished"):
                continue
            holder = its[0].removeprefix("taken-by-") if its[0].startswith("taken-by-") else name
            if holder == self.name:
                continue
            alive = any(one.startswith("alive-") for one in tokens.get(holder, []))
            if is_still(holder) if alive else is_still(name):
                found.append((name, its[0]))
        return found

    def take(self, name, token):
        folder, mine = self.path(WRITERS, name), f"taken-by-{self.name}"
        if not consume(f"{folder}/{token}", f"{folder}/{mine}"):
            return
        self.tell("count", "logs taken", 1)
        begin = time.monotonic()
        while time.monotonic() - begin < self.caches:
            self.beat()
            time.sleep(0.05)  # only time makes an old answer go
        published = self.read_log(folder)
        self.tell("count", "drafts of others", len(self.taken))
        for shard in sorted({key[1] for key in self.taken} | set(published)):
            announced = published.get(shard, [])
            self.commit(shard, max((generation for generation, _ in announced), default=0))
            for generation, payload in announced:
                if self.record(shard, generation)["payload"] != payload:  # it has lost, and is never to be the shard
                    remove(self.way_out(payload))
                    remove(self.kept(payload))
        consume(f"{folder}/{mine}", f"{folder}/finished")

    def read_log(self, folder):
        """Fills `taken`; {shard: each (generation, payload) that was announced and is not done}."""
        self.taken, published = {}, {}
        try:
            with open(f"{folder}/log") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return {}  # it had not begun
        for line in lines:
            try:
                kind, *record = json.loads(line)
            except ValueError:
                break  # cut off
            if kind == "put":
                mount, sequence, shard, chunk, value = record
                self.taken[mount, shard, chunk] = (sequence, value)
            elif kind == "publish":
                published.setdefault(record[0], []).append(tuple(record[1:]))
            else:
                published.pop(record[0], None)
                for key in [key for key in self.taken if key[1] == record[0]]:
                    del self.taken[key]
        return published

    def leave(self):
        self.commit_all()
        folder = self.path(WRITERS, self.name)
        consume(f"{folder}/alive-{self.moves}", f"{folder}/left")


def run(root, caches, lease, planted, chunks, tell, wanted, seed):
    """Writes chunks of its own until it is not wanted any more; tells what it is about to write, and what was acknowledged."""
    random_of = random.Random(seed)
    writer = Writer(root, caches, lease, tell, planted)
    looked = time.monotonic()
    while wanted():
        shard, chunk = random_of.choice(chunks)
        value = f"{writer.mount}:{writer.sequence + 1}"
        tell("begin", writer.mount, writer.sequence + 1, shard, chunk, value)
        tell("acknowledged", writer.mount, writer.write(shard, chunk, value), shard, chunk, value)
        if random_of.random() < 0.3:
            writer.commit_all()
        if time.monotonic() - looked > writer.lease / 3:
            for name, token in writer.suspects():
                writer.take(name, token)
            looked = time.monotonic()
    writer.leave()


def recover(root, caches, lease, tell):
    """Takes all that is left."""
    writer = Writer(root, caches, lease, tell)
    while True:
        left = {name: set(os.listdir(writer.path(WRITERS, name))) - {"log"} for name in os.listdir(writer.path(WRITERS)) if name != writer.name}
        open_logs = [name for name, tokens in left.items() if tokens - {"left", "finished"}]
        if not open_logs:
            break
        writer.beat()
        for name, token in writer.suspects():
            writer.take(name, token)
        time.sleep(0.1)  # until a lease is over
    writer.leave()
