"""A proxy on loopback that does to the answers of a real server what networks and servers do: delays, 500 and 503, cut bodies, lost answers."""
import http.client
import http.server
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def pass_on(self):
        """`fault(method, path)`: {"status": N} and {"instead": (status, body)} do not ask the server; {"lost": True}, {"cut": N},
        {"delay": SECONDS} and {"edit": function of (status, body) giving both} do."""
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        fault = (self.server.fault and self.server.fault(self.command, self.path)) or {}
        with self.server.lock:
            self.server.requests += 1
            self.server.seen.append((self.command, self.path, len(sent)))
        time.sleep(fault.get("delay", self.server.delay))  # a slow server
        if "status" in fault:
            body = f"<?xml version='1.0'?><Error><Code>{fault.get('code', 'Fault')}</Code><Message>told by the test</Message></Error>".encode()
            return self.answer(fault["status"], [("Content-Length", str(len(body)))], body)
        if "instead" in fault:
            status, body = fault["instead"]
            return self.answer(status, [("Content-Length", str(len(body)))], body)
        server = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=600)
        try:
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                server.putheader(name, value)
            server.endheaders(sent)
            response = server.getresponse()
            body = response.read()
        finally:
            server.close()
        if "lost" in fault:
            self.close_connection = True
            return None
        status, kept = response.status, ("connection", "transfer-encoding", "keep-alive")
        if "edit" in fault:
            status, body = fault["edit"](status, body)
            kept += ("content-length",)
        headers = [(name, value) for name, value in response.getheaders() if name.lower() not in kept]
        if not any(name.lower() == "content-length" for name, _ in headers):
            headers.append(("Content-Length", str(len(body))))
        return self.answer(status, headers, body, fault.get("cut"))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

    def answer(self, status, headers, body, cut=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None and cut < len(body):
            self.close_connection = True


class FaultProxy(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind, self.fault, self.delay = behind, None, 0
        self.lock, self.requests, self.seen = threading.Lock(), 0, []
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        pass

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()
