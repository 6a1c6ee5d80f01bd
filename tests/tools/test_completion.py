"""The completions that are installed: what a shell offers."""
import os
import subprocess

import pytest
from conftest import ROOT, ZARRFS

COMPLETIONS = os.path.join(ROOT, "packaging", "completions")


def offered(line):
    """What bash offers behind `line`, whose words it takes apart at "=" too."""
    words = " ".join(f"'{word}'" for word in line.replace("=", " = ").split(" ") if word) + (" ''" if line[-1] in " =" else "")
    script = f"""
source {COMPLETIONS}/zarrfs.bash
compopt() {{ :; }}
COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_zarrfs
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd="/proc/self/fdinfo").stdout.split()


@pytest.mark.parametrize("line,wanted", [
    ("zarrfs sho", ["show"]), ("zarrfs mount -o vie", ["view="]), ("zarrfs mount -o ro,view=", ["v2", "v3"]),
    ("zarrfs mount S M -o profile=x", ["xarray"]), ("zarrfs mount -o ro,mater", ["ro,materialise="]), ("zarrfs mount -o deletes=d", ["deny"]),
    ("zarrfs info S --view ", ["v2", "v3"]), ("zarrfs cat S C --profile gd", ["gdal"]), ("zarrfs map S --show d", ["dead"]),
    ("zarrfs show S --palette ", ["viridis", "grey"]), ("zarrfs stats --prom", ["--prometheus"]), ("zarrfs mount -o threads=", [])])
def test_bash_offers_names_and_values(line, wanted):
    assert offered(line) == wanted


def test_every_command_and_option_is_offered():
    commands = subprocess.run([ZARRFS, "--help"], capture_output=True, text=True, check=True).stdout.split("Subcommands:")[1]
    names = [row.split()[0] for row in commands.splitlines() if row.startswith("  ") and not row.startswith("   ")]
    assert len(names) > 15 and set(names) <= set(offered("zarrfs "))
    for shell in ("_zarrfs", "zarrfs.fish"):
        with open(os.path.join(COMPLETIONS, shell)) as text:
            assert "xarray" in text.read()
