"""Completions for bash, zsh and fish, from what the program says of itself; values are offered where there is a choice."""
import re

VIEWS = ["v2", "v3"]


def flags(command):
    return list(dict.fromkeys(word for o in command["options"] if not o["positional"] for word in o["name"].split(",")))


def option_values(reference):
    """{mount option: the values to choose from}."""
    values = {o["name"]: o["argument"].split("|") for o in reference["mount_options"] if "|" in o["argument"]}
    values["profile"] = [profile["name"] for profile in reference["profiles"]]
    return values


def flag_values(reference):
    """{flag of a command: the values to choose from}; a flag means the same in all commands."""
    values = {"--profile": [profile["name"] for profile in reference["profiles"]], "--view": VIEWS}
    for command in reference["commands"]:
        for option in command["options"]:
            choice = re.search(r"\{(.+)\}", option["argument"])
            if choice:
                values[option["name"].split(",")[-1]] = choice.group(1).split(",")
    return values


def bash(reference):
    names = " ".join(c["name"] for c in reference["commands"])
    options = " ".join(o["name"] + ("=" if o["argument"] else "") for o in reference["mount_options"])
    cases = "\n".join(f"    {c['name']}) flags='{' '.join(flags(c))}' ;;" for c in reference["commands"])
    of_options = "\n".join(f"      {name}) values='{' '.join(values)}' ;;" for name, values in option_values(reference).items())
    of_flags = "\n".join(f"    {name}) values='{' '.join(values)}' ;;" for name, values in flag_values(reference).items())
    return f"""# bash completion of zarrfs
_zarrfs() {{
  # bash takes "=" for the end of a word: the words are taken from the line.
  local line=${{COMP_LINE:0:COMP_POINT}} flags='' values=''
  local word=${{line##* }} before=${{line% *}}
  before=${{before##* }}
  if [[ $before == -o && ${{COMP_WORDS[1]}} != @(show|map|refs) ]]; then
    local done='' last=${{word##*,}}
    [[ $word == *,* ]] && done=${{word%,*}},
    if [[ $last == *=* ]]; then
      case ${{last%%=*}} in
{of_options}
      esac
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "${{last#*=}}")
    else
      mapfile -t COMPREPLY < <(compgen -P "$done" -W '{options}' -- "$last")
      compopt -o nospace
    fi
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $before in
{of_flags}
  esac
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{names}' -- "$word"; compgen -d -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _zarrfs zarrfs
"""


def quoted(text):
    return text.replace("'", "'\\''")


def zsh_option(option, values):
    """An option as _values takes it: name[help]:message:(values)."""
    help_text = re.sub(r"([\[\]:\\])", r"\\\1", option["help"])
    text = f"{option['name']}[{help_text}]"
    if option["argument"]:
        choice = "(" + " ".join(values[option["name"]]) + ")" if option["name"] in values else ""
        text += f":{option['name']}:{choice}"
    return f"'{quoted(text)}'"


def zsh(reference):
    commands = "\n".join(f"    '{c['name']}:{quoted(c['summary']).replace(':', chr(92) + ':')}'" for c in reference["commands"])
    cases = "\n".join(f"    {c['name']}) compadd -- {' '.join(flags(c))}; _files ;;" for c in reference["commands"])
    values = option_values(reference)
    options = " \\\n      ".join(zsh_option(o, values) for o in reference["mount_options"])
    of_flags = "\n".join(f"    {name}) compadd -- {' '.join(choice)}; return ;;" for name, choice in flag_values(reference).items())
    return f"""#compdef zarrfs
# zsh completion of zarrfs
_zarrfs() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files -/
    return
  fi
  if [[ $words[CURRENT-1] == -o && $words[2] != (show|map|refs) ]]; then
    _values -s , 'mount option' \\
      {options}
    return
  fi
  case $words[CURRENT-1] in
{of_flags}
  esac
  case $words[2] in
{cases}
  esac
}}
_zarrfs "$@"
"""


def fish(reference):
    out = ["# fish completion of zarrfs"]
    choices = flag_values(reference)
    for command in reference["commands"]:
        out.append(f"complete -c zarrfs -n __fish_use_subcommand -a {command['name']} -d '{quoted(command['summary'])}'")
        for option in command["options"]:
            if option["positional"]:
                continue
            names = option["name"].split(",")
            words = "".join(f" -l {w[2:]}" if w.startswith("--") else f" -s {w[1:]}" for w in names)
            needs = " -r" if option["argument"] else ""
            if names[-1] in choices:
                needs = f" -x -a '{' '.join(choices[names[-1]])}'"
            if names[-1] == "--options":
                needs = f" -x -a '(__fish_append , {' '.join(fish_options(reference))})'"
            out.append(f"complete -c zarrfs -n '__fish_seen_subcommand_from {command['name']}'{words}{needs} -d '{quoted(option['help'])}'")
    return "\n".join(out) + "\n"


def fish_options(reference):
    """Mount options, each with each of its values."""
    values = option_values(reference)
    for option in reference["mount_options"]:
        name = option["name"]
        if not option["argument"]:
            yield name
        for value in values.get(name, [""] if option["argument"] else []):
            yield f"{name}={value}"
