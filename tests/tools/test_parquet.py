"""References as kerchunk's Parquet, made of what `zarrfs refs` writes: docs/comparison.md."""
import json
import os
import re
import subprocess

import pytest
from conftest import ROOT, VENVS, run

BRAIN = os.path.join(ROOT, "examples", "brain.ome.zarr")
with open(os.path.join(ROOT, "docs", "comparison.md")) as text:
    READ = re.search(r"```python\n(.*?)```", text.read(), re.S)[1] + "print([int(group[level][...].astype('i8').sum()) for level in '01'])"
DIRECT = "import sys, zarr; group = zarr.open(sys.argv[1], mode='r'); print([int(group[level][...].astype('i8').sum()) for level in '01'])"


def python(environment, *words, folder=None):
    path = os.path.join(VENVS, environment, "bin", "python")
    done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout or "null")


def test_separators_of_keys(tmp_path):
    for separator, key in (("dot", "0/0.0.0.0"), ("slash", "0/0/0/0/0")):
        run("refs", "--separator", separator, BRAIN, "-o", tmp_path / "refs.json")
        references = json.loads((tmp_path / "refs.json").read_text())["refs"]
        assert key in references and '"dimension_separator":"%s"' % {"dot": ".", "slash": "/"}[separator] in references["0/.zarray"]


def test_kerchunk_makes_parquet_of_the_references(tmp_path):
    if not os.path.exists(os.path.join(VENVS, "references")):
        pytest.skip("references is missing: run packaging/install-test-readers all")
    run("refs", "--separator", "dot", BRAIN, "-o", tmp_path / "brain.json")
    write = "from kerchunk.df import refs_to_dataframe; refs_to_dataframe('brain.json', 'brain.parq', categorical_threshold=0)"
    python("references", "-c", write, folder=tmp_path)
    assert python("references", "-c", READ, folder=tmp_path) == python("zarr3", "-c", DIRECT, BRAIN)
