"""show_neuroglancer.py FORMAT:PLACE PICTURE [segmentation]: what neuroglancer shows, in a headless Chromium, of a URL, or of a folder served over HTTP.

FORMAT is zarr2, zarr3 or precomputed, as neuroglancer calls them. It shows the example's brain, or a segmentation. The page is the one within the Python package neuroglancer, which also
says when everything that can be seen is loaded.
"""
import contextlib
import subprocess
import sys
import tempfile
import threading

import neuroglancer
from serve import Server

PATIENCE = 150  # seconds
FLAGS = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
         "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--remote-debugging-port=0", "--window-size=900,640"]
SHADER = "#uicontrol invlerp normalized(range=[0, 900])\nvoid main() { emitGrayscale(normalized()); }"


SPACE = neuroglancer.CoordinateSpace(names=["t", "z", "y", "x"], units="", scales=[1, 1, 1, 1])


def viewer_of(source):
    neuroglancer.set_server_bind_address("127.0.0.1")
    viewer = neuroglancer.Viewer()
    with viewer.txn() as state:
        state.layers["brain"] = neuroglancer.ImageLayer(
            source=neuroglancer.LayerDataSource(url=source, transform=neuroglancer.CoordinateSpaceTransform(output_dimensions=SPACE)),
            shader=SHADER)
        state.dimensions = SPACE
        state.display_dimensions = ["x", "y", "z"]
        state.position = [0.5, 12.5, 48.5, 64.5]
        state.cross_section_scale = 0.45
        state.projection_scale = 160
        state.layout = "4panel"
        state.show_axis_lines = False
    return viewer


def segmentation_of(source):
    """Cells of a volume of 96x80x48 voxels. OME-Zarr counts from the centre of the first voxel, precomputed from its corner."""
    corner = 0.5 if source.startswith("precomputed") else 0
    neuroglancer.set_server_bind_address("127.0.0.1")
    viewer = neuroglancer.Viewer()
    with viewer.config_state.txn() as settings:
        settings.show_ui_controls = False  # they are higher where there is an axis of channels
    with viewer.txn() as state:
        state.layers["cells"] = neuroglancer.SegmentationLayer(source=source)
        state.dimensions = neuroglancer.CoordinateSpace(names=["x", "y", "z"], units="nm", scales=[8, 8, 8])
        state.position = [48 + corner, 40 + corner, 24 + corner]
        state.cross_section_scale = 0.25
        state.layout = "4panel"
        state.show_axis_lines = False
    return viewer


def main():
    kind, place = sys.argv[1].split(":", 1)
    is_url = place.startswith("http://")
    with contextlib.nullcontext() if is_url else Server(place) as data, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        show = segmentation_of if sys.argv[3:] == ["segmentation"] else viewer_of
        viewer = show(f"{kind}://{place if is_url else data.url + '/'}")
        browser = subprocess.Popen(["chromium", *FLAGS, f"--user-data-dir={profile}", viewer.get_viewer_url()],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stop = threading.Timer(PATIENCE, browser.kill)
        stop.start()
        shots = []
        taken = threading.Event()
        viewer.async_screenshot(lambda answer: (shots.append(answer.screenshot), taken.set()))
        try:
            if not taken.wait(PATIENCE):
                sys.exit("neuroglancer is not ready" + ("" if is_url else f"; it asked for {data.http.asked[-5:]}"))
        finally:
            stop.cancel()
            browser.terminate()
            browser.wait(timeout=30)
        with open(sys.argv[2], "wb") as file:
            file.write(shots[0].image)
        if not is_url:
            print(f"{len(data.http.asked)} requests")


if __name__ == "__main__":
    main()
