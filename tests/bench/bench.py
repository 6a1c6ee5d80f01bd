"""What the row groups share: the programs, the scratch directory, how much is measured, and the document that is written."""
import argparse
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from data import Mount
from measure import can_drop_caches, machine
from transports import chosen

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRANSPORTS = "off,on"


class Bench:
    def __init__(self, options):
        self.daemon = os.path.realpath(options.daemon)
        self.reader = os.path.join(os.path.dirname(self.daemon), "tests", "bench_reader")
        self.short, self.rounds, self.asked_transports = options.short, options.rounds, options.transports
        self.venvs = os.environ.get("ZARRFS_VENVS", os.path.join(ROOT, "build", "venvs"))
        self.scratch = tempfile.mkdtemp(prefix="zarrfs-bench-", dir=options.scratch)
        self.made, self.mounts, self.checksums = {}, [], {}

    @functools.cached_property
    def transports(self):
        """{way: the mount option for it} of those that are asked for and offered."""
        return chosen(self.asked_transports)

    def by_transport(self, mounts):
        """{name: mount options}, with the transport in the name where there is more than one."""
        if len(self.transports) == 1:
            return {name: f"{options},{option}" for name, options in mounts.items() for option in self.transports.values()}
        return {f"{name}, {way}": f"{options},{option}" for name, options in mounts.items() for way, option in self.transports.items()}

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def make(self, name, maker):
        """The path of something that `maker(path)` makes, once a run."""
        if name not in self.made:
            self.say(f"  making {name}")
            self.made[name] = os.path.join(self.scratch, name)
            maker(self.made[name])
            os.sync()
        return self.made[name]

    def forget(self, *names):
        for name in names:
            shutil.rmtree(self.made.pop(name))

    def mount(self, store, options="ro,immutable", point="mount"):
        self.mounts.append(Mount(self.daemon, store, os.path.join(self.scratch, point), options))
        return self.mounts[-1]

    def names(self, name, lines):
        path = os.path.join(self.scratch, name + ".list")
        with open(path, "w") as text:
            text.write("".join(line + "\n" for line in lines))
        return path

    def read(self, directory, names, threads=1, what="read"):
        """Seconds to open, stat, read and close (or only to stat) every file of a list."""
        command = [self.reader, what, str(threads), directory, names]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])

    def python(self, name):
        """The Python of a virtual environment; nothing where it is not installed."""
        path = os.path.join(self.venvs, name, "bin", "python")
        return path if os.path.exists(path) else None

    def close(self):
        for mount in self.mounts:
            mount.down()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def conditions(self):
        cold = "all caches dropped before each cold pass" if can_drop_caches() else "cold: only the pages of files dropped"
        busy = f"load average {os.getloadavg()[2]:.1f} over 15 minutes"
        return f"{machine(self.scratch)}; {busy}; {cold}; medians of {self.rounds} rounds, the sides in turn within each round"


def sections(tables):
    return "\n".join(table.markdown() for table in tables)


def command_line(options, program):
    parts = [program, "build/release/zarrfs"]
    if options.rows:
        parts += ["--rows", *options.rows]
    if options.short:
        parts.append("--short")
    if options.rounds != 5:
        parts += ["--rounds", str(options.rounds)]
    if options.transports != TRANSPORTS:
        parts += ["--transports", options.transports]
    return shlex.join(parts)


def write_section(path, name, text):
    """Puts `text` between the marks of section `name` of a document; the words around them stay."""
    with open(path) as document:
        before = document.read()
    marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.S)
    if not marked.search(before):
        sys.exit(f"{path}: no section <!-- begin {name} -->")
    with open(path, "w") as document:
        document.write(marked.sub(lambda match: match.group(1) + text + match.group(2), before))


def parse(description, groups):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("daemon", help="the program zarrfs, in the folder that it was built in")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="only these: " + ", ".join(groups))
    parser.add_argument("--short", action="store_true", help="less data and fewer cases")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured")
    parser.add_argument("--transports", default=TRANSPORTS, metavar="off,on",
                        help="values of the mount option io_uring= for floor, chunks and what lists names, in turn; both, where the kernel offers it, "
                             "if not given")
    parser.add_argument("--scratch", metavar="DIR", help="where data and mounts are made, some GB; the temporary directory if not given")
    parser.add_argument("--write", metavar="FILE", help="a document whose sections are replaced by the tables")
    return parser.parse_args()


def main(description, groups, program):
    """Runs groups of rows: name -> function(bench) that returns tables."""
    options = parse(description, groups)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that mounts are taken down
    unknown = set(options.rows) - set(groups)
    if unknown:
        sys.exit(f"no rows {', '.join(sorted(unknown))}; there are {', '.join(groups)}")
    bench = Bench(options)
    try:
        for name in options.rows or groups:
            bench.say(name)
            tables = groups[name](bench)
            if not tables:
                continue
            text = sections(tables)
            print(f"## {name}\n\n{text}", flush=True)
            if options.write:
                one = command_line(options, program) if options.rows == [name] else f"{program} build/release/zarrfs --rows {name}"
                write_section(options.write, name, f"`{one}`: {bench.conditions()}.\n\n{text}")
        print(bench.conditions())
    finally:
        bench.close()
    return 0
