#!/usr/bin/env python3
"""Prints how many functions each class declares, the largest first: tests/layers/class_sizes.py [ROOT] [--over N]

Own ones only, of each access; neither constructors, destructors and operators, nor what nested classes declare. A class of many is a place to
look whether it is two. Interfaces are as large as what they stand for.
"""
import argparse
import pathlib
import re

NAMED = re.compile(r"(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(?:[A-Z_]+\([^)]*\)\s*)?(\w+)[^;=(){}]*$")
BARE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|^\s*#[^\n]*(?:\\\n[^\n]*)*""", re.S | re.M)
NO_FUNCTION = re.compile(r"^\s*(?:using|typedef|friend|static_assert|enum|template\s*<[^>]*>\s*(?:class|struct))\b")


def declares_function(text, name):
    """Whether a member's declaration, up to its `;` or body, is that of a function that counts."""
    text = re.sub(r"^\s*(?:public|private|protected)\s*:", "", text)
    text = re.sub(r"\[\[\w+\]\]|ZARRFS_\w+\((?:[^()]|\([^()]*\))*\)", " ", text)
    if NO_FUNCTION.match(text):
        return False
    while re.search(r"<[^<>]*>", text):  # std::function<void(int)> f;
        text = re.sub(r"<[^<>]*>", " ", text)
    head = text.partition("(")[0]
    called = re.search(r"([~\w]+)\s*$", head)
    if "(" not in text or "=" in head or called is None or "operator" in head:
        return False
    return called[1].lstrip("~") != name


def classes(text):
    """(name, functions) of each class of a source."""
    text = BARE.sub(" ", text)
    stack, start, found = [], 0, []  # (class or None, functions) of each open brace
    for at, character in enumerate(text):
        if character == ";" or character in "{}":
            member = text[start:at]
            inside = stack[-1] if stack else None
            if character == "{":
                named = NAMED.search(member)
                if inside and inside[0] and not named and declares_function(member, inside[0]):
                    inside[1] += 1
                stack.append([named[1] if named and "enum" not in member else None, 0])
            elif character == "}":
                if stack:
                    name, functions = stack.pop()
                    if name:
                        found.append((name, functions))
            elif inside and inside[0] and declares_function(member, inside[0]):
                inside[1] += 1
            start = at + 1
    return found


def tried():
    """Whether what is counted is what the description says."""
    source = """class A : public B {
     public:
      explicit A(int x) : x_(x) {}
      ~A() override;
      A& operator=(const A&) = delete;
      [[nodiscard]] int one() const { if (x_) { return f(x_); } return 0; }
      virtual std::map<int, std::function<void(int)>> two(int a = g(1)) = 0;  // three();
      template <class T> static T four(const T& t);
      std::function<void()> act_ = [] { f(); };
      std::atomic<int> x_{0};
      struct In { int five(); };
      using Six = void (*)(int);
    };"""
    return sorted(classes(source)) == [("A", 3), ("In", 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=".")
    parser.add_argument("--over", type=int, default=25)
    options = parser.parse_args()
    if not tried():
        raise SystemExit("class_sizes.py does not count what it says")
    root = pathlib.Path(options.root)
    found = [(functions, name, path.relative_to(root).as_posix())
             for top in ("core", "fs", "tools") for path in sorted((root / top).rglob("*")) if path.suffix in (".h", ".cc")
             for name, functions in classes(path.read_text())]
    for functions, name, path in sorted(found, key=lambda one: (-one[0], one[1])):
        if functions > options.over:
            print(f"{functions:4} {name} {path}")
    print(f"{len(found)} classes, {sum(functions for functions, _, _ in found)} functions")


if __name__ == "__main__":
    main()
