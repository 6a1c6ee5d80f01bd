"""Each paragraph of docs/semantics.md, docs/security.md and docs/administration.md names tests that hold it, and these exist: FILE::TEST, or FILE::SUITE.TEST of GoogleTest."""
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {}
for page in ("semantics.md", "security.md", "administration.md"):
    with open(os.path.join(ROOT, "docs", page)) as text:
        PAGES[page] = text.read()
PARAGRAPHS = [one.strip() for text in PAGES.values() for one in text.split("\n\n") if one.startswith("**")]


def exists(file, name):
    path = os.path.join(ROOT, file)
    if not os.path.isfile(path):
        return False
    with open(path) as source:
        text = source.read()
    if file.endswith(".py"):
        return re.search(rf"^def {re.escape(name)}\(", text, flags=re.M) is not None
    suite, _, test = name.partition(".")
    return re.search(rf"^TEST(?:_F|_P)?\(\s*{re.escape(suite)},\s*{re.escape(test)}\)", text, flags=re.M) is not None


def test_there_are_paragraphs():
    assert len(PARAGRAPHS) > 10


@pytest.mark.parametrize("paragraph", PARAGRAPHS, ids=[re.sub(r"[^\w ]", "", one.split("**")[1])[:40] for one in PARAGRAPHS])
def test_a_paragraph_names_tests(paragraph):
    named = re.findall(r"`(tests/[^`\s]+)::([^`\s]+)`", paragraph)
    assert named, "no test is named: `FILE::TEST`"
    assert not re.findall(r"`tests/[^`:]*`", paragraph), "a folder or file is no test"


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_that_a_page_names_exist(page):
    named = re.findall(r"`(tests/[^`\s]+)::([^`\s]+)`", PAGES[page])
    missing = [f"{file}::{name}" for file, name in named if not exists(file, name)]
    assert not missing, f"no such tests: {missing}"


def test_a_test_that_is_not_there_is_noticed():
    assert exists("tests/docs/test_semantics.py", "test_there_are_paragraphs")
    assert not exists("tests/docs/test_semantics.py", "test_there_are")
    assert not exists("tests/docs/no_such_file.py", "test_there_are_paragraphs")
