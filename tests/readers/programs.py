"""Readers that are programs rather than Python modules, for read_store.py: each takes an array's path and returns its values."""
import atexit
import base64
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NOT_READ = "not read by this test"


class Served:
    """A program that answers each path on its standard input with a line."""

    def __init__(self, command, folder):
        self.command, self.folder, self.process = command, folder, None

    def ask(self, path):
        if self.process is None:
            self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(path + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it died after its last answer
            self.process = None
            return self.ask(path)
        answer = self.process.stdout.readline()
        if not answer:
            status, self.process = self.process.wait(), None
            raise RuntimeError(f"the reader ended with status {status}")
        return answer


SERVED = {}


def served(name, command, folder):
    if name not in SERVED:
        SERVED[name] = Served(command, folder)
    return SERVED[name]


def described(path):
    """`.zarray` as the reader sees it."""
    with open(os.path.join(path, ".zarray")) as text:
        return json.load(text)


def javascript(library):
    def read(path):
        command = ["node", "--max-old-space-size=1024", os.path.join(HERE, "read_js.mjs"), library]
        folder = os.path.join(os.environ["ZARRFS_READERS"], "zarrjs" if library == "zarrjs" else "zarrita")
        answer = json.loads(served(library, command, folder).ask(path))
        if "error" in answer:
            raise ValueError(answer["error"])
        if "number" in answer:
            return np.asarray(int(answer["number"]) if isinstance(answer["number"], str) else answer["number"])
        kind = {"Float16Array": "f2", "BoolArray": "b1"}.get(answer["kind"])
        if kind is None:
            letters = re.fullmatch(r"(Big)?(Int|Uint|Float)(\d+)(Clamped)?Array", answer["kind"])
            if letters is None:
                raise ValueError(f"{answer['kind']}: {NOT_READ}")
            kind = {"Int": "i", "Uint": "u", "Float": "f"}[letters[2]] + str(int(letters[3]) // 8)
        flat = np.frombuffer(base64.b64decode(answer["bytes"]), "<" + kind)
        strides = [step * flat.dtype.itemsize for step in answer["stride"]]
        return np.lib.stride_tricks.as_strided(flat, answer["shape"], strides)

    return read


def read_jzarr(path):
    folder = os.path.join(os.environ["ZARRFS_READERS"], "jzarr")
    if "jzarr" not in SERVED:
        jars = ":".join(sorted(glob.glob(os.path.join(folder, "*.jar"))))
        classes = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, classes)
        sources = glob.glob(os.path.join(HERE, "jzarr", "**", "*.java"), recursive=True)
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", classes, *sources], check=True)
        served("jzarr", ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{classes}:{jars}", "ReadJzarr"], folder)
    kind, _, rest = SERVED["jzarr"].ask(path).partition(" ")
    if kind == "error":
        raise ValueError(rest)
    shape, data = rest.split()
    kinds = {"byte[]": "i1", "short[]": "i2", "int[]": "i4", "long[]": "i8", "float[]": "f4", "double[]": "f8"}
    values = np.frombuffer(base64.b64decode(data), "<" + kinds[kind])
    wanted = np.dtype(described(path)["dtype"])
    if wanted.kind == "u" and wanted.itemsize == values.dtype.itemsize:
        values = values.view(wanted.newbyteorder("<"))  # Java has no unsigned types
    return values.reshape(json.loads(shape))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(f"{command[0]}: status {done.returncode}: {done.stderr.strip()[:200]}")
    return done.stdout


def read_ncdump(path):
    """The numbers that ncdump prints; "_" is the fill value."""
    group, name = os.path.split(path)
    document = described(path)
    dtype = np.dtype(document["dtype"])
    text = run(["ncdump", "-p", "9,17", "-v", name, f"file://{group}#mode=zarr,file"])
    data = text[text.index("data:"):]
    data = data[re.search(rf"\s{re.escape(name)} =", data).end():].split(";")[0]
    fill = document["fill_value"]
    if isinstance(fill, str):
        fill = float(fill.replace("Infinity", "inf"))
    words = [word.strip() for word in data.replace("\n", " ").split(",")]
    kind = float if dtype.kind == "f" else int
    values = [fill if word == "_" else kind(re.sub(r"(?<=[\dyN.])[fUuLlSsBb]+$", "", word)) for word in words]
    return np.array(values, dtype=dtype).reshape(document["shape"])


def read_cdo(path):
    """A copy of one field that cdo makes, unpacked, and NaN where it is missing."""
    import netCDF4

    group, name = os.path.split(path)
    document = described(path)
    if len(document["shape"]) < 2:
        raise ValueError(f"no field: {NOT_READ}")
    if document["dtype"] == "<i8" and document["fill_value"] is not None:  # cdo 2.1.1 masks none of a netCDF file either
        raise ValueError(f"missing values of 64 bits: {NOT_READ}")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.nc")
        run(["cdo", "-s", "-f", "nc4", "-b", "F64", "copy", f"-selname,{name}", f"file://{group}#mode=zarr,file", copy])
        with netCDF4.Dataset(copy) as data:
            return np.ma.filled(data[name][...].astype("f8"), np.nan)


# ENVI's numbers for types.
ENVI = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 6: "c8", 9: "c16", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}


def read_gdal_translate(path):
    """gdalinfo's size, and the pixels of gdal_translate's copy; two-dimensional arrays only."""
    document = described(path)
    dtype = np.dtype([tuple(field) for field in document["dtype"]] if isinstance(document["dtype"], list) else document["dtype"])
    if len(document["shape"]) != 2 or dtype.kind not in "biufc" or dtype.str[1:] in ("i8", "u8"):  # ENVI has no such integers
        raise ValueError(f"no raster: {NOT_READ}")
    shown = json.loads(run(["gdalinfo", "-json", f'ZARR:"{path}"']))
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "copy.img")
        run(["gdal_translate", "-q", "-of", "ENVI", f'ZARR:"{path}"', target])
        with open(os.path.join(folder, "copy.hdr")) as text:
            kind = ENVI[int(re.search(r"data type = (\d+)", text.read())[1])]
        return np.fromfile(target, "<" + kind).reshape(shown["size"][::-1])


READERS = {
    "zarrita": (javascript("zarrita"), ".zarray"),
    "zarrita3": (javascript("zarrita3"), "zarr.json"),
    "zarrjs": (javascript("zarrjs"), ".zarray"),
    "jzarr": (read_jzarr, ".zarray"),
    "ncdump": (read_ncdump, ".zarray"),
    "cdo": (read_cdo, ".zarray"),
    "gdal_translate": (read_gdal_translate, ".zarray"),
}
# WebAssembly and Java reserve far more address space than they use; their own options limit them.
RESERVING = {"zarrita", "zarrita3", "zarrjs", "jzarr"}
