"""The short form of tests/mounted/soak: kills, cuts and walks for some seconds."""
import os
import re
import subprocess
import sys

from conftest import DAEMON, HERE, sanitized


def test_mounts_that_are_killed_and_cut_off_lose_nothing(tmp_path):
    done = subprocess.run([sys.executable, os.path.join(HERE, "soak"), DAEMON, os.environ.get("ZARRFS_SOAK_SECONDS", "12"), tmp_path / "curve.svg"],
                          env={**os.environ, "ZARRFS_SOAK_FOLDER": str(tmp_path)}, capture_output=True, text=True, timeout=86400)
    print(done.stdout)
    nothing_lost = "\n0 faults;" in done.stdout  # of a sanitizer's memory nothing is said
    assert done.returncode == 0 or (sanitized() and nothing_lost), done.stdout + done.stderr[-4000:]
    counts = {what: int(count) for count, what in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[0])}
    assert counts["written"] > 0 and counts["read"] > 0 and counts["walks"] > 0 and counts["kills"] > 0 and counts["cuts"] > 0
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
