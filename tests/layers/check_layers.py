#!/usr/bin/env python3
"""Reads the include lines of the sources and fails on an edge that the layers do not allow.

docs/architecture.md tells what each room is for; fs/main.cc joins all.

Fails, too, where a file is too long, where a cast asks of what class something is, where a mutex has no rank or the table of ranks is another than the code's, where a header brings all of JSON's, and where two files of a folder give the same name to something of their own (also of tests/unit): ZARRFS_UNITY compiles them as one source.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def rooms():
    """{room: those that it may see}, from the table in CMakeLists.txt: those that its row names, and what these see."""
    sees = {}
    for folder, named in re.findall(r"^room\(([\w/]+)(?: SEES ([\w/ ]+?))?(?: USES [^)]*)?\)", (ROOT / "CMakeLists.txt").read_text(), re.M):
        sees[folder] = list(dict.fromkeys(seen for one in named.split() for seen in [*sees[one], one]))
    return sees


LAYERS = rooms()
COMPOSITION_ROOT = "fs/main.cc"
# Folders within a room: which of them each may include; the files of the room itself see none. What joins them may see all.
WITHIN = {
    "core/store/http": [],
    "core/store/cache": ["core/store/http"],
    "core/store/remote": ["core/store/http", "core/store/cache"],
    "core/store/zip": [],
}
JOINS = ["core/store/open_store.h", "core/store/source.cc"]
FRONT = [room for room in LAYERS if room.startswith("fs")]
TOOLS = [room for room in LAYERS if room.startswith("tools")]
HOMES = {
    r"fuse3?/|fuse_": FRONT,
    r"spdlog/|liburing\.h": FRONT,
    r"zlib\.h": ["core/codecs", "core/formats", "core/store", "fs/serve"],
    r"zstd\.h|blosc\.h|lz4\.h|bzlib\.h|lzma\.h": ["core/codecs"],
    r"boost/(asio|beast)/": ["fs/serve"],
    r"boost/filesystem": ["core/store", "core/base"],
    r"png\.h": ["core/formats", *TOOLS],
    r"jpeglib\.h|blosc2\.h": ["core/formats"],
    r"curl/|openssl/|expat\.h": ["core/store"],
    r"nlohmann/": ["core/base"],
    r"CLI/": ["core/cli", *FRONT, *TOOLS],
}
MAX_LINES = 600
UNIT = "tests/unit/"
JSON = "core/base/json.h"
# Headers that need more of JSON documents than their name (core/base/json_fwd.h) or to hold them (core/base/held_json.h): what includes them is slow to compile.
WITH_JSON = """
core/base/document_text.h core/formats/format.h core/formats/made_documents.h core/metadata/json_fields.h core/present/ome_transforms.h core/present/v2_codecs.h
core/present/v2_types.h tests/model/array_forms.h tests/model/model_tree.h tests/support/store_maker.h tests/unit/core/present/present_support.h
tools/convert/convert_documents.h tools/convert/convert_plan.h
""".split()
LOCKS = "core/base/lock_order.h"
BARE_LOCK = re.compile(r"^ *(?:static |mutable )*std::(?:recursive_|shared_|timed_)*(?:mutex|condition_variable)(?:_any)? \w+;", re.M)

# The name that a line declares, at the left edge, as clang-format leaves it.
QUOTED = re.compile(r"""//.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""")
DECLARED = [re.compile(pattern) for pattern in (
    r"#define (\w+)", r"(?:class|struct|enum class|enum|union) (\w+)\b[^;=()]*(?:\{|$)", r"using (\w+) =",
    r"[^=(){]*?[\s&*](\w+)(?:\[[^\]]*\])? ?(?:=|\{|;)", r"[^=;{}#]*?[\s&*](\w+)\(")]
DECLARES = re.compile(r"(?!template|namespace|static_assert)[\w\[]")


def layer_of(path: str):
    found = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(found, key=len) if found else None


def folder_within(path: str):
    """The folder of WITHIN that a file lies in; None: it is one of the room itself, or of another room."""
    return path.rpartition("/")[0] if path.rpartition("/")[0] in WITHIN else None


def breaks_order(name: str, quoted: str):
    """Whether a file of a room includes one of a folder of it that comes after its own, or one that joins them."""
    own, target = folder_within(name), folder_within(quoted)
    if not name.startswith("core/store/") or name in JOINS:
        return False
    return quoted in JOINS or (target is not None and target != own and target not in WITHIN.get(own, []))


def unplaced(names):
    """Lines about folders of a room with an order within, which WITHIN does not place in it."""
    folders = {name.rpartition("/")[0] for name in names}
    for folder in sorted(folders - set(WITHIN)):
        if any(folder.startswith(room + "/") for room in {placed.rpartition("/")[0] for placed in WITHIN}):
            yield f"{folder}: WITHIN does not place it in the order of its room"


def declared(text: str, header: bool):
    """{name: its line} of what a source declares in its anonymous namespaces, and its macros, or of what a header declares."""
    depth, inside, names = 0, 1 if header else None, {}
    for line in text.splitlines():
        bare = QUOTED.sub("", line)
        before, depth = depth, depth + bare.count("{") - bare.count("}")
        if not header and line.startswith("namespace {"):
            inside = depth
        elif not header and inside is not None and depth < inside:
            inside = None
        elif (before == inside and DECLARES.match(line)) or line.startswith("#define"):
            found = next(filter(None, (pattern.match(bare) for pattern in DECLARED)), None)
            if found:
                names[found[1]] = line
    return names


def clashes(texts):
    """Lines about names of sources' own, out of {file: its text}, that their folder or a header that they may see has, too."""
    homes = collections.defaultdict(list)
    shared = collections.defaultdict(set)
    for name, text in texts.items():
        if name.endswith(".h"):
            shared[layer_of(name)].update(declared(text, header=True))
            continue
        for own, line in declared(text, header=False).items():
            homes[name.rpartition("/")[0], own].append((name, line))
    for (folder, own), places in homes.items():
        if len(places) > 1 and len({line if line.startswith("using") else name for name, line in places}) > 1:
            yield f"{', '.join(name for name, _ in places)}: each has its own {own}; names of their own differ within a folder"
        if folder.startswith(UNIT):
            continue
        layer = layer_of(places[0][0])
        for seen in [layer, *LAYERS[layer]]:
            if own in shared[seen]:
                yield f"{places[0][0]}: its own {own} has the name of what a header of {seen} declares"


def reaching(target, includes):
    """Files of {file: what it includes} that include `target`, themselves or by others."""
    found, new = set(), {target}
    while new:
        new = {name for name, included in includes.items() if not new.isdisjoint(included)} - found
        found |= new
    return found


def ranks_told_wrongly(order: str, document: str):
    """Lines about ranks of locks whose table in the document is not in the order of the code."""
    ranks = re.findall(r"^  (k\w+),", order[order.index("enum class LockRank"):order.index("kLockRanks")], re.M)
    rows = re.findall(r"^\| `(k\w+)` \|", document[document.index("## Locks"):], re.M)
    if not ranks or ranks != rows:
        yield f"docs/architecture.md: its table of locks has the ranks {', '.join(rows)}; {LOCKS} has {', '.join(ranks)}"


def main() -> int:
    faults, texts, includes = [], {}, {}
    files = [p for top in ("core", "fs", "tools", "tests", "packaging") for p in (ROOT / top).rglob("*") if p.is_file()]
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".h", ".cc", ".py"):
            continue
        text = path.read_text()
        lines = text.count("\n")
        if lines > MAX_LINES:
            faults.append(f"{name}: {lines} lines; split it (at most {MAX_LINES})")
        if path.suffix == ".py":
            continue
        includes[name] = re.findall(r'^#include "([^"]+)"', text, re.M)
        if name.endswith(".h") and JSON in includes[name] and name not in WITH_JSON:
            faults.append(f"{name}: includes {JSON}; core/base/json_fwd.h names a document, core/base/held_json.h holds one")
        layer = layer_of(name)
        if name.startswith(UNIT) and name.endswith(".cc"):
            texts[name] = text
        if layer is None:
            continue
        texts[name] = text
        if name.startswith(("core/", "fs/", "tools/")) and name != LOCKS and BARE_LOCK.search(text):
            faults.append(f"{name}: has a mutex without a rank, which {LOCKS} has")
        if name.startswith(("core/", "fs/", "tools/")) and "dynamic_cast" in text:
            faults.append(f"{name}: asks by dynamic_cast what a thing is; a virtual function that does nothing by default says it")
        for quoted, angled in re.findall(r'^#include (?:"([^"]+)"|<([^>]+)>)', text, re.M):
            if quoted:
                target = layer_of(quoted)
                allowed = target == layer or target in LAYERS[layer] or (name == COMPOSITION_ROOT and target)
                if breaks_order(name, quoted):
                    faults.append(f"{name}: includes {quoted}, which lies above it in the order within its room")
                if not allowed:
                    faults.append(f"{name}: includes {quoted}, which its layer ({layer}) may not see")
            for pattern, homes in HOMES.items():
                if angled and re.match(pattern, angled) and layer not in homes:
                    faults.append(f"{name}: includes <{angled}>, whose home is {', '.join(homes)}")
    faults += unplaced(texts)
    faults += clashes(texts)
    faults += ranks_told_wrongly((ROOT / LOCKS).read_text(), (ROOT / "docs/architecture.md").read_text())
    faults += [f"{name}: is listed in WITH_JSON, and does not include {JSON}" for name in WITH_JSON if JSON not in includes.get(name, ())]
    sources = [name for name in includes if name.endswith(".cc")]
    with_json = len(reaching(JSON, includes).intersection(sources))
    print("\n".join(faults) if faults else f"layers: {len(texts)} files, every include allowed; JSON's header reaches {with_json} of {len(sources)} sources")
    return 1 if faults or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
