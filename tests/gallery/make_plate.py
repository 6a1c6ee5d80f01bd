"""make_plate.py STORE: a plate of six wells, as OME-Zarr 0.5 with sharding; levels s0 and s1."""
import sys

import numpy as np
import zarr

root = zarr.create_group(sys.argv[1], zarr_format=3)
rows, columns, fields = "AB", "123", 1
wells = [{"path": f"{row}/{column}", "rowIndex": i, "columnIndex": j} for i, row in enumerate(rows) for j, column in enumerate(columns)]
root.attrs["ome"] = {"version": "0.5", "plate": {"name": "plate", "field_count": fields, "wells": wells,
                     "rows": [{"name": row} for row in rows], "columns": [{"name": column} for column in columns]}}
y, x = np.mgrid[0:96, 0:128]
for number, well in enumerate(wells):
    group = root.create_group(well["path"])
    group.attrs["ome"] = {"version": "0.5", "well": {"images": [{"path": "0"}]}}
    image, datasets = group.create_group("0"), []
    cells = np.random.default_rng(number).uniform(8, 88, (6 + 4 * number, 2))
    full = 60 + sum(900 * np.exp(-((y - a) ** 2 + (x - b * 1.35) ** 2) / 40) for a, b in cells)
    for level, name in enumerate(("s0", "s1")):
        pixels = full[:: 2**level, :: 2**level].astype("uint16")[None]
        array = image.create_array(name, shape=pixels.shape, dtype="uint16", chunks=(1, 24, 32), shards=(1, 48, 64), fill_value=0,
                                   chunk_key_encoding={"name": "default", "separator": "/"})
        array[...] = pixels
        datasets.append({"path": name, "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0**level, 2.0**level]}]})
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    window = {"start": 0, "end": 1200, "min": 0, "max": 65535}
    image.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "field", "axes": axes, "datasets": datasets}],
                          "omero": {"channels": [{"label": "nuclei", "color": "00FF80", "active": True, "window": window}]}}
