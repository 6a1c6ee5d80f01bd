"""show_ome.py MOUNT PICTURE: an OME-Zarr image as ome-zarr 0.8.3, which knows neither Zarr v3 nor sharding, reads it."""
import importlib.metadata
import sys

import matplotlib
import ome_zarr.io
import ome_zarr.reader

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

mount, picture = sys.argv[1:]
location = ome_zarr.io.parse_url(mount, mode="r")
assert location is not None, "ome-zarr sees no image"
levels = next(iter(ome_zarr.reader.Reader(location)())).data
figure, places = plt.subplots(len(levels), 3, figsize=(9, 4.2), facecolor="black")
for row, level in zip(places, levels):
    volume = level[0].compute()
    assert volume.max() > 100, "an empty image"
    z, y, x = (length // 2 for length in volume.shape)
    for place, plane, title in zip(row, (volume[z], volume[:, y], volume[:, :, x]), ("axial", "coronal", "sagittal")):
        place.imshow(plane, cmap="gray", vmin=0, vmax=800, origin="lower", aspect="auto")
        place.set_title(f"{title}, {'x'.join(map(str, level.shape))}", color="white", fontsize=8)
        place.axis("off")
figure.tight_layout()
figure.savefig(picture, dpi=80)
print(f"ome-zarr {importlib.metadata.version('ome-zarr')} read {len(levels)} levels")
