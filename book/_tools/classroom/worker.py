"""The process in the jail: runs a submission's cells, and calls its functions for the marker outside.

Nothing here is trusted: what is marked can change this process as it likes. It then answers calls with
numbers of its own choosing, which the checks outside judge as they judge any numbers.

Requests on the socket that is standard input, each a text of JSON:
`{"cell": 3, "source": "..."}`, answered by a report;
`{"call": "occupancy", "arguments": 3}` and three arrays, answered by an array or a report;
`{"figures": true}`, answered by one picture for each open figure and a report.
A report is a text of JSON with an `outcome` and a `text`. A request may say how many `seconds` of a processor
it may take, fewer than the limits do.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import resource
import signal
import socket
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import frames
import numpy as np

SHOWN = 200  # characters of a message
PRINTED = 10_000  # characters of what a cell prints
FIGURES = 8  # pictures of one cell


class OutOfTime(BaseException):
    """The processor time of a cell or of a call is used up; not an Exception, or the submission would catch
    it."""


def main() -> None:
    limits = json.loads(sys.argv[1])
    channel = socket.socket(fileno=os.dup(0))
    confine(limits)
    silence()
    module = types.ModuleType("__main__")
    module.__dict__["display"] = print
    sys.modules["__main__"] = module
    frames.send(channel, report("ready"))
    while True:
        try:
            request = json.loads(frames.receive(channel))
        except frames.Closed:
            return
        answer(channel, request, module.__dict__, request.get("seconds", limits["seconds"]))


def confine(limits: dict[str, Any]) -> None:
    """Give up what is left of a superuser's rights, and the right to more memory, files and processes."""
    if os.getuid() == 0 and limits["nobody"] is not None:
        os.setgroups([])
        os.setresgid(*3 * (limits["nobody"],))
        os.setresuid(*3 * (limits["nobody"],))
    for what, most in {
        resource.RLIMIT_AS: limits["memory"],
        resource.RLIMIT_FSIZE: limits["file"],
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }.items():
        # Outside of a jail some systems do not know a limit: macOS none of memory.
        with contextlib.nullcontext() if limits["nobody"] else contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (int(most), int(most)))


def silence() -> None:
    """What is written to the standard streams goes nowhere, and nothing is read from them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGPROF, out_of_time)


def out_of_time(number: int, frame: types.FrameType | None) -> None:
    raise OutOfTime


def answer(channel: socket.socket, request: dict[str, Any], names: dict[str, Any], seconds: float) -> None:
    """Do what a request asks, and say what came of it."""
    if "cell" in request:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            said = attempt(lambda: run_cell(request["cell"], request["source"], names), seconds)
        frames.send(channel, said if isinstance(said, str) else report("done", printed.getvalue(), PRINTED))
    elif "call" in request:
        arguments = [frames.receive(channel) for _ in range(request["arguments"])]
        frames.send(channel, called(names, request["call"], arguments, seconds))
    else:
        pictures = attempt(open_figures, seconds)
        frames.send(channel, *(pictures if isinstance(pictures, list) else []), report("done"))


def run_cell(number: int, source: str, names: dict[str, Any]) -> None:
    """Run a cell, and print the value of its last line where it has one, as a notebook does."""
    place = f"<cell {number}>"
    tree = ast.parse(plain_python(source), place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), place, "eval"), names)
        if value is not None and not source.rstrip().endswith(";"):
            print(repr(value))


def plain_python(source: str) -> str:
    """A cell without the lines that only a notebook understands."""
    if source.lstrip().startswith("%%"):
        return ""
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines())


def called(names: dict[str, Any], function: str, arguments: list[np.ndarray], seconds: float) -> frames.Frame:
    """What a function of the submission returns: an array of numbers, or a report of why there is none."""
    if not callable(names.get(function)):
        return report("no function")
    values = [value.item() if value.ndim == 0 else value for value in arguments]
    result = attempt(lambda: (names[function](*values),), seconds)
    if isinstance(result, str):
        return result
    return as_numbers(result[0])


def as_numbers(result: object) -> frames.Frame:
    if result is None:
        return report("nothing")
    with contextlib.suppress(TypeError, ValueError, frames.Malformed):
        array = np.asarray(result)
        if array.dtype.kind in frames.NUMBERS and len(frames.packed(array)):
            return array
    return report("no numbers", type(result).__name__)


def attempt(do: Callable[[], Any], seconds: float) -> Any:
    """What a call returns, or a report of how it ended otherwise, after this much processor time at most."""
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            return do()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except OutOfTime:
        return report("timed out")
    except MemoryError:
        return report("out of memory")
    except NotImplementedError:
        return report("not answered")
    except BaseException as error:  # whatever a submission raises, SystemExit too, is something to report
        return report("error", f"{type(error).__name__}: {error}"[:SHOWN] + place(error))


def place(error: BaseException) -> str:
    """The cell and the line where an error was raised, the innermost in the notebook."""
    lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename.startswith("<cell ")]
    return f" (code {lines[-1].filename[1:-1]}, line {lines[-1].lineno})" if lines else ""


def report(outcome: str, text: str = "", most: int = 2 * SHOWN) -> str:
    return json.dumps({"outcome": outcome, "text": text[:most]})


def open_figures() -> list[bytes]:
    """The figures that the cell has drawn, as PNG; they are closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    pictures = []
    for number in pyplot.get_fignums()[:FIGURES]:
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, format="png", dpi=100, metadata={"Software": None})
        if len(file.getvalue()) <= frames.LARGEST[b"P"]:
            pictures.append(file.getvalue())
    pyplot.close("all")
    return pictures


if __name__ == "__main__":
    main()
