"""Each command of docs/cluster.md runs as it is written there: by a shell, with the variables that a batch system sets."""
import os
import re
import subprocess

import pytest
from conftest import DAEMON, HERE
from object_server import KEY, SECRET, ObjectServer
from stores import write_file, write_json

PAGE = os.path.join(HERE, "..", "..", "docs", "cluster.md")
SHAPE, CHUNK = (64, 1024, 4096), (32, 64, 64)  # bytes; most chunks are missing


@pytest.fixture(scope="module")
def blocks():
    """Of each language, in order."""
    with open(PAGE, encoding="utf-8") as text:
        found = re.findall(r"```(\w+)\n(.*?)```", text.read(), re.S)
    return {language: [block for one, block in found if one == language] for language in ("sh", "yaml")}


@pytest.fixture
def source(tmp_path):
    path = str(tmp_path / "bucket" / "plain.zarr")
    write_json(f"{path}/zarr.json", {
        "zarr_format": 3, "node_type": "array", "shape": list(SHAPE), "data_type": "uint8", "fill_value": 0, "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(CHUNK)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [{"name": "bytes"}]})
    for number in range(24):
        write_file(f"{path}/c/{number % 2}/{number * 7 % 16}/{number * 11 % 64}", os.urandom(32 * 64 * 64))
    return path


@pytest.fixture
def shell(tmp_path):
    """run(line, status, NAME=value...): by /bin/sh, with this zarrfs as the one in the PATH."""
    os.makedirs(tmp_path / "bin")
    os.symlink(DAEMON, tmp_path / "bin" / "zarrfs")

    def run(line, status=0, interpreter="/bin/sh", **variables):
        done = subprocess.run([interpreter, "-c", line], capture_output=True, text=True, timeout=600, cwd=tmp_path,
                              env={**os.environ, **variables, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
        assert done.returncode == status, (line, variables, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout
    return run


def commands(block):
    return [line for line in block.splitlines() if line.startswith("zarrfs ")]


def assert_same(source, made):
    done = subprocess.run([DAEMON, "diff", source, made], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [name for _, folders, files in os.walk(made) for name in (*folders, *files) if name.startswith(".zarrfs")]


def test_the_lines_at_the_top(blocks, source, shell, tmp_path):
    made = str(tmp_path / "made.zarr")
    begin, part, finish, status = [line.replace("SRC", source).replace("DST", made) for line in commands(blocks["sh"][0])]
    assert "--part 3/64" in part
    shell(begin)
    shell(part)
    assert "part 1/64 is not complete" in shell(finish, status=1)
    assert '"complete_parts": 1' in re.sub(r"\s+", " ", shell(status))
    for number in range(1, 65):
        shell(part.replace("3/64", f"{number}/64"))
    shell(finish)
    assert_same(source, made)


def test_checks_in_parts(blocks, source, shell):
    verify, add_up = commands(blocks["sh"][1])
    verify = verify.replace("STORE", source)
    shell(verify)
    assert "3/64" in verify and "part-3.json" in verify
    shell(add_up, status=3)  # the others are missing
    for number in range(1, 65):
        shell(verify.replace("3/64", f"{number}/64").replace("part-3", f"part-{number}"))
    shell(add_up)


def test_the_script_for_slurm(blocks, source, shell, tmp_path):
    script, = (block for block in blocks["sh"] if block.startswith("#!/bin/bash\n#SBATCH"))
    made = str(tmp_path / "sharded.zarr")
    script = script.replace("/lustre/project/plain.zarr", source).replace("/lustre/project/sharded.zarr", made)
    assert source in script and made in script
    last, = re.search(r"#SBATCH --array=1-(\d+)\n", script).groups()
    for task in range(1, int(last) + 1):
        shell(script, interpreter="/bin/bash", SLURM_ARRAY_TASK_ID=str(task))
    shell(re.sub(r"--part \S+", "--finish", script), interpreter="/bin/bash")
    assert_same(source, made)


def test_the_job_for_kubernetes(blocks, source, shell, tmp_path):
    """Its containers are shells here; the bucket is a server of the tests."""
    job, = blocks["yaml"]
    assert 'command: ["/bin/sh", "-c"]' in job
    line, = re.findall(r"args:\n +- (.*)\n", job)
    count, = re.findall(r"completions: (\d+)\n", job)
    server = ObjectServer(str(tmp_path / "bucket"), "bucket")
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": server.region, "AWS_ENDPOINT_URL": server.url}
    try:
        for index in range(int(count)):
            shell(line, JOB_COMPLETION_INDEX=str(index), **keys)
        finish = re.sub(r"--part .*", "--finish", line)
        assert finish != line
        shell(finish, **keys)
    finally:
        server.close()
    assert_same(source, str(tmp_path / "bucket" / "sharded.zarr"))
