"""Pages for readers: each of the five "I have X, I want Y" has a picture, commands that are run, and two screens at most; README.md names it early. Lines are of
at most 120 columns outside tables, code and what programs write."""
import glob
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys

import console
import pytest

loader = importlib.machinery.SourceFileLoader("readability", os.path.join(console.ROOT, "tests", "docs", "readability"))
readability = importlib.util.module_from_spec(importlib.util.spec_from_loader("readability", loader))
loader.exec_module(readability)

FIVE = ["for-administrators.md", "for-climate-scientists.md", "for-connectomics.md", "for-machine-learning.md", "for-microscopists.md"]
SCREENS = 120  # lines, without those that only show what a command prints
FIRST_SCREENS = 60


def text_of(name):
    with open(os.path.join(console.ROOT, name)) as page:
        return page.read()


def test_these_are_the_pages_for_somebody():
    assert sorted(glob.glob("for-*.md", root_dir=os.path.join(console.ROOT, "docs"))) == FIVE


@pytest.mark.parametrize("name", FIVE)
def test_a_page_for_somebody(name):
    text = text_of(f"docs/{name}")
    parts = console.read(os.path.join(console.ROOT, "docs", name))
    steps = [part for part in parts if isinstance(part, console.Step)]
    assert any(step.command[0].startswith("zarrfs ") for step in steps), "no command that tests/docs/test_tutorial.py runs"
    assert re.search(r"!\[[^\]]+\]\([^)]+\)", text), "no picture"
    assert "I have" in text[:200] or "I run" in text[:200]
    assert len(parts) + sum(len(step.command) - 1 for step in steps) <= SCREENS
    assert f"docs/{name}" in "\n".join(text_of("README.md").splitlines()[:FIRST_SCREENS])


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"] + [f"docs/{name}" for name in sorted(os.listdir(os.path.join(console.ROOT, "docs"))) if name.endswith(".md")])
def test_lines_are_not_wide(name):
    assert readability.wide_lines(text_of(name)) == 0, f"tests/docs/readability {name}"


def test_results_are_those_of_the_tables():
    done = subprocess.run([sys.executable, os.path.join(console.ROOT, "tests", "bench", "results"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
