"""Sources that never come to an end: a server on loopback that goes on and on, and a directory whose names do.

Whoever uses one waits for a condition, and ends it: a thread of the server goes on only as long as the server is not closed.
"""
import ctypes
import ctypes.util
import http.server
import os
import select
import shutil
import stat
import struct
import tempfile
import threading


class Server:
    """Answers every request by `answer(request)`, which writes to request.wfile by itself, until the server is closed."""

    def __init__(self, answer):
        outer = self
        self.asked, self.ended = [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.asked.append(self.path)
                try:
                    answer(self)
                except OSError:  # the client has had enough
                    pass
                self.close_connection = True

            do_HEAD = do_GET

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}"

    def send(self, request, body, status="200 OK", headers=""):
        request.wfile.write(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def forever(self, request, piece):
        """`piece(number)` again and again."""
        number = 0
        while not self.ended.is_set():
            request.wfile.write(piece(number))
            number += 1

    def close(self):
        self.ended.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def listing(names="", token=None, before=""):
    """A page of a bucket's listing that is going on with `token`."""
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else "<IsTruncated>false</IsTruncated>"
    return f"<?xml version='1.0'?><ListBucketResult>{more}{before}{names}</ListBucketResult>".encode()


def objects(first, count, prefix="store/"):
    return "".join(f"<Contents><Key>{prefix}n{number:09}</Key><Size>1</Size></Contents>" for number in range(first, first + count))


class Directory:
    """A mounted file system of one directory, whose names do not end: FUSE, spoken by a thread. Root only."""
    LOOKUP, GETATTR, STATFS, INIT, OPENDIR, READDIR = 1, 3, 17, 26, 27, 28
    QUIET = (2, 36, 42)  # what gets no answer: FORGET, INTERRUPT, BATCH_FORGET

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="endless-")
        self.device = os.open("/dev/fuse", os.O_RDWR)
        self.libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0".encode()
        if self.libc.mount(b"endless", self.path.encode(), b"fuse.endless", 0, options) != 0:
            raise OSError(ctypes.get_errno(), "mounting")
        self.listed = 0
        os.set_blocking(self.device, False)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def answer(self, operation, body):
        if operation == self.INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, 0)
        if operation == self.GETATTR:
            return struct.pack("<QII", 0, 0, 0) + struct.pack("<QQQQQQIIIIIIIIII", 1, 0, 0, 0, 0, 0, 0, 0, 0, stat.S_IFDIR | 0o755, 2, 0, 0, 0, 4096, 0)
        if operation == self.OPENDIR:
            return struct.pack("<QII", 0, 0, 0)
        if operation == self.READDIR:
            offset, size = struct.unpack_from("<QI", body, 8)
            self.listed = offset
            entries = b""
            while len(entries) + 40 <= size:
                offset += 1
                entries += struct.pack("<QQII", offset + 1, offset, 16, stat.S_IFREG >> 12) + f"n{offset:015}".encode()
            return entries
        return None

    def serve(self):
        poll = select.poll()
        poll.register(self.device, select.POLLIN)
        while not self.ended.is_set():
            try:
                if not poll.poll(100):
                    continue
                request = os.read(self.device, 1 << 20)
            except BlockingIOError:
                continue
            except OSError:  # it is unmounted
                return
            _, operation, unique = struct.unpack_from("<IIQ", request)
            if operation in self.QUIET:
                continue
            body = self.answer(operation, request[40:])
            error = 0 if body is not None else -2 if operation == self.LOOKUP else 0 if operation in (25, 29, 38) else -38
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(body or b""), error, unique) + (body or b""))
            except OSError:  # nobody waits for it any more
                pass

    def close(self):
        self.libc.umount2(self.path.encode(), 2)  # MNT_DETACH
        self.ended.set()
        self.thread.join()  # or it would read what has the descriptor's number next
        os.close(self.device)  # with it the connection ends, whoever waits
        shutil.rmtree(self.path)
