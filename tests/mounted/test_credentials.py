"""Credentials that expire soon: whoever gives them is asked once and not for each request, and unmounting does not wait for him."""
import datetime
import http.server
import json
import os
import subprocess
import threading

import pytest
from conftest import DAEMON, within
from object_server import KEY, SECRET, ObjectServer
from stores import SmallStore

LIFE = 240  # seconds: credentials are renewed from 300 s before their end


def expiration(life=LIFE):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=life)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Services(http.server.ThreadingHTTPServer):
    """What gives credentials on machines of Amazon and Google, in containers and for web identities. `asked`: the paths of its questions for them."""
    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_PUT(self):
            self.answer("a token")

        def do_GET(self):
            keys = {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": "", "Expiration": expiration()}
            if self.path.endswith("/security-credentials/"):
                return self.answer("role")
            self.server.asked.append(self.path)
            if "computeMetadata" in self.path:
                return self.answer(json.dumps({"access_token": "of-google", "expires_in": LIFE}))
            self.answer(json.dumps(keys))

        def do_POST(self):
            """The token service of Amazon: a form."""
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.server.asked.append(sent)
            assert "Action=AssumeRoleWithWebIdentity&" in sent and "WebIdentityToken=identity" in sent, sent
            self.answer(f"<Credentials><AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><Expiration>{expiration()}</Expiration></Credentials>")

        def answer(self, text, status=200):
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    def __init__(self, handler=Handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.asked = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def services():
    made = Services()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


@pytest.fixture
def server(store):
    made = ObjectServer(os.path.dirname(store.path), "bucket")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    return tmp_path


def by_a_process(folder, line, life=LIFE):
    """Has keys given by a program, which runs `line` first. The file in which each run leaves a line."""
    answer = json.dumps({"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET, "Expiration": expiration(life)})
    program = folder / "program"
    program.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{line}\necho '{answer}'\n")
    program.chmod(0o755)
    (folder / "keys").write_text(f"[default]\ncredential_process = {program}\n")
    return folder / "runs"


def read_all(mounted, store):
    """All chunks, again and again: each is asked for, since nothing is trusted for any time."""
    for _ in range(5):
        for chunk in ("0.0", "0.2", "2.0"):
            with open(mounted / f"a/{chunk}", "rb") as file:
                assert file.read() == store.chunk(*map(int, chunk.split(".")))


def options(server):
    return f"endpoint={server.url},region={server.region},revalidate=0,timeout=0"


def test_a_process_is_run_once_for_many_requests(mount, server, store, home):
    runs = by_a_process(home, "")
    read_all(mount("s3://bucket/store", options(server)), store)
    assert len(server.seen) > 15
    assert len(runs.read_text().splitlines()) == 1


@pytest.mark.parametrize("chain", ["machine", "container", "web identity", "google"])
def test_a_service_is_asked_once_for_many_requests(mount, server, store, home, services, monkeypatch, chain):
    source, more = "s3://bucket/store", options(server)
    if chain == "machine":
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://{services.host}")
    elif chain == "container":
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://{services.host}/keys")
    elif chain == "web identity":
        (home / "identity").write_text("identity")
        for name, value in (("WEB_IDENTITY_TOKEN_FILE", home / "identity"), ("ROLE_ARN", "arn:x"), ("ENDPOINT_URL_STS", f"http://{services.host}")):
            monkeypatch.setenv(f"AWS_{name}", str(value))
    else:
        source, server.token = "gs://bucket/store", "of-google"
        server.speak_google()
        monkeypatch.setenv("GCE_METADATA_HOST", services.host)
    read_all(mount(source, more), store)
    assert len(server.seen) > 15
    assert len(services.asked) == 1


def test_nobody_waits_for_a_process_that_hangs(mount, server, store, home):
    """Neither reading, while there are keys that are good, nor unmounting."""
    runs = by_a_process(home, f"[ ! -e {home}/hangs ] || exec sleep 600")
    mounted = mount("s3://bucket/store", options(server))
    (home / "hangs").touch()
    before = len(runs.read_text().splitlines())
    server.fault = lambda seen: {"status": 403, "code": "ExpiredToken"} if seen["method"] == "GET" else None  # an answer to HEAD says nothing
    waits = subprocess.Popen(["cat", mounted / "a/0.0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    within(60, lambda: len(runs.read_text().splitlines()) > before)
    waits.terminate()  # who waits for keys can be ended
    assert waits.wait(timeout=600) != 0
    with subprocess.Popen([DAEMON, "umount", mounted.path]) as umount:
        within(25, lambda: umount.poll() is not None)  # and not the 30 s that such a process gets
        assert umount.returncode == 0


@pytest.mark.parametrize("access", ["ro", "rw"])
def test_a_mount_that_has_no_keys_any_more_is_unmounted(mount, server, store, home, access):
    """What is asked of the mount itself needs none."""
    by_a_process(home, f"[ ! -e {home}/hangs ] || {{ touch {home}/hanging; exec sleep 600; }}", life=0)
    mounted = mount("s3://bucket/store", f"{access},{options(server)}")
    (home / "hangs").touch()
    hanging = home / "hanging"
    for _ in range(1000):  # what keys there are is not asked for each read
        with subprocess.Popen(["cat", mounted / "a/0.0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reads:
            within(60, lambda: hanging.exists() or reads.poll() is not None)
            reads.terminate()
        if hanging.exists():
            break
    assert hanging.exists()
    told = json.loads(subprocess.run([DAEMON, "mounts", "--json"], stdout=subprocess.PIPE, timeout=600, check=True).stdout)
    assert [one.get("trouble") for one in told["mounts"] if one["mountpoint"] == mounted.path] == [None]
    done = subprocess.run([DAEMON, "umount", mounted.path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stderr == "", done


def test_a_process_that_fails_is_not_run_for_each_request(server, home):
    runs = by_a_process(home, "exit 1")
    os.mkdir(home / "mnt")
    done = subprocess.run([DAEMON, "mount", "s3://bucket/store", home / "mnt", "-o", f"ro,{options(server)}"], capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "credential_process" in done.stderr
    assert len(runs.read_text().splitlines()) <= 3
