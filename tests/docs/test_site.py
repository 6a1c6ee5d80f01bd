"""The site of the documents (packaging/site): it is built, no link or anchor of README.md and docs leads nowhere, and its search finds words of each page."""
import json
import os
import re
import subprocess

import pytest
from console import ROOT

SKIPS_FAIL = os.environ.get("ZARRFS_NO_SKIPS") == "1"
NOT_TO_BE_HAD = 77


@pytest.fixture(scope="module")
def site():
    done = subprocess.run([os.path.join(ROOT, "packaging", "site")], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=500)
    if done.returncode == NOT_TO_BE_HAD:
        (pytest.fail if SKIPS_FAIL else pytest.skip)(f"no site can be built here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr  # with --strict: links and anchors, too
    return os.path.join(ROOT, "build", "site")


def test_every_document_is_a_page_that_search_finds(site):
    with open(os.path.join(site, "search", "search_index.json")) as index:
        found = {entry["location"].split("#")[0] for entry in json.load(index)["docs"]}
    for name in os.listdir(os.path.join(ROOT, "docs")):
        if name.endswith(".md"):
            assert f"docs/{name[:-3]}.html" in found
    assert {"", "CHANGELOG.html", "SECURITY.html"} <= {"" if one == "index.html" else one for one in found}


def test_pictures_of_the_documents_are_there(site):
    for name in os.listdir(os.path.join(ROOT, "docs")):
        if name.endswith(".md"):
            with open(os.path.join(ROOT, "docs", name)) as page:
                for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read()):
                    assert os.path.isfile(os.path.join(site, "docs", picture)), f"{name}: {picture}"
