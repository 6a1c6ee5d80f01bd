"""Ctrl-C, SIGTERM and the end of a terminal end every command soon, wherever it is."""
import json
import signal
import subprocess
import time

import pytest
from conftest import ZARRFS

GROUPS = 4000


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A store of so many groups that no command is through with it at once."""
    root = tmp_path_factory.mktemp("wide") / "store"
    document = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}})
    for name in ["", *(f"g{number}" for number in range(GROUPS))]:
        (root / name).mkdir(parents=True)
        (root / name / "zarr.json").write_text(document)
    return root


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["verify", "info", "refs", "diff"])
def test_a_walk_ends_when_it_is_interrupted(wide, command, number):
    for attempt in range(60):  # as often as it was not begun, or has ended before
        process = subprocess.Popen([ZARRFS, command, wide, *([wide] if command == "diff" else [])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.01 * 1.1**attempt)  # up to 3 s: a busy machine begins it late
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        if process.returncode == 3:
            break
    assert process.returncode == 3 and b"interrupted" in told, told
