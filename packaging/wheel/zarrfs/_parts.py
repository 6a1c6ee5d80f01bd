"""Conversions and checks in parts: what one machine does alone, or the workers of any engine together."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import operator
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, SupportsIndex, Tuple, Union

from ._options import PathLike, place, text_of
from ._program import Error, program, run_json

Lengths = Union[None, SupportsIndex, str, Sequence[SupportsIndex]]

_PART_BYTES = 16 << 30  # decoded: some 30 to 60 s for one process
_LEAST_PARTS = 16  # so that the bar moves, and a part that is lost is little
_PDEATHSIG = 1
_CONVERSIONS = ("shard", "unshard", "reshard")
_LOOKED = {"verify": (0, 1), "diff": (0, 1, 5)}  # exit statuses of a check that could look at everything
_libc = ctypes.CDLL(None, use_errno=True)


class Cancelled(Error):
    """It was ended before it was done. The same call goes on where it was."""


@dataclasses.dataclass(frozen=True)
class Task:
    """One part of a work: arguments of the program. Picklable."""
    words: Tuple[str, ...]
    part: int
    parts: int
    has_result: bool = False  #: Of verify and diff: what was found is in a file.

    @property
    def name(self) -> str:
        return f"zarrfs-{self.words[0]}-{self.part}-of-{self.parts}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """A work that is begun: its `tasks`, and how it ends."""
    tasks: Tuple[Task, ...]
    words: Tuple[str, ...]
    converted: bool = True  #: False where something does not get the form asked for.

    def status(self) -> Dict[str, Any]:
        """How far it is: `zarrfs shard --status --json`."""
        return run_json(*self.words, "--status", "--json")

    def finish(self, check: bool = False) -> bool:
        """Makes the target a store. Raises Error, naming the parts, where something is missing."""
        status, told, said = _call([*self.words, "--finish", *(["--check"] if check else [])])
        if status == 0:
            return True
        if status == 1 and "not everything got the form" in said:
            return False
        raise Error("\n".join([said.removeprefix("zarrfs: "), *_missing(told)]), status)


def _missing(told: str) -> List[str]:
    return [line for line in told.splitlines() if "is not complete" in line or line == "no part was made"]


def _die_with_parent() -> None:
    _libc.prctl(_PDEATHSIG, signal.SIGTERM)


def _call(words: Sequence[str], stop: Optional[Callable[[], bool]] = None) -> Tuple[int, str, str]:
    """Status, output and errors of the program. It ends at a safe point where `stop` says so, and with this process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=_die_with_parent) as process:
            try:
                while process.poll() is None:
                    if stop is not None and stop():
                        raise Cancelled(f"zarrfs {words[0]} was cancelled", 130)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=0.5 if stop else None)
            except BaseException:
                process.terminate()
                process.wait()
                raise
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "surrogateescape").strip())
        return process.returncode, texts[0], texts[1]


def run(task: Task, stop: Optional[Callable[[], bool]] = None) -> Dict[str, Any]:
    """Does one part, on this machine. Raises Error where that fails: doing it again goes on.

    `stop`: asked twice a second; the part ends where it says True, and Cancelled is raised.
    """
    words, result = list(task.words), None
    with contextlib.ExitStack() as stack:
        if task.has_result:
            result = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="zarrfs-")), "result.json")
            words += ["--result", result]
        status, told, said = _call([*words, "--part", f"{task.part}/{task.parts}"], stop)
        if status not in _LOOKED.get(words[0], (0,)):
            raise Error(said.removeprefix("zarrfs: ") or f"zarrfs {words[0]} ended with status {status}", status)
        if result is None:
            return {"part": task.part, "parts": task.parts, "said": told}
        with open(result, encoding="utf-8") as text:
            found: Dict[str, Any] = json.load(text)
            return found


def _words(command: str, stores: Sequence[PathLike], options: Dict[str, Any]) -> Tuple[str, ...]:
    """The command line, for whatever working directory a worker has."""
    words = [command, *map(place, stores)]
    for name, value in options.items():
        text = text_of(value)
        if text is not None:
            option = "--" + name.replace("_", "-")
            words += [option] if text is True else [option, text]
    return tuple(words)


def _count(name: str, value: Any, least: int) -> int:
    """`value`, which may be numpy's, as a whole number."""
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name}={number}: it is {least} or more")
    return number


def plan(command: str, source: PathLike, target: PathLike, *, parts: Optional[int] = None, **options: Any) -> Plan:
    """Begins `command` ("shard", "unshard" or "reshard") of `source` to `target`, and gives its tasks.

    Each is done by `run(task)`, on any machine that has this package and sees source and target under the same names, in any
    order, as often as needed; then `plan.finish()` on one of them. `parts`: how many tasks; by size where it is not given.
    `options` are those of the command: `shard_shape=(64, 64, 64)`, `shard_bytes="1GiB"`, `format="v2"`, `remote=...`.
    """
    if command not in _CONVERSIONS:
        raise ValueError(f"{command!r} is none of {', '.join(_CONVERSIONS)}: it has no plan")
    parts = None if parts is None else _count("parts", parts, 1)
    words = _words(command, (source, target), options)
    status, _, said = _call([*words, "--begin"])
    if status not in (0, 1):
        raise Error(said.removeprefix("zarrfs: "), status)
    now = run_json(*words, "--status", "--json")
    if parts is None:
        parts = now["parts"]
    if parts is None:
        most = max(1, int(now["pieces"]))
        parts = min(most, max(1, -(-int(now["decoded_bytes"]) // _PART_BYTES), min(_LEAST_PARTS, most)))
    if parts != now["parts"]:
        begun, _, said = _call([*words, "--begin", "--parts", str(parts)])
        if begun not in (0, 1):
            raise Error(said.removeprefix("zarrfs: "), begun)
    return Plan(tuple(Task(words, part, parts) for part in range(1, parts + 1)), words, status == 0)


class _Bar:
    """One line on a terminal; nothing elsewhere. Drawn when a part is done, at most every two seconds; then `status` is asked."""

    def __init__(self, name: str, shown: Optional[bool], status: Optional[Callable[[], Dict[str, Any]]] = None) -> None:
        self.name, self.status, self.next = name, status, 0.0
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.begin = time.monotonic()

    def draw(self, done: int, total: int, last: bool = False) -> None:
        now = time.monotonic()
        if not self.shown or (now < self.next and not last):
            return
        self.next = now + 2
        text = f"{done} of {total} parts"
        if self.status is not None:
            with contextlib.suppress(Error):
                at = self.status()
                rate = at["bytes"] / max(now - self.begin, 0.001)
                text += f", {at['done']} of {at['pieces']} pieces, {at['bytes'] / 2**30:.2f} GiB, {rate / 2**20:.0f} MiB/s"
        sys.stderr.write(f"\r{self.name}: {text}\x1b[K" + ("\n" if last else ""))
        sys.stderr.flush()


def _on_worker(task: Task, stop_name: str) -> Dict[str, Any]:
    """`run` on a worker of dask, which ends soon after the client has given up."""
    from distributed import Event, get_client
    client = get_client()
    stopped = threading.Event()

    def watch() -> None:
        with contextlib.suppress(Exception):  # the scheduler is gone: so will this worker be
            while not stopped.is_set():
                if Event(stop_name, client=client).wait(timeout=2):
                    stopped.set()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        return run(task, stopped.is_set)
    finally:
        stopped.set()


def _all_with(client: Any, tasks: Sequence[Task], retries: int, bar: _Bar) -> Iterator[Dict[str, Any]]:
    from distributed import Event, as_completed
    stop = Event(f"zarrfs-stop-{os.urandom(8).hex()}", client=client)
    futures = client.map(_on_worker, tasks, stop_name=stop.name, retries=retries, pure=False,
                         key=[f"{task.name}-{os.urandom(4).hex()}" for task in tasks])
    done = 0
    try:
        for future in as_completed(futures):
            yield future.result()
            done += 1
            bar.draw(done, len(tasks), last=done == len(tasks))
    except BaseException:  # also Ctrl-C
        with contextlib.suppress(Exception):
            stop.set()
            client.cancel(futures)
        raise


def _all_here(tasks: Sequence[Task], retries: int, bar: _Bar) -> Iterator[Dict[str, Any]]:
    for done, task in enumerate(tasks):
        for attempt in range(retries + 1):
            try:
                found = run(task)
                break
            except Cancelled:
                raise
            except Error:
                if attempt == retries:
                    raise
        yield found
        bar.draw(done + 1, len(tasks), last=done + 1 == len(tasks))


def check_client(client: Any) -> None:
    """Raises ValueError if its answers have to be awaited: waiting for them here would stop the loop that brings them."""
    if getattr(client, "asynchronous", False):
        raise ValueError("client is asynchronous: give a dask.distributed.Client that is not, or use zarrfs.plan and zarrfs.run")


def _all(tasks: Sequence[Task], client: Any, retries: int, bar: _Bar) -> List[Dict[str, Any]]:
    return list(_all_with(client, tasks, retries, bar) if client is not None else _all_here(tasks, retries, bar))


def _convert(command: str, source: PathLike, target: PathLike, client: Any, retries: int, parts: Optional[int], check: bool,
             progress: Optional[bool], options: Dict[str, Any]) -> bool:
    check_client(client)
    retries = _count("retries", retries, 0)
    made = plan(command, source, target, parts=parts, **options)
    _all(made.tasks, client, retries, _Bar(f"zarrfs {command}", progress, made.status))
    return made.finish(check)


def shard(source: PathLike, target: PathLike, *, client: Any = None, retries: int = 3, parts: Optional[int] = None, check: bool = False,
          progress: Optional[bool] = None, shard_shape: Lengths = None, shard_chunks: Lengths = None,
          shard_bytes: Union[None, int, str] = None, **options: Any) -> bool:
    """Gathers the chunks of plain arrays in shards: `zarrfs shard`.

    `client`: of dask.distributed, whose workers do the parts; without one they are done here. What was interrupted goes on
    where it was when the call is made again. `check`: compare all bytes in the end (here, in one process). True where
    everything got the form asked for. Other `options` are those of the command: `remote="endpoint=..."`, `threads=4`.
    """
    return _convert("shard", source, target, client, retries, parts, check, progress,
                    {"shard_shape": shard_shape, "shard_chunks": shard_chunks, "shard_bytes": shard_bytes, **options})


def reshard(source: PathLike, target: PathLike, *, client: Any = None, retries: int = 3, parts: Optional[int] = None, check: bool = False,
            progress: Optional[bool] = None, shard_shape: Lengths = None, shard_chunks: Lengths = None,
            shard_bytes: Union[None, int, str] = None, **options: Any) -> bool:
    """Gives sharded arrays another shard shape: `zarrfs reshard`. As `shard`."""
    return _convert("reshard", source, target, client, retries, parts, check, progress,
                    {"shard_shape": shard_shape, "shard_chunks": shard_chunks, "shard_bytes": shard_bytes, **options})


def unshard(source: PathLike, target: PathLike, *, client: Any = None, retries: int = 3, parts: Optional[int] = None, check: bool = False,
            progress: Optional[bool] = None, **options: Any) -> bool:
    """Makes each chunk of sharded arrays a file: `zarrfs unshard`, with `format="v2"` as Zarr v2. As `shard`."""
    return _convert("unshard", source, target, client, retries, parts, check, progress, options)


def _check(command: str, stores: Sequence[PathLike], client: Any, retries: int, parts: Optional[int], progress: Optional[bool],
           options: Dict[str, Any]) -> Dict[str, Any]:
    """What all parts of a check have found, added up."""
    check_client(client)
    retries = _count("retries", retries, 0)
    words = _words(command, stores, options)
    if parts is None:
        parts = 16 if client is not None else 1
    parts = _count("parts", parts, 1)
    tasks = [Task(words, part, parts, has_result=True) for part in range(1, parts + 1)]
    found = _all(tasks, client, retries, _Bar(f"zarrfs {command}", progress))
    with tempfile.TemporaryDirectory(prefix="zarrfs-") as folder:
        files = []
        for result in found:
            files.append(os.path.join(folder, f"{result['part']}.json"))
            with open(files[-1], "w", encoding="utf-8") as text:
                json.dump(result, text)
        status, told, said = _call([command, "--json", "--sum", *files])
    if status not in _LOOKED[command]:
        raise Error(said.removeprefix("zarrfs: "), status)
    summed: Dict[str, Any] = json.loads(told)
    return summed


def verify(store: PathLike, *, client: Any = None, retries: int = 3, parts: Optional[int] = None, decode: bool = False,
           progress: Optional[bool] = None, remote: Optional[str] = None) -> Dict[str, Any]:
    """Looks for damage in every shard, and with `decode` in every chunk: what `zarrfs verify --json` tells."""
    return _check("verify", [store], client, retries, parts, progress, {"decode": decode, "remote": remote})


def diff(one: PathLike, other: PathLike, *, client: Any = None, retries: int = 3, parts: Optional[int] = None,
         progress: Optional[bool] = None, **options: Any) -> Dict[str, Any]:
    """Compares the values of two stores: what `zarrfs diff --json` tells. `options` are those of the command: `attributes=True`."""
    return _check("diff", [one, other], client, retries, parts, progress, options)
