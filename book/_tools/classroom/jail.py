"""A process that can compute and nothing else: no network, no files but Python's own, bounded memory and
time.

Linux only, by bubblewrap (`bwrap`). The process sees the system's libraries, this environment's Python and
the package, all read-only, and an empty home in memory; not the course, the submissions, or a teacher's
files. It runs as a user without rights, may start no further process, and dies with the marker.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.font_manager import FontManager

import aggbandit
from classroom import frames, seccomp

HERE = Path(__file__).resolve().parent
PACKAGE = Path(aggbandit.__file__).resolve().parent
HOME = "/home/student"
SYSTEM = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf"]
ENVIRONMENT = {
    "HOME": HOME,
    "TMPDIR": HOME,
    "MPLCONFIGDIR": f"{HOME}/matplotlib",
    "MPLBACKEND": "Agg",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "SOURCE_DATE_EPOCH": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
START = 60.0  # seconds until a process must be ready
PICTURES = 8  # figures of one cell


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Attributes:
        seconds: of a processor, for one cell or one call.
        later: the same, once a cell or a call of the notebook has used it up: what loops is called again.
        patience: seconds by the clock for one cell or one call, after which the process is killed.
        whole: seconds by the clock for all of a submission.
        memory: bytes of address space.
        disk: bytes of its home.
        file: bytes of one file.
        nobody: the number of the user it becomes where the marker is the superuser.
    """

    seconds: float = 60.0  # a first call may have to compile the engine: some twelve of them
    later: float = 20.0
    patience: float = 180.0
    whole: float = 1800.0
    memory: int = 2 * 2**30
    disk: int = 2**28
    file: int = 2**26
    nobody: int | None = 65534

    @property
    def shorter(self) -> Limits:
        """What a notebook may use that has used up the time of a cell or a call."""
        seconds = min(self.seconds, self.later)
        return replace(self, seconds=seconds, patience=self.patience * seconds / self.seconds)


class NoJail(Exception):
    """There is no way here to run a submission that can do no harm."""


def command(limits: Limits, filter_of_calls: int) -> list[str]:
    """What runs the worker in the jail; the filter of system calls is read from an open file."""
    root = os.getuid() == 0
    spaces = ["ipc", "pid", "net", "uts"] if root else ["user", "ipc", "pid", "net", "uts"]
    rights = ["--cap-drop", "ALL", *(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else [])]
    return [
        "bwrap",
        *(f"--unshare-{space}" for space in spaces),
        *rights,
        *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "jail"),
        *(word for name, value in environment().items() for word in ("--setenv", name, value)),
        *(word for path in visible() for word in shown(path)),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(limits.disk), "--tmpfs", HOME),
        *("--perms", "1777", "--dir", ENVIRONMENT["MPLCONFIGDIR"], *fonts()),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME),
        *("--seccomp", str(filter_of_calls)),
        *worker(limits),
    ]


def shown(path: Path) -> Iterator[str]:
    """A path bound where it is; the folders above it can be passed through by whoever the worker becomes."""
    for folder in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(folder))
    yield from ("--ro-bind", str(path), str(path))


def fonts() -> list[str]:
    """The list of fonts that matplotlib keeps, where there is one: to make it anew takes seconds."""
    kept = Path(matplotlib.get_cachedir(), f"fontlist-v{FontManager.__version__}.json")
    return ["--ro-bind", str(kept), f"{ENVIRONMENT['MPLCONFIGDIR']}/{kept.name}"] if kept.exists() else []


def environment() -> dict[str, str]:
    """The variables a worker has, and no other."""
    return ENVIRONMENT | {"PYTHONPATH": str(PACKAGE.parent)}


def worker(limits: Limits) -> list[str]:
    """The worker itself, which sees of this folder two files only."""
    return [sys.executable, "-s", str(HERE / "worker.py"), json.dumps(asdict(limits))]


def visible() -> Iterator[Path]:
    """What a jailed process can read: the system, Python, the package, and the worker."""
    yield from (Path(path) for path in SYSTEM if Path(path).exists())
    interpreter = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1]}
    yield from sorted(path for path in interpreter if not path.is_relative_to("/usr"))
    yield PACKAGE
    yield from (HERE / "worker.py", HERE / "frames.py")


class Process:
    """A worker and the socket to it; end it by `close` or by leaving a `with` block.

    Args:
        command: what runs the worker.
        passed: open files that the command reads.

    Raises:
        NoJail: where it does not start.
    """

    def __init__(self, command: list[str], passed: Sequence[int] = ()) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment(),
                pass_fds=passed,
            )
        try:
            frames.receive(self.channel, START)
        except (frames.Closed, frames.TooLate, frames.Malformed) as error:
            self.process.kill()
            said = self.process.communicate()[1].decode("utf-8", "replace").strip()
            self.channel.close()
            raise NoJail(said.splitlines()[-1] if said else type(error).__name__) from error

    def ask(
        self, request: dict[str, object], arrays: Sequence[np.ndarray], patience: float
    ) -> list[frames.Frame]:
        """Send a request; what comes back, pictures first, then an array or a report.

        Raises:
            Closed: where the process has died.
            TooLate: where it does not answer within `patience` seconds.
            Malformed: where its answer cannot be read.
        """
        frames.send(self.channel, json.dumps(request), *arrays, seconds=patience)
        answer = [frames.receive(self.channel, patience)]
        while isinstance(answer[-1], bytes):
            if len(answer) > PICTURES:
                raise frames.Malformed("too many pictures")
            answer.append(frames.receive(self.channel, patience))
        return answer

    def close(self) -> None:
        """End the process, whatever it does, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.channel.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def jailed(limits: Limits) -> Process:
    """A worker in the jail.

    Raises:
        NoJail: where there is no bubblewrap, or the system does not let it work.
    """
    if shutil.which("bwrap") is None:
        raise NoJail("bubblewrap (the command bwrap) is not installed")
    try:
        filter_of_calls = seccomp.program()
    except seccomp.UnknownMachine as error:
        raise NoJail(str(error)) from error
    with tempfile.TemporaryFile() as file:
        file.write(filter_of_calls)
        file.seek(0)
        return Process(command(limits, file.fileno()), [file.fileno()])


def unsafe(limits: Limits) -> Process:
    """A worker outside of any jail, with the rights of whoever marks; for one's own notebooks."""
    return Process(worker(replace(limits, nobody=None)))
