"""Options that take numbers: what is none is refused, by the names of the option and the value."""
import json
import os

import pytest
from conftest import GOLDEN, run

WRONG = ["nan", "-nan", "inf", "-inf", "-1", "50%", "1e99", "ten", "5_", "99999999999999999999999", "-18446744073709551615", " ", ""]
WHOLE = ["0x10", "010", "1.5", "+4", "4 4"]
PLACES = {"diff": ["A", "A"], "shard": ["A", "B"], "unshard": ["A", "B"], "reshard": ["A", "B"]}
OPTIONS = [("compact", "--min-dead", ["100.001", "101"]), ("stats", "--every", ["0", "0.09", "86401"]), ("diff", "--limit", WHOLE), ("map", "--square", ["257", *WHOLE]),
           ("map", "--axes", WHOLE), ("show", "--axes", WHOLE)]
OPTIONS += [(command, option, ["0", *WHOLE]) for command in ("shard", "reshard") for option in ("--shard-shape", "--shard-chunks", "--shard-bytes")]
OPTIONS += [(command, "--threads", ["0", "1025", *WHOLE]) for command in ("info", "verify", "diff", "compact", "map", "shard", "unshard", "reshard")]


def test_a_shape_is_one_word_and_swallows_nothing(tmp_path):
    for spelled in ("64x64x64", "64,64,64", "64"):
        told = run("shard", "--shard-shape", spelled, tmp_path / "no", tmp_path / "new", status=2).stderr_text
        assert "no: " in told and "--shard-shape" not in told, told
    told = run("map", "--axes", "0,1", "--at", "2=0", tmp_path / "no", "a", status=2).stderr_text
    assert "no: " in told, told
    assert "3 numbers" not in run("show", "--range", "1,2", "--axes", "1,0", tmp_path / "no", status=2).stderr_text
    assert "--range" in run("show", tmp_path, "--range", "1", status=2).stderr_text
    assert "--axes" in run("show", tmp_path, "--axes", "1,2,3", status=2).stderr_text


@pytest.mark.parametrize("command,option,more", OPTIONS, ids=lambda one: one if isinstance(one, str) else "")
def test_what_is_no_number_is_named(tmp_path, monkeypatch, command, option, more):
    monkeypatch.chdir(tmp_path)
    for value in WRONG + more:
        told = run(command, *PLACES.get(command, ["A"]), option, f"0,{value}" if option == "--axes" else value, status=2).stderr_text
        assert option in told and (value.split(",")[-1] in told), (value, told)
    assert not list(tmp_path.iterdir())


def test_lengths_may_stand_apart(tmp_path):
    source = os.path.join(GOLDEN, "sharding.zarr")
    for number, words in enumerate((["SOURCE", "TARGET", "--shard-shape", "16", "30"], ["--shard-shape", "16", "30", "SOURCE", "TARGET"],
                                    ["SOURCE", "--shard-shape", "16x30", "TARGET"], ["SOURCE", "TARGET", "--shard-chunks", "2", "3", "-j", "1"])):
        target = tmp_path / str(number)
        run("reshard", *[{"SOURCE": source, "TARGET": target}.get(word, word) for word in words], status=1)
        made = json.loads((target / "index_end" / "zarr.json").read_text())["chunk_grid"]["configuration"]["chunk_shape"]
        assert made == ([16, 30] if "--shard-chunks" not in words else [8, 15])  # of chunks of 4 by 5
    told = run("reshard", source, tmp_path / "none", "--shard-shape", "16", "0", status=2)
    assert '"16x0"' in told.stderr_text
