"""versitygw on loopback (packaging/install-test-servers), over a folder in which each folder is a bucket."""
import hashlib
import http.client
import os
import socket
import subprocess
import time
import urllib.parse

from conftest import ROOT, within
from object_server import KEY, SECRET, signature
from ports import free_port
from stores import objects_of

PROGRAM = os.path.join(os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers")), "versitygw")


def ask(port, method, path, body=b""):
    """The body of the answer of the server at `port` to a signed request about the bucket."""
    path, _, query = f"/bucket{path}".partition("?")
    path = urllib.parse.quote(path)
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"host": f"127.0.0.1:{port}", "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), "x-amz-date": date}
    signed = signature(method, path, query, headers, sorted(headers), date, "us-east-1")
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={KEY}/{date[:8]}/us-east-1/s3/aws4_request, "
                                f"SignedHeaders={';'.join(sorted(headers))}, Signature={signed}")
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    server.request(method, f"{path}?{query}" if query else path, body, headers)
    answer = server.getresponse()
    found = answer.read()
    server.close()
    assert answer.status == 200, found
    return found


class Versitygw:
    """with Versitygw(folder) as server: it is at server.url, for KEY and SECRET."""
    region = "us-east-1"

    def __init__(self, folder, host="127.0.0.1"):
        self.folder, self.host = str(folder), host
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        os.makedirs(os.path.join(self.folder, "bucket"))
        self.process = subprocess.Popen([PROGRAM, "--port", f"{self.host}:{self.port}", "--quiet", "posix", self.folder], cwd=self.folder,
                                        env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        within(60, lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=b""):
        return ask(self.port, method, path, body)

    def put(self, source, name):
        """A file or a directory, by that name."""
        for key, data in objects_of(source, name):
            self.ask("PUT", f"/{key}", data)
