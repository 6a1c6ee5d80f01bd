"""`zarrfs serve`: what a mount shows, over HTTP; HTTP's rules; who may ask; clients that mean it ill."""
import gzip
import json
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from conftest import DAEMON, GOLDEN, HERE, Mount, need_own_memory, within
from networks import Network
from object_server import KEY, SECRET, ObjectServer
from serving import Served
from stores import SmallStore, document, shard_bytes, write_file, write_json

STORES = os.path.join(GOLDEN, "stores")


@pytest.fixture
def serve(tmp_path):
    running = []

    def start(source, *more, **how):
        running.append(Served(source, tmp_path / f"serve{len(running)}.log", *more, **how))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def small(tmp_path):
    return SmallStore(tmp_path / "store")


def names_below(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(at, name), folder)


def quoted(path):
    return "/" + urllib.parse.quote(path)


def test_documents_of_zarr_v2_pass_through(serve, tmp_path):
    documents = {".zgroup": {"zarr_format": 2}, ".zattrs": {"long": "x" * 300000}, "a/.zattrs": {}, "a/.zarray": {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "fill_value": 0, "order": "C", "filters": None, "compressor": None}}
    for name, content in documents.items():
        write_json(str(tmp_path / "v2" / name), content)
    served = serve(tmp_path / "v2")
    for name, content in documents.items():
        answer = served.get("/" + name)
        assert (answer.status, json.loads(answer.text)) == (200, content), name
    assert served.get("/.zattrs", Range="bytes=0-7").text == (tmp_path / "v2" / ".zattrs").read_bytes()[:8]


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_what_is_served_is_what_a_mount_shows(serve, tmp_path, view):
    stores = sorted(name for name in os.listdir(STORES) if os.path.isdir(os.path.join(STORES, name)))
    compared = 0
    for name in stores:
        log = tmp_path / f"{name}.log"
        os.makedirs(tmp_path / "m", exist_ok=True)
        tried = subprocess.run([DAEMON, "mount", os.path.join(STORES, name), tmp_path / "m", "-o", f"ro,profile=generic,view={view},log={log}"], capture_output=True)
        if tried.returncode != 0:
            continue
        served = serve(os.path.join(STORES, name), options=f"profile=generic,view={view}")
        try:
            connection = served.connect()
            for path in names_below(tmp_path / "m"):
                try:
                    with open(tmp_path / "m" / path, "rb") as file:
                        wanted = file.read()
                except OSError:
                    wanted = None
                connection.request("GET", quoted(path))
                answer = connection.getresponse()
                got = answer.read()
                assert (answer.status, got) == (200, wanted) if wanted is not None else answer.status >= 500, (name, path, answer.status)
                compared += 1
        finally:
            subprocess.run([DAEMON, "umount", tmp_path / "m"], check=True, capture_output=True)
    assert compared > 200


def test_absence_is_404_and_damage_is_not(serve, tmp_path):
    store = tmp_path / "store"
    write_json(str(store / "zarr.json"), document((4, 4), (4, 4), (2, 2)))
    shard = shard_bytes([b"a" * 16, None, b"b" * 16, b"c" * 16])
    write_file(str(store / "c/0/0"), shard)
    served = serve(store)
    assert served.get("/0.0").text == b"a" * 16
    assert served.get("/0.1").status == 404 and served.get("/7.7").status == 404 and served.get("/nothing/at/all").status == 404
    assert served.get("/0.0/").status == 404  # a file is no directory
    write_file(str(store / "c/0/0"), shard[:-1] + bytes([shard[-1] ^ 1]))
    within(60, lambda: served.get("/0.0").status == 500)
    answer = served.get("/0.0")
    assert served.get("/0.0", method="HEAD").status == 500
    assert b"c/0/0" in answer.text and b"checksum" in answer.text.lower(), answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert served.get("/.zarray").status == 200


def test_ranges_and_conditions(serve, small):
    served = serve(small.path)
    whole = served.get("/a/1.1")
    assert whole.status == 200 and whole.headers["Accept-Ranges"] == "bytes" and len(whole.text) == 16
    for asked, status, wanted, told in [
            ("bytes=0-3", 206, whole.text[:4], "bytes 0-3/16"), ("bytes=-4", 206, whole.text[-4:], "bytes 12-15/16"),
            ("bytes=12-", 206, whole.text[12:], "bytes 12-15/16"), ("bytes=4-999", 206, whole.text[4:], "bytes 4-15/16"),
            ("bytes=-999", 206, whole.text, "bytes 0-15/16"), ("bytes=0-1,3-4", 200, whole.text, None), ("lines=1-2", 200, whole.text, None),
            ("bytes=5-2", 200, whole.text, None), ("bytes=x-2", 200, whole.text, None),
            ("bytes=99999999999999999999-", 416, None, "bytes */16"), ("bytes=16-", 416, None, "bytes */16"), ("bytes=-0", 416, None, "bytes */16")]:
        answer = served.get("/a/1.1", Range=asked)
        assert (answer.status, answer.headers["Content-Range"]) == (status, told), asked
        assert wanted is None or answer.text == wanted, asked
    head = served.get("/a/1.1", method="HEAD")
    assert (head.status, head.text, head.headers["Content-Length"], head.headers["ETag"]) == (200, b"", "16", whole.headers["ETag"])
    tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
    assert served.get("/a/1.1", If_None_Match=tag).status == 304
    assert served.get("/a/1.1", If_None_Match=f'"x", W/{tag}').status == 304 and served.get("/a/1.1", If_None_Match="*").status == 304
    assert served.get("/a/1.1", If_None_Match='"x"').status == 200
    assert served.get("/a/1.1", If_Modified_Since=date).status == 304
    assert served.get("/a/1.1", If_Match='"x"').status == 412 and served.get("/a/1.1", If_Match=tag).status == 200
    assert served.get("/a/1.1", If_Range=tag, Range="bytes=0-3").status == 206
    assert served.get("/a/1.1", If_Range='"x"', Range="bytes=0-3").status == 200
    assert served.get("/a/1.1", If_Range=date, Range="bytes=0-3").status == 206
    not_modified = served.get("/a/1.1", If_None_Match=tag)
    assert not_modified.headers["Content-Length"] is None and not_modified.headers["ETag"] == tag
    assert whole.headers["Cache-Control"] == "no-cache"


def test_a_tag_changes_with_the_bytes(serve, tmp_path):
    store = tmp_path / "store"
    write_json(str(store / "zarr.json"), document((2, 2), (2, 2), (2, 2)))
    served = serve(store)
    seen = {}
    for number in range(40):  # within ticks of the clock, of the same size
        data = bytes([number]) * 16
        write_file(str(store / "c/0/0"), shard_bytes([data]))
        answer = served.get("/0.0")
        assert answer.status == 200
        assert seen.setdefault(answer.headers["ETag"], answer.text) == answer.text
    assert answer.text == data


def test_a_tag_changes_with_what_the_metadata_say(serve, tmp_path):
    """The shard stays: its bytes are shown otherwise."""
    store = SmallStore(tmp_path / "store")
    write_file(store.file("a/c/0/0"), shard_bytes([bytes(range(16)), None, None, None]))
    path = store.file("a/zarr.json")
    for file in (path, store.file("a/c/0/0")):
        os.utime(file, (10**9, 10**9))
    served = serve(store.path, options="profile=netcdf")
    first = served.get("/a/0.0")
    array = json.loads(open(path).read())
    array["codecs"][0]["configuration"]["codecs"].insert(0, {"name": "transpose", "configuration": {"order": [1, 0]}})
    write_json(path + ".new", array)
    os.rename(path + ".new", path)
    within(5, lambda: served.get("/a/0.0").text != first.text)
    second = served.get("/a/0.0")
    assert second.headers["ETag"] != first.headers["ETag"]
    for condition in ({"If-None-Match": first.headers["ETag"]}, {"If-Modified-Since": first.headers["Last-Modified"]}):
        assert served.get("/a/0.0", **condition).status == 200, condition


def test_a_time_tells_of_all_that_a_file_is_made_of(serve, tmp_path):
    store = SmallStore(tmp_path / "store")
    for row, column in ((0, 0), (0, 1), (1, 0)):
        os.utime(store.file(f"a/c/{row}/{column}"), (10**9, 10**9 + 100 * row + column))
    os.utime(store.file("a/zarr.json"), (10**9, 10**9))
    served = serve(store.path, options="profile=generic,rechunk=8")
    modified = served.get("/a/0.0").headers["Last-Modified"]
    assert modified.endswith("01:48:20 GMT"), modified
    os.utime(store.file("a/c/0/1"), (10**9, 10**9 + 500))
    within(5, lambda: served.get("/a/0.0", **{"If-Modified-Since": modified}).status == 200)
    assert "Last-Modified" not in served.get("/.zmetadata").headers


def test_what_is_no_file_is_an_error_of_its_own(serve, small):
    os.mkfifo(os.path.join(small.path, "pipe"))
    os.mkfifo(small.file("a/pipe"))
    served = serve(small.path)
    for path in ("/pipe", "/a/pipe"):
        for method in ("GET", "HEAD"):
            assert served.get(path, method=method).status == 500, (path, method)
    assert b"neither a file nor a directory" in served.get("/pipe").text
    assert served.get("/.zgroup").status == 200


def test_an_array_that_cannot_be_read_any_more_is_damage(serve, small):
    served = serve(small.path)
    assert served.get("/a/0.0").status == 200
    path = small.file("a/zarr.json")
    text = open(path).read()
    with open(path + ".new", "w") as file:
        file.write(text.replace('"bytes"', '"weird"'))
    os.rename(path + ".new", path)
    within(5, lambda: served.get("/a/0.0").status != 200)
    for path in ("/a/0.0", "/a/.zarray", "/a/3.3"):
        assert served.get(path).status == 500, path


def test_own_documents_are_not_kept(serve, small):
    served = serve(small.path, "--stats", options="immutable")
    for name in ("report.json", "stats.json", "metrics"):
        assert served.get("/.zarrfs/" + name).headers["Cache-Control"] == "no-store", name
    assert "immutable" in served.get("/a/0.0").headers["Cache-Control"]


def test_a_picture_stays_within_the_memory(serve, tmp_path):
    write_json(str(tmp_path / "store/zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
    write_json(str(tmp_path / "store/a/zarr.json"), document((2 << 26,), (2 << 26,), (1 << 26,), "uint8"))
    write_file(str(tmp_path / "store/a/c/0"), shard_bytes([bytes(1 << 26), bytes(1 << 26)]))
    served = serve(tmp_path / "store", options="memory=96M")
    refused = served.get("/.zarrfs/picture/a")
    assert refused.status == 503 and b"decoding it takes" in refused.text
    need_own_memory()
    with open(f"/proc/{served.process.pid}/status") as status:
        highest = int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])
    assert highest < 96 << 10, f"{highest} KiB"


def test_documents_are_packed_where_the_client_can_unpack_them(serve, tmp_path):
    small = SmallStore(tmp_path, {"notes": "x" * 2000})
    served = serve(small.path)
    plain = served.get("/.zmetadata")
    packed = served.get("/.zmetadata", Accept_Encoding="br;q=1, gzip;q=0.5")
    assert plain.headers["Content-Encoding"] is None and plain.headers["Content-Type"] == "application/json"
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.text) == plain.text
    assert packed.headers["ETag"] != plain.headers["ETag"] and "Accept-Encoding" in packed.headers["Vary"]
    assert served.get("/.zmetadata", Accept_Encoding="gzip;q=0").headers["Content-Encoding"] is None
    assert served.get("/a/1.1", Accept_Encoding="gzip").headers["Content-Encoding"] is None


def test_listings(serve, tmp_path, small):
    write_file(os.path.join(small.path, "notes & <b>.txt"), b"x")
    write_file(os.path.join(small.path, "a:b"), b"x")
    served = serve(small.path)
    answer = served.get("/a")
    assert (answer.status, answer.headers["Location"]) == (301, "./a/")
    answer = served.get("/a?token=1")
    assert answer.headers["Location"] == "./a/?token=1"
    html = served.get("/").text.decode()
    assert '<a href="a/">a/</a>' in html and '<a href=".zgroup">' in html and "notes &amp; &lt;b&gt;.txt" in html
    assert 'href="./a%3Ab"' in html or 'href="a%3Ab"' in html
    assert ".zarrfs" not in html
    listed = json.loads(served.get("/a/", Accept="application/json").text)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["1.1"]["size"] == 16 and by_name["1.1"]["type"] == "file" and by_name["1.1"]["mtime"].endswith(" GMT")
    assert "0.1" not in by_name and ".zarray" in by_name
    old = served.raw(b"GET /a/ HTTP/1.0\r\n\r\n")
    head, _, body = old.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200") and b"chunked" not in head and b'"1.1"' in body


def test_many_names_take_no_memory(serve, tmp_path):
    store = tmp_path / "store"
    write_json(str(store / "zarr.json"), document((400, 400), (200, 200), (1, 1), data_type="uint8"))
    for cell in ("0/0", "0/1", "1/0", "1/1"):
        write_file(str(store / "c" / cell), shard_bytes([b"x"] * 40000))
    served = serve(store, "--stats")
    names = json.loads(served.get("/", Accept="application/json").text)
    assert len([entry for entry in names if "." in entry["name"][1:]]) == 160000
    assert json.loads(served.get("/.zarrfs/stats.json").text)["memory_held"]["names"] < 4 << 20
    metrics = served.get("/.zarrfs/metrics").text.decode()
    assert re.search(r'^# HELP zarrfs_http_requests_total .*\n# TYPE zarrfs_http_requests_total counter\nzarrfs_http_requests_total\{mount="[^"]+"\} 3$', metrics, re.M), metrics


def test_webdav(serve, small):
    served = serve(small.path)
    for target in ("/", "*"):  # the server itself
        assert served.get(target, method="OPTIONS").headers["DAV"] == "1", target
    answer = served.get("/a/", method="PROPFIND", Depth="1")
    text = answer.text.decode()
    assert answer.status == 207 and "<D:href>/a/1.1</D:href>" in text and "<D:getcontentlength>16</D:getcontentlength>" in text
    assert text.count("<D:collection/>") == 1
    assert served.get("/a/1.1", method="PROPFIND", Depth="0").text.count(b"<D:response>") == 1
    assert served.get("/a/", method="PROPFIND", Depth="0").text.count(b"<D:response>") == 1
    assert served.get("/a/", method="PROPFIND").status == 403  # all of the tree
    assert served.get("/none", method="PROPFIND", Depth="0").status == 404
    for method in ("PUT", "DELETE", "LOCK", "MKCOL", "POST", "PROPPATCH", "NONSENSE"):
        answer = served.get("/a/1.1", method=method, body=b"x")
        assert answer.status == 405 and "PROPFIND" in answer.headers["Allow"], method


def test_rclone_copies_all_of_it(serve, small, tmp_path):
    """As WebDAV with a token, and by the links of the listings."""
    if not shutil.which("rclone"):
        pytest.skip("rclone is missing: apt install rclone")
    served, open_to_all = serve(small.path, environment={"ZARRFS_SERVE_TOKEN": "abc"}), serve(small.path)

    def copy(target, *words, status=0):
        done = subprocess.run(["rclone", "--config", "", "--retries", "1", "copy", *words, tmp_path / target], capture_output=True, text=True, timeout=600)
        assert (done.returncode == 0) == (status == 0), done.stderr
        return {name: (tmp_path / target / name).read_bytes() for name in names_below(tmp_path / target)}

    by_dav = copy("dav", "--webdav-url", served.url, "--webdav-bearer-token", "abc", ":webdav:")
    assert by_dav.keys() >= {".zgroup", "a/.zarray", "a/1.1"} and not [name for name in by_dav if ".zarrfs" in name]
    assert copy("http", "--http-url", open_to_all.url, ":http:") == by_dav
    assert copy("none", "--webdav-url", served.url, "--webdav-bearer-token", "abd", ":webdav:", status=1) == {}


def test_cadaver_looks_around(serve, small, tmp_path):
    if not shutil.which("cadaver"):
        pytest.skip("cadaver is missing: apt install cadaver")
    served = serve(small.path)
    told = subprocess.run(["cadaver", served.url], input="cd a\nls\nget 1.1\nput 1.1\nquit\n", capture_output=True, text=True, timeout=600, cwd=tmp_path).stdout
    assert "1.1" in told and "405 Method Not Allowed" in told, told
    assert (tmp_path / "1.1").read_bytes() == served.get("/a/1.1").text


def test_only_pages_that_are_known_may_read(serve, small):
    served = serve(small.path)
    for origin in ("http://localhost:9000", "http://127.0.0.1", "https://neuroglancer-demo.appspot.com", "http://[::1]:80"):
        answer = served.get("/.zgroup", Origin=origin)
        assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == origin
        assert "ETag" in answer.headers["Access-Control-Expose-Headers"] and "Origin" in answer.headers["Vary"]
    for origin in ("https://evil.example", "null", "https://localhost.evil.example", "https://neuroglancer-demo.appspot.com.evil.example", "localhost"):
        answer = served.get("/.zgroup", Origin=origin)
        assert answer.status == 403 and answer.headers["Access-Control-Allow-Origin"] is None, origin
    asked = served.get("/.zgroup", method="OPTIONS", Origin="http://localhost:1", Access_Control_Request_Method="GET", Access_Control_Request_Headers="range")
    assert asked.status == 204 and "Range" in asked.headers["Access-Control-Allow-Headers"] and asked.headers["Content-Length"] is None
    only = serve(small.path, "--allow-origin", "https://viewer.example")
    assert only.get("/.zgroup", Origin="https://viewer.example").status == 200
    assert only.get("/.zgroup", Origin="https://neuroglancer-demo.appspot.com").status == 403
    every = serve(small.path, "--allow-origin", "*")
    assert every.get("/.zgroup", Origin="https://anybody.example").headers["Access-Control-Allow-Origin"] == "https://anybody.example"


def test_only_by_names_of_this_machine(serve, small):
    served = serve(small.path, "--allow-host", "Data.Example")
    for host in ("localhost", "127.0.0.1:80", "[::1]:8000", "data.example:80", "10.0.0.1"):
        assert served.get("/.zgroup", Host=host).status == 200, host
    for host in ("rebound.example", "rebound.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert served.get("/.zgroup", Host=host).status == 421, host
    assert b" 400 " in served.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").splitlines()[0]
    assert b" 400 " in served.raw(b"GET / HTTP/1.1\r\n\r\n").splitlines()[0]
    for target, status in (("http://evil.example/.zgroup", b" 421 "), ("http://localhost:9/.zgroup", b" 200 ")):
        assert status in served.raw(f"\r\nGET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).splitlines()[0]


def test_a_token(serve, small):
    served = serve(small.path, environment={"ZARRFS_SERVE_TOKEN": "s3cret-Token"})
    refused = served.get("/.zgroup")
    assert refused.status == 401 and "Bearer" in refused.headers["WWW-Authenticate"]
    assert served.get("/.zgroup", Authorization="Bearer s3cret-Token").status == 200
    assert served.get("/.zgroup?token=s3cret-Token").status == 200
    for wrong in ("Bearer s3cret-Toke", "Bearer ", "Bearer s3cret-Tokens", "Basic s3cret-Token", "Bearer x3cret-Token"):
        assert served.get("/.zgroup", Authorization=wrong).status == 401, wrong
    page = served.get("/?token=s3cret-Token", Accept="text/html")
    assert page.status == 200 and b"s3cret-Token" not in page.text and page.headers["Referrer-Policy"] == "no-referrer"
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    own = cookie.partition(";")[0]
    for cookies, status in (("x=y; " + own, 200), (f"my_{own}x; {own}", 200), (f"{own}x; {own}", 200), ("my_" + own, 401), (own + "x", 401)):
        assert served.get("/.zgroup", Cookie=cookies).status == status, cookies
    assert own.startswith(f"zarrfs_token_{served.port}="), "one of another port has another name"
    assert served.get("/.zgroup", Authorization="Bearer  s3cret-Token").status == 200
    assert served.get("/.zgroup", method="OPTIONS", Origin="http://localhost", Access_Control_Request_Method="GET").status == 204
    with open(served.log) as log:
        assert "s3cret" not in log.read()
    with open(f"/proc/{served.process.pid}/cmdline", "rb") as words:
        assert b"s3cret" not in words.read()


def test_nothing_but_the_store(serve, tmp_path, small):
    (tmp_path / "store" / "secret").write_text("secret")
    os.symlink("../secret", os.path.join(small.path, "out"))
    write_file(os.path.join(small.path, "notes.txt"), b"notes")
    os.symlink("notes.txt", os.path.join(small.path, "in"))
    os.makedirs(os.path.join(small.path, ".zarrfs-private"), exist_ok=True)
    served = serve(small.path)
    for path in ("/../secret", "/a/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/a/%2e%2e/%2e%2e/secret", "/a/.%00", "//../secret", "/%zz", "nothing",
                 "/%c0%ae%c0%ae/secret", "/out", "/.zarrfs/", "/.zarrfs", "/.zarrfs/stats.json", "/.zarrfs-private/", "/.zarrfs/../secret"):
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        answer = served.raw(request)
        assert re.match(rb"HTTP/1.1 (400|404|500) ", answer) and b"\r\n\r\nsecret" not in answer, (path, answer[:200])
    assert served.get("/.zarrfs/report.json").status == 200
    assert served.get("/in").text == b"notes"


def test_the_front_page(serve, tmp_path):
    served = serve(os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "brain.ome.zarr"), options="")
    page = served.get("/", Accept="text/html,application/xhtml+xml")
    text = page.text.decode()
    assert "zarr.open(" in text and "neuroglancer" in text and "Vizarr" in text and f"http://127.0.0.1:{served.port}/" in text
    assert re.search(r"script-src 'nonce-(\w+)'", page.headers["Content-Security-Policy"])[1] in text
    assert "http" not in re.sub(r"http://127\.0\.0\.1:\d+/|https://hms-dbmi\.github\.io/vizarr/", "", text)  # nothing is loaded from elsewhere
    pictures = re.findall(r'src="\.(/\.zarrfs/picture/[^"]+)"', text)
    assert len(pictures) == 2
    for picture in pictures:
        answer = served.get(picture)
        assert answer.status == 200 and answer.text.startswith(b"\x89PNG") and answer.headers["Content-Type"] == "image/png"
    assert served.get("/.zarrfs/picture/none").status == 404 and served.get("/.zarrfs/picture").status == 404


def test_clients_that_mean_it_ill(serve, small):
    served = serve(small.path, "--connections", "40", "--stats")
    first = lambda request: served.raw(request).splitlines()[:1]  # noqa: E731
    assert b" 431 " in first(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100000)[0]
    assert b" 413 " in first(b"PROPFIND / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")[0]
    smuggled = b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\nGET /.zgroup HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert b" 501 " in first(smuggled)[0] and served.raw(smuggled).count(b"HTTP/1.1") == 1
    for nonsense in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 100 + b"x y z\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n"):
        answer = first(nonsense)
        assert not answer or re.match(rb"HTTP/1.1 (4\d\d|505) ", answer[0]), (nonsense[:40], answer)
    many = b"GET /.zgroup HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
    assert served.raw(many).count(b"HTTP/1.1 200 OK") == 2000  # one connection, one after the other
    slow = [served.raw(b"GET /a/1.1 HTTP/1.1\r\n", keep_open=True) for _ in range(39)]
    assert served.get("/a/1.1").status in (200, 503)
    slow += [served.raw(b"G", keep_open=True) for _ in range(5)]
    within(60, lambda: json_of_turned_away(served) is not None)
    for client in slow:
        client.close()
    within(60, lambda: served.get("/a/1.1").status == 200)


def json_of_turned_away(served):
    """Whether somebody was told to come again."""
    try:
        answer = served.raw(b"GET /a/1.1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    except ConnectionError:  # closed before all of the question was there
        return None
    return answer if answer.startswith(b"HTTP/1.1 503 ") else None


def test_a_reader_that_takes_nothing_holds_nobody_up(serve, tmp_path):
    store = tmp_path / "store"
    write_json(str(store / "zarr.json"), document((4096, 4096), (4096, 4096), (4096, 4096)))
    write_file(str(store / "c/0/0"), shard_bytes([os.urandom(64 << 20)]))
    served = serve(store, options="profile=generic,threads=1")
    stuck = [served.raw(b"GET /0.0 HTTP/1.1\r\nHost: localhost\r\n\r\n", keep_open=True) for _ in range(20)]
    assert served.get("/.zarray").status == 200
    assert len(served.get("/0.0").text) == 64 << 20
    for client in stuck:
        client.close()


def test_a_thousand_readers_stay_within_the_memory(serve, tmp_path, monkeypatch):
    """None of them takes anything at first, so that as many answers are held as there are."""
    need_own_memory()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    side, edge = 4, 512
    chunks = [os.urandom(4 * edge * edge) for _ in range(side * side)]
    write_json(str(tmp_path / "data/store/zarr.json"), document((side * edge,) * 2, (side * edge,) * 2, (edge, edge)))
    write_file(str(tmp_path / "data/store/c/0/0"), shard_bytes(chunks))
    server, clients = ObjectServer(str(tmp_path / "data"), "bucket"), []
    try:
        served = serve("s3://bucket/store", options=f"profile=generic,memory=96M,endpoint={server.url},region={server.region}")
        for i in range(1000):
            client = socket.socket()
            client.settimeout(300)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.port))
            client.sendall(f"GET /{i // side % side}.{i % side} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            clients.append(client)
        for client in clients:
            assert client.recv(12) == b"HTTP/1.1 200"
        assert served.most_memory() < (96 + 32) << 20
        for i in random.sample(range(1000), 20):
            got = b""
            while piece := clients[i].recv(1 << 20):
                got += piece
            assert got.endswith(chunks[i % (side * side)])
        assert served.most_memory() < (96 + 32) << 20
    finally:
        for client in clients:
            client.close()
        server.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_another_machine_needs_no_fuse(tmp_path, small):
    """It has a network of its own and no devices, and finds there what the store has here."""
    try:
        network = Network(1)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this user may make no networks (ip netns add): {getattr(error, 'stderr', error)}")
    try:
        served = Served(small.path, tmp_path / "serve.log", host=network.here)
        try:
            script = 'mount -t tmpfs none /dev && ! test -e /dev/fuse && exec "$0" diff "$1" "$2"'
            done = subprocess.run([*network.prefix(), "unshare", "--mount", "sh", "-c", script, DAEMON, small.path, served.url],
                                  capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stdout + done.stderr
        finally:
            served.stop()
    finally:
        network.remove()


def test_a_bucket_that_goes_away_is_503(serve, tmp_path, monkeypatch):
    for name, value in {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    small = SmallStore(tmp_path / "store")
    server = ObjectServer(tmp_path, "bucket")
    served = serve("s3://bucket/store/store", options=f"profile=generic,endpoint={server.url},region={server.region},deadline=0.3,revalidate=0,stale_if_error=0,memory_cache=0")
    assert served.get("/a/1.1").status == 200 and served.get("/a/0.1").status == 404
    server.away = True
    answer = served.get("/a/0.0")
    assert answer.status == 503 and answer.headers["Retry-After"], answer.text
    assert served.get("/a/0.1").status == 503  # what was absent is not known to be, now
    server.come_back()
    within(60, lambda: served.get("/a/0.0").status == 200)
    assert small.path
    served.stop()
    served.stop = lambda: None
    server.close()


def test_it_ends_while_clients_wait(serve, small):
    served = serve(small.path)
    idle = [served.raw(b"", keep_open=True) for _ in range(5)] + [served.raw(b"GET / HT", keep_open=True)]
    served.stop()  # sooner than the 75 s that an idle client has
    served.stop = lambda: None
    for client in idle:
        client.close()


@pytest.mark.parametrize("words,wanted", [
    (["--listen", "nowhere.invalid:1"], "--listen"), (["--listen", "127.0.0.1:x"], "HOST:PORT"), (["--listen", "127.0.0.1:99999"], "HOST:PORT"),
    (["-o", "rw"], "option rw is none of zarrfs serve"), (["-o", "allow_other"], "allow_other"), (["-o", "umask=077"], "umask"), (["-o", "flush=close"], "flush"),
    (["-o", "profile=nonsense"], "nonsense"), (["--allow-origin", "viewer.example"], "--allow-origin"), (["--token-file", "/dev/null"], "--token-file"),
])
def test_what_makes_no_sense_is_refused(small, words, wanted):
    done = subprocess.run([DAEMON, "serve", small.path, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and wanted in done.stderr, done


def test_an_empty_token_is_refused(small):
    done = subprocess.run([DAEMON, "serve", small.path], capture_output=True, text=True, timeout=600, env={**os.environ, "ZARRFS_SERVE_TOKEN": ""})
    assert done.returncode == 2 and "ZARRFS_SERVE_TOKEN is empty" in done.stderr, done


def test_a_port_that_is_taken(serve, small):
    served = serve(small.path)
    done = subprocess.run([DAEMON, "serve", small.path, "--listen", f"127.0.0.1:{served.port}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "another program listens there" in done.stderr


def test_served_again(serve, tmp_path, small):
    """A mount of what is served has the same chunks, and no FUSE is needed to serve."""
    served = serve(small.path, options="profile=generic,view=v3")
    again = Mount(served.url, tmp_path / "again", tmp_path / "again.log")
    direct = Mount(small.path, tmp_path / "direct", tmp_path / "direct.log")
    try:
        for name in names_below(direct.path):
            if not name.startswith("a/") or ".zmetadata" in name:
                continue
            with open(direct / name, "rb") as one, open(again / name, "rb") as other:
                assert one.read() == other.read(), name
    finally:
        again.unmount()
        direct.unmount()
    served = serve(small.path)  # whose .zmetadata tells the names
    done = subprocess.run([DAEMON, "diff", small.path, served.url], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done
