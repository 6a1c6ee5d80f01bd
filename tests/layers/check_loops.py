#!/usr/bin/env python3
"""Finds the loops that need not end by themselves, and fails where one has no entry in loops.txt, or an entry no loop.

What a store or a server says is untrusted, and so is how much it says. A loop that goes on as long as something is said, or as often as a number says,
therefore needs a bound: loops.txt has one line for each, `FILE | LOOP | BOUND`, and a new loop comes with a line that a reviewer can judge.

Counted are, in the rooms that see such data (all but QUIET):
- every `while` and `do`, unless it repeats a system call after a signal (EINTR), or takes one letter off a text in each round;
- every `for` without a range, unless its condition compares with the size or the end of a container, with a constant or with a rank, or it counts down
  from one of these: what is in memory, and what is written in the source, ends;
- every function that calls itself by its own name, in its own body (`recursion NAME`), and every lambda that is handed to itself.
Not counted are a `for` over a range, since what it goes over is in memory (where that came from is another loop), algorithms of the standard library,
loops within libraries, and functions that call each other in turn. A bound is one of
- `memory`: each round takes something off, or steps over, what is in memory, whose size was bounded where it was read;
- `number WHY`: as often as a number says, which is bounded where WHY says;
- `constant NAME`: NAME stands in the loop, or in the file at least;
- `asks NAME`: NAME (of ASKING, or a function that is called in the loop and asks itself) gives up when nobody waits for the answer any more, and each
  round makes progress;
- `path`: goes up a path, or down one, name by name;
- `overload`: not the function itself is called, but another one of its name;
- `event WHY`: waits for this process or for the system, not for a store.
"""
import collections
import pathlib
import re
import sys

TOPS = ("core", "fs", "tools")
QUIET = ("core/cli", "core/view", "fs/ring", "fs/session", "fs/mounts", "fs/options",  # these see options, the kernel and /proc
         "tools/picture")  # draws what was read, in as many points as a screen has
ASKING = r"check_wanted|request_ended|interrupted"
BOUNDS = ("memory", "number", "constant", "asks", "path", "overload", "event")
NEEDS_NOTE = ("number", "constant", "asks", "event")

QUOTED = re.compile(r"""R"\((?:.|\n)*?\)"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])*'""")
ENDS = re.compile(r"size\(\)|std::size\(|[<>]=? *\d+U?$|[<>=]=? *k[A-Z]\w*$|!= (std::)?\w*(\.|->)?c?r?end\(\)?$|!= end$|\brank\b|\w-- > \d+$")
COUNTS_DOWN = re.compile(r"= *(?:[\w.()>-]*size\(\)|[\w.]*rank|[0-9]+)(?: *[-+] *\w+)*;[^;]*\b\w+-- > \d+\b")
AFTER_SIGNAL = re.compile(r"errno == EINTR")
TAKES_LETTER = re.compile(r"\.(?:pop_back\(\)|remove_(?:pre|suf)fix\(1\));$")
NAMED = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
BODY_FOLLOWS = re.compile(r"\s*(?:const|noexcept|override|final|\s)*(?:->\s*[\w:<>]+\s*)?(?::\s[^;{]*(?:\{[^{}]*\}[^;{]*)*)?\{")
WORDS = {"if", "for", "while", "switch", "return", "sizeof", "catch", "alignas", "decltype", "static_assert", "defined"}


def blank(found):
    text = found[0]
    return re.sub(r"[^\n]", "_" if text[0] in "\"'R" else " ", text)


def end_of(text, at, opens, closes):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == opens) - (text[i] == closes)
        if depth == 0:
            return i + 1
    raise ValueError(f"no {closes} for the {opens} in {text[at:at + 60]!r}")


def statement_after(bare, at):
    """The end of the statement that begins behind `at`."""
    start = at + len(bare[at:]) - len(bare[at:].lstrip())
    if bare[start] == "{":
        return end_of(bare, start, "{", "}")
    depth = 0
    for i in range(start, len(bare)):
        depth += (bare[i] in "({") - (bare[i] in ")}")
        if depth == 0 and bare[i] in ";}":
            return i + 1
    raise ValueError(f"no end of {bare[start:start + 60]!r}")


def on_one_line(text):
    return " ".join(text.split())


def loops_in(text):
    """(line, how it is spelled, its whole text) of each loop that is counted."""
    bare = QUOTED.sub(blank, text)
    ends_of_do = set()
    for found in re.finditer(r"\b(while|for|do)\b", bare):
        at, line = found.start(), text.count("\n", 0, found.start()) + 1
        if at in ends_of_do:
            continue
        if found[1] == "do":
            last = end_of(bare, bare.index("{", at), "{", "}")
            ends_of_do.add(bare.index("while", last))
            head = bare.index("(", last)
            end = end_of(bare, head, "(", ")")
            yield line, "do while " + on_one_line(text[head:end]), bare[at:end]
            continue
        head = bare.index("(", at)
        end = end_of(bare, head, "(", ")")
        if found[1] == "for":
            parts = bare[head + 1:end - 1].split(";")
            if len(parts) != 3 or (parts[1].strip() and parts[2].strip() and ENDS.search(parts[1].strip())) or COUNTS_DOWN.search(bare[head:end]):
                continue
        whole = bare[at:statement_after(bare, end)]
        if found[1] == "while" and (AFTER_SIGNAL.search(bare[head:end]) or TAKES_LETTER.search(whole)):
            continue
        yield line, f"{found[1]} {on_one_line(text[head:end])}", whole


def recursions_in(text):
    bare = QUOTED.sub(blank, text)
    for found in NAMED.finditer(bare):
        name = found[1]
        if name in WORDS or name.isupper() or name.startswith("ZARRFS"):
            continue
        head = found.end() - 1
        follows = BODY_FOLLOWS.match(bare, end_of(bare, head, "(", ")"))
        if not follows:
            continue
        start = follows.end() - 1
        body = bare[start:end_of(bare, start, "{", "}")]
        if re.search(rf"(?<![\w.>:])(?:this->)?{name}\s*\(", body):
            yield text.count("\n", 0, found.start()) + 1, f"recursion {name}", body
    for found in re.finditer(r"const auto& (deeper|self)\)", bare):
        start = bare.index("{", found.end())
        yield text.count("\n", 0, found.start()) + 1, f"recursion {found[1]}", bare[start:end_of(bare, start, "{", "}")]


def fault_of(bound, body, text):
    """What is wrong with an entry's bound, as far as that can be told."""
    kind, _, note = bound.partition(" ")
    if kind not in BOUNDS:
        return f"{kind!r} is none of {', '.join(BOUNDS)}"
    if kind in NEEDS_NOTE and not note:
        return f"{kind} of what?"
    word = note.split(" ")[0].rstrip(":,")
    if kind == "constant" and not re.search(rf"\b{re.escape(word)}\b", QUOTED.sub(blank, text)):
        return f"there is no {word} in the file"
    if kind == "asks" and not re.search(rf"\b{re.escape(word)}\b", body):
        return f"the loop does not call {word}"
    if kind == "asks" and not re.fullmatch(ASKING, word) and not re.search(rf"\b{re.escape(word)}\b[^;]*\{{(?:[^}}]|\n)*?(?:{ASKING})", text):
        return f"{word} does not ask in this file ({ASKING.replace('|', ', ')})"
    return None


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    table, faults = collections.defaultdict(list), []
    for number, line in enumerate((root / "tests/layers/loops.txt").read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            parts = line.split(" | ")
            if len(parts) != 3:
                faults.append(f"loops.txt:{number}: not FILE | LOOP | BOUND")
                continue
            table[parts[0], parts[1]].append(parts[2])
    kinds = collections.Counter()
    for path in sorted(p for top in TOPS for p in (root / top).rglob("*") if p.suffix in (".h", ".cc")):
        name = path.relative_to(root).as_posix()
        if name.startswith(QUIET):
            continue
        text = path.read_text()
        for line, loop, body in [*loops_in(text), *recursions_in(text)]:
            entries = table.get((name, loop))
            if not entries:
                faults.append(f"{name}:{line}: no entry in tests/layers/loops.txt: {name} | {loop} | ")
                continue
            bound = entries.pop(0)
            kinds[bound.split(" ")[0]] += 1
            wrong = fault_of(bound, body, text)
            if wrong:
                faults.append(f"{name}:{line}: {loop}: {wrong}")
    faults += [f"loops.txt: no such loop: {file} | {loop} | {bound}" for (file, loop), left in table.items() for bound in left]
    print("\n".join(faults) if faults else
          f"loops: {sum(kinds.values())}, " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return 1 if faults or not kinds else 0


if __name__ == "__main__":
    sys.exit(main())
