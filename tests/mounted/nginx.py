"""Debian's nginx on loopback, with TLS and a certificate of its own, over a folder of files."""
import os
import shutil
import socket
import subprocess
import time

from ports import free_port

CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
{user}
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log; default_type application/octet-stream; sendfile on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port} ssl; server_name localhost; ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key; root {root}; {more} }}
}}
"""


def program():
    """nginx, or nothing where it is missing."""
    return shutil.which("nginx", path="/usr/sbin:/usr/bin")


class Nginx:
    """with Nginx(root, folder) as server: it is at server.url, and server.certificate vouches for it."""

    def __init__(self, root, folder, more=""):
        self.folder, self.certificate = str(folder), os.path.join(folder, "certificate")
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", os.path.join(folder, "key"), "-out", self.certificate], check=True, capture_output=True)
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        user = "user root;" if os.geteuid() == 0 else ""  # the files of tests are root's own
        with open(os.path.join(folder, "nginx.conf"), "w") as file:
            file.write(CONFIGURATION.format(folder=folder, root=root, port=self.port, more=more, user=user))

    def __enter__(self):
        self.process = subprocess.Popen([program(), "-p", self.folder, "-c", os.path.join(self.folder, "nginx.conf")],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            assert self.process.poll() is None, self.log()
            time.sleep(0.05)
        raise AssertionError("nginx does not answer")

    def __exit__(self, *problem):
        self.process.terminate()
        self.process.wait(600)

    def log(self, name="error.log"):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()
