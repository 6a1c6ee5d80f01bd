"""A small server on loopback that speaks Azure's Blob service over a directory, with checked signatures: what docs and SDKs say of it, and
what it does otherwise than S3. It knows no ranges from the end, tells a taken name by 409, a lease by 412, and marks directories."""
import base64
import email.utils
import hashlib
import hmac
import os
import re
import time
import urllib.parse
from xml.sax.saxutils import escape

from object_server import Handler, ObjectServer, Refusal, tag_of

ACCOUNT, CONTAINER = "account1", "bucket"
KEY = base64.b64encode(b"no secret, but 64 bytes of a key as Azure's storage accounts have").decode()
SAS = "sv=2020-10-02&sp=rlcwd&sig=a%2Bb%3D"


def shared_key(method, path, query, headers):
    """Written without looking at zarrfs: "Authorize with Shared Key"."""
    length = headers.get("content-length", "")
    lines = [method, headers.get("content-encoding", ""), headers.get("content-language", ""), "" if length == "0" else length,
             *(headers.get(name, "") for name in ("content-md5", "content-type", "date", "if-modified-since", "if-match", "if-none-match",
                                                  "if-unmodified-since", "range"))]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
    lines.append(f"/{ACCOUNT}{path}")
    lines += [f"{name.lower()}:{','.join(values)}" for name, values in sorted(urllib.parse.parse_qs(query, keep_blank_values=True).items())]
    signed = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    return f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"


def is_reading_sas(path, query):
    """Written without looking at zarrfs: "Create a service SAS", of version 2018-11-09 and later, for `path` with the account in front."""
    asked = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
    lines = [asked.get(name, "") for name in ("sp", "st", "se")] + [f"/blob{path}"]
    lines += [asked.get(name, "") for name in ("si", "sip", "spr", "sv", "sr", "snapshot", "rscc", "rscd", "rsce", "rscl", "rsct")]
    signed = base64.b64encode(hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()).decode()
    return asked.get("sp") == "r" and asked.get("sig") == signed and asked["se"] > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class AzureHandler(Handler):
    def is_listing(self, query):
        return "comp=list" in query

    def refusal_headers(self, refusal):
        return {"x-ms-error-code": refusal.code}

    def check_signature(self, path, query):
        server, sent = self.server, self.headers.get("authorization")
        if path.startswith("/metadata/"):
            raise Refusal(400, "NoService")
        if server.sas:
            if SAS not in query or sent or server.expired:
                raise Refusal(403, "AuthenticationFailed")
        elif server.identity:
            if sent != f"Bearer {server.identity}":
                raise Refusal(401, "InvalidAuthenticationInfo")
        elif server.anonymous:
            if sent or "sig=" in query:
                raise Refusal(400, "Signed")
            if not server.public:
                raise Refusal(409, "PublicAccessNotPermitted")
        elif sent != shared_key(self.command, path, query, {name.lower(): value for name, value in self.headers.items()}):
            raise Refusal(403, "AuthenticationFailed")
        elif abs(email.utils.parsedate_to_datetime(self.headers["x-ms-date"]).timestamp() - time.time() - server.ahead) > 900:
            raise Refusal(403, "AuthenticationFailed")
        if not self.headers.get("x-ms-version"):
            raise Refusal(400, "MissingRequiredHeader")

    def do_GET(self):
        if self.path.startswith("/metadata/identity/oauth2/token"):
            self.server.asked_for_tokens.append(self.path)
            wanted = self.server.identity and self.headers.get("Metadata") == "true" and "resource=https%3A%2F%2Fstorage.azure.com%2F" in self.path
            body = b'{"access_token": "%s", "expires_in": "3599"}' % self.server.identity.encode() if wanted else b"{}"
            return self.answer(200 if wanted else 400, {}, body, None)
        return super().do_GET()

    def local(self, path):
        account, _, rest = urllib.parse.unquote(path).lstrip("/").partition("/")
        container, _, name = rest.partition("/")
        if account != ACCOUNT or container != CONTAINER:
            raise Refusal(404, "ContainerNotFound")
        return os.path.join(self.server.root, name)

    def listing(self, path, query):
        self.local(path)
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        assert asked["include"] == "metadata" and asked["restype"] == "container"
        prefix, first = asked.get("prefix", ""), int(asked.get("marker", "0"))
        # Only from there: the root may hold mounts of this server.
        files = os.walk(os.path.join(self.server.root, os.path.dirname(prefix)))
        keys = sorted([os.path.relpath(os.path.join(place, name), self.server.root) for place, _, names in files for name in names]
                      + list(self.server.folders))
        below = [key for key in keys if key.startswith(prefix)]
        if "delimiter" in asked:
            below = sorted({prefix + key[len(prefix):].partition("/")[0] + ("/" if "/" in key[len(prefix):] else "") for key in below})
        page = below[first:first + min(int(asked["maxresults"]), self.server.page)]
        text = ["\ufeff<?xml version='1.0' encoding='utf-8'?><EnumerationResults ServiceEndpoint='x' ContainerName='bucket'><Blobs>"]
        for key in page:
            full = os.path.join(self.server.root, key)
            if key.endswith("/"):
                text.append(f"<BlobPrefix><Name>{escape(key)}</Name></BlobPrefix>")
            elif key in self.server.folders:
                text.append(f"<Blob><Name>{escape(key)}</Name><Properties><Content-Length>0</Content-Length></Properties><Metadata>"
                            "<hdi_isfolder>true</hdi_isfolder></Metadata></Blob>")
            else:
                text.append(f"<Blob><Name>{escape(key)}</Name><Properties><Content-Length>{os.path.getsize(full)}</Content-Length>"
                            f"<Etag>{tag_of(full)[1:-1]}</Etag></Properties><Metadata /></Blob>")
        more = first + len(page) < len(below)
        text.append(f"</Blobs><NextMarker>{first + len(page) if more else ''}</NextMarker></EnumerationResults>")
        return "".join(text).encode()

    def change_object(self, path, sent, fault):
        asked = {name: values[0] for name, values in urllib.parse.parse_qs(self.path.partition("?")[2]).items()}
        blocks = self.server.blocks.setdefault(path, {})
        if asked.get("comp") == "block":
            blocks[asked["blockid"]] = self.copied() if "x-ms-copy-source" in self.headers else sent
            if len({len(name) for name in blocks}) > 1:
                raise Refusal(400, "InvalidBlobOrBlock")
            return self.answer(201, {}, b"", fault)
        if asked.get("comp") == "blocklist":
            wanted = re.findall("<Uncommitted>([^<]+)</Uncommitted>", sent.decode())
            if any(name not in blocks for name in wanted):
                raise Refusal(400, "InvalidBlockList")
            sent = b"".join(blocks[name] for name in wanted)
        elif self.command == "PUT" and self.headers.get("x-ms-blob-type") != "BlockBlob":
            raise Refusal(400, "InvalidHeaderValue")
        if any("-" in name[len("x-ms-meta-"):] for name in self.headers if name.lower().startswith("x-ms-meta-")):
            raise Refusal(400, "InvalidMetadata")
        if self.server.leased:
            raise Refusal(412, "LeaseIdMissing")
        try:
            super().change_object(path, sent, fault)
            self.server.blocks.pop(path, None)  # also those that others have put
        except Refusal as refusal:
            taken = refusal.code == "PreconditionFailed" and self.headers.get("If-None-Match")
            raise Refusal(409, "BlobAlreadyExists") if taken else Refusal(412, "ConditionNotMet")

    def copied(self):
        """The bytes of Put Block From URL, whose source has to be let read."""
        source = urllib.parse.urlsplit(self.headers["x-ms-copy-source"])
        path, query = source.path, source.query
        if self.server.identity:
            allowed = self.headers.get("x-ms-copy-source-authorization") == f"Bearer {self.server.identity}"
        else:
            allowed = query == SAS if self.server.sas else is_reading_sas(urllib.parse.unquote(path), query)
        if not allowed:
            raise Refusal(403, "CannotVerifyCopySource")
        if tag_of(self.local(path)) != self.headers["x-ms-source-if-match"]:
            raise Refusal(412, "SourceConditionNotMet")
        first, last = map(int, re.fullmatch("bytes=([0-9]+)-([0-9]+)", self.headers["x-ms-source-range"]).groups())
        with open(self.local(path), "rb") as file:
            return file.read()[first:last + 1]

    def send_object(self, path, fault):
        if self.headers.get("Range", "").startswith("bytes=-"):
            raise Refusal(400, "InvalidHeaderValue")
        key = os.path.relpath(self.local(path), self.server.root)
        if key in self.server.folders:
            return self.answer(200, {"x-ms-meta-hdi_isfolder": "true", "ETag": '"0x1"'}, b"", fault)
        try:
            super().send_object(path, fault)
        except Refusal as refusal:
            raise Refusal(404, "BlobNotFound") if refusal.code == "NoSuchKey" else Refusal(412, "ConditionNotMet")

    def answer(self, status, headers, body, fault):
        if self.command in ("PUT", "DELETE") and status < 300:
            status = 201 if self.command == "PUT" else 202
        super().answer(status, {"Date": email.utils.formatdate(time.time() + self.server.ahead, usegmt=True), **headers}, body, fault)


class AzureServer(ObjectServer):
    """`sas`, `identity` (a token), `anonymous`: what requests have to go with; a key otherwise. `ahead`: seconds, of its clock."""
    handler = AzureHandler

    def __init__(self, root):
        super().__init__(root, CONTAINER)
        self.kind, self.token = "x-ms", "checked elsewhere"
        self.sas, self.identity, self.public, self.expired, self.leased = False, "", True, False, False
        self.folders, self.asked_for_tokens, self.ahead, self.blocks = set(), [], 0, {}
