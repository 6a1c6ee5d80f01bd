"""The part `server` of tests/bench/memory: many programs read, list and write at once what lies at a server that answers with a lot."""
import hashlib
import os
import struct
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mounted"))
from object_server import KEY, SECRET, Handler, ObjectServer, Refusal  # pylint: disable=wrong-import-position

MIB = 1 << 20
PIECE = bytes(range(256)) * 4096  # of what made-up objects hold
WHOLE = "whole"  # objects below it come whole, whatever range is asked for


class LavishHandler(Handler):
    """Objects `made/SIZE-N` and `whole/SIZE-N` are made up: SIZE bytes. Directories below `wide` are listed on pages of 15 MB."""

    def send_object(self, path, fault):
        kind, _, name = urllib.parse.unquote(path).partition("/bucket/")[2].partition("/")
        size, _, number = name.partition("-")
        if kind not in ("made", WHOLE):
            return super().send_object(path, fault)
        if not number.isdigit():
            raise Refusal(404, "NoSuchKey")
        size = int(size)
        headers = {"ETag": f'"{kind}-{name}"', "Last-Modified": "Mon, 02 Jan 2023 03:04:05 GMT"}
        asked = self.headers.get("Range", "")
        if kind == WHOLE or not asked or self.command == "HEAD":
            return self.send_bytes(200, headers, 0, size)
        first, last = asked.removeprefix("bytes=").split("-")
        begin = int(first) if first else max(0, size - int(last))
        end = min(int(last) + 1, size) if first and last else size
        self.send_bytes(206, {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{size}"}, begin, end)

    def send_bytes(self, status, headers, begin, end):
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(end - begin)}.items():
            self.send_header(name, value)
        self.end_headers()
        while self.command != "HEAD" and begin < end:
            at = begin % len(PIECE)
            piece = PIECE[at:at + end - begin]
            self.wfile.write(piece)
            begin += len(piece)

    def listing(self, path, query):
        prefix = urllib.parse.parse_qs(query).get("prefix", [""])[0]
        if prefix in ("made/", f"{WHOLE}/", "wide/"):  # that there is such a directory
            return f"<ListBucketResult><IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>{prefix}0/</Prefix></CommonPrefixes></ListBucketResult>".encode()
        if not prefix.startswith("wide/"):
            return super().listing(path, query)
        padding = "<Owner>" + "x" * 15000 + "</Owner>"
        names = "".join(f"<Contents><Key>{prefix}{number}</Key><Size>1</Size>{padding}</Contents>" for number in range(1000))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{names}</ListBucketResult>".encode()


class LavishServer(ObjectServer):
    handler = LavishHandler


def environment():
    return {**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}


def check(path, size):
    """Reads an object that is made up, and compares it."""
    with open(path, "rb", buffering=0) as file:
        for at in range(0, size, MIB):
            wanted = PIECE[:size - at]
            if file.read(MIB) != wanted:
                raise ValueError(f"{path} at {at}")


def reads(point, kind, size, programs, each):
    return [lambda program=program: [check(f"{point}/{kind}/{size}-{program * each + number}", size) for number in range(each)]
            for program in range(programs)]


def lists(point, programs):
    def count(program):
        found = len(os.listdir(f"{point}/wide/{program}"))
        if found != 1000:
            raise ValueError(f"{found} names")
    return [lambda program=program: count(program) for program in range(programs)]


def writes(point, size, programs):
    """Each writes a shard of two chunks of the array `new`."""
    def write(program):
        for chunk in (2 * program, 2 * program + 1):
            with open(f"{point}/new/{chunk}", "wb", buffering=0) as file:
                for at in range(0, size // 2, MIB):
                    file.write(PIECE[:size // 2 - at])
    return [lambda program=program: write(program) for program in range(programs)]


def digests(folder):
    """Of each chunk of the shards in `folder`: a shard that is put twice, as its program took its time, has them in another order."""
    found = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            shard = file.read()
        *places, _ = struct.unpack("<4QI", shard[-36:])  # the index, with its checksum
        found += [hashlib.sha256(shard[at:at + size]).hexdigest() for at, size in (places[:2], places[2:])]
    return found
