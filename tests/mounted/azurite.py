"""Azurite, Microsoft's own emulator of Azure Blob Storage, on loopback (packaging/install-test-servers), with the container `bucket`."""
import email.utils
import http.client
import os
import re
import socket
import subprocess
import urllib.parse

from azure_server import ACCOUNT, CONTAINER, KEY, shared_key
from conftest import ROOT, within
from ports import free_port
from stores import objects_of

PROGRAM = os.path.join(os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers")), "azurite")


def ask(port, method, path, body=b"", more=()):
    """Status, headers and body of the answer of the server at `port` to a signed request about the container."""
    path, _, query = f"/{ACCOUNT}/{CONTAINER}{path}".partition("?")
    path = urllib.parse.quote(path)
    headers = {"x-ms-version": "2020-10-02", "x-ms-date": email.utils.formatdate(usegmt=True), **dict(more)}
    if method == "PUT":
        headers["content-length"] = str(len(body))
        if not query:
            headers["x-ms-blob-type"] = "BlockBlob"
    headers["authorization"] = shared_key(method, path, query, headers)
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    server.request(method, f"{path}?{query}" if query else path, body or None, headers)
    answer = server.getresponse()
    found = answer.status, answer.headers, answer.read()
    server.close()
    return found


class Azurite:
    """with Azurite(folder) as server: it is at server.url, for ACCOUNT and KEY."""

    def __init__(self, folder, host="127.0.0.1"):
        self.folder, self.host = str(folder), host
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self.process = subprocess.Popen([PROGRAM, "--blobHost", self.host, "--blobPort", str(self.port), "--location", self.folder, "--silent",
                                         "--disableTelemetry", "--disableProductStyleUrl"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"})
        within(60, lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        status, _, body = ask(self.port, "PUT", "?restype=container")
        assert status == 201, body
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=b""):
        status, _, found = ask(self.port, method, path, body)
        assert status < 300, found
        return found

    def put(self, source, name):
        """A file or a directory, by that name."""
        for key, data in objects_of(source, name):
            self.ask("PUT", f"/{key}", data)

    def blocks(self, key):
        """Names of the blocks that were put for a blob, and are in no list."""
        text = self.ask("GET", f"/{key}?blocklisttype=uncommitted&comp=blocklist").decode()
        return re.findall("<Name>([^<]+)</Name>", text.split("<UncommittedBlocks>")[-1]) if "<UncommittedBlocks>" in text else []
