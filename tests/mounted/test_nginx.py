"""Stores behind a real web server: nginx with TLS, ranges, and none, a password; skipped where it is missing (Debian: nginx-light)."""
import base64
import os
import subprocess

import pytest
from conftest import DAEMON, ROOT, read_all
from nginx import Nginx, program
from test_golden import assert_equal, expected_of
from test_remote import consolidate

BRAIN = os.path.join(ROOT, "examples", "brain.ome.zarr")


@pytest.fixture
def web(tmp_path):
    if program() is None:  # its package starts a server of its own: not installed for the usual tests
        pytest.skip("nginx is missing: apt-get install nginx-light")
    servers = []

    def make(root, more=""):
        servers.append(Nginx(root, tmp_path / f"nginx{len(servers)}", more))
        return servers[-1].__enter__()

    yield make
    for one in servers:
        one.__exit__()


@pytest.mark.parametrize("more", ["", "max_ranges 0;"])
def test_golden_stores_over_tls(web, mount, golden, more):
    local = golden("sharding.zarr")
    consolidate(local)
    server = web(local.parent, more)
    mounted = mount(f"{server.url}/sharding.zarr", f"immutable,ca_file={server.certificate}")
    assert_equal(read_all("zarr2", mounted.path), expected_of("sharding.zarr"), f"nginx {more}")


def test_an_image_by_its_url_is_seen_by_gdal(web, mount):
    server = web(os.path.dirname(BRAIN))
    mounted = mount(f"{server.url}/brain.ome.zarr", f"profile=ome,ca_file={server.certificate}")
    direct = mount(BRAIN, "profile=ome")
    script = 'import sys; from osgeo import gdal; d = gdal.Open(\'ZARR:"%s/0":/0:1:12\' % sys.argv[1]); print(d.GetRasterBand(1).Checksum())'
    sums = [subprocess.run(["/usr/bin/python3", "-c", script, place.path], capture_output=True, text=True, check=True).stdout for place in (mounted, direct)]
    assert sums[0] == sums[1] and int(sums[0]) != 0
    assert " 206 " in server.log("access.log")


def test_the_certificate_counts(web, tmp_path):
    server = web(os.path.dirname(BRAIN))
    (tmp_path / "mnt").mkdir()
    refused = subprocess.run([DAEMON, "mount", f"{server.url}/brain.ome.zarr", tmp_path / "mnt"], capture_output=True, text=True, timeout=600)
    assert refused.returncode == 3 and "SSL certificate" in refused.stderr, refused


def test_a_password_comes_from_netrc(web, tmp_path, monkeypatch):
    (tmp_path / "users").write_text("me:{PLAIN}secret\n")
    server = web(os.path.dirname(BRAIN), f'auth_basic "x"; auth_basic_user_file {tmp_path}/users;')
    words = ["--remote", f"ca_file={server.certificate}"]

    def doctor():
        return subprocess.run([DAEMON, "doctor", f"{server.url}/brain.ome.zarr", *words], capture_output=True, text=True, timeout=600)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "status 401" in doctor().stdout and ".netrc" in doctor().stdout
    (tmp_path / ".netrc").write_text("machine localhost login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    good = doctor()
    assert good.returncode == 0, good
    assert base64.b64encode(b"me:secret").decode() not in good.stdout and "secret" not in good.stdout
