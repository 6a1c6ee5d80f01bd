#!/usr/bin/env python3
"""Each sleep is a look at a condition that repeats, or says why it waits.

    check_sleeps.py SOURCE_DIR

A pause of a fixed time is a guess at how fast a machine is: what waits for something looks for it instead, in a loop that ends when it is
there. Where time itself is what is meant (a timeout passes, a kill at any moment), a comment beside the sleep or above it says so.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("core", "fs", "tools", "tests", "packaging", ".ci")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|time\.sleep)\(")
OF_SHELL = re.compile(r"(^|[;&|(]|\bdo|\bthen)\s*sleep\s+[\d.$]")
COMMENT = re.compile(r"(^|\s)(//|#(?!include|define))\s*\w")
LOOP = re.compile(r"^\s*(?:[\w()]+\s*\{\s*)?(while|until|for)\b")
FOREVER = re.compile(r"while\s*(\(?(True|true|1)\)?|:)\s*[:{;]?\s*(do)?\s*$")
LEAVES = re.compile(r"\b(break|return|return_|exit|fail)\b")


def sleeps(name, line):
    return SLEEP.search(line) or ("." not in Path(name).name and OF_SHELL.search(line))


def indentation(line):
    return len(line) - len(line.lstrip())


def looks_again(lines, at):
    """Whether the loop that the sleep stands in ends by a condition: its own, or one in it that leaves it."""
    if LOOP.match(lines[at]) or "until" in lines[at]:
        return True
    depth, body = indentation(lines[at]), []
    for line in reversed(lines[:at]):
        if not line.strip():
            continue
        if indentation(line) < depth:
            depth = indentation(line)
            if LOOP.match(line):
                leaves = any(LEAVES.search(one) for one in body)
                condition = line.lstrip().startswith(("while", "until")) and not FOREVER.search(line)
                return leaves or condition
        body.append(line)
        if depth == 0:
            return False
    return False


def faults_of(name, text):
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if not sleeps(name, line):
            continue
        above = lines[at - 1].lstrip() if at else ""
        if COMMENT.search(line) or above.startswith(("# ", "// ")) or looks_again(lines, at):
            continue
        yield f"{name}:{at + 1}: a sleep without a reason: {line.strip()}"


def texts(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and not name.startswith("tests/golden/") and path.name != Path(__file__).name and path.suffix in ("", ".py", ".cc", ".h", ".sh"):
                try:
                    yield name, path.read_text()
                except UnicodeDecodeError:
                    continue


def tried():
    """That a bare sleep is found, and a look is none."""
    bare = "def test():\n    time.sleep(1)\n"
    timed = "while time.monotonic() < end:\n    work()\nwait()\ntime.sleep(1)\n"
    looking = "for _ in range(9):\n    if there():\n        return\n    time.sleep(0.1)\n"
    said = "time.sleep(1)  # the timeout passes\n"
    assert list(faults_of("a.py", bare)) and list(faults_of("a.py", timed))
    assert not list(faults_of("a.py", looking)) and not list(faults_of("a.py", said))


def main():
    tried()
    root = Path(sys.argv[1])
    count, faults = 0, []
    for name, text in texts(root):
        count += sum(bool(sleeps(name, line)) for line in text.splitlines())
        faults += faults_of(name, text)
    print("\n".join(faults) if faults else f"sleeps: {count}, each a look at a condition or with its reason")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
