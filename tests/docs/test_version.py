"""One version everywhere."""
import os
import re
import subprocess

from console import ROOT
from test_tutorial import DAEMON


def test_all_that_name_the_version_name_the_same():
    version = subprocess.run([DAEMON, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    for name, pattern in (("CMakeLists.txt", r"project\(zarrfs VERSION (\S+)"), ("meson.build", r"version: '(.+?)'"), ("CHANGELOG.md", r"^## (?!Unreleased)(\S+)")):
        with open(os.path.join(ROOT, name)) as text:
            assert re.search(pattern, text.read(), re.M)[1] == version, name
