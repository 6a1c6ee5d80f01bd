"""Requests that wait for other programs leave the queue of their processor to others. In a virtual machine, as test_life.py."""
import subprocess
import sys

import pytest
from test_life import PATIENCE, TRANSPORTS, Mount, run, within

DOCUMENTS = 40  # more than may wait, and more than a processor has threads with threads=1

PROGRAM = f"""
import os, threading, time
mount = os.getcwd()
chunks, documents = [], []
for i in range({DOCUMENTS}):
    os.mkdir(f"n{{i}}")
    chunks.append(os.open(f"n{{i}}/0.0", os.O_WRONLY | os.O_CREAT))
    documents.append(os.open(f"n{{i}}/.zgroup", os.O_WRONLY | os.O_CREAT))
    os.write(documents[-1], b'{{"zarr_format": 2}}')
busy = []

def close(descriptor):
    try:
        os.close(descriptor)
    except OSError as problem:
        busy.append(problem)

closers = [threading.Thread(target=close, args=(document,)) for document in documents]
for closer in closers:
    closer.start()
time.sleep(1)  # each comes to wait
waiting = sum(closer.is_alive() for closer in closers)
start = time.monotonic()
for i in range(5):
    os.path.exists(f"nothing{{i}}")
    os.listdir(mount)
took = time.monotonic() - start
for chunk in chunks:
    os.close(chunk)
for closer in closers:
    closer.join()
print(waiting, took)
"""


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_documents_that_wait_leave_their_processor_served(transport, tmp_path):
    mount = Mount(tmp_path, transport, "rw,timeout=0,threads=1")
    command = ["taskset", "-c", "0", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=mount.path, capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, done.stderr
    waiting, took = done.stdout.split()
    assert int(waiting) >= 8
    assert float(took) < 5, f"{waiting} waited"
    assert run("umount", mount.path).returncode == 0
    within(mount.is_gone)
