"""References in Parquet: each key as fsspec has it; files are read when they are needed; damage is named, and never a missing chunk."""
import errno
import json
import os
import shutil

import pytest
from conftest import need_own_memory, read_all
from test_doctor_server import bucket_options, credentials  # noqa: F401 (fixture)
from test_references import PLACE, python_with, run
from test_remote import serve  # noqa: F401 (fixture)
from warm_python import run_warm

PYARROW = ["pyarrow.parquet", "pyarrow.dataset", "pyarrow.fs", "pandas"]
ZARRAY = {"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "|u1", "order": "C", "fill_value": 7, "filters": None, "compressor": None}

# Random references of all kinds, and what fsspec reads of each key that is there.
WRITE = """
import json, random, sys, fsspec, numpy
from fsspec.implementations.reference import LazyReferenceMapper
folder, engine, threshold, record = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
choose = random.Random(f"{engine} {threshold} {record}")
written = LazyReferenceMapper.create(folder, record_size=record, engine=engine, categorical_threshold=threshold)
written[".zgroup"] = '{"zarr_format": 2}'
arrays = {"urls": [9, 5], "texts": [3, 4], "mixed": [100], "scalar": [], "whole": [30], "deep/er/a": [2, 3, 4], "sparse": [60], "absent": [8]}
for name, shape in arrays.items():
    written[name + "/.zarray"] = json.dumps({"zarr_format": 2, "shape": shape, "chunks": [1] * len(shape), "dtype": "<i4", "order": "C", "fill_value": 0,
                                             "filters": None, "compressor": None})
    for place in numpy.ndindex(*shape):
        key = f"{name}/" + (".".join(map(str, place)) or "0")
        kind = {"urls": 0, "texts": 1, "scalar": 1, "whole": 2}.get(name, choose.randrange(4))
        if name == "absent" or (name == "sparse" and not 20 <= place[0] < 22):
            continue
        if kind == 0:
            written[key] = [f"file://{folder[:-10]}/{choose.randrange(3)}.bin", choose.randrange(1, 90), choose.randrange(1, 9)]
        elif kind == 1:
            written[key] = choose.choice(["abcd", "base64:AAECAw==", "base64:////", "x" * 300])
        elif kind == 2:
            written[key] = [f"file://{folder[:-10]}/{choose.randrange(3)}.bin"]
written.flush()
read = LazyReferenceMapper(folder, engine="pyarrow")
found = {}
for key in read:
    one = read[key]
    if not key.startswith(".z") and "/.z" not in key and (isinstance(one, bytes) or isinstance(one[0], str)):  # else a category without a value
        found[key] = one.hex() if isinstance(one, bytes) else [str(one[0]).split("/")[-1], *map(int, one[1:])]
print(json.dumps(found))
"""


def files_below(folder):
    def stop(error):
        raise error
    return {os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder, onerror=stop) for name in names}


@pytest.mark.parametrize("engine", ["fastparquet", "pyarrow"])
@pytest.mark.parametrize("threshold, record", [(0, 7), (1000, 25), (10, 10000)])
def test_each_key_is_what_fsspec_reads(mount, tmp_path, engine, threshold, record):
    for number in range(3):
        (tmp_path / f"{number}.bin").write_bytes(bytes((number * 100 + i) % 256 for i in range(100 + number)))
    told_of_all = run_warm(python_with(), PYARROW, WRITE, tmp_path / "refs.parq", engine, threshold, record)
    wanted = {}
    for key, told in json.loads(told_of_all).items():
        if isinstance(told, str):
            wanted[key] = bytes.fromhex(told)
        else:
            whole = (tmp_path / told[0]).read_bytes()
            wanted[key] = whole[told[1]:told[1] + told[2]] if len(told) == 3 else whole
    assert len(wanted) > 150
    mounted = mount(tmp_path / "refs.parq", f"virtual={tmp_path},view=v2")
    assert {key for key in files_below(mounted.path) if "/." not in key and not key.startswith(".")} == wanted.keys()
    for key, told in wanted.items():
        assert content(mounted, key) == told, key
    assert not os.path.exists(mounted / "absent/3") and not os.path.exists(mounted / "sparse/40")


@pytest.mark.parametrize("name", ["refs.parq", "refs.parquet", "refs"])
def test_a_chunk_takes_its_file_of_references_once(mount, serve, tmp_path, name):  # noqa: F811
    """100,000 references in 10 files: one of these for the chunks that it has, and a request for each chunk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/data.bin").write_bytes(bytes(range(256)) * 4096)
    write = ("import json, sys; from kerchunk.df import refs_to_dataframe; refs = {f'a/{i}': ['s3://bucket/data.bin', i, 1] for i in range(100000)}; "
             "refs.update({'.zgroup': json.dumps({'zarr_format': 2}), 'a/.zarray': json.dumps(dict(json.loads(sys.argv[2]), shape=[100000]))}); "
             "refs_to_dataframe(refs, sys.argv[1], record_size=10000)")
    os.mkdir(tmp_path / "disk" / name)
    run_warm(python_with(), PYARROW, write, tmp_path / "disk" / name, json.dumps(ZARRAY))
    server = serve(tmp_path / "disk", "bucket")
    mounted = mount(f"s3://bucket/{name}", f"virtual=s3://bucket,immutable,view=v2,{bucket_options(server)}")
    assert not [one for one in server.seen if "/a/refs." in str(one)], server.seen
    print(f"{name}: {len(server.seen)} requests until it is mounted")
    before = len(server.seen)
    for number, most in ((54321, 2), (54322, 1), (50007, 1)):
        with open(mounted / f"a/{number}", "rb") as file:
            assert file.read() == bytes([number % 256])
        assert len(server.seen) - before <= most, server.seen[before:]
        before = len(server.seen)


def content(mounted, name):
    with open(mounted / name, "rb") as file:
        return file.read()


def copied(tmp_path):
    shutil.copytree(os.path.join(PLACE, "pyarrow.parq"), tmp_path / "refs.parq")
    shutil.copy(os.path.join(PLACE, "data.h5"), tmp_path)
    return tmp_path / "refs.parq"


def rewritten(file, words):
    """The file as pyarrow writes it again."""
    words = f"dict(dict(compression='zstd'), **dict({words}))"
    write = f"import sys, pyarrow.parquet as pq; table = pq.read_table(sys.argv[1]); pq.write_table(table, sys.argv[1], **{words})"
    run_warm(python_with(), PYARROW, write, file)


def test_verify_and_info_go_on_behind_what_is_damaged(tmp_path):
    source = copied(tmp_path)
    for name in ("big", "sparse"):
        DAMAGES["cut"](source / f"{name}/refs.0.parq")
    rewritten(source / "packed/refs.1.parq", "compression='snappy'")
    done = run("verify", source, "--virtual", tmp_path, "--json", status=1)
    told = json.loads(done.stdout)
    assert {one["array"] for one in told["damage"]} == {"big", "sparse"} and told["chunks"] > 10, told
    assert [one["array"] for one in told["not_understood"]] == ["packed"], told
    nodes = json.loads(run("info", source, "--virtual", tmp_path, "--json", status=1).stdout)["nodes"]
    assert {one["path"] for one in nodes if one["kind"] == "unreadable"} == {"big", "sparse", "packed"}, nodes
    assert [one["path"] for one in nodes if one["kind"] == "array"], nodes
    text = run("info", source, "--virtual", tmp_path, status=1).stdout
    assert "/big  cannot be read: " in text and "stored for" in text, text


def test_references_that_are_written_anew_are_not_mixed_with_those_that_were(mount, tmp_path):
    source = copied(tmp_path)
    mounted = mount(source, f"virtual={tmp_path},view=v2,revalidate=0", damaged=True)
    assert content(mounted, "packed/0.0")
    text = (source / ".zmetadata").read_text()
    (source / ".zmetadata").write_text(text.replace('"shape":[20,20]', '"shape":[20,40]') + " ")
    with pytest.raises(OSError) as refused:
        content(mounted, "sparse/0.1")
    assert refused.value.errno == errno.EIO and "was written anew since it was read" in mounted.log_text()
    assert content(mounted, "packed/0.1")  # of the file that was read before


@pytest.mark.parametrize("spoil, said", [
    ("table.rename_columns(['patx', 'offset', 'size', 'raw'])", "column patx is none of path, offset, size, raw"),
    ("table.drop(['path'])", "has no column path"), ("table.drop(['offset', 'size'])", "has no column offset, size"),
    ("table.set_column(1, 'offset', pyarrow.nulls(len(table), pyarrow.int64()))", "its offset is missing"),
    ("table.set_column(2, 'size', pyarrow.nulls(len(table), pyarrow.int64()))", "its size is missing"),
    ("table.append_column('more', table['size'])", "column more is none of"),
], ids=["renamed", "without-path", "without-numbers", "null-offset", "null-size", "more"])
def test_a_table_that_is_not_whole_is_no_table_without_references(mount, tmp_path, spoil, said):
    source = copied(tmp_path)
    write = f"import sys, pyarrow, pyarrow.parquet as pq; table = pq.read_table(sys.argv[1]); pq.write_table({spoil}, sys.argv[1], compression='zstd')"
    run_warm(python_with(), PYARROW, write, source / "packed/refs.0.parq")
    mounted = mount(source, f"virtual={tmp_path},view=v2", damaged=True)
    with pytest.raises(OSError) as refused:
        content(mounted, "packed/0.0")
    assert refused.value.errno != errno.ENOENT and said in mounted.log_text(), mounted.log_text()


def test_a_file_in_the_place_of_the_references_of_an_array_is_damage(mount, tmp_path):
    source = copied(tmp_path)
    shutil.rmtree(source / "packed")
    (source / "packed").write_text("x")
    mounted = mount(source, f"virtual={tmp_path},view=v2", damaged=True)
    with pytest.raises(OSError) as refused:
        content(mounted, "packed/0.0")
    assert refused.value.errno == errno.EUCLEAN and "packed: is no directory" in mounted.log_text()


def test_hostile_tables_take_little_memory(mount, tmp_path):
    """A dictionary of millions of values in a small file, and one long text for each of millions of rows."""
    need_own_memory()
    source = copied(tmp_path)
    make = ("import sys, pyarrow as pa, pyarrow.parquet as pq; rows = 3000000; number = pa.array([1] * rows, pa.int64()); text = pa.array(['x' * 200]).dictionary_encode();"
            "index = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), text.dictionary);"
            "pq.write_table(pa.table(dict(path=index, offset=number, size=number, raw=index)), sys.argv[1], compression='zstd')")
    run_warm(python_with(), PYARROW, make, source / "packed/refs.0.parq")
    text = json.loads((source / ".zmetadata").read_text())
    (source / ".zmetadata").write_text(json.dumps(dict(text, record_size=3000000)))
    mounted = mount(source, f"virtual={tmp_path},view=v2,memory=128M", damaged=True)
    with pytest.raises(OSError) as refused:
        content(mounted, "packed/0.0")
    assert refused.value.errno == errno.EFBIG
    with open(f"/proc/{mounted.statistics_process()}/status") as status:
        highest = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert highest < 192 << 10, f"{highest} KiB"


DAMAGES = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "empty": lambda file: file.write_bytes(b""),
    "page": lambda file: file.write_bytes(file.read_bytes()[:5] + bytes(40) + file.read_bytes()[45:]),
    "folder": lambda file: (file.unlink(), file.mkdir()),
    "another": lambda file: shutil.copy(file.parent.parent / "n10/refs.0.parq", file),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_no_chunk_is_missing(mount, tmp_path, damage):
    source = copied(tmp_path)
    if damage == "another":
        rewritten_rows = "import sys, pyarrow.parquet as pq; table = pq.read_table(sys.argv[1]); pq.write_table(table.slice(0, 2), sys.argv[1], compression='zstd')"
        run_warm(python_with(), PYARROW, rewritten_rows, source / "n10/refs.0.parq")
    DAMAGES[damage](source / "packed/refs.0.parq")
    mounted = mount(source, f"virtual={tmp_path},view=v2", damaged=True)
    with pytest.raises(OSError) as refused:
        with open(mounted / "packed/0.0", "rb") as file:
            file.read()
    assert refused.value.errno in (errno.EUCLEAN, errno.EIO), refused.value
    assert "packed/refs.0.parq" in mounted.log_text(), mounted.log_text()
    verified = run("verify", source, "--virtual", tmp_path, status=1)
    assert "packed/refs.0.parq" in verified.stdout + verified.stderr
    with open(mounted / "packed/2.0", "rb") as file:  # has another file
        assert file.read()
    assert "chunked" in read_all("zarr2", mounted.path)


@pytest.mark.parametrize("words, said", [
    ("compression='snappy'", "column path: the compression 1 of Parquet is not read"), ("compression='brotli'", "the compression 4 of Parquet is not read"),
    ("use_dictionary=False, column_encoding={'offset': 'DELTA_BINARY_PACKED'}", "column offset: the encoding 5 of Parquet is not read"),
], ids=["snappy", "brotli", "delta"])
def test_what_is_not_read_is_named(mount, tmp_path, words, said):
    source = copied(tmp_path)
    rewritten(source / "packed/refs.0.parq", words)
    mounted = mount(source, f"virtual={tmp_path},view=v2", damaged=True)
    with pytest.raises(OSError) as refused:
        content(mounted, "packed/0.0")
    assert refused.value.errno == errno.EOPNOTSUPP
    assert "packed/refs.0.parq: column " in mounted.log_text() and said in mounted.log_text(), mounted.log_text()


@pytest.mark.parametrize("words", ["compression='none'", "compression='gzip'", "data_page_version='2.0'", "data_page_version='2.0', compression='zstd'",
                                   "use_dictionary=False", "write_page_checksum=True", "row_group_size=2", "data_page_size=1, write_batch_size=1",
                                   "version='1.0'"])
def test_other_ways_to_write_the_same_are_read(mount, tmp_path, words):
    source = copied(tmp_path)
    for top, _, names in os.walk(source):
        for name in names:
            if name.endswith(".parq"):
                rewritten(os.path.join(top, name), words)
    mounted = mount(source, f"virtual={tmp_path},view=v2")
    other = mount(os.path.join(PLACE, "pyarrow.parq"), f"virtual={PLACE},view=v2")
    assert files_below(mounted.path) == files_below(other.path)
    for name in files_below(mounted.path):
        if not name.startswith(".zarrfs"):
            assert content(mounted, name) == content(other, name), name


def made_by_hand(tmp_path, metadata, record_size):
    folder = tmp_path / "refs.parq"
    folder.mkdir()
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": record_size}))
    return folder


@pytest.mark.parametrize("record_size", [0, -1, 1 << 40, "10", None])
def test_a_bad_record_size_is_refused_by_name(tmp_path, record_size):
    refused = run("info", made_by_hand(tmp_path, {".zgroup": {"zarr_format": 2}}, record_size), status=1)
    assert f".zmetadata: record_size is {json.dumps(record_size)}" in refused.stderr, refused.stderr


def test_arrays_whose_chunks_cannot_be_found_are_damage_by_name(mount, tmp_path):
    square = dict(ZARRAY, shape=[4, 4], chunks=[1, 1])
    source = made_by_hand(tmp_path, {".zgroup": {"zarr_format": 2}, "slash/.zarray": dict(square, dimension_separator="/"),
                                     "huge/.zarray": dict(square, shape=[1 << 40, 1 << 40]), "good/.zarray": ZARRAY,
                                     "third/zarr.json": {"zarr_format": 3, "node_type": "array", "shape": [1]}}, 10)
    mounted = mount(source, "view=v2", damaged=True)
    for name in ("slash", "huge"):
        for path in (f"{name}/.zarray", f"{name}/0.0", f"{name}/0/0"):
            with pytest.raises(OSError) as refused:
                content(mounted, path)
            assert refused.value.errno != errno.ENOENT, path
    with pytest.raises(OSError):
        os.listdir(mounted / "third")
    reasons = {node["path"]: node["reason"] for node in mounted.report()["nodes"] if node["shown"] == "damaged"}
    assert reasons.keys() == {"/slash", "/huge", "/third"}, reasons
    assert "dimension_separator" in reasons["/slash"] and "2^64" in reasons["/huge"], reasons
    assert content(mounted, "good/.zarray")


def test_bare_numbers_stay_as_they_are(mount, tmp_path):
    source = made_by_hand(tmp_path, {".zgroup": {"zarr_format": 2}, "a/.zarray": dict(ZARRAY, dtype="<f4", fill_value="NaN"),
                                     "a/.zattrs": {"valid_max": float("inf"), "missing": float("nan"), "text": "NaN", "title": "Gr\u00fc\u00dfe"}}, 10)
    mounted = mount(source, "view=v2,profile=generic")
    text = content(mounted, "a/.zattrs")
    assert text.isascii()  # zarr-python 2.13 reads nothing else
    attributes = json.loads(text)
    assert attributes["title"] == "Gr\u00fc\u00dfe"
    assert attributes["valid_max"] == float("inf") and attributes["missing"] != attributes["missing"] and attributes["text"] == "NaN"
