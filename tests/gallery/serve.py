"""A web server on this machine for a folder of files: ranges, and readers from other pages, as neuroglancer needs."""
import http.server
import os
import re
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        self.server.asked.append(words)

    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*")
        self.send_header("Access-Control-Expose-Headers", "*")
        super().end_headers()

    def do_OPTIONS(self):
        self.send_response(204)
        self.end_headers()

    def do_GET(self):
        path, wanted = self.translate_path(self.path), re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted or not os.path.isfile(path):
            super().do_GET()
            return
        size = os.path.getsize(path)
        if wanted[1]:
            start, end = int(wanted[1]), min(int(wanted[2] or size - 1), size - 1)
        else:
            start, end = max(0, size - int(wanted[2])), size - 1
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(end - start + 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end}/{size}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server:
    """with Server(folder) as server: it is at server.url"""

    def __init__(self, folder):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Handler(*a, directory=folder))
        self.http.asked = []
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *problem):
        self.http.shutdown()
        self.http.server_close()
