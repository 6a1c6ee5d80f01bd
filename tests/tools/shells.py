"""What shells offer behind a line, with the completions of packaging/completions."""
import os
import pty
import subprocess

from conftest import ROOT

COMPLETIONS = os.path.join(ROOT, "packaging", "completions")
EMPTY = "/proc/self/fdinfo"  # a directory without names that a line of the tests begins with


def bash(line, _folder):
    """bash takes words apart at "=", too."""
    words = " ".join(f"'{word}'" for word in line.replace("=", " = ").split(" ") if word) + (" ''" if line[-1] in " =" else "")
    script = f"""
source {COMPLETIONS}/zarrfs.bash
compopt() {{ :; }}
COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_zarrfs
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=EMPTY).stdout.split()


def fish(line, folder):
    script = f"source {COMPLETIONS}/zarrfs.fish; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True, cwd=EMPTY,
                          env={**os.environ, "HOME": str(folder)})
    assert not done.stderr, done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


ZSHRC = r"""
fpath=(%s $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
  local -a asked found
  asked=("${(@)argv[1,(i)(-|--)]}")
  if (( ${asked[(I)-*[OAD]*]} == 0 )); then
    builtin compadd -A found "$@"
    print -rl -- "${(@)found}" >>$ZDOTDIR/offered
  fi
  builtin compadd "$@"
}
offer() { zle list-choices; exit }
zle -N offer
bindkey '^X' offer
"""


def zsh(line, folder):
    """zsh completes in a terminal only: it gets one, with a key that writes down what is offered and ends it."""
    (folder / ".zshrc").write_text(ZSHRC % COMPLETIONS)
    (folder / "offered").write_text("")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(EMPTY)
        os.execvpe("zsh", ["zsh", "-i"], {**os.environ, "ZDOTDIR": str(folder), "HOME": str(folder), "TERM": "dumb"})
    try:
        os.write(terminal, line.encode() + b"\x18")
        while os.read(terminal, 4096):
            pass
    except OSError:  # Linux's way to say that nobody has the terminal open any more
        pass
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return (folder / "offered").read_text().split()
