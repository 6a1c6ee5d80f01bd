"""versitygw on loopback (packaging/install-test-servers), over a folder in which each folder is a bucket."""
import os
import socket
import subprocess

from conftest import ROOT, within
from object_server import KEY, SECRET

PROGRAM = os.path.join(os.environ.get("ZARRFS_SERVERS", os.path.join(ROOT, "build", "servers")), "versitygw")


class Versitygw:
    """with Versitygw(folder) as server: it is at server.url, for KEY and SECRET."""

    def __init__(self, folder):
        self.folder = str(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        os.makedirs(os.path.join(self.folder, "bucket"))
        self.process = subprocess.Popen([PROGRAM, "--port", f"127.0.0.1:{self.port}", "--quiet", "posix", self.folder], cwd=self.folder,
                                        env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})
        within(20, lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()
