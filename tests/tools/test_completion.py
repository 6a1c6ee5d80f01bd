"""The completions that are installed: what each shell offers."""
import os
import shutil
import subprocess

import pytest
import shells
from conftest import ZARRFS, need

# A line, what bash and zsh offer behind it, and what fish does where it offers whole words.
LINES = [
    ("zarrfs sho", ["show"], None),
    ("zarrfs mount -o vie", ["view="], ["view=v2", "view=v3"]),
    ("zarrfs mount -o ro,view=", ["v2", "v3"], ["ro,view=v2", "ro,view=v3"]),
    ("zarrfs mount S M -o profile=x", ["xarray"], ["profile=xarray"]),
    ("zarrfs mount -o ro,mater", ["ro,materialise="], [f"ro,materialise={value}" for value in ("list", "lookup", "off")]),
    ("zarrfs mount -o deletes=d", ["deny"], ["deletes=deny"]),
    ("zarrfs info S --view ", ["v2", "v3"], None),
    ("zarrfs cat S C --profile gd", ["gdal"], None),
    ("zarrfs map S --show d", ["dead"], None),
    ("zarrfs show S --palette ", ["viridis", "grey"], None),
    ("zarrfs stats --prom", ["--prometheus"], None),
    ("zarrfs mount -o threads=", [], ["threads="]),
]


def offered(shell, line, folder):
    need(shutil.which(shell), f"{shell} is missing: apt install {shell}")
    return getattr(shells, shell)(line, folder)


@pytest.mark.parametrize("line,wanted,_", LINES)
def test_bash_offers_names_and_values(tmp_path, line, wanted, _):
    assert offered("bash", line, tmp_path) == wanted


@pytest.mark.parametrize("line,wanted,_", LINES)
def test_zsh_offers_names_and_values(tmp_path, line, wanted, _):
    # zsh takes the names of a list apart by itself, and adds "=" when one is chosen.
    wanted = [word.rpartition(",")[2].removesuffix("=") for word in wanted]
    assert sorted(offered("zsh", line, tmp_path)) == sorted(wanted)


@pytest.mark.parametrize("line,wanted,whole", LINES)
def test_fish_offers_names_and_values(tmp_path, line, wanted, whole):
    assert sorted(offered("fish", line, tmp_path)) == sorted(whole or wanted)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_offered(tmp_path, shell):
    commands = subprocess.run([ZARRFS, "--help"], capture_output=True, text=True, check=True).stdout.split("Subcommands:")[1]
    names = [row.split()[0] for row in commands.splitlines() if row.startswith("  ") and not row.startswith("   ")]
    assert len(names) > 15 and set(names) <= set(offered(shell, "zarrfs ", tmp_path))


@pytest.mark.parametrize("shell,name,check", [("bash", "zarrfs.bash", "-n"), ("zsh", "_zarrfs", "-n"), ("fish", "zarrfs.fish", "--no-execute")])
def test_the_shell_takes_its_file(shell, name, check):
    need(shutil.which(shell), f"{shell} is missing: apt install {shell}")
    done = subprocess.run([shell, check, os.path.join(shells.COMPLETIONS, name)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
