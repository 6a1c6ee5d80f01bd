"""docs/troubleshooting.md, "Stores at a server": each message there is produced here, and says what the page says."""
import base64
import json
import os
import re
import subprocess

import azure_server
import pytest
from conftest import DAEMON, ROOT
from object_server import KEY, SECRET, ObjectServer
from test_azure import GOLDEN, SAS
from test_credential_chains import KEYS, OF_ROLE, SSO, ChainServices, google_file, profiles
from test_doctor_server import bucket_options, certificate, credentials, serve  # noqa: F401 (fixtures)

SECTION = "## Stores at a server"


def rows():
    """The messages of the page, as patterns: `...` stands for anything."""
    with open(os.path.join(ROOT, "docs", "troubleshooting.md")) as page:
        section = page.read().split(SECTION)[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, flags=re.M)


def said(*words, **environment):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    assert done.returncode != 0, done
    return done.stdout + done.stderr


class Scenes:
    """A function for each row, in any order: what zarrfs says then."""

    def __init__(self, serve, certificate, folder, services):
        self.serve, self.certificate, self.folder, self.services = serve, certificate, folder, services

    def info(self, url, options="", **environment):
        return said("info", url, "--remote", ",".join(filter(None, ["deadline=60", options])), **environment)

    def bucket(self, fault=None, options="", path="sharding.zarr", **environment):
        server = self.serve("bucket")
        server.fault = fault and (lambda seen: fault)
        return self.info(f"s3://bucket/{path}", bucket_options(server) + options, **environment)

    def of_profile(self, text, **environment):
        profiles(self.folder, text)
        return self.bucket(options=",aws_profile=default", **environment)

    def of_google(self, text):
        (self.folder / "google.json").write_text(text)
        server = self.serve("bucket")
        server.speak_google()
        return self.info("gs://bucket/sharding.zarr", bucket_options(server), GOOGLE_APPLICATION_CREDENTIALS=str(self.folder / "google.json"))

    def refused(self, status, code):
        return self.bucket({"status": status, "code": code})

    def container(self, name=azure_server.CONTAINER, options="", code="", status=403, environment=(), **server):
        """What is said of a store of Azure, whose server has these attributes and refuses with `code`."""
        made = azure_server.AzureServer(os.path.join(GOLDEN, "stores"))
        for attribute, value in server.items():
            setattr(made, attribute, value)
        made.fault = code and (lambda seen: {"status": status, "code": code})
        secrets = {f"AZURE_STORAGE_{word}": "" for word in ("ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING")}
        try:
            return self.info(f"az://{azure_server.ACCOUNT}/{name}/sharding.zarr", f"endpoint={made.url},{options}",
                             **{**secrets, "AZURE_STORAGE_KEY": azure_server.KEY, **dict(environment)})
        finally:
            made.close()

    def wrong_key_of_azure(self):
        return self.container(environment={"AZURE_STORAGE_KEY": base64.b64encode(b"of another account").decode()})

    def expired_sas(self):
        return self.container(environment={"AZURE_STORAGE_KEY": "", "AZURE_STORAGE_SAS_TOKEN": SAS}, sas=True, expired=True)

    def sas_that_may_not(self):
        return self.container(code="AuthorizationPermissionMismatch")

    def no_container(self):
        return self.container("other")

    def nothing_public(self):
        return self.container(options="anonymous", anonymous=True, public=False)

    def no_credentials_of_azure(self):
        return self.container(environment={"AZURE_STORAGE_KEY": "", "AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1"})

    def keys_of_another_account(self):
        return self.container(environment={"AZURE_STORAGE_ACCOUNT": "another"})

    def name(self):
        return self.info("https://no-such-host.invalid/store.zarr", "deadline=1")

    def connection(self):
        server = self.serve()
        server.close()
        return self.info(f"{server.url}/store.zarr", "deadline=1")

    def certificate_of_its_own(self):
        return self.info(f"{self.serve(certificate=self.certificate).url}/sharding.zarr")

    def silence(self):
        server = self.serve()
        server.delay = 5
        return self.info(f"{server.url}/sharding.zarr", "deadline=1")

    def proxy(self):
        return self.info("http://host.invalid/store.zarr", "deadline=1", http_proxy="http://me:a/b@host")

    def no_credentials(self):
        return self.bucket(AWS_SECRET_ACCESS_KEY="")

    def no_profile(self):
        return self.bucket(options=",aws_profile=lab")

    def role(self):
        return self.of_profile(OF_ROLE)

    def role_with_a_code(self):
        return self.of_profile(f"{OF_ROLE}mfa_serial = arn:x\n")

    def role_that_is_not_given(self):
        self.services.refuses = (403, "<Error><Code>AccessDenied</Code><Message>not allowed</Message></Error>")
        return self.of_profile(f"{OF_ROLE}source_profile = base\n[profile base]\n{KEYS}", AWS_ENDPOINT_URL_STS=f"http://{self.services.host}")

    def no_login(self):
        return self.of_profile(f"[default]\n{SSO}")

    def open_way(self):
        return self.of_profile(f"{OF_ROLE}source_profile = base\n[profile base]\n{KEYS}", AWS_ENDPOINT_URL_STS="http://example.org")

    def login_of_google(self):
        self.services.refuses = (400, '{"error": "invalid_grant"}')
        return self.of_google(google_file(self.folder, self.services, "person"))

    def unknown_kind_of_google(self):
        return self.of_google('{"type": "external_account"}')

    def wrong_secret(self):
        return self.bucket(AWS_SECRET_ACCESS_KEY="another")

    def unknown_key(self):
        return self.refused(403, "InvalidAccessKeyId")

    def expired(self):
        return self.refused(400, "ExpiredToken")

    def denied(self):
        return self.refused(403, "AccessDenied")

    def no_bucket(self):
        return self.refused(404, "NoSuchBucket")

    def wrong_clock(self):
        return self.refused(403, "RequestTimeTooSkewed")

    def overloaded(self):
        return self.bucket({"status": 503, "code": "SlowDown"}, ",deadline=1")

    def points_elsewhere(self):
        return self.bucket({"status": 307, "code": "TemporaryRedirect", "headers": {"Location": "http://127.0.0.1:1/"}})

    def no_names(self):
        """Nor is there anything: a server without listings cannot say."""
        return self.info(f"{self.serve().url}/nothing.zarr")

    def password_in_url(self):
        return self.info("http://me:word@host/store.zarr")

    def compressed(self):
        server = self.serve()
        server.fault = lambda seen: {"edit": lambda status, headers, body: (status, {**headers, "Content-Encoding": "gzip"}, body)}
        return self.info(f"{server.url}/sharding.zarr")

    def another_format(self):
        server = self.serve()
        with open(os.path.join(server.root, "image.tif"), "wb") as file:
            file.write(b"II*\0")
        return self.info(f"{server.url}/image.tif")

    def wrong_prefix(self):
        return self.bucket(path="nothing.zarr")

    def only_read(self):
        (self.folder / "mnt").mkdir()
        return said("mount", f"{self.serve().url}/sharding.zarr", self.folder / "mnt", "-o", "rw")

    def no_conditions(self):
        server = self.serve("bucket")
        server.careless = ("PUT",)
        (self.folder / "careless").mkdir()
        return said("mount", "s3://bucket/sharding.zarr", self.folder / "careless", "-o", f"rw,spool={self.folder}/spool,{bucket_options(server)}")

    def too_large_without_ranges(self):
        server = self.serve()
        server.ranges = False
        os.makedirs(os.path.join(server.root, "large.zarr/c"))
        with open(os.path.join(server.root, "large.zarr/zarr.json"), "w") as file:
            file.write('{"zarr_format": 3, "node_type": "array", "shape": [33554432], "data_type": "uint8", "fill_value": 0, "chunk_grid": {"name": "regular", '
                       '"configuration": {"chunk_shape": [33554432]}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}')
        with open(os.path.join(server.root, "large.zarr/c/0"), "wb") as file:
            file.truncate(33554432)
        return said("cat", f"{server.url}/large.zarr", "0", "--remote", "memory_cache=16M,deadline=60")

    def replaced(self):
        """A shard is replaced between each two requests for it."""
        server = self.serve("bucket")
        tag = {"edit": lambda status, headers, body: (status, {**headers, "ETag": '"another"'}, body)}
        server.fault = lambda seen: tag if "/c/" in seen["path"] and "If-Match" in seen["headers"] else None
        return said("cat", "s3://bucket/sharding.zarr", "chunks_big_endian/1.1", "--remote", bucket_options(server))


@pytest.fixture
def everything(serve, certificate, tmp_path):  # noqa: F811
    services = ChainServices(tmp_path)
    scenes = Scenes(serve, certificate, tmp_path, services)
    names = [name for name in vars(Scenes) if not name.startswith("_") and name not in ("info", "bucket", "container", "of_profile", "of_google", "refused")]
    said_then = {name: getattr(scenes, name)() for name in names}
    services.shutdown()
    services.server_close()
    return said_then


def test_each_message_of_the_page_is_said_and_no_scene_is_without_one(everything):
    patterns = {row: ".*".join(re.escape(part) for part in row.split("...")) for row in rows()}
    assert len(patterns) >= 20
    unsaid = [row for row, pattern in patterns.items() if not any(re.search(pattern, text) for text in everything.values())]
    unexplained = {name: text for name, text in everything.items() if not any(re.search(pattern, text) for pattern in patterns.values())}
    assert not unsaid, f"nothing says {unsaid}; said was:\n" + "\n".join(f"{name}: {text}" for name, text in everything.items())
    assert not unexplained, unexplained
    everywhere = "".join(everything.values())
    assert not [secret for secret in (SECRET, "me:a", azure_server.KEY, "sig=") if secret in everywhere]


@pytest.mark.parametrize("command", ["info", "verify", "refs", "ls", "map", "shard"])
def test_commands_end_with_the_reason_where_nothing_answers(command, tmp_path):
    words = [tmp_path / "target"] if command == "shard" else []
    done = subprocess.run([DAEMON, command, "http://127.0.0.1:1/store.zarr", *words, "--remote", "deadline=1"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "Failed to connect" in done.stderr and "0 arrays" not in done.stdout and "damaged" not in done.stdout, done.stdout


@pytest.mark.parametrize("code", ["AccessDenied", "SignatureDoesNotMatch", "InvalidAccessKeyId"])
@pytest.mark.parametrize("command", ["info", "verify"])
def test_a_refusal_comes_with_the_advice_of_doctor(serve, command, code):  # noqa: F811
    server = serve("bucket")
    server.fault = lambda seen: {"status": 403, "code": code}
    told = subprocess.run([DAEMON, "doctor", "s3://bucket/sharding.zarr", "--json", "--remote", bucket_options(server)], capture_output=True, text=True, timeout=600)
    [advice] = [one["remedy"] for one in json.loads(told.stdout)["checks"] if one["verdict"] == "wrong"]
    assert advice in said(command, "s3://bucket/sharding.zarr", "--remote", bucket_options(server))
