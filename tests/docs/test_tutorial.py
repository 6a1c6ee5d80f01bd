"""The commands of the documents do what the documents say."""
import os

import console
import pytest

DAEMON = os.environ.get("ZARRFS_DAEMON", os.path.join(console.ROOT, "build", "release", "zarrfs"))
SKIPS_FAIL = os.environ.get("ZARRFS_NO_SKIPS") == "1"
DOCUMENTS = sorted(name for name in os.listdir(os.path.join(console.ROOT, "docs"))
                   if name.endswith(".md") and "```console" in open(os.path.join(console.ROOT, "docs", name)).read())


def test_the_tutorial_is_one_of_them():
    assert "tutorial.md" in DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_print_what_the_document_says(name, tmp_path):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        (pytest.fail if SKIPS_FAIL else pytest.skip)("/dev/fuse is missing or may not be opened: nothing can be mounted here")
    path = os.path.join(console.ROOT, "docs", name)
    parts = console.read(path)
    shell = console.Shell(str(tmp_path), DAEMON)
    wrong = []
    try:
        for step in (part for part in parts if isinstance(part, console.Step)):
            seen = shell.run(step.command)
            if not step.fits(seen):
                wrong.append(f"{name}:{step.number}: $ {step.command[0]}\n--- the document\n" + "\n".join(step.shown) + "\n--- seen\n" + "\n".join(seen))
                step.shown = seen
    finally:
        left = shell.close()
    if wrong and os.environ.get("ZARRFS_WRITE_DOCS") == "1":
        with open(path, "w") as text:
            text.write(console.text_of(parts))
        wrong = []
    assert not wrong, "\n\n".join(wrong)
    assert not left, f"still mounted at the end: {left}"
