#!/usr/bin/env python3
"""Makes docs/reference.md, the man pages and the completions from what the program says of itself (`zarrfs --help-json`).

    packaging/reference/make.py build/release/zarrfs            writes them
    packaging/reference/make.py build/release/zarrfs --check    fails where a written file differs
"""
import json
import pathlib
import subprocess
import sys

from completions import bash, fish, zsh

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXIT_STATUSES = [
    (0, "success"), (1, "damage or a difference was found, or something was left out or left as it is"), (2, "wrong usage"), (3, "the work could not be done, or was interrupted"),
    (4, "`umount`: unmounted, but the daemon has not ended in time"), (5, "`diff`: values are equal, and what is missing differs")]


def spelled(option):
    """An option as a user types it: "--json", "-j,--threads N", "SOURCE"."""
    names = option["name"]
    return names if option["positional"] or not option["argument"] else f"{names} {option['argument']}"


def shown_default(option):
    return f" (default: {option['default']})" if option.get("default") else ""


def usage(command):
    words = ["zarrfs", command["name"]]
    for option in command["options"]:
        if option["positional"]:
            words.append(option["name"] if option["required"] else f"[{option['name']}]")
    if any(not option["positional"] for option in command["options"]):
        words.append("[OPTIONS]")
    return " ".join(words)


def groups(options):
    """Mount options by group, in the order of the table."""
    found = {}
    for option in options:
        found.setdefault(option["group"], []).append(option)
    return found


def mount_spelling(option):
    return option["name"] + (f"={option['argument']}" if option["argument"] else "")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def markdown(reference):
    out = ["# Reference", "", "Made by `packaging/reference/make.py` from the program itself.", "", "## Commands", ""]
    for command in reference["commands"]:
        out += [f"### {command['name']}", "", command["summary"] + ".", "", f"    {usage(command)}", ""]
        rows = [option for option in command["options"] if option["name"] not in ("-h,--help",)]
        if rows:
            out += ["| argument | what |", "| --- | --- |"]
            out += [f"| `{cell(spelled(o))}` | {cell(o['help'])}{cell(shown_default(o))} |" for o in rows]
            out.append("")
    out += ["## Exit status", "", "| status | meaning |", "| --- | --- |", *(f"| {status} | {meaning} |" for status, meaning in EXIT_STATUSES), "", "## Mount options", "",
            "Each is written `-o name` or `-o name=value`, several separated by commas.", ""]
    for group, options in groups(reference["mount_options"]).items():
        out += [f"### {group}", "", "| option | default | what |", "| --- | --- | --- |"]
        out += [f"| `{cell(mount_spelling(o))}` | {cell(o['default'])} | {cell(o['help'])} |" for o in options]
        out.append("")
    out += ["## Profiles", "", "| profile | for |", "| --- | --- |"]
    out += [f"| `{p['name']}` | {cell(p['summary'])} |" for p in reference["profiles"]]
    out += ["", "## Metrics", "", "`zarrfs stats --prometheus` prints these for each mount (label `mount`). A mount has those that concern it. The second",
            "column has their names in `.zarrfs/stats.json`.", "", "| metric | in stats.json | type | what |", "| --- | --- | --- | --- |"]
    out += [f"| `{m['name']}` | `{m['member']}` | {m['type']} | {cell(m['help'])}{', by `' + m['by'] + '`' if m['by'] else ''} |" for m in reference["metrics"]]
    return "\n".join(out) + "\n"


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def page(name, section, title, summary, body, version):
    return "\n".join([f'.TH {name.upper()} {section} "" "zarrfs {version}" "{title}"', ".SH NAME",
                      f"{troff(name)} \\- {troff(summary)}"] + body) + "\n"


def items(pairs):
    out = []
    for term, text in pairs:
        out += [".TP", f"\\fB{troff(term)}\\fR", troff(text)]
    return out


STATUS = [".SH EXIT STATUS", "0 good, 1 damage or a difference was found, or something was left out or left as it is, 2 wrong usage, 3 could not, 4 (of umount) unmounted, but the daemon has not ended in time, or (of diff) values are equal and what is missing differs."]


def mount_items(reference):
    out = [".SH MOUNT OPTIONS"]
    for group, options in groups(reference["mount_options"]).items():
        out += [f".SS {troff(group)}"] + items((mount_spelling(o), o["help"] + shown_default(o)) for o in options)
    return out


def man_pages(reference):
    version, pages = reference["version"], {}
    names = [command["name"] for command in reference["commands"]]
    see = [".SH SEE ALSO", ", ".join(f"\\fBzarrfs\\-{troff(n)}\\fR(1)" for n in names) + ", \\fBmount.zarrfs\\fR(8)"]
    body = [".SH SYNOPSIS", "\\fBzarrfs\\fR COMMAND ...", ".br", "\\fBzarrfs\\fR SOURCE MOUNTPOINT [\\-o OPTIONS]", ".SH DESCRIPTION",
            troff(reference["summary"] + "."), ".SH COMMANDS"]
    body += items((command["name"], command["summary"]) for command in reference["commands"])
    pages["zarrfs.1"] = page("zarrfs", 1, "User Commands", "shows sharded Zarr stores as one file per chunk", body + STATUS + see, version)
    for command in reference["commands"]:
        body = [".SH SYNOPSIS", f"\\fB{troff(usage(command))}\\fR", ".SH DESCRIPTION", troff(command["summary"] + "."), ".SH ARGUMENTS"]
        body += items((spelled(o), o["help"] + shown_default(o)) for o in command["options"])
        if command["name"] == "mount":
            body += mount_items(reference)
        pages[f"zarrfs-{command['name']}.1"] = page(f"zarrfs-{command['name']}", 1, "User Commands", command["summary"],
                                                    body + STATUS + [".SH SEE ALSO", "\\fBzarrfs\\fR(1)"], version)
    body = [".SH SYNOPSIS", "\\fBmount \\-t zarrfs\\fR SOURCE MOUNTPOINT [\\-o OPTIONS]", ".SH DESCRIPTION",
            "Called by mount(8) and for lines of fstab(5) whose type is zarrfs."] + mount_items(reference)
    body += [".SH EXIT STATUS", "As mount(8): 0 good, 1 wrong usage, 2 system error, 32 the mount failed.", ".SH SEE ALSO",
             "\\fBzarrfs\\fR(1), \\fBmount\\fR(8)"]
    pages["mount.zarrfs.8"] = page("mount.zarrfs", 8, "System Administration", "mounts a sharded Zarr store", body, version)
    return pages


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    reference = json.loads(subprocess.run([program, "--help-json"], check=True, capture_output=True, text=True).stdout)
    # Old spellings are in the reference alone.
    today = {**reference, "mount_options": [option for option in reference["mount_options"] if not option["instead"]]}
    files = {"docs/reference.md": markdown(reference), "packaging/completions/zarrfs.bash": bash(today),
             "packaging/completions/_zarrfs": zsh(today), "packaging/completions/zarrfs.fish": fish(today)}
    files.update({f"packaging/man/{name}": text for name, text in man_pages(today).items()})
    wrong = []
    for name, text in files.items():
        path = ROOT / name
        if check and (not path.exists() or path.read_text() != text):
            wrong.append(name)
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    known = {f"packaging/man/{name}" for name in man_pages(reference)}
    wrong += [f"{p.relative_to(ROOT)} (no such command)" for p in sorted((ROOT / "packaging/man").glob("*"))
              if str(p.relative_to(ROOT)) not in known]
    if wrong:
        sys.exit(f"not as `{program} --help-json` says; run packaging/reference/make.py {program}:\n  " + "\n  ".join(wrong))
    print(f"reference: {len(files)} files, {len(reference['commands'])} commands, {len(reference['mount_options'])} mount options")


if __name__ == "__main__":
    main()
