"""Stores and servers that say ever more: each is told from a good one, or goes on until nobody waits, and what asked ends then.

tests/layers/loops.txt has the loops; here is a source of endless answers behind those that go on as long as something is said.
"""
import json
import os
import signal
import struct
import subprocess
import threading
import zipfile

import endless
import pytest
from conftest import DAEMON, need, need_own_memory, within

GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'
LONG = 600  # seconds; nothing here takes more than a few
MUCH = 400 << 20  # bytes resident; the program itself takes about 20 MiB


@pytest.fixture
def serve():
    servers = []

    def start(answer):
        servers.append(endless.Server(answer))
        return servers[-1]

    yield start
    for one in servers:
        one.close()


def finished(words, status):
    """What the command says, which ends by itself with `status` and has taken less than MUCH."""
    with open("/proc/self/clear_refs", "w") as peaks:  # a new process begins with the peak of this one
        peaks.write("5")
    process = subprocess.Popen([DAEMON, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(LONG, process.kill)
    watchdog.start()
    told = process.stderr.read()
    _, ended, used = os.wait4(process.pid, 0)
    watchdog.cancel()
    process.returncode = os.waitstatus_to_exitcode(ended)
    assert process.returncode == status, f"{words}: status {process.returncode}: {told}"
    assert used.ru_maxrss << 10 < MUCH, f"{words}: {used.ru_maxrss} KiB"
    return told


def handles(process, number):
    with open(f"/proc/{process}/status") as status:
        handled = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return int(handled, 16) >> (number - 1) & 1


def works_for(process, seconds):
    with open(f"/proc/{process}/stat") as status:
        return int(status.read().rsplit(")", 1)[1].split()[11]) > seconds * os.sysconf("SC_CLK_TCK")


def interrupted(words, begun=None, number=signal.SIGTERM):
    """Starts the command, and ends it once it is at work: has used half a second of a processor, where nothing else tells."""
    process = subprocess.Popen([DAEMON, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        within(LONG, lambda: handles(process.pid, number))
        within(LONG, begun or (lambda: works_for(process.pid, 0.5)))
        assert process.poll() is None, process.communicate()[1]
        process.send_signal(number)
        _, told = process.communicate(timeout=LONG)
    except BaseException:
        process.kill()
        raise
    assert process.returncode == 3 and "interrupted" in told, (process.returncode, told)


def bucket(server):
    return ["s3://bucket/store", "--remote", f"endpoint={server.url},anonymous,deadline=60"]


def volume(path, size, chunk=1):
    path.mkdir()
    (path / "info").write_text(json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8", "num_channels": 1,
        "scales": [{"key": "s", "size": size, "resolution": [1, 1, 1], "chunk_sizes": [[chunk] * 3], "encoding": "raw"}]}))
    return path


# Volumes.

def test_a_volume_that_claims_many_chunks_along_an_axis(tmp_path):
    path = volume(tmp_path / "v", [1 << 29, 1, 1])
    finished(["info", path], 1)
    told = subprocess.run([DAEMON, "info", path], capture_output=True, text=True, timeout=LONG).stdout
    assert "cannot be read: " in told and "info tells of 536870912 chunks along axis 3" in told, told


@pytest.mark.parametrize("command", ["info", "verify"])
def test_a_volume_that_claims_many_chunks_is_left_when_asked(tmp_path, command):
    path = volume(tmp_path / "v", [1 << 20, 1 << 9, 1])
    interrupted([command, path])


def test_a_mount_of_claims_answers_and_ends(mount, tmp_path):
    """More programs than the mount has threads list what takes long; they are killed, others are served, and it is unmounted."""
    path = volume(tmp_path / "v", [1 << 20, 4, 64])
    mounted = mount(path, "timeout=0,threads=2", damaged=True)
    readers = [subprocess.Popen(["ls", "-U", mounted / f"s/0/{z}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for z in range(5)]
    readers += [subprocess.Popen(["ls", "-U", mounted / "s/0/0/0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for z in range(5)]
    assert os.path.exists(mounted / "s/.zarray")
    for reader in readers:
        reader.kill()
    for reader in readers:
        reader.wait(timeout=LONG)
    with open(mounted / "s/.zarray") as document:
        assert json.load(document)["shape"] == [1, 64, 4, 1 << 20]
    mounted.unmount()


# Listings.

def listings(page):
    """A bucket that has a group, whose listing is `page(number)`."""
    def answer(request):
        server = request.server.outer
        if "list-type=2" in request.path:
            number = sum("list-type=2" in path for path in server.asked)
            return server.send(request, page(number))
        if request.path in ("/bucket/store/zarr.json", "/bucket/store/sub/zarr.json"):
            return server.send(request, GROUP.encode(), headers='ETag: "1"\r\n')
        return server.send(request, b"<Error><Code>NoSuchKey</Code></Error>", "404 Not Found")
    return answer


def served(serve, answer):
    server = serve(answer)
    server.http.outer = server
    return server


@pytest.mark.parametrize("what, page", [
    ("the same NextContinuationToken", lambda number: endless.listing(endless.objects(number * 10, 10), "again")),
    ("the same names", lambda number: endless.listing(endless.objects(0, 10), f"t{number}")),
    ("pages without names", lambda number: endless.listing("", f"t{number}")),
    ("pages without names", lambda number: endless.listing(endless.objects(number * 10, 10, "other/"), f"t{number}")),
    ("names are on one page", lambda number: endless.listing(endless.objects(0, 20000))),
    ("an object has no key", lambda number: endless.listing("<Contents/>" * 1_300_000)),
    ("is no listing", lambda number: endless.listing("<a>" * 100_000)),
    ("is no listing", lambda number: endless.listing("<Contents><Key>" + "k" * (1 << 20))),
    ("is no listing", lambda number: b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>' + endless.listing("&b;")),
])
def test_listings_without_an_end_are_refused(serve, what, page):
    server = served(serve, listings(page))
    told = finished(["info", *bucket(server)], 3)
    assert what in told, told


def test_a_page_that_is_too_long_is_refused(serve):
    server = served(serve, listings(lambda number: endless.listing("<Contents><Key>a</Key><Size>0</Size></Contents>" * 1_400_000)))
    assert "longer than what was asked for" in finished(["info", *bucket(server)], 3)


def test_ever_new_names_are_left_when_asked(serve):
    server = served(serve, listings(lambda number: endless.listing(endless.objects(number * 1000, 1000), f"t{number}")))
    interrupted(["info", *bucket(server)], lambda: len(server.asked) > 20)


def test_a_mount_of_a_listing_without_an_end(serve, mount):
    sub = "<CommonPrefixes><Prefix>store/sub/</Prefix></CommonPrefixes>"
    server = served(serve, listings(lambda number: endless.listing(endless.objects(number * 1000, 1000) + sub, f"t{number}" if goes_on.is_set() else None)))
    goes_on = threading.Event()
    mounted = mount("s3://bucket/store", f"endpoint={server.url},anonymous,timeout=0,revalidate=0,threads=2", damaged=True)
    goes_on.set()
    before = len(server.asked)
    readers = [subprocess.Popen(["ls", "-U", mounted.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    within(LONG, lambda: len(server.asked) > before + 10)
    for reader in readers:
        reader.kill()
    for reader in readers:
        reader.wait(timeout=LONG)
    goes_on.clear()
    assert "sub" in os.listdir(mounted.path)  # what the killed ones were told in part is not kept
    mounted.unmount()


def test_mounting_a_listing_without_an_end_is_left_when_asked(serve, tmp_path):
    server = served(serve, listings(lambda number: endless.listing(endless.objects(number * 1000, 1000), f"t{number}")))
    options = f"endpoint={server.url},anonymous,ro"
    process = subprocess.Popen([DAEMON, "mount", "--foreground", "s3://bucket/store", tmp_path, "-o", options], stderr=subprocess.PIPE, text=True)
    try:
        within(LONG, lambda: len(server.asked) > 20)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONG)
    except BaseException:
        process.kill()
        raise
    assert not os.path.ismount(tmp_path)


# Answers of servers.

def test_redirects_that_lead_round(serve):
    server = served(serve, lambda request: request.server.outer.send(request, b"", "302 Found", f"Location: {request.path}x\r\n"))
    finished(["info", f"{server.url}/store"], 3)
    assert len(server.asked) < 100


def test_headers_without_an_end(serve):
    def answer(request):
        request.wfile.write(b"HTTP/1.1 200 OK\r\n")
        request.server.outer.forever(request, lambda number: f"X-{number}: {'x' * 1000}\r\n".encode())
    finished(["info", f"{served(serve, answer).url}/store", "--remote", "deadline=5"], 3)


@pytest.mark.parametrize("headers", ["Transfer-Encoding: chunked\r\n", "Content-Type: multipart/byteranges; boundary=x\r\n"])
def test_bodies_without_an_end(serve, headers):
    def answer(request):
        status = "206 Partial Content" if "multipart" in headers else "200 OK"
        request.wfile.write(f"HTTP/1.1 {status}\r\n{headers}\r\n".encode())
        piece = b"x" * 65536
        chunk = b"10000\r\n" + piece + b"\r\n" if "chunked" in headers else b"--x\r\n\r\n" + piece
        request.server.outer.forever(request, lambda number: chunk)
    finished(["info", f"{served(serve, answer).url}/store", "--remote", "memory_cache=16M,deadline=5"], 3)


@pytest.mark.parametrize("command, number", [("info", signal.SIGTERM), ("verify", signal.SIGINT)])
def test_a_server_that_never_answers_is_left_when_asked(serve, command, number):
    server = served(serve, lambda request: request.server.outer.ended.wait())
    interrupted([command, f"{server.url}/store"], lambda: server.asked, number)


def test_a_server_that_is_always_busy_is_left_when_asked(serve):
    server = served(serve, lambda request: request.server.outer.send(request, b"", "503 Slow Down"))
    interrupted(["info", f"{server.url}/store", "--remote", "deadline=3600"], lambda: len(server.asked) > 3)


# Directories and links.

def test_names_without_an_end_are_left_when_asked():
    need(os.geteuid() == 0, "only root mounts")
    directory = endless.Directory()
    try:
        interrupted(["info", directory.path], lambda: directory.listed > 1000)
    finally:
        directory.close()


@pytest.mark.parametrize("command", ["info", "verify", "refs", "shard", "unshard", "reshard"])
def test_links_that_lead_round(tmp_path, command):
    """Two links to "." make 2^40 paths of one directory."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "zarr.json").write_text(GROUP)
    for name in "ab":
        (store / name).symlink_to(".")
    words = {"refs": [store, "-o", tmp_path / "refs.json"], "shard": [store, tmp_path / "to"], "unshard": [store, tmp_path / "to"],
             "reshard": [store, tmp_path / "to"]}.get(command, [store])
    done = subprocess.run([DAEMON, command, *map(str, words)], capture_output=True, text=True, timeout=LONG)
    assert done.returncode in (1, 3), (done.returncode, done.stderr)
    assert "ways lead to this directory" in done.stdout + done.stderr, (done.stdout[-2000:], done.stderr)


# Archives and frames.

def test_an_archive_that_claims_many_entries(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(bytes(46) + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xfffe, 0xfffe, 46, 0, 0))
    assert "entries" in finished(["info", path], 1)


def test_an_archive_whose_names_are_deep(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100):
            archive.writestr("a/" * 30000 + str(number), b"")
    assert "60" in finished(["info", path], 3)


def test_an_archive_whose_directories_are_many(tmp_path):
    need_own_memory()
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(400):
            archive.writestr(f"{number}/" + "a/" * 1900 + "x", b"")
    assert "directories" in finished(["info", path], 3)


EMPTY = {"zstd": bytes.fromhex("28b52ffd2000010000"), "gzip": bytes.fromhex("1f8b08000000000000030300") + bytes(8)}


@pytest.mark.parametrize("codec", EMPTY)
def test_frames_of_nothing(tmp_path, codec):
    """A chunk of half a million frames without bytes."""
    path = tmp_path / "a"
    (path / "c").mkdir(parents=True)
    configuration = {"level": 1, "checksum": False} if codec == "zstd" else {"level": 1}
    (path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}, {"name": codec, "configuration": configuration}]}))
    (path / "c/0").write_bytes(EMPTY[codec] * 500_000)
    finished(["verify", "--decode", path], 1)
