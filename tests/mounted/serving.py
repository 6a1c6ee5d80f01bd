"""`zarrfs serve` of a source, started and ended."""
import http.client
import os
import re
import signal
import socket
import subprocess

from conftest import DAEMON


class Served:
    def __init__(self, source, log, *more, environment=None, options="profile=generic", host="127.0.0.1"):
        self.log = str(log)
        command = [DAEMON, "serve", str(source), "--listen", f"{host}:0", "-o", ",".join(filter(None, [f"log={self.log}", options])), *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        found = re.search(r"on (http://[\d.]+:(\d+)/)", line)
        assert found, (line, self.process.stderr.read())
        self.url, self.port = found[1], int(found[2])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def get(self, path, method="GET", body=None, **fields):
        connection = self.connect()
        connection.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        answer.text = answer.read()
        connection.close()
        return answer

    def raw(self, request, keep_open=False):
        """What comes back for these bytes until the server closes the connection."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=600)
        client.sendall(request)
        if keep_open:
            return client
        client.shutdown(socket.SHUT_WR)
        got = b""
        while piece := client.recv(65536):
            got += piece
        client.close()
        return got

    def most_memory(self):
        """Bytes that were resident at most."""
        with open(f"/proc/{self.process.pid}/status") as text:
            return int(re.search(r"VmHWM:\s+(\d+) kB", text.read())[1]) << 10

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=600) == 0, self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
