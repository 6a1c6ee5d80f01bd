"""A proxy on loopback, in a process of its own, that makes a near server a far one: each answer waits, and comes at a given speed; both are counted."""
import multiprocessing
import socket
import threading
import time

PIECE = 256 << 10


class Stream:
    """A connection that is read up to an end or by a length."""

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def more(self):
        got = self.connection.recv(PIECE)
        self.buffer += got
        return bool(got)

    def until(self, end):
        while end not in self.buffer:
            if not self.more():
                return b""
        head, _, self.buffer = self.buffer.partition(end)
        return head + end

    def exactly(self, length):
        parts = [self.buffer[:length]]
        self.buffer = self.buffer[length:]
        missing = length - len(parts[0])
        while missing:
            got = self.connection.recv(min(missing, 1 << 20))
            if not got:
                raise ConnectionError
            parts.append(got)
            missing -= len(got)
        return b"".join(parts)


def header(head, name):
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


def body_of(stream, head, method):
    status = head.split(b" ", 2)[1]
    if method == b"HEAD" or status in (b"204", b"304"):
        return b""
    if header(head, "transfer-encoding") != "chunked":
        return stream.exactly(int(header(head, "content-length") or "0"))
    parts = []
    while True:
        line = stream.until(b"\r\n")
        parts += [line, stream.exactly(int(line, 16) + 2)]
        if int(line, 16) == 0:
            return b"".join(parts)


def converse(client, behind, delay, speed, requests, received):
    """The requests of one connection, one after the other."""
    with client, socket.create_connection(("127.0.0.1", behind)) as server:
        for connection in (client, server):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked, answered = Stream(client), Stream(server)
        while head := asked.until(b"\r\n\r\n"):
            server.sendall(head + asked.exactly(int(header(head, "content-length") or "0")))
            reply = answered.until(b"\r\n\r\n")
            body = body_of(answered, reply, head.split(b" ", 1)[0])
            with requests.get_lock():
                requests.value += 1
                received.value += len(body)
            time.sleep(delay)
            begin = time.monotonic()
            client.sendall(reply)
            for at in range(0, len(body), PIECE):
                client.sendall(body[at:at + PIECE])
                pause = begin + min(at + PIECE, len(body)) / speed - time.monotonic()
                if pause > 0:
                    time.sleep(pause)  # bytes come at this speed


def quietly(*arguments):
    try:
        converse(*arguments)
    except (OSError, ValueError):
        pass  # the client or the server went away


def serve(listener, *arguments):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=quietly, args=(client, *arguments), daemon=True).start()


class SlowProxy:
    """`delay` in seconds before each answer, `speed` of each connection in bytes a second."""

    def __init__(self, behind, delay=0.02, speed=80e6):
        self.requests, self.received = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0, lock=False)
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.process = multiprocessing.Process(target=serve, args=(listener, behind, delay, speed, self.requests, self.received), daemon=True)
        self.process.start()
        listener.close()

    def forget(self):
        with self.requests.get_lock():
            self.requests.value = self.received.value = 0

    def counts(self):
        """Requests, and bytes of bodies sent to clients."""
        return self.requests.value, self.received.value

    def close(self):
        self.process.kill()
        self.process.join()
