#!/usr/bin/env python3
"""Real programs look at a mount, and what they show is kept as pictures.

    tests/gallery/run.py ZARRFS [--to FOLDER] [NAME...]

Without names: all. Pictures are written to build/gallery; with `--to docs/gallery` to the documentation (look at them before you
commit them). Each program's picture is also checked against what the sharded store holds. A program that is missing is
skipped, in a line that begins with "skipped:"; tests/gallery/install installs them. The status is 1 where something is wrong.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENVS = os.environ.get("ZARRFS_VENVS", os.path.join(ROOT, "build", "venvs"))
BRAIN = os.path.join(ROOT, "examples", "brain.ome.zarr")
LARGEST = 200_000  # bytes of a picture


class Missing(Exception):
    """Something that this machine lacks."""


def program(name):
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def python_of(environment):
    path = os.path.join(VENVS, environment, "bin", "python")
    if not os.path.exists(path):
        raise Missing(f"the environment {environment} is missing")
    return path


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Served:
    """with Served(zarrfs, store, options) as url"""

    def __init__(self, zarrfs, store, options):
        command = [zarrfs, "serve", store, "--listen", "127.0.0.1:0", "-o", options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self.url

    def __exit__(self, *problem):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


class Mounted:
    """with Mounted(zarrfs, store, options) as path"""

    def __init__(self, zarrfs, store, options):
        self.zarrfs, self.path = zarrfs, tempfile.mkdtemp(prefix="zarrfs-gallery-")
        run(zarrfs, "mount", store, self.path, "-o", "ro," + options)

    def __enter__(self):
        return self.path

    def __exit__(self, *problem):
        run(self.zarrfs, "umount", self.path)
        os.rmdir(self.path)


def climate(folder):
    """A sharded store as weather services write them: temperature over time, latitude and longitude."""
    store = os.path.join(folder, "climate.zarr")
    if not os.path.exists(store):
        run(python_of("zarr3"), os.path.join(HERE, "make_climate.py"), store)
    return store


def ome_zarr(zarrfs, folder, picture):
    python = python_of("omeview")
    with Mounted(zarrfs, BRAIN, "profile=ome") as path:
        return run(python, os.path.join(HERE, "show_ome.py"), path, picture)


def web(zarrfs, folder, picture):
    """The same image by its URL, from a web server: the same picture."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "mounted"))
    import nginx
    if not nginx.program():
        raise Missing("nginx is not installed")
    python, script = python_of("omeview"), os.path.join(HERE, "show_ome.py")
    local = os.path.join(folder, "local.png")
    with Mounted(zarrfs, BRAIN, "profile=ome") as path:
        run(python, script, path, local)
    with nginx.Nginx(os.path.dirname(BRAIN), os.path.join(folder, "nginx")) as server:
        with Mounted(zarrfs, f"{server.url}/brain.ome.zarr", f"profile=ome,ca_file={server.certificate}") as path:
            said = run(python, script, path, picture).strip()
        with open(picture, "rb") as one, open(local, "rb") as other:
            assert one.read() == other.read(), "another picture than of the directory"
        return f"{said} over TLS, in {server.log('access.log').count('GET')} requests; the picture is the same as of the directory"


def geotiff(zarrfs, folder, picture):
    return geotiff_of(zarrfs, climate(folder), folder, picture)


def icechunk(zarrfs, folder, picture):
    """The same data in a branch of an Icechunk repository: the same GeoTIFF, and cdo's maxima."""
    repository = os.path.join(folder, "climate.icechunk")
    run(python_of("icechunk"), os.path.join(HERE, "make_climate.py"), repository, "icechunk")
    source = f"icechunk:{repository}?branch=main"
    with Mounted(zarrfs, source, "profile=netcdf") as path:
        found = run(program("cdo"), "-s", "output", "-fldmax", "-selname,temperature", f"file://{path}#mode=zarr,file").split()
    wanted = run(python_of("zarr3"), "-c", "import sys,zarr; print(*zarr.open(sys.argv[1], mode='r')['temperature'][:].max((1, 2)).tolist())", climate(folder))
    assert len(found) == 12 and all(abs(float(a) - float(b)) < 1e-3 for a, b in zip(found, wanted.split())), f"cdo says {found}, the store has {wanted}"
    return geotiff_of(zarrfs, source, folder, picture) + "; cdo's maxima are those of the array"


def geotiff_of(zarrfs, source, folder, picture):
    translate, info = program("gdal_translate"), program("gdalinfo")
    tiff = os.path.join(folder, "temperature.tif")
    with Mounted(zarrfs, source, "profile=gdal") as path:
        run(translate, "-q", f'ZARR:"{path}":/temperature:3', tiff)
    said = run(info, "-stats", tiff)
    for wanted in ("GTiff/GeoTIFF", "Size is 180, 90", 'ID["EPSG",4326]', "Origin = (-180.0", "STATISTICS_MEAN"):
        assert wanted in said, f"gdalinfo does not say {wanted}:\n{said}"
    truth = os.path.join(folder, "truth.npy")
    run(python_of("zarr3"), "-c", "import sys,numpy,zarr; numpy.save(sys.argv[2], zarr.open(sys.argv[1], mode='r')['temperature'][3])", climate(folder), truth)
    run("/usr/bin/python3", "-c", "import sys,numpy; from osgeo import gdal; assert (gdal.Open(sys.argv[1]).ReadAsArray() == numpy.load(sys.argv[2])).all()",
        tiff, truth)
    run(translate, "-q", "-of", "PNG", "-ot", "Byte", "-scale", 230, 310, 0, 255, "-outsize", "300%", "300%", tiff, picture)
    return "the GeoTIFF has its place on the globe, and the values that zarr-python 3 reads from the shards"


def ncview(zarrfs, folder, picture):
    for name in ("ncview", "Xvfb", "xwd", "convert", "xdotool"):
        program(name)
    with Mounted(zarrfs, climate(folder), "profile=netcdf") as path:
        return run(os.path.join(HERE, "show_ncview"), f"file://{path}#mode=nczarr,file", picture)


def sea(zarrfs, folder, picture):
    """A field with nothing on land: white in ncview. And GDAL and xarray's own reading count the same missing cells."""
    for name in ("ncview", "Xvfb", "xwd", "convert", "xdotool"):
        program(name)
    store = os.path.join(folder, "sea.zarr")
    land = int(run(python_of("zarr3"), os.path.join(HERE, "make_sea.py"), store))
    with Mounted(zarrfs, store, "profile=gdal") as path:
        valid = run("/usr/bin/python3", "-c", "import sys; from osgeo import gdal; d = gdal.Open(sys.argv[1]); v = d.GetRasterBand(1); a = v.ReadAsArray(); "
                    "print(int((a == v.GetNoDataValue()).sum()))", f'ZARR:"{path}":/sst')
    assert int(valid) == land, f"GDAL sees {valid} cells without data, there are {land}"
    with Mounted(zarrfs, store, "profile=netcdf") as path:
        return run(os.path.join(HERE, "show_ncview"), f"file://{path}#mode=nczarr,file", picture) + f"; {land} cells of land"


def napari(zarrfs, folder, picture):
    python = python_of("napari")
    program("Xvfb")
    plate = os.path.join(folder, "plate.zarr")
    run(python_of("zarr3"), os.path.join(HERE, "make_plate.py"), plate)
    with Mounted(zarrfs, plate, "profile=ome") as path:
        said = run("xvfb-run", "-a", "-s", "-screen 0 1280x900x24", python, os.path.join(HERE, "show_napari.py"), path, picture)
    wanted = run(python_of("zarr3"), "-c", "import sys,glob,zarr; print(sum(int(zarr.open(p, mode='r')[...].astype('int64').sum()) for p in glob.glob(sys.argv[1] + '/*/*/0/s0')))", plate)
    assert f"sum {wanted.strip()}" in said, f"napari shows {said}, the plate holds {wanted}"
    run(program("convert"), picture, "-colors", "128", picture)
    return said


def neuroglancer(zarrfs, folder, picture):
    program("chromium")
    python = python_of("neuroglancer")
    script = os.path.join(HERE, "show_neuroglancer.py")
    with Mounted(zarrfs, BRAIN, "profile=ome") as path:
        run(python, script, f"zarr2:{path}/0", picture)
    direct = os.path.join(folder, "direct.png")
    run(python, script, f"zarr3:{BRAIN}/0", direct)
    return run("/usr/bin/python3", os.path.join(HERE, "same_picture.py"), picture, direct)


def served(zarrfs, folder, picture):
    """The same in neuroglancer by `zarrfs serve`, without a mount and without another server."""
    program("chromium")
    python, script = python_of("neuroglancer"), os.path.join(HERE, "show_neuroglancer.py")
    with Served(zarrfs, BRAIN, "profile=ome") as url:
        run(python, script, f"zarr2:{url}0", picture)
    direct = os.path.join(folder, "direct.png")
    run(python, script, f"zarr3:{BRAIN}/0", direct)
    return run("/usr/bin/python3", os.path.join(HERE, "same_picture.py"), picture, direct)


def show_page(*arguments):
    program("chromium")
    found = json.loads(run(python_of("browser"), os.path.join(HERE, "show_page.py"), *arguments))
    assert not found["complaints"], found["complaints"]
    return found


def viv(zarrfs, folder, picture):
    """Viv, the viewer within Avivator, on a page of another origin than the image."""
    bundle = os.path.join(VENVS, "vivpage", "page.js")
    if not os.path.exists(bundle):
        raise Missing("the page of Viv is missing")
    page = os.path.join(folder, "page")
    shutil.copytree(os.path.join(HERE, "viv"), page)
    shutil.copy(bundle, page)
    sys.path.insert(0, HERE)
    import serve
    with Served(zarrfs, BRAIN, "profile=ome") as url, serve.Server(page) as pages:
        title = show_page(f"{pages.url}/index.html?image={url}", picture)["title"]
    wanted = run(python_of("zarr3"), "-c", "import sys,zarr; plane = zarr.open(sys.argv[1], mode='r')['0'][0, 12]; "
                 "print(f'shown: {plane.shape[1]}x{plane.shape[0]}, mean {plane.mean():.6f}')", BRAIN).strip()
    assert title == wanted, f"Viv has {title}, the store {wanted}"
    return title


def front(zarrfs, folder, picture):
    """The front page of `zarrfs serve`, on a wide screen and on a telephone."""
    narrow = os.path.join(folder, "narrow.png")
    with Served(zarrfs, BRAIN, "profile=ome") as url:
        for width, height, shown in ((900, 700, picture), (390, 844, narrow)):
            found = show_page(url, shown, width, height)
            assert found["width"] == width and found["pictures"] == 2, found
    run(program("convert"), picture, narrow, "-background", "#888", "+append", "-colors", "128", picture)
    return "two pictures, nothing wider than the screen"


def segmentation(zarrfs, folder, picture):
    """A precomputed segmentation, left as neuroglancer reads it itself, right through the mount: the same picture."""
    program("chromium")
    python, convert = python_of("neuroglancer"), program("convert")
    script = os.path.join(HERE, "show_neuroglancer.py")
    volume, direct, shown = (os.path.join(folder, name) for name in ("cells", "direct-cells.png", "shown-cells.png"))
    run(python_of("zarr3"), os.path.join(HERE, "make_segmentation.py"), volume)
    run(python, script, f"precomputed:{volume}", direct, "segmentation")
    with Mounted(zarrfs, volume, "profile=ome") as path:
        run(python, script, f"zarr2:{path}", shown, "segmentation")
    said = run("/usr/bin/python3", os.path.join(HERE, "same_picture.py"), shown, direct, 20)
    run(convert, direct, shown, "+append", "-resize", "1200x", "-colors", "128", picture)
    return said


SHOWS = {"ome-zarr": ome_zarr, "web": web, "geotiff": geotiff, "icechunk": icechunk, "ncview": ncview, "sea": sea, "napari": napari, "neuroglancer": neuroglancer,
         "segmentation": segmentation, "served": served, "viv": viv, "front": front}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("zarrfs")
    arguments.add_argument("names", nargs="*", choices=[[], *SHOWS])
    arguments.add_argument("--to", default=os.path.join(ROOT, "build", "gallery"))
    asked = arguments.parse_args()
    os.makedirs(asked.to, exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.names or SHOWS:
            picture = os.path.join(folder, f"{name}.png")
            try:
                said = SHOWS[name](os.path.realpath(asked.zarrfs), folder, picture)
                size = os.path.getsize(picture)
                assert 1000 < size < LARGEST, f"a picture of {size} bytes"
                shutil.copy(picture, os.path.join(asked.to, f"{name}.png"))
                print(f"good: {name}: {said.strip()}; {os.path.join(asked.to, name)}.png, {size} bytes", flush=True)
            except Missing as what:
                print(f"skipped: {name}: {what}: tests/gallery/install installs it", flush=True)
                wrong += os.environ.get("ZARRFS_NO_SKIPS") == "1"
            except (AssertionError, OSError, subprocess.SubprocessError) as problem:
                print(f"wrong: {name}: {problem}", flush=True)
                wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
