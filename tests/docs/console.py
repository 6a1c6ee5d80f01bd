"""Runs the ```console blocks of a document in one shell and compares what they print with what the document says.

A line "$ COMMAND" is run, lines "> MORE" continue it, what follows is its output, standard error included. A line "..."
stands for any lines. The shell begins in an empty folder that holds a copy of examples/brain.ome.zarr, with zarrfs and
Debian's own python3 in PATH.
"""
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
END = "===the end of a command==="


class Step:
    """One command of a document: its lines, and those of the output that the document gives."""

    def __init__(self, line, number):
        self.command, self.shown, self.number = [line], [], number

    def fits(self, lines):
        pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in self.shown)
        return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def read(path):
    """The document as a list of its lines and, in console blocks, steps."""
    parts, inside = [], False
    with open(path) as text:
        for number, line in enumerate(text.read().splitlines(), 1):
            if line.startswith("```"):
                inside = line == "```console"
                parts.append(line)
            elif inside and line.startswith("$ "):
                parts.append(Step(line[2:], number))
            elif inside and line.startswith("> ") and not parts[-1].shown:
                parts[-1].command.append(line[2:])
            elif inside:
                parts[-1].shown.append(line)
            else:
                parts.append(line)
    return parts


def text_of(parts):
    lines = []
    for part in parts:
        if isinstance(part, Step):
            lines += ["$ " + part.command[0]] + ["> " + more for more in part.command[1:]] + part.shown
        else:
            lines.append(part)
    return "\n".join(lines) + "\n"


class Shell:
    """A bash that runs one command after the other in a folder of its own."""

    def __init__(self, folder, program):
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(program, os.path.join(folder, "bin", "zarrfs"))
        self.folder = os.path.join(folder, "work")
        os.makedirs(self.folder)
        shutil.copytree(os.path.join(ROOT, "examples", "brain.ome.zarr"), os.path.join(self.folder, "brain.ome.zarr"))
        environment = {"PATH": os.path.join(folder, "bin") + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder, "LC_ALL": "C.UTF-8",
                       "TZ": "UTC", "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=self.folder, env=environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def run(self, command):
        self.bash.stdin.write("{ " + "\n".join(command) + f"\n}} </dev/null\nprintf '\\n%s\\n' '{END}'\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.rstrip("\n") == END:
                break
            lines.append(line.rstrip("\n"))
        if lines and not lines[-1]:  # the line break before END
            lines.pop()
        return lines

    def close(self):
        self.bash.stdin.close()
        self.bash.wait(timeout=60)
        with open("/proc/self/mountinfo") as table:
            left = [line.split()[4] for line in table if self.folder in line.split()[4]]
        for mountpoint in reversed(left):
            subprocess.run(["umount", "-l", mountpoint], check=False)
        return left
