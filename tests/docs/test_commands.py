"""What the pages write down is there: each command line of zarrfs is one that the program takes, each option, file and variable that a page names exists, and the
commands of README.md run."""
import functools
import glob
import json
import os
import re
import shlex
import shutil
import subprocess

import console
import pytest
from test_tutorial import DAEMON, SKIPS_FAIL

PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "core/log/JOURNAL.md"] + sorted(glob.glob("docs/*.md", root_dir=console.ROOT))
PLACEHOLDER = re.compile(r"\.\.\.$|^[A-Z_]+$")
MESSAGES = "docs/troubleshooting.md"  # what it quotes in prose is what the program says, and not what a user types
ROOMS = ("core", "fs", "tools", "tests", "packaging", "examples", "docs", ".ci")
OF_PYTHON = {"mountpoint", "stays"}  # arguments of zarrfs.mount() that are no mount options
# Options of other programs, and of scripts of the sources, that pages name.
OF_OTHERS = {"--cap-add", "--checksum", "--dependency", "--device", "--draw", "--entrypoint", "--env", "--env-file", "--fusemount", "--security-opt", "--seed", "--shards", "--webdav-bearer-token", "--write", "--writeback"}


def text_of(name):
    with open(os.path.join(console.ROOT, name)) as page:
        return re.sub(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", "", page.read(), flags=re.S)


@functools.lru_cache(None)
def reference():
    return json.loads(subprocess.run([DAEMON, "--help-json"], capture_output=True, text=True, check=True).stdout)


@functools.lru_cache(None)
def commands():
    return {command["name"]: command for command in reference()["commands"]}


@functools.lru_cache(None)
def mount_options():
    return {option["name"]: option["argument"] for option in reference()["mount_options"]}


def blocks_of(text):
    """The fenced blocks: kind and lines."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.M | re.S):
        yield kind, block.splitlines()


def shell_lines(text):
    for kind, lines in blocks_of(text):
        for line in lines:
            if kind == "console":
                if line.startswith("$ "):
                    yield line[2:]
            elif kind in ("sh", ""):
                yield line
            elif kind == "yaml" and "zarrfs " in line:
                yield line[line.index("zarrfs "):]


def inline_codes(text):
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.findall(r"``\s?(.+?)\s?``(?!`)|(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)", prose)


def codes_of(text):
    return [" ".join((double or single).split()) for double, single in inline_codes(text)]


def words_of(line):
    """The command lines of zarrfs in a line of shell, each as its words."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quotation that goes on in the next line
        return
    at = 0
    while at < len(words):
        start = at
        while at < len(words) and not re.fullmatch(r"[|&;()]+", words[at]):
            at += 1
        command = words[start:at]
        at += 1
        while command and (re.fullmatch(r"\w+=.*", command[0]) or command[0] in ("exec", "sudo", "time", "{", "do", "then")):
            command = command[1:]
        redirected = next((i for i, word in enumerate(command) if re.fullmatch(r"[<>&]+", word)), len(command))
        if redirected < len(command) and redirected and command[redirected - 1].isdigit():
            redirected -= 1
        command = command[:redirected]
        if command and os.path.basename(command[0]) == "zarrfs" and not command[0].startswith("/etc"):
            yield command


def wrong_mount_option(text):
    """What is wrong with one of the words of -o, or nothing."""
    name, _, value = text.partition("=")
    if name in ("", "...") or name in ("_netdev", "nofail", "defaults", "noauto"):
        return None
    if name not in mount_options():
        return f"no mount option {name}"
    argument = mount_options()[name]
    if bool(argument) != ("=" in text):
        return f"mount option {name} {'needs a' if argument else 'takes no'} value"
    if "|" in argument and value not in argument.split("|") and not PLACEHOLDER.search(value) and value != "":
        return f"mount option {name} may be {argument}, not {value}"
    if name == "profile":
        return wrong_profile(value)
    return None


def wrong_profile(value):
    known = {profile["name"] for profile in reference()["profiles"]} | {"auto"}
    if value in known or value.endswith(".json") or PLACEHOLDER.search(value):
        return None
    return f"no profile {value}"


def wrong_command(words):
    """What is wrong with a command line, or nothing."""
    if len(words) == 1 or words[1] in ("--version", "--help", "--help-json", "--help-all", "-h") or PLACEHOLDER.search(words[1]):
        return None
    if words[1] not in commands():
        return None if re.search(r"[./:]", words[1]) else f"no command {words[1]}"  # zarrfs SOURCE [MOUNTPOINT]
    command = commands()[words[1]]
    named, places = {}, []
    for option in command["options"]:
        if option["positional"]:
            places.append(option)
        for name in option["name"].split(","):
            named[name] = option
    named["--help-all"] = {"argument": "", "name": "--help-all"}
    given, rest = 0, list(words[2:])
    while rest:
        word = rest.pop(0)
        if not re.match(r"-[-\w]", word):
            given += 0 if re.fullmatch(r"\$[A-Z_]+", word) and word not in ("$SRC", "$DST") else 1  # a variable may hold options
            continue
        name, equals, value = word.partition("=")
        if name not in named:
            if re.fullmatch(r"-[a-zA-Z]{2,}", name) and all("-" + letter in named for letter in name[1:]):
                continue
            return f"{words[1]} has no option {name}"
        if not named[name]["argument"]:
            continue
        if not equals:
            if not rest:
                return f"{words[1]} {name} needs a value"
            value = rest.pop(0)
        if named[name]["argument"] == "OPTIONS":
            for one in value.split(","):
                wrong = wrong_mount_option(one)
                # A comma may be a part of a value: rechunk=1,24,96.
                if wrong and not re.fullmatch(r"\d+", one):
                    return wrong
        if name == "--profile" and (wrong := wrong_profile(value)):
            return wrong
    if given > len(places) and words[1] != "mark" and "--sum" not in words:  # both take any number
        return f"{words[1]} takes {len(places)} arguments, not {given}"
    return None


@pytest.mark.parametrize("name", PAGES)
def test_command_lines_are_taken(name):
    text = text_of(name)
    lines = list(shell_lines(text))
    if name != MESSAGES:
        lines += [code.removesuffix(" -o") for code in codes_of(text) if re.match(r"(sudo )?zarrfs [a-z]", code)]
    wrong = [f"{name}: {line}: {problem}" for line in lines for words in words_of(line) if (problem := wrong_command([word for word in words if word != "..."]))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("line, problem", [
    ("zarrfs mound a b", "no command mound"), ("zarrfs mount a b -o readonly", "no mount option readonly"), ("zarrfs mount a b -o ro=1", "takes no value"),
    ("zarrfs mount a b -o view=v4", "may be v2|v3"), ("cd /tmp && zarrfs verify a --deocde", "no option --deocde"), ("zarrfs mount a b c", "takes 2 arguments"),
    ("zarrfs info a --profile matlab >x 2>&1", "no profile matlab"), ("x=$(zarrfs info a --json) && zarrfs shard a b --shard-bytes", "needs a value")])
def test_a_wrong_line_is_found(line, problem):
    found = [wrong_command(words) for words in words_of(line)]
    assert problem in str(found[-1])


@pytest.mark.parametrize("name", PAGES)
def test_options_exist(name):
    """Those that stand alone: `-o name=value`, `--option`."""
    flags = {one for command in reference()["commands"] for option in command["options"] for one in option["name"].split(",")} | {"--help", "--help-all", "--help-json", "--version"}
    wrong = []
    for code in codes_of(text_of(name)):
        if match := re.match(r"-o ([^ ]+)$", code):
            wrong += [f"{name}: `{code}`: {problem}" for one in match[1].split(",") if one.split("=")[0] != "name" and (problem := wrong_mount_option(one))]
        elif name != "CONTRIBUTING.md" and (match := re.match(r"--[a-z][-a-z]*", code)) and match[0] not in flags | OF_OTHERS:
            wrong.append(f"{name}: `{code}`: no command has {match[0]}")
    assert not wrong, "\n".join(wrong)


def exists(path):
    base = os.path.join(console.ROOT, path)
    return glob.glob(base) or glob.glob(base + ".*")


@pytest.mark.parametrize("name", PAGES)
def test_files_of_the_sources_exist(name):
    wrong = []
    for code in codes_of(text_of(name)):
        first = code.split()[0].split("::")[0].rstrip(":,")
        if first.startswith("/usr/share/doc/zarrfs/"):
            if not os.path.exists(os.path.join(console.ROOT, "packaging", "examples", os.path.basename(first))):
                wrong.append(f"{name}: `{code}`")
            continue
        if first.split("/")[0] not in ROOMS or "/" not in first or "..." in first or "NAME" in first:
            continue
        spelled = [first.replace(match[0], one) for match in [re.search(r"\{([^}]*)\}", first)] if match for one in match[1].split(",")] or [first]
        wrong += [f"{name}: `{code}`: no {one}" for one in spelled if not exists(one)]
    assert not wrong, "\n".join(wrong)


def test_variables_exist():
    known = subprocess.run(["git", "grep", "-hoE", r"ZARRFS_[A-Z0-9_]+", "--", ":!*.md", ":!tests/docs/test_commands.py"], cwd=console.ROOT, capture_output=True, text=True)
    if known.returncode != 0:
        (pytest.fail if SKIPS_FAIL else pytest.skip)("no sources in git here")
    names = set(known.stdout.split())
    wrong = [f"{name}: {one}" for name in PAGES for one in sorted(set(re.findall(r"ZARRFS_[A-Z0-9_]+", text_of(name)))) if one not in names]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", PAGES)
def test_python_of_the_pages_is_python(name):
    for kind, lines in blocks_of(text_of(name)):
        if kind == "python":
            compile("\n".join(lines), name, "exec")
            for call in re.findall(r"zarrfs\.mount\(([^()]*(?:\([^()]*\)[^()]*)*)\)", "\n".join(lines)):
                for key in re.findall(r"(\w+)=", call):
                    assert key in mount_options() or key in OF_PYTHON, f"{name}: zarrfs.mount({call})"


def needs_more(lines):
    return re.search(r"pip install|HOST|BUCKET", "\n".join(lines))


def test_commands_of_the_first_page_run(tmp_path):
    """README.md's blocks, one after the other, from the top of the sources; without those that install packages or need a server."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        (pytest.fail if SKIPS_FAIL else pytest.skip)("/dev/fuse is missing or may not be opened: nothing can be mounted here")
    shell = console.Shell(str(tmp_path), DAEMON)
    shutil.copytree(os.path.join(console.ROOT, "examples"), os.path.join(shell.folder, "examples"))
    wrong, ran = [], 0
    for kind, lines in blocks_of(text_of("README.md")):
        if kind != "sh" or needs_more(lines):
            continue
        for line in lines:
            ran += 1
            seen = shell.run([line, 'status=$?; [ $status = 0 ] || echo "===status $status"'])
            if seen and seen[-1].startswith("===status"):
                wrong.append(f"{line}\n" + "\n".join(seen))
    left = shell.close()
    assert not wrong, "\n\n".join(wrong)
    assert not left, f"still mounted at the end: {left}"
    assert ran > 15


def anchors_of(path):
    """The anchors of a page's headings, as GitHub makes them."""
    with open(path) as page:
        text = re.sub(r"^```.*?^```$", "", page.read(), flags=re.M | re.S)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", text, flags=re.M)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES + ["core/log/SHARED.md", "examples/README.md"])
def test_links_lead_somewhere(name):
    """Also without the site, whose build looks at those of its pages (test_site.py)."""
    wrong = []
    for target in re.findall(r"(?<!\\)\]\(([^()\s]+)\)", re.sub(r"^```.*?^```$|`[^`\n]*`", "", text_of(name), flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(console.ROOT, os.path.dirname(name), file)) if file else os.path.join(console.ROOT, name)
        if not os.path.exists(path) or anchor and anchor not in anchors_of(path):
            wrong.append(f"{name}: {target}")
    assert not wrong, "\n".join(wrong)
