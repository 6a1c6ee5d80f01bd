"""zarrfs doctor URL: what is wrong with a server, a bucket or credentials is named, with what to do; nothing secret is told."""
import json
import os
import re
import subprocess
import zipfile

import pytest
from conftest import DAEMON
from object_server import KEY, SECRET, ObjectServer


@pytest.fixture(autouse=True)
def credentials(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def serve(golden):
    servers = []
    root = golden("sharding.zarr").parent

    def make(bucket="", **more):
        servers.append(ObjectServer(root, bucket, **more))
        return servers[-1]

    yield make
    for one in servers:
        one.close()


@pytest.fixture
def certificate(tmp_path):
    """A key with a certificate that nobody but its own file vouches for."""
    path = tmp_path / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", tmp_path / "certificate"], check=True, capture_output=True)
    with open(path, "a") as file:
        file.write((tmp_path / "certificate").read_text())
    return path


def examine(url, options="", *words):
    """{name: check} and what was printed; the exit status is the one that the document says."""
    done = subprocess.run([DAEMON, "doctor", url, "--remote", options, "--json", *words], capture_output=True, text=True, timeout=600)
    document = json.loads(done.stdout)
    assert done.returncode == (0 if document["good"] else 1), done
    assert SECRET not in done.stdout + done.stderr
    checks = {check["name"]: check for check in document["checks"]}
    assert len(checks) == len(document["checks"])
    assert all(bool(check["remedy"]) == (check["verdict"] != "good") for check in checks.values()), checks
    return checks


def bucket_options(server, more=""):
    return f"endpoint={server.url},region={server.region}{more}"


def assert_found(checks, name, verdict, *texts):
    check = checks[name]
    assert check["verdict"] == verdict, checks
    for text in texts:
        assert text in check["found"] + " -> " + check["remedy"], check


def test_a_good_bucket_is_good_in_all(serve):
    server = serve("bucket")
    checks = examine("s3://bucket/sharding.zarr", bucket_options(server), "--rw")
    assert list(checks) == ["proxy", "name", "connection", "clock", "credentials", "bucket", "store", "ranges", "versions", "writing"]
    assert {check["verdict"] for check in checks.values()} == {"good"}, checks
    assert_found(checks, "credentials", "good", "from the environment (AWS_ACCESS_KEY_ID)")
    assert not [name for _, _, names in os.walk(server.root) for name in names if "probe" in name]


def test_without_the_word_nothing_is_written(serve):
    server = serve("bucket")
    assert "writing" not in examine("s3://bucket/sharding.zarr", bucket_options(server))
    assert {seen["method"] for seen in server.seen} == {"GET"}


def test_a_web_server_and_an_archive_there(serve, tmp_path):
    server = serve()
    assert {check["verdict"] for check in examine(f"{server.url}/sharding.zarr").values()} == {"good"}
    with zipfile.ZipFile(os.path.join(server.root, "a b.zip"), "w") as archive:
        archive.writestr("zarr.json", "{}")
    checks = examine(f"{server.url}/a%20b.zip")
    assert_found(checks, "store", "good", "/a%20b.zip can be read")
    assert_found(examine(f"{server.url}/other.zip"), "store", "wrong", "there is no such object")
    assert_found(examine(f"{server.url}/sharding.zarr", "", "--rw"), "writing", "wrong", "this kind of store is only read")
    bucket = serve("bucket")
    assert_found(examine("s3://bucket/a b.zip", bucket_options(bucket)), "store", "good", "s3://bucket/a b.zip can be read")


def test_names_and_connections(serve):
    checks = examine("https://no-such-host.invalid/store")
    assert list(checks) == ["proxy", "name"]
    assert_found(checks, "name", "wrong", "no-such-host.invalid: Name or service not known", "DNS")
    server = serve()
    server.close()
    checks = examine(f"{server.url}/store", "deadline=5")
    assert_found(checks, "connection", "wrong", "Failed to connect", "look whether the server runs")


def test_certificates(serve, certificate):
    server = serve(certificate=certificate)
    checks = examine(f"{server.url}/sharding.zarr")
    assert list(checks)[-1] == "connection"
    assert_found(checks, "connection", "wrong", "SSL certificate", "self-signed certificate", "ca_file=FILE")
    checks = examine(f"{server.url}/sharding.zarr", f"ca_file={certificate}")
    assert_found(checks, "connection", "good", f"a certificate that {certificate}'s vouch for")
    assert_found(checks, "store", "good")
    assert_found(examine(f"{server.url}/sharding.zarr", "ca_file=/nowhere"), "connection", "wrong", "/nowhere")


def hashed(certificate, folder):
    """A directory of trusted certificates as OpenSSL looks them up: by the hash of the subject."""
    folder.mkdir()
    name = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", str(certificate)], capture_output=True, text=True, check=True).stdout.strip()
    (folder / f"{name}.0").symlink_to(certificate)
    return folder


def test_certificates_of_the_system_are_those_that_the_environment_names(serve, certificate, monkeypatch, tmp_path):
    url = f"{serve(certificate=certificate).url}/sharding.zarr"
    named = {"CURL_CA_BUNDLE": certificate, "SSL_CERT_DIR": hashed(certificate, tmp_path / "hashed"), "SSL_CERT_FILE": certificate}
    for name in named:
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        with monkeypatch.context() as patched:
            patched.setenv(name, str(value))
            assert_found(examine(url), "connection", "good", f"a certificate that {value}'s vouch for")
            # Who names a file trusts no other certificates.
            assert_found(examine(url, "ca_file=/etc/ssl/certs/ca-certificates.crt"), "connection", "wrong", "SSL certificate", "self-signed certificate",
                         "trusted are the certificates of /etc/ssl/certs/ca-certificates.crt")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    assert_found(examine(url), "connection", "wrong", "/nowhere.pem")


def test_certificates_of_the_environment_are_for_buckets_of_s3(serve, certificate, monkeypatch, tmp_path):
    server = serve("bucket", certificate=certificate)
    assert_found(examine("s3://bucket/sharding.zarr", bucket_options(server)), "connection", "wrong", "SSL certificate", "self-signed certificate")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    checks = examine("s3://bucket/sharding.zarr", bucket_options(server))
    assert_found(checks, "connection", "good", f"a certificate that {certificate}'s vouch for")
    done = subprocess.run([DAEMON, "info", "s3://bucket/sharding.zarr", "--remote", bucket_options(server)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout, done.stderr
    other = tmp_path / "other.pem"
    other.write_text("")
    checks = examine("s3://bucket/sharding.zarr", f"{bucket_options(server)},ca_file={other}")
    assert_found(checks, "connection", "wrong", str(other))
    web = serve(certificate=certificate)
    assert_found(examine(f"{web.url}/sharding.zarr"), "connection", "wrong", "SSL certificate", "self-signed certificate")


def test_proxies_are_named_without_their_password(serve, monkeypatch):
    server = serve()
    monkeypatch.setenv("http_proxy", f"http://me:hunter2@{server.url.split('//')[1]}")
    checks = examine("http://store.invalid/sharding.zarr")
    assert_found(checks, "proxy", "good", f"http://...@{server.url.split('//')[1]}")
    assert "name" not in checks and "hunter2" not in json.dumps(checks)
    monkeypatch.setenv("http_proxy", f"http://me:{SECRET}@nowhere")  # its slash must be encoded: no URL, and no secret in what is said of it
    assert_found(examine("http://store.invalid/sharding.zarr"), "connection", "wrong", "the URL of the proxy is not understood")
    monkeypatch.setenv("no_proxy", "other.invalid, .store.invalid")
    assert_found(examine("http://a.store.invalid/sharding.zarr"), "proxy", "good", "none")


@pytest.mark.parametrize("seconds,words", [(-3600, "ahead of the server's"), (7200, "behind the server's"), (100, "as the server's")])
def test_the_clock(serve, seconds, words):
    server = serve()
    server.seconds_ahead = seconds
    found = examine(f"{server.url}/sharding.zarr")["clock"]["found"]
    assert words in found
    if "as" not in words.split():  # whole seconds, and the answer takes some time
        assert abs(int(re.search(r"is (\d+) s ", found)[1]) - abs(seconds)) < 60, found


def test_credentials(serve, monkeypatch, tmp_path):
    server = serve("bucket")
    options = bucket_options(server)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    checks = examine("s3://bucket/sharding.zarr", options)
    assert list(checks)[-1] == "bucket"
    assert_found(checks, "bucket", "wrong", "status 403, SignatureDoesNotMatch", "the secret is not the one of this key")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    checks = examine("s3://bucket/sharding.zarr", options)
    assert list(checks)[-1] == "credentials"
    assert_found(checks, "credentials", "wrong", "no credentials: not in AWS_ACCESS_KEY_ID", "anonymous")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(f"[lab]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
                                               f"[tool]\ncredential_process = false\n")
    assert_found(examine("s3://bucket/sharding.zarr", f"{options},aws_profile=lab"), "credentials", "good", 'from profile "lab" of ~/.aws')
    assert_found(examine("s3://bucket/sharding.zarr", f"{options},aws_profile=tool"), "credentials", "wrong", 'credential_process of profile "tool"')
    assert_found(examine("s3://bucket/sharding.zarr", f"{options},aws_profile=none"), "credentials", "wrong", 'there is no profile "none"')
    server.anonymous = True
    checks = examine("s3://bucket/sharding.zarr", f"{options},anonymous")
    assert_found(checks, "credentials", "good", "none (anonymous)")
    assert_found(checks, "store", "good")


@pytest.mark.parametrize("status,code,words", [
    (400, "ExpiredToken", "the credentials have expired"), (403, "InvalidAccessKeyId", "does not know this key"),
    (404, "NoSuchBucket", "look at the bucket's name"), (503, "SlowDown", "overloaded"), (301, "PermanentRedirect", "region=NAME")])
def test_refusals_are_told_with_the_servers_code(serve, status, code, words):
    server = serve("bucket")
    server.fault = lambda seen: {"status": status, "code": code} if seen["query"] else None
    checks = examine("s3://bucket/sharding.zarr", bucket_options(server))
    assert_found(checks, "bucket", "wrong", f"status {status}, {code}: told by the test", words)


def test_a_bucket_that_may_not_be_listed(serve):
    server = serve("bucket")
    server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["query"] else None
    checks = examine("s3://bucket/sharding.zarr", bucket_options(server))
    assert_found(checks, "bucket", "limited", "AccessDenied", "s3:ListBucket")
    assert_found(checks, "store", "good")
    server.fault = lambda seen: {"status": 403, "code": "AccessDenied"}
    checks = examine("s3://bucket/sharding.zarr", bucket_options(server))
    assert_found(checks, "store", "wrong", "AccessDenied", "absent=403")


def test_a_path_with_no_store(serve):
    server = serve("bucket")
    checks = examine("s3://bucket/nothing.zarr", bucket_options(server))
    assert_found(checks, "bucket", "good", "nothing is there")
    assert_found(checks, "store", "wrong", "no zarr.json, .zgroup, .zarray or .zattrs", "look at the path")
    checks = examine("s3://bucket/nothing.zarr", bucket_options(server), "--rw")
    assert_found(checks, "store", "limited", "a new store can be made there")
    assert_found(checks, "writing", "good")


def test_a_path_with_something_else(serve):
    server = serve("bucket")
    with open(os.path.join(server.root, "image.tif"), "wb") as file:
        file.write(b"II*\0")
    assert_found(examine("s3://bucket/image.tif", bucket_options(server)), "store", "wrong", "s3://bucket/image.tif: is a TIFF file; tifffile and GDAL read it")


def test_ranges_and_versions(serve):
    server = serve()
    server.ranges = False
    assert_found(examine(f"{server.url}/sharding.zarr"), "ranges", "limited", "objects whole", "memory_cache")
    server.ranges = True

    def without(*names):
        return lambda seen: {"edit": lambda status, headers, body: (status, {name: value for name, value in headers.items() if name not in names}, body)}
    server.fault = without("ETag")
    assert_found(examine(f"{server.url}/sharding.zarr"), "versions", "limited", "no ETag; the date of the last change")
    server.fault = without("ETag", "Last-Modified")
    assert_found(examine(f"{server.url}/sharding.zarr"), "versions", "limited", "nothing tells versions apart", "immutable")
    server.fault, server.careless = None, ("GET",)
    assert_found(examine(f"{server.url}/sharding.zarr"), "versions", "limited", "ignores If-None-Match")
    server.fault = lambda seen: {"edit": lambda status, headers, body: (status, {**headers, "Content-Encoding": "gzip"}, body)}
    assert_found(examine(f"{server.url}/sharding.zarr"), "store", "wrong", "compressed (gzip)", "gzip off")


@pytest.mark.parametrize("methods,words", [(("PUT",), "If-None-Match forbids it"), (("DELETE",), "removes objects though If-Match forbids it")])
def test_a_server_that_ignores_conditions_of_writing(serve, methods, words):
    server = serve("bucket")
    server.careless = methods
    assert_found(examine("s3://bucket/sharding.zarr", bucket_options(server), "--rw"), "writing", "wrong", words, "mount it with ro")


def test_rights_to_write_that_are_missing(serve):
    server = serve("bucket")
    server.fault = lambda seen: {"status": 403, "code": "AccessDenied"} if seen["method"] == "PUT" else None
    assert_found(examine("s3://bucket/sharding.zarr", bucket_options(server), "--rw"), "writing", "wrong", "AccessDenied", "s3:PutObject")


@pytest.mark.parametrize("words", [["/tmp"], ["ftp://host/x"], ["s3://"], ["http://host/x", "--remote", "nonsense=1"], ["--rw"],
                                   ["http://me:hunter2@host/x"]])
def test_what_is_no_url_of_a_server(words):
    done = subprocess.run([DAEMON, "doctor", *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and done.stderr and "hunter2" not in done.stdout + done.stderr, done


def test_answers_that_are_none_are_told(serve):
    server = serve("bucket")
    for body in (b"", b"<html>hello\x1b[31m</html>", b"<ListBucketResult><Contents>" * 50):
        server.fault = lambda seen: {"edit": lambda status, headers, _: (200, {}, body)} if seen["query"] else None
        checks = examine("s3://bucket/sharding.zarr", bucket_options(server))
        assert_found(checks, "bucket", "wrong", "no server of S3")
        assert "\x1b" not in json.dumps(checks, ensure_ascii=False)
