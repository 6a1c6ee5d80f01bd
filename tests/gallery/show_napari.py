"""show_napari.py PLATE PICTURE: napari's window with a plate, opened by napari-ome-zarr. Needs a screen: see show_napari."""
import importlib.metadata
import os
import sys

import napari
import numpy as np

plate, picture = sys.argv[1:]
viewer = napari.Viewer(show=True)
viewer.window.resize(1100, 750)
layers = viewer.open(plate, plugin="napari-ome-zarr")
assert layers, "napari opens nothing"
level = np.asarray(layers[0].data[0])
assert level.max() > 500, "an empty plate"
viewer.reset_view()
napari.utils.notifications.notification_manager.records.clear()
for _ in range(20):
    viewer.window._qt_window.repaint()
    napari.qt.get_qapp().processEvents()
viewer.screenshot(picture, canvas_only=False, flash=False)
versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("napari", "napari-ome-zarr", "ome-zarr", "zarr"))
print(f"{versions}: {level.shape}, sum {int(level.astype('int64').sum())}", flush=True)
os._exit(0)  # Qt aborts where napari's threads still run
