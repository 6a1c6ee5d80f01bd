"""Programs that write several chunks at once into an array that grows: some of them came to its directories before it did."""
import json
import os
import threading

import pytest


def resize(array, rows):
    with open(f"{array}/.new", "w") as file:
        json.dump({"zarr_format": 3, "node_type": "array", "shape": [rows, 4], "data_type": "float32", "fill_value": 0.0, "attributes": {},
                   "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 3]}}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                   "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}, file)
    os.rename(f"{array}/.new", f"{array}/zarr.json")


@pytest.mark.parametrize("before", ["resized", "made"])
def test_directories_of_before_keep_nobody_from_the_same_ones(mount, tmp_path, before):
    """The kernel moves a directory that it finds in two places to and fro, and looking it up fails while a program makes something in either."""
    os.mkdir(tmp_path / "store")
    array = f"{mount(tmp_path / 'store', 'rw,view=v3,timeout=0').path}/a"
    os.mkdir(array)
    if before == "resized":
        resize(array, 2)
    os.makedirs(f"{array}/c/1")
    older = os.open(f"{array}/c", os.O_RDONLY)
    resize(array, 8)
    os.makedirs(f"{array}/c/6", exist_ok=True)
    with open(f"{array}/c/6/0", "wb") as file:
        file.write(bytes(range(12)))
    working, failed = threading.Event(), []

    def look_up():
        while not working.is_set():
            try:
                os.stat(f"{array}/c/6")
            except OSError as error:
                failed.append(error)

    lookers = [threading.Thread(target=look_up) for _ in range(2)]
    for looker in lookers:
        looker.start()
    for _ in range(400):
        os.stat("6", dir_fd=older)
        os.mkdir("7", dir_fd=older)
        os.rmdir("7", dir_fd=older)
    working.set()
    for looker in lookers:
        looker.join()
    os.close(older)
    assert not failed, f"{len(failed)} times: {failed[0]}"
