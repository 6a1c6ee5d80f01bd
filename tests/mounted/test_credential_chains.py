"""Credentials that come in two steps: roles, logins and service accounts. What gives them stands in for Amazon's and Google's services, and checks what it is sent."""
import base64
import hashlib
import json
import os
import re
import subprocess
import time
import urllib.parse

import pytest
from conftest import DAEMON
from object_server import KEY, SECRET, ObjectServer, signature
from stores import SmallStore
from test_credentials import LIFE, Services, expiration, options, read_all

SESSION, START = "work", "https://example.awsapps.com/start"
ROLE = "arn:aws:iam::1:role/reads"


class ChainServices(Services):
    """`asked`: what was asked for, in words. `refuses`: (status, answer) instead. `needs`: the session token that a role is asked for with."""

    class Handler(Services.Handler):
        def refused(self):
            if self.server.refuses is None:
                return False
            self.answer(self.server.refuses[1], self.server.refuses[0])
            return True

        def do_GET(self):
            server, url = self.server, urllib.parse.urlsplit(self.path)
            if url.path != "/federation/credentials":
                return super().do_GET()
            server.asked.append("sso")
            if self.refused():
                return None
            assert urllib.parse.parse_qs(url.query) == {"role_name": ["reads"], "account_id": ["123"]} and self.headers["x-amz-sso_bearer_token"] == "logged-in"
            keys = {"accessKeyId": KEY, "secretAccessKey": SECRET, "sessionToken": "of-sso", "expiration": int((time.time() + LIFE) * 1000)}
            return self.answer(json.dumps({"roleCredentials": keys}))

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            form = {name: values[0] for name, values in urllib.parse.parse_qs(sent.decode()).items()}
            if "grant_type" in form:
                return self.google(form)
            self.server.asked.append(form["RoleArn"])
            if self.refused():
                return None
            if form["Action"] == "AssumeRole":
                self.check_signature(sent)
            else:
                assert form["WebIdentityToken"] == "identity"
            assert form.get("ExternalId", "x") == "x" and form.get("DurationSeconds", "900") == "900", form
            keys = {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "SessionToken": f"of-{form['RoleArn']}", "Expiration": expiration()}
            return self.answer("<AssumeRoleResponse><Credentials>" + "".join(f"<{name}>{value}</{name}>" for name, value in keys.items())
                               + "</Credentials></AssumeRoleResponse>")

        def check_signature(self, sent):
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = re.fullmatch("AWS4-HMAC-SHA256 Credential=([^/]+)/[0-9]{8}/eu-9/sts/aws4_request,SignedHeaders=([^,]+),Signature=(.+)", headers["authorization"])
            names = found[2].split(";")
            assert {"host", "x-amz-date"} <= set(names)
            headers["x-amz-content-sha256"] = hashlib.sha256(sent).hexdigest()
            assert signature("POST", self.path, "", headers, names, headers["x-amz-date"], "eu-9", service="sts") == found[3]
            assert headers.get("x-amz-security-token", "") == self.server.needs.pop(0), headers

        def google(self, form):
            self.server.asked.append(form["grant_type"])
            if self.refused():
                return None
            if form["grant_type"] == "refresh_token":
                assert (form["client_id"], form["client_secret"], form["refresh_token"]) == ("client", "of-client", "refresh")
            else:
                head, claims, signed = form["assertion"].split(".")
                assert unpack(head) == {"alg": "RS256", "typ": "JWT", "kid": "key-1"}
                told = unpack(claims)
                assert told["iss"] == "a@b" and told["aud"] == f"http://{self.server.host}/token" and told["scope"].endswith("devstorage.read_write")
                assert 0 < told["exp"] - told["iat"] <= 3600 and abs(told["iat"] - time.time()) < 60
                check_rsa(self.server.folder, f"{head}.{claims}", bytes_of(signed))
            return self.answer(json.dumps({"access_token": "of-google", "expires_in": LIFE, "token_type": "Bearer"}))

    def __init__(self, folder):
        self.folder, self.refuses, self.needs = folder, None, [""]
        super().__init__(self.Handler)


def bytes_of(part):
    assert not set(part) & set("+/=")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def unpack(part):
    return json.loads(bytes_of(part))


def check_rsa(folder, text, signed):
    (folder / "signature").write_bytes(signed)
    subprocess.run(["openssl", "dgst", "-sha256", "-verify", folder / "public.pem", "-signature", folder / "signature"], input=text.encode(), check=True,
                   stdout=subprocess.DEVNULL)


@pytest.fixture
def services(tmp_path, monkeypatch):
    made = ChainServices(tmp_path)
    for name in ("STS", "SSO"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{name}", f"http://{made.host}")
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
    for name in [name for name in os.environ if name.startswith(("AWS_", "GS_", "GOOGLE_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    return tmp_path


KEYS = f"aws_access_key_id = base\naws_secret_access_key = {SECRET}\n"


def profiles(home, text):
    os.makedirs(home / ".aws", exist_ok=True)
    (home / ".aws/config").write_text(text)


def log_in(home, name, until=3600, token="logged-in"):
    os.makedirs(home / ".aws/sso/cache", exist_ok=True)
    (home / f".aws/sso/cache/{hashlib.sha1(name.encode()).hexdigest()}.json").write_text(
        json.dumps({"startUrl": START, "region": "eu-9", "accessToken": token, "expiresAt": expiration(until)}))


SSO = f"sso_account_id = 123\nsso_role_name = reads\nsso_session = {SESSION}\n[sso-session {SESSION}]\nsso_region = eu-9\nsso_start_url = {START}\n"
OLD_SSO = f"sso_account_id = 123\nsso_role_name = reads\nsso_region = eu-9\nsso_start_url = {START}\n"
OF_ROLE = f"[default]\nregion = eu-9\nrole_arn = {ROLE}\n"
# The profiles, what is asked of the services in turn, and the session tokens of those that ask for roles.
CHAINS = {
    "role": (OF_ROLE + f"source_profile = base\nexternal_id = x\nduration_seconds = 900\n[profile base]\n{KEYS}", [ROLE], [""]),
    "role of a role": (OF_ROLE + f"source_profile = mid\n[profile mid]\nregion = eu-9\nrole_arn = arn:mid\nsource_profile = base\n[profile base]\n{KEYS}",
                       ["arn:mid", ROLE], ["", "of-arn:mid"]),
    "role by its own keys": (OF_ROLE + f"source_profile = default\n{KEYS}", [ROLE], [""]),
    "role by a process": (OF_ROLE + "source_profile = base\n[profile base]\ncredential_process = echo '"
                          + json.dumps({"Version": 1, "AccessKeyId": "base", "SecretAccessKey": SECRET}) + "'\n", [ROLE], [""]),
    "role by the environment": (OF_ROLE + "credential_source = Environment\n", [ROLE], [""]),
    "role by the container": (OF_ROLE + "credential_source = EcsContainer\n", ["/keys", ROLE], [""]),
    "role by the machine": (OF_ROLE + "credential_source = Ec2InstanceMetadata\n", ["/latest/meta-data/iam/security-credentials/role", ROLE], [""]),
    "role by a web identity": (OF_ROLE + "web_identity_token_file = {home}/identity\n", [ROLE], []),
    "sso": (f"[default]\n{SSO}", ["sso"], []),
    "sso without a session": (f"[default]\n{OLD_SSO}", ["sso"], []),
    "role by sso": (OF_ROLE + f"source_profile = person\n[profile person]\n{SSO}", ["sso", ROLE], ["of-sso"]),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_keys_that_amazons_services_give(mount, server, store, home, services, monkeypatch, chain):
    text, asked, services.needs = CHAINS[chain]
    services.needs = list(services.needs)
    profiles(home, text.replace("{home}", str(home)))
    log_in(home, SESSION)
    log_in(home, START)
    (home / "identity").write_text("identity\n")
    if "environment" in chain:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "base")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://{services.host}/keys")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://{services.host}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
    read_all(mount("s3://bucket/store", options(server) + ",aws_profile=default"), store)
    assert len(server.seen) > 15
    assert services.asked == asked  # once for all
    token = {seen["headers"].get("x-amz-security-token", "") for seen in server.seen}
    assert token == {"of-sso" if asked[-1] == "sso" else f"of-{ROLE}"}


def google_file(home, services, kind, **more):
    account = {"type": "service_account", "client_email": "a@b", "private_key_id": "key-1", "token_uri": f"http://{services.host}/token"}
    person = {"type": "authorized_user", "client_id": "client", "client_secret": "of-client", "refresh_token": "refresh", "token_uri": f"http://{services.host}/token"}
    if kind == "service account":
        subprocess.run(["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", home / "private.pem"], check=False)
        if not os.path.exists(home / "private.pem"):  # OpenSSL 3.0 knows no -quiet
            subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", home / "private.pem"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["openssl", "pkey", "-in", home / "private.pem", "-pubout", "-out", home / "public.pem"], check=True)
        account["private_key"] = (home / "private.pem").read_text()
    return json.dumps({**(account if kind == "service account" else person), **more})


@pytest.mark.parametrize("place", ["named", "gcloud", "gcloud elsewhere"])
@pytest.mark.parametrize("kind", ["service account", "person"])
def test_application_default_credentials(mount, server, store, home, services, monkeypatch, kind, place):
    folder = home / ("other" if place == "gcloud elsewhere" else ".config/gcloud")
    os.makedirs(folder)
    file = home / "keys.json" if place == "named" else folder / "application_default_credentials.json"
    file.write_text(google_file(home, services, kind))
    if place == "named":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    if place == "gcloud elsewhere":
        monkeypatch.setenv("CLOUDSDK_CONFIG", str(folder))
    server.token = "of-google"
    server.speak_google()
    read_all(mount("gs://bucket/store", options(server)), store)
    assert len(server.seen) > 15
    assert services.asked == ["refresh_token" if kind == "person" else "urn:ietf:params:oauth:grant-type:jwt-bearer"]


def refused(server, source="s3://bucket/store", more=",aws_profile=default"):
    done = subprocess.run([DAEMON, "info", source, "--remote", options(server).replace("revalidate=0,timeout=0", "deadline=60") + more],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 3, done
    for secret in (SECRET, "logged-in", "of-client", "PRIVATE"):
        assert secret not in done.stderr
    return done.stderr


def test_what_a_login_lacks_is_told(server, home, services):
    profiles(home, f"[default]\n{SSO}")
    assert "nobody has logged in" in refused(server) and "aws sso login --sso-session work" in refused(server)
    log_in(home, SESSION, until=-10)
    assert "the login has expired: aws sso login --sso-session work" in refused(server)
    assert not services.asked, "what is known to have expired is not sent"
    log_in(home, SESSION)
    services.refuses = (401, json.dumps({"message": "Session token not found or invalid"}))
    assert "the login has expired: aws sso login --sso-session work" in refused(server)
    services.refuses = (403, json.dumps({"message": "No access"}))
    assert "does not give the role reads of account 123: status 403 No access" in refused(server)
    profiles(home, f"[default]\n{OLD_SSO}")
    assert "aws sso login --profile default" in refused(server)
    profiles(home, "[default]\nsso_session = gone\nsso_account_id = 123\nsso_role_name = reads\n")
    assert "has no sso_start_url" in refused(server) and "[sso-session gone]" in refused(server)


def test_what_a_role_lacks_is_told(server, home, services):
    def told(more):
        profiles(home, OF_ROLE + more)
        return refused(server)

    assert "neither source_profile nor a credential_source" in told("")
    assert "neither source_profile nor a credential_source" in told("credential_source = Elsewhere\n")
    assert 'the keys of profile "nobody", which has none' in told("source_profile = nobody\n")
    assert "mfa_serial" in told("source_profile = base\nmfa_serial = arn:x\n")
    assert "duration_seconds is no number: an hour" in told("duration_seconds = an hour\n")
    assert 'the keys of profile "default", which has none' in told("source_profile = other\n[profile other]\nrole_arn = arn:other\nsource_profile = default\n")
    many = "".join(f"[profile p{n}]\nrole_arn = arn:{n}\nsource_profile = p{n + 1}\n" for n in range(20))
    assert "ever more roles" in told("source_profile = p0\n" + many)
    assert not services.asked
    services.refuses = (403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not allowed to sts:AssumeRole</Message></Error></ErrorResponse>")
    said = told(f"source_profile = base\n[profile base]\n{KEYS}")
    assert 'the role of profile "default": status 403 AccessDenied: not allowed to sts:AssumeRole' in said


def test_keys_are_asked_for_on_private_ways_only(server, home, services, monkeypatch):
    profiles(home, OF_ROLE + f"source_profile = base\n[profile base]\n{KEYS}[profile person]\n{SSO}")
    log_in(home, SESSION)
    for name, profile in (("STS", "default"), ("SSO", "person")):
        for host in ("http://example.org", "http://127.0.0.1.example.org", "http://localhost.example.org:80", "ftp://127.0.0.1"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{name}", host)
            assert f"AWS_ENDPOINT_URL_{name}: {host}: keys are asked for by https:// only" in refused(server, more=f",aws_profile={profile}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(home / "keys.json"))
    (home / "keys.json").write_text(google_file(home, services, "person", token_uri="http://example.org/token"))
    assert "token_uri: http://example.org/token: keys are asked for by https:// only" in refused(server, "gs://bucket/store", "")


def test_what_googles_credentials_lack_is_told(server, home, services, monkeypatch):
    file = home / "keys.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    def told(text):
        file.write_text(text)
        return refused(server, "gs://bucket/store", "")

    assert "cannot be read" in refused(server, "gs://bucket/store", "")
    assert f"{file}: is no JSON object" in told("{")
    assert "is no JSON object" in told("[]")
    assert 'not type "external_account": let CLOUDSDK_AUTH_ACCESS_TOKEN_FILE name' in told('{"type": "external_account"}')
    assert "has no refresh_token" in told(google_file(home, services, "person", refresh_token=""))
    assert "has no client_email" in told(google_file(home, services, "service account", client_email=""))
    elliptic = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], capture_output=True, text=True, check=True).stdout
    for key in ("", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", elliptic):
        assert "private_key is no private key of RSA" in told(google_file(home, services, "service account", private_key=key))
    assert not services.asked
    services.refuses = (400, json.dumps({"error": "invalid_grant", "error_description": "Token has been expired or revoked."}))
    assert "Token has been expired or revoked.; log in anew: gcloud auth application-default login" in told(google_file(home, services, "person"))
    services.refuses = (400, json.dumps({"error": "invalid_grant", "error_description": "Invalid JWT"}))
    assert "this machine's clock is off" in told(google_file(home, services, "service account"))
    file.unlink()
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    assert "gcloud auth application-default login" in refused(server, "gs://bucket/store", "")
