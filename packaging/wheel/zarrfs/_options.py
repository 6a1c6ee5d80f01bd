"""Values of Python, numpy's among them, as the program takes them."""
from __future__ import annotations

import operator
import os
from typing import Any, Literal, Mapping, Sequence, SupportsFloat, SupportsIndex, Union

PathLike = Union[str, "os.PathLike[str]"]
Option = Union[None, bool, SupportsIndex, SupportsFloat, PathLike, Sequence[SupportsIndex]]


def text_of(value: Any) -> Union[None, Literal[True], str]:
    """The text of a path, a number, or several numbers; True of an option that is only named, None of one that is left out."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # numpy's True is not Python's
    if value is None or value is False:
        return None
    if value is True:
        return True
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if hasattr(value, "__len__"):
        return "x".join(str(operator.index(length)) for length in value)
    if isinstance(value, SupportsIndex):
        return str(operator.index(value))
    return repr(float(value))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,")


def option_list(options: Mapping[str, Option]) -> str:
    """`options` as `-o` takes them: {"ro": True, "rechunk": (1, 64)} is "ro,rechunk=1x64"."""
    items = []
    for name, value in options.items():
        text = text_of(value)
        if text is not None:
            items.append(name if text is True else f"{name}={_escaped(text)}")
    return ",".join(items)


def place(store: PathLike) -> str:
    """A store as processes with other working directories name it, too."""
    name = os.fsdecode(store)
    return name if "://" in name or name.startswith(("file:", "icechunk:")) else os.path.abspath(name)
