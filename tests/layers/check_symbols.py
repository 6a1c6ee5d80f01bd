#!/usr/bin/env python3
"""Finds names that two parts of the program give to different things: tests/layers/check_symbols.py BUILD.

The compiler sees one file and the linker takes whichever definition comes first, so that neither says a word ("one definition
rule"): which function is called depends on what the compiler puts in line. BUILD is of the preset `asan`, `tsan` or `clang`: without
optimizations, so that each inline function that a file uses is in its object, and with the lines that they come from. Inline functions of two
meanings are seen if they are not of the same size.
"""

import collections
import pathlib
import re
import subprocess
import sys

OF_THE_TREE = re.compile(r"^.*/(?=(core|fs|tools)/)")  # ccache may give an object that another clone has compiled
OWN = re.compile("_ZNK?6zarrfs")  # what zarrfs itself defines, not what libraries make of its types


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def definitions(build):
    """(name, object, whether it is inline, size) of all that the linker sees."""
    for path in sorted(build.glob("CMakeFiles/zarrfs*/**/*.o")):
        for line in output("nm", "--defined-only", "--extern-only", "--format=posix", path).splitlines():
            name, kind, _, *size = line.split()
            if OWN.match(name):
                yield name, path, kind in "VW", size


def line_of(path, name):
    line = output("addr2line", "-e", path, "-j", f".text.{name}", "0").strip()
    return OF_THE_TREE.sub("", line)


def meanings(name, places):
    """The lines, or objects, where the name gets its meanings: one, if all is well."""
    if not all(inline for _, inline, _ in places):
        return {str(path) for path, _, _ in places}
    one_of_each_size = {tuple(size): path for path, _, size in places}.values()
    if len(one_of_each_size) == 1:
        return {""}
    return {line_of(path, name) for path in one_of_each_size}


def main():
    build = pathlib.Path(sys.argv[1])
    found = collections.defaultdict(list)
    for name, *place in definitions(build):
        found[name].append(place)
    if not found:
        sys.exit(f"{build}: no objects of zarrfs in it")
    bad = 0
    for name, places in sorted(found.items()):
        of_one = meanings(name, places)
        if "??:0" in of_one or "??:?" in of_one:
            sys.exit(f"{build}: not built with lines (-gline-tables-only)")
        if len(of_one) > 1:
            bad += 1
            print(f"{output('c++filt', name).strip()} is not one thing: {', '.join(sorted(of_one))}")
    print(f"{build}: {len(found)} names, {bad} of them with two meanings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
