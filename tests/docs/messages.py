"""The error messages in C++ sources: the literals of what is handed to fail() and system_error(), or written to `err`."""
import os
import re

LITERAL = r'"(?:[^"\\]|\\.)*"'
MADE = re.compile(r"\b(?:fail|system_error|error_of|fault)\(|\berr <<|\breturn name_? \+|Fault::k\w+,")
SHORTEST = 8


def statement(text, start):
    """The source from `start` to the end of its statement, string literals kept whole."""
    depth, at = 0, start
    while at < len(text):
        literal = re.compile(LITERAL).match(text, at)
        if literal:
            at = literal.end()
            continue
        if text[at] in "({":
            depth += 1
        elif text[at] in ")}":
            depth -= 1
            if depth < 0:
                break
        elif text[at] == ";" and depth <= 0:
            break
        at += 1
    return text[start:at]


def literals(piece):
    """The string literals of a piece of source, those that follow each other directly joined."""
    out, last = [], None
    piece = piece.replace("'\"'", "' '")
    for match in re.finditer(LITERAL, piece):
        if last is not None and not piece[last:match.start()].strip():
            out[-1] += match.group()[1:-1]
        else:
            out.append(match.group()[1:-1])
        last = match.end()
    return out


def messages(root, files):
    """{fragment of a message: the file it is in}, for the fragments long enough to be looked for."""
    found = {}
    for name in files:
        with open(os.path.join(root, name)) as source:
            text = re.sub(r"^\s*//.*$", "", source.read(), flags=re.M)
        for match in MADE.finditer(text):
            for literal in literals(statement(text, match.start())):
                fragment = literal.replace('\\"', '"').replace("\\n", "").strip(' ":;,\'')
                if len(fragment) >= SHORTEST:
                    found.setdefault(fragment, name)
    return found
