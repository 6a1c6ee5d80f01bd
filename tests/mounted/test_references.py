"""Files of references: each reads as h5py reads what they lead to, locally and at servers; and what may not be followed is refused, with nothing sent."""
import errno
import json
import os
import shutil
import subprocess

import places
import pytest
from conftest import DAEMON, GOLDEN, ROOT, VENVS, need_own_memory, read_all, within
from object_server import tag_of
from serving import Served
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)
from test_icechunk import differences
from test_remote import serve  # noqa: F401 (fixture)

PLACE = os.path.join(GOLDEN, "references")
NAMES = ("kerchunk", "inlined", "version0", "virtualizarr", "templates", "v3", "fastparquet", "pyarrow")


def expected_of(folder, name):
    with open(os.path.join(folder, "references.json")) as text:
        return json.load(text)[name]


def references_called(name, folder=PLACE):
    return os.path.join(folder, name + (".parq" if "parquet" in name or name == "pyarrow" else ".json"))


def python_with():
    python = os.path.join(VENVS, "references", "bin", "python")
    if not os.path.exists(python):
        pytest.skip("the environment references is missing: run packaging/install-test-readers all")
    return python


def run(*words, status=0):
    done = subprocess.run([DAEMON, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stdout} {done.stderr}"
    return done


@pytest.mark.parametrize("reader, options", [("zarr2", "view=v2"), ("zarr3", "view=v3")])
@pytest.mark.parametrize("name", NAMES)
def test_each_file_reads_as_what_it_leads_to(mount, name, reader, options):
    mounted = mount(references_called(name), f"virtual={PLACE},{options}")
    assert not differences(read_all(reader, mounted.path), expected_of(GOLDEN, name))


def test_what_the_libraries_write_today(mount, tmp_path):
    subprocess.run([python_with(), os.path.join(ROOT, "tests/golden/make_references.py"), tmp_path], check=True, capture_output=True)
    for name in NAMES:
        mounted = mount(references_called(name, tmp_path / "references"), f"virtual={tmp_path}/references,view=v2")
        assert not differences(read_all("zarr2", mounted.path), expected_of(tmp_path, name)), name
        mounted.unmount()


def test_commands_read_them(tmp_path):
    source = os.path.join(PLACE, "kerchunk.json")
    assert "0.1" in run("ls", source, "sparse", "--virtual", PLACE).stdout
    assert "packed" in run("info", source, "--virtual", PLACE).stdout
    run("verify", source, "--virtual", PLACE)
    run("show", source, "packed", "--virtual", PLACE, "-o", tmp_path / "packed.png")
    run("shard", source, tmp_path / "sharded.zarr", "--virtual", PLACE, "--check")
    run("unshard", os.path.join(PLACE, "v3.json"), tmp_path / "plain.zarr", "--virtual", PLACE, "--check")
    found = read_all("zarr3", tmp_path / "sharded.zarr")
    assert not differences(found, expected_of(GOLDEN, "kerchunk"))
    assert not differences(read_all("zarr3", tmp_path / "plain.zarr"), expected_of(GOLDEN, "v3"))


@pytest.mark.parametrize("name", ["kerchunk", "pyarrow"])
def test_they_are_only_read(tmp_path, name):
    refused = run("mount", references_called(name), tmp_path, "-o", "rw", status=3)
    assert "holds references, which are only read" in refused.stderr


@pytest.mark.parametrize("kind", ["s3", "http"])
@pytest.mark.parametrize("name", ["kerchunk", "fastparquet"])
def test_at_a_server(mount, serve, tmp_path, name, kind):  # noqa: F811
    shutil.copytree(PLACE, tmp_path / "disk/data")
    server = serve(tmp_path / "disk", "bucket" if kind == "s3" else "")
    top = "s3://bucket/data" if kind == "s3" else f"{server.url}/data"
    options = bucket_options(server) + ",view=v2" if kind == "s3" else "view=v2"
    stored = references_called(name, tmp_path / "disk/data")
    mounted = mount(references_called(name, top), f"virtual={top},{options}")
    assert not differences(read_all("zarr2", mounted.path), expected_of(GOLDEN, "kerchunk"))
    os.rename(stored, tmp_path / "disk/data/refs")  # the name does not tell
    mounted = mount(f"{top}/refs", f"virtual={top},{options}")
    assert not differences(read_all("zarr2", mounted.path), expected_of(GOLDEN, "kerchunk"))


def test_they_are_served(tmp_path):
    with open(os.path.join(PLACE, "data.h5"), "rb") as file:
        file.seek(offset_of_plain())
        wanted = file.read(240)
    for prefix, status in ((PLACE, 200), (str(tmp_path), 500)):
        served = Served(os.path.join(PLACE, "kerchunk.json"), tmp_path / "log", options=f"view=v2,virtual={prefix}")
        try:
            answer = served.get("/plain/0.0")
            assert answer.status == status and (answer.text == wanted) == (status == 200), answer.text
        finally:
            served.stop()


def spelled(tmp_path, url):
    """A file of references as another program writes them, to the file of the golden ones at `url`."""
    with open(os.path.join(PLACE, "kerchunk.json")) as text:
        refs = json.load(text)["refs"]
    path = tmp_path / "spelled.json"
    path.write_text(json.dumps({key: [url, *one[1:]] if isinstance(one, list) else one for key, one in refs.items()}))
    return path


@pytest.mark.parametrize("kind, prefix, urls", [
    (places.google, "gs://bucket/data", ["gs://bucket/data/data.h5", "gcs://bucket/data/data.h5"]),
    (places.azure, f"{places.AZURE}/data", [f"{places.AZURE}/data/data.h5", "abfs://bucket/data/data.h5", "az://bucket/data/data.h5",
                                            "abfs://bucket@account1.dfs.core.windows.net/data/data.h5"])], ids=["google", "azure"])
def test_targets_at_google_and_azure(mount, tmp_path, monkeypatch, kind, prefix, urls):
    for name, value in places.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(PLACE, tmp_path / "disk/data")
    with kind(str(tmp_path / "disk"), [], str(tmp_path)) as source_of:
        source, options = source_of("data/kerchunk.json")
        mounted = mount(source, f"virtual={prefix},view=v2,{options}")
        assert not differences(read_all("zarr2", mounted.path), expected_of(GOLDEN, "kerchunk"))
        mounted.unmount()
        for url in urls:
            mounted = mount(spelled(tmp_path, url), f"virtual={prefix},view=v2,{options}")
            assert not differences(read_all("zarr2", mounted.path), expected_of(GOLDEN, "kerchunk")), url
            mounted.unmount()


def test_a_chunk_takes_one_request(mount, serve, tmp_path):  # noqa: F811
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/data.bin").write_bytes(bytes(range(256)) * 4096)
    server = serve(tmp_path / "disk", "bucket")
    zarray = {"zarr_format": 2, "shape": [4 << 16], "chunks": [1 << 16], "dtype": "|u1", "order": "C", "fill_value": 0, "filters": None, "compressor": None}
    refs = {"a/.zarray": json.dumps(zarray), ".zgroup": '{"zarr_format": 2}', **{f"a/{i}": ["s3://bucket/data.bin", i << 18, 1 << 16] for i in range(4)}}
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))
    mounted = mount(tmp_path / "refs.json", f"virtual=s3://bucket,immutable,{bucket_options(server)}")
    before = len(server.seen)
    for number in (2, 0):
        with open(mounted / f"a/{number}", "rb") as file:
            assert file.read() == (bytes(range(256)) * 256)
        assert len(server.seen) - before <= 1, server.seen
        before = len(server.seen)


ZARRAY = '{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "order": "C", "fill_value": 7, "filters": null, "compressor": null}'


def refuses(mount, tmp_path, url, options=""):
    """What a chunk says that lies at `url`, and the log; it may never be absent, nor have a value."""
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "a/.zarray": ZARRAY, "a/0": url if isinstance(url, list) else [url, 0, 2]}))
    mounted = mount(path, f"view=v2{options and ','}{options}", damaged=True)
    assert "0" in os.listdir(mounted / "a")
    with pytest.raises(OSError) as refused:
        with open(mounted / "a/0", "rb") as file:
            file.read()
    assert subprocess.run(["/usr/bin/python3", "-c", f"import zarr; print(zarr.open({str(mounted / 'a')!r}, 'r')[:])"], capture_output=True).returncode != 0
    log = mounted.log_text()
    verified = run("verify", path, *(word for prefix in options.split(",") if prefix for word in ("--virtual", prefix.partition("=")[2])), status=1)
    mounted.unmount()
    return refused.value.errno, log, verified.stdout + verified.stderr


def test_nothing_is_followed_that_no_prefix_allows(mount, serve, tmp_path):  # noqa: F811
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/a").write_bytes(b"secret")
    (tmp_path / "secret").write_bytes(b"secret")
    server = serve(tmp_path / "disk")
    for url in ("file:///etc/passwd", "/etc/passwd", str(tmp_path / "secret"), "secret", "../secret", "http://169.254.169.254/latest/meta-data", "s3://another-bucket/key",
                f"{server.url}/a", f"{server.url}/disk/../a"):
        number, log, verified = refuses(mount, tmp_path, url)
        assert number == errno.EPERM, url
        for text in (log, verified):
            assert "virtual=PREFIX" in text and "a/0" in text, (url, text)
    assert not server.seen


def test_a_prefix_is_not_left(mount, tmp_path):
    data, others = tmp_path / "data", tmp_path / "data2"
    for folder in (data, others):
        folder.mkdir()
        (folder / "f").write_bytes(b"secret")
    (data / "link").symlink_to(others / "f")
    for url, wanted in ((f"{others}/f", errno.EPERM), (f"{data}/../data2/f", errno.EPERM), (f"{data}/link", errno.EACCES), (f"{data}/no", errno.EUCLEAN),
                        ([f"{data}/f", 5, 2], errno.EUCLEAN), ([f"{data}/f", 1 << 62, 1 << 61], errno.EUCLEAN)):
        number, _, _ = refuses(mount, tmp_path, url, f"virtual={data}")
        assert number == wanted, (url, number)


def test_what_is_no_file_is_an_error_and_nothing_waits_for_it(mount, tmp_path):
    data = tmp_path / "data"
    (data / "folder").mkdir(parents=True)
    os.mkfifo(data / "pipe")
    os.symlink("/dev/zero", data / "endless")
    for name, wanted in (("folder", errno.EUCLEAN), ("pipe", errno.EUCLEAN), ("endless", errno.EACCES)):
        for url in (f"{data}/{name}", [f"{data}/{name}", 0, 2]):
            number, log, verified = refuses(mount, tmp_path, url, f"virtual={data}")
            assert number == wanted, (url, number)
            assert wanted == errno.EACCES or "is no regular file" in log, log
            assert verified.startswith("a/0: ") and verified.count("a/0") == 1, verified


@pytest.mark.parametrize("text, words", [
    ('{"a": "1", "a": "2", ".zgroup": ""}', 'key "a" is there twice'),
    ('{"refs": {"a": ["u", -1, 5]}}', "has the offset -1"),
    ('{"refs": {"a": ["u", 0, 99999999999999999999]}}', "has the length 1e+20"),
    ('{"refs": {"../a": "x"}}', "is no path in a store"),
    ('{".zarray": [[' + "[" * 100000, "holds a list"),
    ('{"refs": {"a": {"b": ' + "[" * 100000, "nested deeper than 64"),
    ('{"refs": {"a": ["{{b}}"]}, "templates": {"b": "{{c}}", "c": "{{b}}"}}', "is a template of its own"),
    (json.dumps({"version": 1, "templates": {"a": "x" * 16000}, "refs": {"a": ["{{a}}{{a}}"]}}), "becomes more than 16384 bytes"),
    (json.dumps({"version": 1, "templates": {"a": "x" * 16000}, "refs": {"a": "b"},
                 "gen": [{"key": "k{{i}}", "url": "{{a}}{{i}}", "dimensions": {"i": {"stop": 3000000}}}]}), "bytes of URLs"),
    ('{"refs": {}, "gen": [{"key": "{{i}}", "url": "u", "dimensions": {"i": {"stop": 1099511627776}}}]}', "tells of 1099511627776 references"),
], ids=["twice", "negative", "huge", "outside", "deep", "deeper", "circle", "long", "bomb", "gen"])
def test_hostile_files_are_refused_by_name(tmp_path, text, words):
    path, mountpoint = tmp_path / "refs.json", tmp_path / "mnt"
    path.write_text(text)
    mountpoint.mkdir()
    refused = run("mount", path, mountpoint, "-o", "ro", status=3)
    assert words in refused.stderr and str(path) in refused.stderr, refused.stderr


def test_codecs_that_zarrfs_has_not_are_hidden_by_name(mount, tmp_path):
    """GRIB as kerchunk refers to it, and as VirtualiZarr does."""
    grib = ZARRAY.replace('"filters": null', '"filters": [{"dtype": "float64", "id": "grib", "var": "t2m"}]')
    of_v3 = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float64", "fill_value": 0, "attributes": {},
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
             "codecs": [{"name": "gribberish", "configuration": {"var": "t2m"}}]}
    (tmp_path / "refs.json").write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "a/.zarray": ZARRAY, "t/.zarray": grib, "t/0": "xx", "a/0": "xx",
                                                    "v/zarr.json": json.dumps(of_v3), "v/c/0": "xx"}))
    mounted = mount(tmp_path / "refs.json", "view=v2", damaged=True)
    assert read_all("zarr2", mounted.path).keys() == {"a"}
    hidden = {node["path"]: node["reason"] for node in mounted.report()["nodes"] if node["shown"] == "hidden"}
    assert hidden.keys() == {"/t", "/v"} and "grib" in hidden["/t"] and "gribberish" in hidden["/v"], hidden
    said = run("verify", tmp_path / "refs.json").stderr
    assert all(f"/{name} is not understood, and not checked" in said for name in "tv") and "grib" in said, said


# By a process that is small itself: a child begins with what its parent takes.
MOST = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")


def test_a_million_take_little_memory(tmp_path):
    """Beside a file of one: less than five times the text, while it is read."""
    need_own_memory()
    most = {}
    for count in (1, 1000000):
        refs = {".zgroup": '{"zarr_format": 2}', **{f"a/{i}": [f"s3://bucket/{i // 100}.nc", i, 1] for i in range(count)}}
        path = tmp_path / f"{count}.json"
        path.write_text(json.dumps({"version": 1, "refs": refs}))
        most[count] = int(subprocess.run(["/usr/bin/python3", "-c", MOST, DAEMON, "info", path], check=True, capture_output=True).stdout) << 10
    size = (tmp_path / "1000000.json").stat().st_size
    print(f"{size >> 20} MiB of text, {(most[1000000] - most[1]) >> 20} MiB more")
    assert most[1000000] - most[1] < 5 * size


def test_a_hundred_thousand_open_soon(mount, tmp_path):
    """Beside a file of one: what each reference takes, of memory and of the processor's time, is bounded."""
    need_own_memory()
    zarray = json.loads(ZARRAY)
    zarray.update(shape=[100000], chunks=[1])
    took, memory = {}, {}
    for count in (1, 100000):
        refs = {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(zarray), **{f"a/{i}": [f"s3://bucket/{i // 100}.nc", i, 1] for i in range(count)}}
        path = tmp_path / f"{count}.json"
        path.write_text(json.dumps({"version": 1, "refs": refs}))
        mounted = mount(path)
        process = mounted.statistics_process()
        with open(f"/proc/{process}/stat") as stat:
            took[count] = sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        with open(f"/proc/{process}/status") as status:
            memory[count] = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    print(f"{took[100000] - took[1]:.2f} s, {(memory[100000] - memory[1]) / 1024:.1f} MiB more")
    assert took[100000] < took[1] + 5
    assert memory[100000] < memory[1] + (60 << 10)


VIRTUAL = """
import datetime, json, sys, icechunk, zarr
folder, prefix, told = sys.argv[1:3] + [json.loads(sys.argv[3])]
config = icechunk.RepositoryConfig.default()
at = icechunk.local_filesystem_store(prefix[len("file://"):]) if prefix.startswith("file:") else icechunk.s3_store(region="us-east-1")
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, at))
repository = icechunk.Repository.create(icechunk.local_filesystem_storage(folder), config=config)
session = repository.writable_session("main")
zarr.group(store=session.store)
for name, (url, offset, checksum) in told.items():
    zarr.create_array(session.store, name=name, shape=(6, 10), chunks=(6, 10), dtype="<i4", fill_value=0, filters=None, compressors=None)
    if isinstance(checksum, float):
        checksum = datetime.datetime.fromtimestamp(checksum, datetime.timezone.utc)
    session.store.set_virtual_ref(name + "/c/0/0", url, offset=offset, length=240, checksum=checksum)
session.commit("virtual")
"""


def virtual_repository(folder, prefix, told):
    """A repository of icechunk with an array for each name: {name: (URL, offset, ETag or seconds)}."""
    python = os.path.join(VENVS, "icechunk", "bin", "python")
    if not os.path.exists(python):
        pytest.skip("icechunk is missing: run packaging/install-test-readers all")
    subprocess.run([python, "-c", VIRTUAL, folder, prefix, json.dumps(told)], check=True, capture_output=True)


def offset_of_plain():
    with open(os.path.join(PLACE, "version0.json")) as text:
        return json.load(text)["plain/0.0"][1]


def test_virtual_chunks_of_icechunk(mount, tmp_path):
    virtual_repository(tmp_path / "repository", f"file://{PLACE}/", {"plain": (f"file://{PLACE}/data.h5", offset_of_plain(), None)})
    mounted = mount(tmp_path / "repository", f"view=v2,virtual={PLACE}")
    assert read_all("zarr2", mounted.path)["plain"] == expected_of(GOLDEN, "kerchunk")["plain"]
    refused = mount(tmp_path / "repository", "view=v2", damaged=True)
    with pytest.raises(PermissionError):
        with open(refused / "plain/0.0", "rb") as file:
            file.read()
    assert "virtual=PREFIX" in refused.log_text()


def bytes_or_error(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return error.errno


def tag_of_object_store(path):
    """As icechunk's library knows local files by."""
    status = os.stat(path)
    return f'"{status.st_ino:x}-{status.st_mtime_ns // 1000:x}-{status.st_size:x}"'


def test_a_virtual_chunk_whose_file_has_changed_is_refused(mount, tmp_path):
    """By its time, or its ETag; while it is mounted, and before. One of which nothing was told shows what is there now."""
    data = tmp_path / "data"
    data.mkdir()
    target = data / "data.bin"
    target.write_bytes(bytes(range(240)))
    os.utime(target, (1000000000, 1000000000))
    url = f"file://{target}"
    virtual_repository(tmp_path / "repository", f"file://{data}/", {
        "timed": (url, 0, 1000000000.0), "tagged": (url, 0, tag_of_object_store(target)), "untold": (url, 0, None)})
    mounted = mount(tmp_path / "repository", f"view=v2,virtual={data}", damaged=True)
    names = ("timed", "tagged", "untold")
    assert {name: bytes_or_error(mounted / f"{name}/0.0") for name in names} == dict.fromkeys(names, bytes(range(240)))
    target.write_bytes(bytes(240))
    again = mount(tmp_path / "repository", f"view=v2,virtual={data}", damaged=True)
    for one in (mounted, again):
        within(30, lambda: bytes_or_error(one / "untold/0.0") == bytes(240))
        assert [bytes_or_error(one / f"{name}/0.0") for name in ("timed", "tagged")] == [errno.ESTALE] * 2
        assert "data.bin has changed since it was named" in one.log_text()


def test_a_virtual_chunk_at_a_server_is_known_by_its_tag(mount, serve, tmp_path):  # noqa: F811
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "data.bin").write_bytes(bytes(range(240)))
    server = serve(disk, "bucket")
    url = "s3://bucket/data.bin"
    virtual_repository(tmp_path / "repository", "s3://bucket/", {"tagged": (url, 0, tag_of(str(disk / "data.bin"))), "other": (url, 0, '"another"')})
    options = f"view=v2,virtual=s3://bucket,{bucket_options(server)}"
    mounted = mount(tmp_path / "repository", options, damaged=True)
    assert bytes_or_error(mounted / "tagged/0.0") == bytes(range(240))
    assert bytes_or_error(mounted / "other/0.0") == errno.ESTALE
    mounted.unmount()
    server.fault = lambda seen: {"edit": lambda status, headers, body: (status, {name: value for name, value in headers.items() if name != "ETag"}, body)}
    mounted = mount(tmp_path / "repository", options, damaged=True)
    assert bytes_or_error(mounted / "tagged/0.0") == errno.ESTALE
    assert "its server tells no ETag" in mounted.log_text()
