"""Programs that read by HTTP get from `zarrfs serve` what they get from a mount: each array of the golden stores and the corpus, by zarr-python 2 and 3."""
import json
import os
import subprocess

import pytest
from conftest import CORPUS, DAEMON, GOLDEN, VENVS
from serving import Served

READ = r"""
import hashlib, json, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, zarr
found = {}
for path in json.load(sys.stdin):
    try:
        array = zarr.open_array(sys.argv[1] + path, mode="r")
        values = np.asarray(array[...])
        data = repr(values.tolist()).encode() if values.dtype.kind in "OT" else np.ascontiguousarray(values).tobytes()
        found[path] = [str(values.dtype), list(values.shape), hashlib.sha256(data).hexdigest()]
    except Exception as error:
        found[path] = type(error).__name__
print(json.dumps(found))
"""


def read(environment, at, paths):
    python = os.path.join(VENVS, environment, "bin", "python")
    done = subprocess.run([python, "-c", READ, str(at)], input=json.dumps(paths), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def stores():
    for top in (os.path.join(GOLDEN, "stores"), CORPUS):
        for name in sorted(os.listdir(top) if os.path.isdir(top) else []):
            if os.path.exists(os.path.join(top, name, "zarr.json")):
                yield os.path.join(top, name)


@pytest.mark.parametrize("environment,view,marker", [("ome", "v2", ".zarray"), ("remote", "v2", ".zarray"), ("remote", "v3", "zarr.json")])
def test_arrays_are_what_a_mount_has(tmp_path, environment, view, marker):
    if not os.path.exists(os.path.join(VENVS, environment, "bin", "python")):
        pytest.skip(f"{environment} is missing: packaging/install-test-readers {environment}")
    compared = values = 0
    for number, store in enumerate(stores()):
        mountpoint = tmp_path / "m"
        mountpoint.mkdir(exist_ok=True)
        options = f"profile=generic,view={view}"
        mounted = subprocess.run([DAEMON, "mount", store, mountpoint, "-o", f"ro,log={tmp_path / 'mount.log'},{options}"], capture_output=True)
        if mounted.returncode != 0:
            continue
        served = None
        try:
            paths = [os.path.relpath(at, mountpoint) for at, _, names in os.walk(mountpoint) if marker in names]
            served = Served(store, tmp_path / f"serve{number}.log", options=options)
            mine, others = read(environment, f"{mountpoint}/", paths), read(environment, served.url, paths)
            for path in paths:
                failed = isinstance(mine[path], str)
                assert mine[path] == others[path] or (failed and isinstance(others[path], str)), (store, path, mine[path], others[path])
                compared += 1
                values += not failed
        finally:
            subprocess.run([DAEMON, "umount", mountpoint], check=True, capture_output=True)
            if served:
                served.stop()
    print(f"{environment}, {view}: {compared} arrays compared, {values} with values")
    assert values > 50
