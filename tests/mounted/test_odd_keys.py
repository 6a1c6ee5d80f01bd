"""Keys of a bucket that no directory could have: an object that is a prefix of others, too; a prefix where a shard belongs."""
import errno
import json
import os
import urllib.parse

import pytest
from test_remote import credentials, run, s3_options, serve  # noqa: F401 (fixtures)


@pytest.fixture
def odd_keys(serve, golden):
    """A bucket whose listings also name the shard c/0/0 of an array as a prefix."""
    store = golden("sharding.zarr")
    server = serve(os.path.dirname(store), "bucket")
    array = "sharding.zarr/index_end/"

    def edit(status, headers, body):
        key = b"<Key>" + urllib.parse.quote(array + "c/0/0").encode() + b"</Key>"
        more = f"<CommonPrefixes><Prefix>{array}c/0/0/</Prefix></CommonPrefixes></ListBucketResult>".encode()
        named = body.replace(b"</ListBucketResult>", more) if key in body else body
        return status, {**headers, "Content-Length": str(len(named))}, named

    server.fault = lambda seen: {"edit": edit} if "delimiter" in seen["query"] else None
    return server, f"s3://bucket/{array[:-1]}", str(store / "index_end")


def test_a_key_that_is_an_object_and_a_prefix_is_named_once(odd_keys):
    server, source, local = odd_keys
    for command in ("ls", "verify", "map"):
        assert run(command, source, "--remote", s3_options(server)).stdout == run(command, local).stdout, command
    seen = json.loads(run("info", source, "--json", "--remote", s3_options(server)).stdout)["nodes"][0]
    wanted = json.loads(run("info", local, "--json").stdout)["nodes"][0]
    assert {**seen, "path": ""} == {**wanted, "path": ""}


def test_a_prefix_where_a_shard_belongs_is_damage(serve, mount, golden):
    """As a directory is in a local store, where the listing is known."""
    store = golden("sharding.zarr")
    os.remove(store / "index_end/c/0/0")
    (store / "index_end/c/0/0").mkdir()
    (store / "index_end/c/0/0/x").write_text("x")
    server = serve(os.path.dirname(store), "bucket")
    source = "s3://bucket/sharding.zarr/index_end"
    assert "c/0/0: a directory stands where" in run("verify", source, "--remote", s3_options(server), status=1).stdout
    mounted = mount(source, f"view=v3,{s3_options(server)}", damaged=True)
    assert os.listdir(mounted / "c/0")
    with pytest.raises(OSError) as refused:
        open(mounted / "c/0/0", "rb").read()
    assert refused.value.errno == errno.EUCLEAN
    with pytest.raises(FileNotFoundError):
        open(mounted / "c/9/9", "rb")
