"""The files of the view behave as files: sizes, listings, absence, attributes, and what ordinary programs make of them."""
import errno
import json
import mmap
import os
import subprocess
import tarfile

import pytest
from conftest import need
from stores import SmallStore, document, shard_bytes, write_file, write_json

ALWAYS = [".zarray", ".zattrs"]


def read(path):
    with open(path, "rb") as data:
        return data.read()


def error_of(call, *arguments):
    """The errno that the call fails with; 0 where it succeeds."""
    try:
        result = call(*arguments)
        if isinstance(result, int) and call is os.open:
            os.close(result)
        return 0
    except OSError as error:
        return error.errno


def copied_with(command, program):
    need(subprocess.run(["which", program], capture_output=True).returncode == 0, f"{program} is missing")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def store(tmp_path):
    return SmallStore(tmp_path)


def test_a_listing_shows_exactly_the_chunks_that_exist(mount, store):
    mounted = mount(store.path)
    assert sorted(os.listdir(mounted / "a")) == sorted(ALWAYS + store.present())
    assert sorted(os.listdir(mounted.path)) == [".zattrs", ".zgroup", ".zmetadata", "a"]


def test_nested_keys_list_as_directories(mount, store):
    mounted = mount(store.path, "separator=/")
    files = [os.path.relpath(os.path.join(folder, name), mounted / "a")
             for folder, _, names in os.walk(mounted / "a") for name in names]
    assert sorted(files) == sorted(ALWAYS + [name.replace(".", "/") for name in store.present()])


def test_stat_gives_the_size_that_a_read_gives(mount, store):
    mounted = mount(store.path)
    for folder, _, names in os.walk(mounted.path):
        for name in names:
            path = os.path.join(folder, name)
            assert os.stat(path).st_size == len(read(path)), path


def test_a_chunk_is_the_stored_bytes(mount, store):
    mounted = mount(store.path)
    for name in store.present():
        assert read(mounted / f"a/{name}") == store.chunk(*map(int, name.split("."))), name


def test_a_read_never_reaches_the_next_chunk(mount, store):
    mounted = mount(store.path)
    descriptor = os.open(mounted / "a/0.0", os.O_RDONLY)
    try:
        assert len(os.pread(descriptor, 1 << 20, 0)) == 16
        assert os.pread(descriptor, 100, 15) == store.chunk(0, 0)[15:]
        assert os.pread(descriptor, 100, 16) == b""
        assert os.pread(descriptor, 100, 1 << 40) == b""
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("name", ["0.1", "2.2", "3.3", "4.0", "0.4", "4", "0/1", "0.0.0", "00.0", "0.-1", "zarr.json", "c", "nothing",
                                  "18446744073709551616.0", "0.0.", ".0"])
def test_what_is_not_there_is_enoent(mount, store, name):
    mounted = mount(store.path)
    assert error_of(os.stat, mounted / f"a/{name}") == errno.ENOENT


def test_both_separators_are_answered(mount, store):
    mounted = mount(store.path)
    assert read(mounted / "a/1/0") == read(mounted / "a/1.0") == store.chunk(1, 0)


def test_the_view_is_read_only(mount, store):
    mounted = mount(store.path, "ro")
    assert error_of(os.open, mounted / "a/0.0", os.O_WRONLY) == errno.EROFS
    assert error_of(os.open, mounted / "a/0.1", os.O_WRONLY | os.O_CREAT) == errno.EROFS
    assert error_of(os.unlink, mounted / "a/0.0") == errno.EROFS
    assert error_of(os.mkdir, mounted / "b") == errno.EROFS
    assert error_of(os.rename, mounted / "a/0.0", mounted / "a/0.1") == errno.EROFS


def test_inode_numbers_are_stable_and_differ(mount, store):
    numbers = []
    for _ in range(2):
        mounted = mount(store.path)
        numbers.append({name: os.stat(mounted / f"a/{name}").st_ino for name in ALWAYS + store.present()})
        mounted.unmount()
    assert numbers[0] == numbers[1]
    assert len(set(numbers[0].values())) == len(numbers[0])


def test_a_listing_can_be_read_in_parts(mount, store):
    mounted = mount(store.path)
    with os.scandir(mounted / "a") as entries:
        names = [entry.name for entry in entries]
    assert len(names) == len(set(names)) == len(ALWAYS) + len(store.present())


def test_documents_are_those_of_zarr_v2(mount, store):
    mounted = mount(store.path)
    array = json.loads(read(mounted / "a/.zarray"))
    assert set(array) == {"zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters",
                          "dimension_separator"}
    assert (array["shape"], array["chunks"], array["dtype"], array["compressor"], array["fill_value"]) == (
        [8, 8], [2, 2], "<i4", None, 7)
    assert json.loads(read(mounted / ".zgroup")) == {"zarr_format": 2}
    consolidated = json.loads(read(mounted / ".zmetadata"))
    assert consolidated["metadata"]["a/.zarray"] == array
    assert set(consolidated["metadata"]) == {".zgroup", ".zattrs", "a/.zarray", "a/.zattrs"}


def test_cp_copies_every_file(mount, store, tmp_path):
    mounted = mount(store.path)
    copied_with(["cp", "-r", mounted.path, str(tmp_path / "copy")], "cp")
    for name in ALWAYS + store.present():
        assert read(tmp_path / "copy/a" / name) == read(mounted / f"a/{name}")
    assert sorted(os.listdir(tmp_path / "copy/a")) == sorted(ALWAYS + store.present())


def test_rsync_copies_every_file(mount, store, tmp_path):
    mounted = mount(store.path)
    copied_with(["rsync", "-a", mounted.path + "/", str(tmp_path / "copy")], "rsync")
    assert sorted(os.listdir(tmp_path / "copy/a")) == sorted(ALWAYS + store.present())
    copied_with(["rsync", "-a", "--checksum", mounted.path + "/", str(tmp_path / "copy")], "rsync")


def test_tar_packs_every_file(mount, store, tmp_path):
    mounted = mount(store.path)
    copied_with(["tar", "cf", str(tmp_path / "a.tar"), "-C", mounted.path, "a"], "tar")
    with tarfile.open(tmp_path / "a.tar") as packed:
        files = {os.path.basename(entry.name): entry.size for entry in packed if entry.isfile()}
    assert files == {name: os.stat(mounted / f"a/{name}").st_size for name in ALWAYS + store.present()}


def test_attributes_tell_where_a_chunk_lies(mount, store):
    mounted = mount(store.path)
    names = set(os.listxattr(mounted / "a/1.0"))
    assert {"user.zarrfs.shard", "user.zarrfs.offset", "user.zarrfs.nbytes", "user.zarrfs.chunk"} <= names
    shard = os.getxattr(mounted / "a/1.0", "user.zarrfs.shard").decode()
    offset = int(os.getxattr(mounted / "a/1.0", "user.zarrfs.offset"))
    assert int(os.getxattr(mounted / "a/1.0", "user.zarrfs.nbytes")) == 16
    stored = read(shard if os.path.isabs(shard) else store.file(shard if os.path.exists(store.file(shard)) else f"a/{shard}"))
    assert stored[offset:offset + 16] == store.chunk(1, 0)
    assert error_of(os.getxattr, mounted / "a/1.0", "user.nothing") == errno.ENODATA


def test_other_attributes_are_not_supported_which_ls_remembers(mount, store):
    mounted = mount(store.path)
    for name in ("security.selinux", "system.posix_acl_access", "trusted.overlay.opaque"):
        assert error_of(os.getxattr, mounted / "a/1.0", name) == errno.ENOTSUP
    before = mounted.statistics()["requests"]["getxattr"]
    subprocess.run(["ls", "-l", mounted / "a"], check=True, capture_output=True)
    assert len(store.present()) > 4
    assert mounted.statistics()["requests"]["getxattr"] - before <= 4, "asked of the mount, not of each file"


def test_getfattr_prints_them(mount, store):
    mounted = mount(store.path)
    need(subprocess.run(["which", "getfattr"], capture_output=True).returncode == 0, "getfattr is missing")
    done = subprocess.run(["getfattr", "-d", mounted / "a/1.0"], capture_output=True, text=True)
    assert done.returncode == 0 and 'user.zarrfs.nbytes="16"' in done.stdout, done.stdout + done.stderr


def test_statfs_is_that_of_the_store(mount, store):
    mounted = mount(store.path)
    shown, stored = os.statvfs(mounted.path), os.statvfs(store.path)
    assert shown.f_blocks * shown.f_frsize == stored.f_blocks * stored.f_frsize
    assert shown.f_namemax >= 255


def test_report_and_statistics_are_json(mount, store):
    mounted = mount(store.path)
    read(mounted / "a/0.0")
    assert "a" in json.dumps(mounted.report())
    assert isinstance(mounted.statistics(), dict)
    assert ".zarrfs" not in os.listdir(mounted.path)


def test_foreign_files_pass_through(mount, store):
    os.makedirs(store.file("tables/points"))
    with open(store.file("tables/points/part.parquet"), "wb") as out:
        out.write(b"PAR1" * 1000)
    with open(store.file("README.txt"), "wb") as out:
        out.write(b"hello")
    mounted = mount(store.path)
    assert read(mounted / "README.txt") == b"hello"
    assert read(mounted / "tables/points/part.parquet") == b"PAR1" * 1000
    assert sorted(os.listdir(mounted / "tables/points")) == ["part.parquet"]


def test_a_symbolic_link_within_the_store_is_followed(mount, store):
    os.symlink("a", store.file("b"))
    mounted = mount(store.path)
    assert read(mounted / "b/1.0") == store.chunk(1, 0)


def test_a_symbolic_link_out_of_the_store_is_not_followed_and_not_absent(mount, store, tmp_path):
    other = SmallStore(tmp_path / "other")
    os.symlink(other.file("a"), store.file("out"))
    with open(tmp_path / "secret", "w") as out:
        out.write("secret")
    os.symlink(tmp_path / "secret", store.file("secret.txt"))
    mounted = mount(store.path, damaged=True)
    assert error_of(read, mounted / "secret.txt") in (errno.EACCES, errno.EPERM, errno.ELOOP)
    assert error_of(read, mounted / "out/1.0") in (errno.EACCES, errno.EPERM, errno.ELOOP)


def test_ome_attributes_are_those_of_version_0_4(mount, tmp_path):
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scales = [{"path": "a", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    store = SmallStore(tmp_path, {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": scales}]}, "other": 3})
    mounted = mount(store.path)
    attributes = json.loads(read(mounted / ".zattrs"))
    assert "ome" not in attributes and attributes["other"] == 3
    assert attributes["multiscales"] == [{"axes": axes, "datasets": scales, "version": "0.4"}]
    assert json.loads(read(mounted / "a/.zarray"))["dimension_separator"] == "/"
    assert read(mounted / "a/1/0") == store.chunk(1, 0)


def test_the_v3_view_has_no_shards(mount, store):
    mounted = mount(store.path, "view=v3")
    array = json.loads(read(mounted / "a/zarr.json"))
    assert array["chunk_grid"]["configuration"]["chunk_shape"] == [2, 2]
    assert [codec["name"] for codec in array["codecs"]] == ["bytes"]
    assert read(mounted / "a/c/1/0") == store.chunk(1, 0)
    assert error_of(os.stat, mounted / "a/c/0/1") == errno.ENOENT
    assert sorted(os.listdir(mounted / "a/c")) == ["0", "1", "2", "3"]
    assert sorted(os.listdir(mounted / "a/c/3")) == ["0", "1"]


def test_materialised_chunks_hold_the_fill_value(mount, store):
    looked_up = mount(store.path, "materialise=lookup")
    assert read(looked_up / "a/0.1") == (7).to_bytes(4, "little") * 4
    assert "0.1" not in os.listdir(looked_up / "a")
    listed = mount(store.path, "materialise=list")
    assert len(os.listdir(listed / "a")) == len(ALWAYS) + 16
    assert read(listed / "a/3.3") == (7).to_bytes(4, "little") * 4
    assert error_of(os.stat, listed / "a/4.0") == errno.ENOENT


def test_owner_and_permissions_follow_the_options(mount, store):
    mounted = mount(store.path, "uid=1234,gid=4321,umask=0077")
    status = os.stat(mounted / "a/0.0")
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 4321, 0o400)
    assert os.stat(mounted / "a").st_mode & 0o777 == 0o500


@pytest.mark.parametrize("options", ["ro", "ro,immutable"])
def test_the_statistics_are_of_now_and_what_was_read_is_asked_for_once(mount, golden, options):
    mounted = mount(golden("sharding.zarr"), options)
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(mounted.path) for name in names if ".zarrfs" not in folder]

    def read_all():
        for path in paths:
            with open(path, "rb") as file:
                file.read()
        return mounted.statistics()["requests"]

    before = mounted.statistics()["requests"]
    seen = [read_all() for _ in range(4)]
    assert seen[0]["read"] - before["read"] > len(paths) // 2
    assert seen[1]["lookup"] > seen[0]["lookup"] or seen[1]["read"] > seen[0]["read"]  # of the statistics themselves
    if "immutable" in options:
        asked = [{request: after[request] - first[request] for request in ("open", "read", "release", "flush", "lookup", "getattr")}
                 for first, after in zip(seen, seen[1:])]
        assert any(max(once.values()) <= 4 for once in asked), asked  # the kernel drops pages when others want memory


@pytest.mark.parametrize("options", ["", ",immutable"])
def test_large_chunks_are_read_past_the_page_cache_where_that_is_asked_for(mount, tmp_path, options):
    """What can be mapped tells it: the kernel lets nobody share pages that it does not keep."""
    chunks = {}
    for name, size in (("large", 1 << 18), ("small", (1 << 18) - 1)):
        chunks[name] = [os.urandom(size), os.urandom(size)]
        write_json(f"{tmp_path}/store/{name}/zarr.json", document((2 * size,), (2 * size,), (size,), "uint8", codecs=[{"name": "bytes"}]))
        write_file(f"{tmp_path}/store/{name}/c/0", shard_bytes(chunks[name]))
    for direct in ("", ",direct_io"):
        mounted = mount(tmp_path / "store", f"ro{options}{direct}")
        for name, kept in chunks.items():
            for number, data in enumerate(kept):
                assert read(mounted / f"{name}/{number}") == data
                with open(mounted / f"{name}/{number}", "rb") as file:
                    assert os.pread(file.fileno(), 10, 1000) == data[1000:1010]
                    refused = error_of(lambda: mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ))
                    assert refused == (errno.ENODEV if direct and name == "large" else 0)
                    with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as mapped:
                        assert mapped[1000:1010] == data[1000:1010]
