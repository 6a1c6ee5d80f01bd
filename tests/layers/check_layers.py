#!/usr/bin/env python3
"""Reads the include lines of the sources and fails on an edge that the layers do not allow.

    base <- {store, codec} <- zarr <- {formats, present, write} <- chunks <- nodes <- vfs <- {fs, tools};  fs/main.cc joins all
"""
import pathlib
import re
import sys

# Each room and what it may see, in the order in which a request goes through them.
LAYERS = {
    "core/base": [],
    "core/store": ["core/base"],
    "core/codec": ["core/base"],
    "core/zarr": ["core/base", "core/store", "core/codec"],
    "core/formats": ["core/base", "core/store", "core/codec", "core/zarr"],
    "core/present": ["core/base", "core/codec", "core/zarr"],
    "core/write": ["core/base", "core/store", "core/codec", "core/zarr"],
    "core/chunks": ["core/base", "core/store", "core/codec", "core/zarr", "core/present", "core/write"],
    "core/nodes": ["core/base", "core/store", "core/codec", "core/zarr", "core/formats", "core/present", "core/write", "core/chunks"],
    "core/vfs": ["core/base", "core/store", "core/codec", "core/zarr", "core/formats", "core/present", "core/write", "core/chunks", "core/nodes"],
    "core/cli": ["core/base"],
}
LAYERS["tools"] = LAYERS["fs"] = list(LAYERS)
COMPOSITION_ROOT = "fs/main.cc"
HOMES = {
    r"fuse3?/|fuse_": ["fs"],
    r"spdlog/": ["fs"],
    r"zlib\.h": ["core/codec", "core/formats", "core/store"],
    r"zstd\.h|blosc\.h|lz4\.h|bzlib\.h|lzma\.h": ["core/codec"],
    r"boost/": ["core/store", "core/base"],
    r"png\.h": ["core/formats", "tools"],
    r"jpeglib\.h": ["core/formats"],
    r"curl/|openssl/|expat\.h": ["core/store"],
    r"nlohmann/": ["core/base"],
    r"CLI/": ["core/cli", "fs", "tools"],
}
MAX_LINES = 600


def layer_of(path: str):
    found = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(found, key=len) if found else None


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    faults, checked = [], 0
    files = [p for top in ("core", "fs", "tools", "tests", "packaging") for p in (root / top).rglob("*") if p.is_file()]
    for path in sorted(files):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".h", ".cc", ".py"):
            continue
        text = path.read_text()
        lines = text.count("\n")
        if lines > MAX_LINES:
            faults.append(f"{name}: {lines} lines; split it (at most {MAX_LINES})")
        layer = layer_of(name)
        if layer is None or path.suffix == ".py":
            continue
        checked += 1
        for quoted, angled in re.findall(r'^#include (?:"([^"]+)"|<([^>]+)>)', text, re.M):
            if quoted:
                target = layer_of(quoted)
                allowed = target == layer or target in LAYERS[layer] or (name == COMPOSITION_ROOT and target)
                if not allowed:
                    faults.append(f"{name}: includes {quoted}, which its layer ({layer}) may not see")
            for pattern, homes in HOMES.items():
                if angled and re.match(pattern, angled) and layer not in homes:
                    faults.append(f"{name}: includes <{angled}>, whose home is {', '.join(homes)}")
    print("\n".join(faults) if faults else f"layers: {checked} files, every include allowed")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
