"""A small server on loopback that remote stores are tried with: plain HTTP, or S3 with checked signatures, over a directory.

Buckets can be written to, on conditions, one request at a time. It counts what it is asked for, and does wrong what a test tells it to (`server.fault`).
"""
import email.utils
import hashlib
import hmac
import http.server
import os
import re
import ssl
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY, SECRET, REGION = "TESTKEY", "not/a+secret", "test-1"


class Refusal(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


def signature(method, path, query, headers, names, date, region, vendor="AWS4", service="s3"):
    """The signature that AWS Signature Version 4 asks for, written without looking at zarrfs; Google's has other words."""
    kind = "x-amz" if vendor == "AWS4" else "x-goog"
    pairs = sorted(part.split("=", 1) if "=" in part else [part, ""] for part in query.split("&") if part)
    canonical = "\n".join([method, path, "&".join("=".join(pair) for pair in pairs),
                           *(f"{name}:{' '.join(headers[name].split())}" for name in names), "", ";".join(names),
                           headers[f"{kind}-content-sha256"]])
    scope = f"{date[:8]}/{region}/{service}/{vendor.lower()}_request"
    text = f"{vendor}-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"{vendor}{SECRET}".encode()
    for part in (date[:8], region, service, f"{vendor.lower()}_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


TAGS = {}


def tag_of_file(file):
    """Kept for files that have not been changed for a while: the next change of those has another time."""
    about = os.fstat(file.fileno())
    version = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    if version not in TAGS:
        file.seek(0)
        tag = '"' + hashlib.file_digest(file, "md5").hexdigest() + '"'
        if time.time() - about.st_ctime < 1:
            return tag
        TAGS[version] = tag
    return TAGS[version]


def tag_of(path):
    with open(path, "rb") as file:
        return tag_of_file(file)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True  # else each body waits 40 ms for the acknowledgement of its headers

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_PUT(self):
        self.do_GET()

    def do_DELETE(self):
        self.do_GET()

    def do_GET(self):
        with self.server.lock:
            self.server.in_hand += 1
            self.server.most_in_hand = max(self.server.most_in_hand, self.server.in_hand)
        try:
            self.serve()
        finally:
            with self.server.lock:
                self.server.in_hand -= 1

    def serve(self):
        server = self.server
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if server.away:  # as one that is not there: no answer, and nothing is done
            with server.lock:
                if server.remembers:
                    server.missed.append({"method": self.command, "path": urllib.parse.unquote(self.path.partition("?")[0])})
            self.close_connection = True
            return
        path, _, query = self.path.partition("?")
        seen = {"method": self.command, "path": urllib.parse.unquote(path), "query": query,
                "range": self.headers.get("Range"), "headers": dict(self.headers.items())}
        with server.lock:
            if server.remembers:
                server.seen.append(seen)
        if server.delay:
            until = time.monotonic() + server.delay  # a slow server, until it is told to be quick
            while server.delay and time.monotonic() < until:
                time.sleep(0.02)
        try:
            fault = server.fault(seen) if server.fault else None
            if fault and "status" in fault:
                raise Refusal(fault["status"], fault.get("code", "Fault"))
            if server.bucket:
                self.check_signature(path, query)
                if not server.anonymous and not server.token and self.headers[f"{server.kind}-content-sha256"] != hashlib.sha256(sent).hexdigest():
                    raise Refusal(400, "XAmzContentSHA256Mismatch")
                if self.command in ("PUT", "DELETE"):
                    return self.change_object(path, sent, fault)
                if self.is_listing(query):
                    return self.answer(200, {}, self.listing(path, query), fault)
            self.send_object(path, fault)
        except Refusal as refusal:
            text = f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code><Message>told by the test</Message></Error>"
            headers = {**self.refusal_headers(refusal), **(fault.get("headers", {}) if fault else {})}
            self.answer(refusal.status, headers, text.encode(), None)

    def is_listing(self, query):
        return query.startswith("delimiter") or "list-type=2" in query

    def refusal_headers(self, refusal):
        return {}

    def check_signature(self, path, query):
        server = self.server
        if server.anonymous:
            if "authorization" in self.headers:
                raise Refusal(400, "Signed")
            return
        if server.token:
            if self.headers.get("authorization") != f"Bearer {server.token}":
                raise Refusal(401, "AuthenticationRequired")
            return
        vendor, service, other = ("GOOG4", "storage", "x-amz-") if server.google else ("AWS4", "s3", "x-goog-")
        if any(name.lower().startswith(other) for name in self.headers):
            raise Refusal(400, "ExcessHeaderValues")
        found = re.fullmatch(rf"{vendor}-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/{service}/{vendor.lower()}_request,\s*SignedHeaders=([^,]+),\s*Signature=(\w+)",
                             self.headers.get("authorization", ""))
        if not found:
            raise Refusal(403, "AccessDenied")
        key, _, region, names, signed = found.groups()
        headers = {name.lower(): value for name, value in self.headers.items()}
        if region != server.region:
            raise Refusal(400, "AuthorizationHeaderMalformed")
        date = headers[f"{server.kind}-date"]
        if key != KEY or signed != signature(self.command, path, query, headers, names.split(";"), date, region, vendor, service):
            raise Refusal(403, "SignatureDoesNotMatch")

    def local(self, path):
        name = urllib.parse.unquote(path).lstrip("/")
        if self.server.bucket:
            bucket, _, name = name.partition("/")
            if bucket != self.server.bucket:
                raise Refusal(404, "NoSuchBucket")
        return os.path.join(self.server.root, name)

    def listing(self, path, query):
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        prefix, most = asked.get("prefix", ""), int(asked["max-keys"])
        folder = os.path.join(self.server.root, prefix)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        if "delimiter" not in asked:
            names = sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, files in os.walk(folder) for name in files)
        first = int(asked.get("continuation-token", "0"))
        page = names[first:first + min(most, self.server.page)]
        more = first + len(page) < len(names)
        text = ["<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>",
                f"<IsTruncated>{'true' if more else 'false'}</IsTruncated><EncodingType>url</EncodingType>"]
        if more:
            text.append(f"<NextContinuationToken>{first + len(page)}</NextContinuationToken>")
        for name in page:
            key = escape(urllib.parse.quote(prefix + name))
            full = os.path.join(folder, name)
            if os.path.isdir(full):
                text.append(f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>")
            else:
                text.append(f"<Contents><Key>{key}</Key><Size>{os.path.getsize(full)}</Size></Contents>")
        return "".join(text + ["</ListBucketResult>"]).encode()

    def change_object(self, path, sent, fault):
        """One at a time, so that a condition and what follows are one step. `fault`: {"lost": True} does it and says nothing."""
        server, full, headers = self.server, self.local(path), {}
        with server.changing:
            there = os.path.isfile(full)
            if self.command not in server.careless:
                match = self.headers.get("If-Match")
                generation = self.headers.get("x-goog-if-generation-match")
                if server.google and generation is not None and int(generation) != (server.generation(full) if there else 0):
                    raise Refusal(412, "PreconditionFailed")
                if there and self.headers.get("If-None-Match") == "*":
                    raise Refusal(412, "PreconditionFailed")
                if match and not there:
                    raise Refusal(404, "NoSuchKey")
                if match and match != tag_of(full):
                    raise Refusal(412, "PreconditionFailed")
            if self.command == "PUT":
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full + ".new", "wb") as file:
                    file.write(sent)
                server.notes[full] = {name: value for name, value in self.headers.items() if name.lower().startswith(f"{server.kind}-meta-")}
                server.generations[full] = max(server.generations.values(), default=1000) + 1
                os.replace(full + ".new", full)
                headers["ETag"] = tag_of(full)
                if server.google:
                    headers["x-goog-generation"] = str(server.generation(full))
            elif there:
                os.unlink(full)
                folder = os.path.dirname(full)
                while folder != server.root and not os.listdir(folder):  # there are no directories in a bucket
                    os.rmdir(folder)
                    folder = os.path.dirname(folder)
        if fault and "lost" in fault:
            self.close_connection = True
            return
        self.answer(200 if self.command == "PUT" else 204, headers, b"", fault)

    def send_object(self, path, fault):
        full = self.local(path)
        if os.path.isdir(full) and not self.server.bucket:
            return self.answer(301, {"Location": path + "/"}, b"", None) if not path.endswith("/") else self.answer(200, {}, b"<html>", None)
        with self.server.changing:
            if not os.path.isfile(full):
                raise Refusal(404, "NoSuchKey")
            file = open(full, "rb")  # that another takes its place changes nothing of what is sent
            notes = dict(self.server.notes.get(full, {}))
            if self.server.google:
                notes["x-goog-generation"] = str(self.server.generation(full))
        with file:
            self.send_file(file, notes, fault)

    def send_file(self, file, notes, fault):
        tag, about = tag_of_file(file), os.fstat(file.fileno())
        size = about.st_size

        def part(begin, end):
            file.seek(begin)
            return file.read(end - begin)

        headers = {"ETag": tag, "Last-Modified": email.utils.formatdate(about.st_mtime, usegmt=True), **notes}
        careless = "GET" in self.server.careless
        if not careless and self.headers.get("If-Match", tag) != tag:
            raise Refusal(412, "PreconditionFailed")
        if not careless and self.headers.get("If-None-Match") == tag:
            return self.answer(304, headers, b"", None)
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")) if self.server.ranges else None
        if not found:
            return self.answer(200, headers, part(0, size), fault)
        first, last = found.groups()
        begin = int(first) if first else max(0, size - int(last))
        end = min(int(last) + 1, size) if first and last else size
        if begin >= end:
            return self.answer(416, {"Content-Range": f"bytes */{size}"}, b"", None)
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
        self.answer(206, headers, part(begin, end), fault)

    def answer(self, status, headers, body, fault):
        """`fault`: {"edit": function of (status, headers, body) giving all three}, {"cut": bytes sent before the end}."""
        if fault and "edit" in fault:
            status, headers, body = fault["edit"](status, dict(headers), body)
        with self.server.lock:
            self.server.sent += 0 if self.command == "HEAD" else len(body)
        self.send_response_only(status)
        headers.setdefault("Date", email.utils.formatdate(time.time() + self.server.seconds_ahead, usegmt=True))
        headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault and "cut" in fault:
            self.wfile.write(body[:fault["cut"]])
            self.close_connection = True
            return
        self.wfile.write(body)


class ObjectServer(http.server.ThreadingHTTPServer):
    """`bucket`: what S3 calls it; plain HTTP where empty. `careless`: methods whose conditions it does not look at. `certificate`: a
    PEM file with a key, for TLS."""
    daemon_threads = True
    request_queue_size = 128
    handler = Handler

    def __init__(self, root, bucket="", certificate=None, host="127.0.0.1"):
        super().__init__((host, 0), self.handler)
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.root, self.bucket, self.region, self.anonymous = str(root), bucket, REGION, False
        self.ranges, self.page, self.delay = True, 1000, 0
        self.fault, self.away, self.missed, self.remembers = None, False, [], True
        self.careless, self.notes, self.changing = (), {}, threading.Lock()
        self.seconds_ahead = 0  # of its clock
        self.google, self.kind, self.generations, self.token = False, "x-amz", {}, ""
        self.lock, self.seen, self.sent, self.in_hand, self.most_in_hand = threading.Lock(), [], 0, 0, 0
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        pass  # clients may go away

    def come_back(self):
        """After `away`."""
        self.away = False
        time.sleep(0.15)  # mounts take it for away until their last look is a tenth of a second old

    def speak_google(self):
        self.google, self.kind = True, "x-goog"

    def generation(self, full):
        return self.generations.setdefault(full, 7)

    def rest(self):
        """Returns when nobody has asked for anything for a while: what is asked for in advance comes to its end."""
        looks = []
        while len(looks) < 8 or len(set(looks[-8:])) != 1 or looks[-1][2]:
            time.sleep(0.1)
            looks.append((len(self.seen), self.sent, self.in_hand))

    def forget(self):
        with self.lock:
            self.seen, self.sent = [], 0

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()
