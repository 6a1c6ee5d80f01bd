"""A bucket that makes up one plain array of any size: `endless_bucket.py SHARDS [EDGE [WIDE]]` serves it on a free port, which it prints.

The array has SHARDS places or a few more for shards of 4 x 8 x 8 chunks (`zarrfs shard --shard-chunks 4x8x8`), WIDE of them (20) in each of the
last two axes; a chunk has EDGE x EDGE int32 (512: 1 MiB). What is put is kept by name and size, but for what is small; the source is made up. No
signatures are looked at.
"""
import json
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

SMALL = 1 << 20


class Bucket:
    def __init__(self, shards, edge=512, wide=20):
        self.deep, self.wide = -(-shards // wide**2), wide
        self.chunk = bytes(range(256)) * (edge * edge // 64)
        shape = [self.deep * 4, wide * 8 * edge, wide * 8 * edge]
        self.documents = {"source/zarr.json": b'{"zarr_format": 3, "node_type": "group", "attributes": {}}', "source/a/zarr.json": json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32", "fill_value": 0, "attributes": {},
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, edge, edge]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}).encode()}
        self.counts = [self.deep * 4, wide * 8, wide * 8]
        self.made, self.notes, self.lock, self.requests, self.first_chunk, self.filled = {}, {}, threading.Lock(), 0, None, False
        self.tags, self.puts = {}, 0

    def get(self, key):
        """The object's bytes, or how many zeros it has; nothing where there is none."""
        with self.lock:
            self.requests += 1
            if key in self.made:
                return self.made[key]
        if key in self.documents:
            return self.documents[key]
        found = re.fullmatch(r"source/a/c/(\d+)/(\d+)/(\d+)", key)
        if found and self.first_chunk is None:
            self.first_chunk = time.monotonic()
        return self.chunk if found and all(int(at) < count for at, count in zip(found.groups(), self.counts)) else None

    def tag(self, key):
        """Of the version that was put last; the source has one."""
        return self.tags.get(key, '"0"')

    def fill(self, parts):
        """As if all parts were made: their shards, and their notes."""
        self.filled = True
        shards = self.deep * self.wide**2
        for part in range(1, parts + 1):
            begin, end = ((part - 1) * (shards // parts) + min(part - 1, shards % parts), part * (shards // parts) + min(part, shards % parts))
            self.made[f"target/.zarrfs-part-{part}"] = json.dumps({
                "part": part, "parts": parts, "host": "made up", "files": {"pieces": 0, "done": 0, "objects": 0, "bytes": 0},
                "arrays": {"a": {"pieces": end - begin, "done": end - begin, "objects": end - begin, "bytes": (end - begin) << 28}}}).encode()

    def below(self, prefix):
        if prefix in ("source/", "source/a/"):
            return sorted({key[len(prefix):].partition("/")[0] + ("/" if "/" in key[len(prefix):] else "") for key in self.documents if key.startswith(prefix)}
                          | ({"c/"} if prefix == "source/a/" else set()))
        found = re.fullmatch(r"(source|target)/a/c/(?:(\d+)/)?(?:(\d+)/)?", prefix)
        if found and (found[1] == "source" or self.filled):
            level = sum(at is not None for at in found.groups()[1:])
            counts = self.counts if found[1] == "source" else [self.deep, self.wide, self.wide]
            return sorted(str(at) + ("/" if level < 2 else "") for at in range(counts[level]))
        if self.filled and prefix == "target/a/":
            return ["c/"]
        with self.lock:
            keys = [key[len(prefix):] for key in self.made if key.startswith(prefix)]
        return sorted({key.partition("/")[0] + ("/" if "/" in key else "") for key in keys})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        bucket = self.server.bucket
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path).lstrip("/").partition("/")[2]
        if "list-type=2" in query:
            return self.list(bucket, query)
        found = bucket.get(key)
        if found is None:
            return self.answer(404, body=b"<Error><Code>NoSuchKey</Code></Error>")
        size = found if isinstance(found, int) else len(found)
        headers = {"ETag": bucket.tag(key), **bucket.notes.get(key, {})}
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            headers["Content-Length"] = str(size)
            return self.answer(200, headers, b"" if self.command == "HEAD" else cut(found, 0, size))
        first, last = asked.groups()
        begin = int(first) if first else max(0, size - int(last))
        end = min(int(last) + 1, size) if first and last else size
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
        self.answer(206, headers, cut(found, begin, end))

    do_HEAD = do_GET

    def do_PUT(self):
        bucket = self.server.bucket
        key = urllib.parse.unquote(self.path).lstrip("/").partition("/")[2]
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with bucket.lock:
            if key in bucket.made and self.headers.get("If-None-Match") == "*":
                return self.answer(412, body=b"<Error><Code>PreconditionFailed</Code></Error>")
            if self.headers.get("If-Match", bucket.tag(key)) != bucket.tag(key):
                return self.answer(412, body=b"<Error><Code>PreconditionFailed</Code></Error>")
            bucket.made[key] = body if len(body) <= SMALL else len(body)
            bucket.puts += 1
            bucket.tags[key] = f'"{bucket.puts}"'
            bucket.notes[key] = {name: value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}
        self.answer(200, {"ETag": bucket.tag(key)})

    def do_DELETE(self):
        bucket = self.server.bucket
        key = urllib.parse.unquote(self.path).lstrip("/").partition("/")[2]
        with bucket.lock:
            if key in bucket.made and self.headers.get("If-Match", bucket.tag(key)) != bucket.tag(key):
                return self.answer(412, body=b"<Error><Code>PreconditionFailed</Code></Error>")
            bucket.made.pop(key, None)
        self.answer(204)

    def list(self, bucket, query):
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        prefix = asked.get("prefix", "")
        names, first, most = bucket.below(prefix), int(asked.get("continuation-token", "0")), min(int(asked.get("max-keys", "1000")), 1000)
        page = names[first:first + most]
        more = first + len(page) < len(names)
        parts = [f"<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><IsTruncated>{'true' if more else 'false'}</IsTruncated>"]
        if more:
            parts.append(f"<NextContinuationToken>{first + len(page)}</NextContinuationToken>")
        for name in page:
            key = escape(prefix + name)
            parts.append(f"<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>" if name.endswith("/") else
                         f"<Contents><Key>{key}</Key><Size>1</Size></Contents>")
        self.answer(200, body="".join([*parts, "</ListBucketResult>"]).encode())


def cut(found, begin, end):
    return b"\0" * (end - begin) if isinstance(found, int) else found[begin:end]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *form):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bucket = Bucket(*form)

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    server = Server(*map(int, sys.argv[1:]))
    print(server.server_address[1], flush=True)
    server.serve_forever()
