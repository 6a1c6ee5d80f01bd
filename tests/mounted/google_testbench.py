"""A bucket in Google's own storage-testbench (github.com/googleapis/storage-testbench, in the environment "testbench"; in no registry).

It decides what conditions on generations let through, numbers the generations, and cuts ranges. Of the XML interface it has GET and PUT alone, whose
answers tell no ETag and no metadata, and PUT's no generation: the rest is asked of its JSON interface, or added here."""
import base64
import http.client
import json
import os
import re
import socket
import subprocess
import urllib.parse
from xml.sax.saxutils import escape

import object_server
from conftest import VENVS, within
from object_server import ObjectServer, Refusal
from ports import free_port
from stores import objects_of

PYTHON = os.path.join(VENVS, "testbench", "bin", "python")
START = "import sys; from testbench import rest_server; from werkzeug import serving; serving.run_simple('127.0.0.1', int(sys.argv[1]), rest_server.server, threaded=True)"


class Handler(object_server.Handler):
    def change_object(self, path, sent, fault):
        server, given = self.server, self.headers.get("x-goog-if-generation-match")
        with server.changing:  # so that the generation that is asked for is the one that was made
            if self.command == "PUT":
                status, _, body = server.ask("PUT", path, sent, {"x-goog-if-generation-match": given} if given else {})
                headers = {"x-goog-generation": server.generation(path)} if status == 200 else {}
                if status == 200:
                    server.notes[path] = {name: value for name, value in self.headers.items() if name.lower().startswith("x-goog-meta-")}
            else:
                status, _, body = server.ask("DELETE", server.json_path(path) + (f"?ifGenerationMatch={given}" if given else ""))
                headers = {}
        if status >= 300:
            raise Refusal(status, body.decode()[:200])
        if fault and "lost" in fault:
            self.close_connection = True
            return
        self.answer(200 if self.command == "PUT" else 204, headers, b"", fault)

    def send_object(self, path, fault):
        asked = self.headers.get("Range")
        with self.server.changing:
            status, told, body = self.server.ask("GET", path, headers={"Range": asked} if asked else {})
            notes = self.server.notes.get(path, {})
        if status >= 300:
            raise Refusal(status, body.decode()[:200])
        tag = '"' + base64.b64decode(re.search("md5=([^,]+)", told["x-goog-hash"]).group(1)).hex() + '"'
        if self.headers.get("If-Match", tag) != tag:
            raise Refusal(412, "PreconditionFailed")
        headers = {"ETag": tag, "x-goog-generation": told["x-goog-generation"], **notes}
        if self.headers.get("If-None-Match") == tag:
            return self.answer(304, headers, b"", None)
        if status == 206:
            headers["Content-Range"] = told["Content-Range"]
        return self.answer(status, headers, body, fault)

    def listing(self, path, query):
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        words = urllib.parse.urlencode({"prefix": asked.get("prefix", ""), "delimiter": asked.get("delimiter", "")})
        status, _, body = self.server.ask("GET", f"/storage/v1/b/bucket/o?{words}")
        assert status == 200, body
        found = json.loads(body)
        keys = "".join(f"<Contents><Key>{escape(urllib.parse.quote(one['name']))}</Key><Size>{one['size']}</Size></Contents>" for one in found.get("items", []))
        folders = "".join(f"<CommonPrefixes><Prefix>{escape(urllib.parse.quote(one))}</Prefix></CommonPrefixes>" for one in found.get("prefixes", []))
        return ("<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><IsTruncated>false</IsTruncated>"
                f"<EncodingType>url</EncodingType>{keys}{folders}</ListBucketResult>").encode()


class TestbenchServer(ObjectServer):
    """Takes what zarrfs asks of gs://bucket, checks its signature, and asks the testbench."""
    __test__ = False  # no class of tests
    handler = Handler

    def __init__(self):
        super().__init__("", "bucket")
        self.speak_google()
        self.behind = free_port()
        self.process = subprocess.Popen([PYTHON, "-c", START, str(self.behind)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        within(60, lambda: socket.socket().connect_ex(("127.0.0.1", self.behind)) == 0)
        made = self.ask("POST", "/storage/v1/b?project=tests", b'{"name": "bucket"}', {"Content-Type": "application/json"})
        assert made[0] == 200, made

    def ask(self, method, path, body=b"", headers=None):
        """Status, headers and body of the testbench's own answer."""
        server = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=600)
        server.request(method, path, body, {"Content-Type": "application/octet-stream", **(headers or {})})
        answer = server.getresponse()
        found = answer.status, answer.headers, answer.read()
        server.close()
        return found

    @staticmethod
    def json_path(path):
        return "/storage/v1/b/bucket/o/" + urllib.parse.quote(urllib.parse.unquote(path).removeprefix("/bucket/"), safe="")

    def generation(self, path):
        return self.ask("HEAD", path)[1].get("x-goog-generation")

    def put(self, source, name):
        """A file or a directory, by that name."""
        for key, data in objects_of(source, name):
            assert self.ask("PUT", "/bucket/" + urllib.parse.quote(key), data)[0] == 200, key

    def keys(self):
        return [one["name"] for one in json.loads(self.ask("GET", "/storage/v1/b/bucket/o")[2]).get("items", [])]

    def close(self):
        super().close()
        self.process.kill()
        self.process.wait()
