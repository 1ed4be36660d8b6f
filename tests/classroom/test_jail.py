"""What a jailed process can do: compute. Every test runs something that tries to do more."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from classroom.jail import Limits, NoJail, Process

from classroom import frames, jail, seccomp

LIMITS = Limits(seconds=5, patience=60, memory=2**30, disk=2**24, file=2**22)


@pytest.fixture(scope="module")
def process(jailed) -> Iterator[Process]:
    with jailed(LIMITS) as process:
        yield process


def said(process: Process, source: str) -> tuple[str, str]:
    """The outcome of a cell and its text."""
    report = json.loads(process.ask({"cell": 1, "source": source}, [], LIMITS.patience)[-1])
    return report["outcome"], report["text"]


def test_it_computes(process: Process) -> None:
    assert said(process, "import numpy as np\ndef double(x, times):\n    return x * times\n2 + 2") == (
        "done",
        "4\n",
    )
    answer = process.ask({"call": "double", "arguments": 2}, [np.arange(3.0), np.asarray(2)], 60)
    assert np.array_equal(answer[-1], [0, 2, 4])


def test_it_is_nobody_with_an_empty_home(process: Process) -> None:
    assert said(process, "import os\n(os.getuid() == 0, os.listdir('/home'), sorted(os.listdir('.')))") == (
        "done",
        "(False, ['student'], ['matplotlib'])\n",
    )


def test_it_sees_no_file_of_ours(process: Process, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("marks")
    for path in (secret, Path(__file__), Path.home() / ".bashrc", Path("/etc/passwd")):
        assert said(process, f"open({str(path)!r})")[1].startswith("FileNotFoundError")


@pytest.mark.parametrize("folder", ["/", "/usr", "/dev/shm", "/proc", "/tmp", os.path.dirname(json.__file__)])
def test_it_writes_nowhere_but_at_home(process: Process, folder: str) -> None:
    outcome, text = said(process, f"open('{folder}/x', 'w')")
    assert outcome == "error", text
    assert said(process, "open('x', 'w').write('mine')") == ("done", "4\n")


@pytest.mark.parametrize("user", [0, 1000])
def test_a_user_s_jail_is_as_tight(user: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: user)
    words = " ".join(jail.command(LIMITS, 9))
    for space in ("ipc", "pid", "net", "uts", *(["user"] if user else [])):
        assert f"--unshare-{space}" in words
    rules = ["--cap-drop ALL", "--clearenv", "--remount-ro /dev", "--remount-ro / ", "--seccomp 9"]
    for rule in [*rules, "--new-session", "--die-with-parent"]:
        assert rule in words
    assert ("CAP_SETUID" in words) == (user == 0)


def test_it_deletes_nothing(process: Process) -> None:
    said(process, f"import shutil\nshutil.rmtree({os.path.dirname(np.__file__)!r}, ignore_errors=True)")
    assert os.path.exists(np.__file__)


def test_its_home_and_its_files_are_small(process: Process) -> None:
    assert "File too large" in said(process, "open('large', 'wb').write(bytes(2**23))")[1]
    fill = "for i in range(9):\n    open(f'f{i}', 'wb').write(bytes(2**21))"
    assert "No space left" in said(process, fill)[1]


def test_no_network(process: Process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        call = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        assert said(process, call)[1].startswith("ConnectionRefusedError")


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.fork()",
        "import subprocess\nsubprocess.run('true')",
        "import threading\nthreading.Thread(target=print).start()",
    ],
)
def test_no_further_process(process: Process, source: str) -> None:
    assert said(process, source)[0] == "error"


def test_calls_that_would_get_around_the_limits_are_refused(process: Process) -> None:
    calls = "libc.unshare(0x10000000), libc.shmget(0, 4096, 0o1600), libc.memfd_create(b'm', 0)"
    source = f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n{calls}, ctypes.get_errno()"
    assert said(process, source) == ("done", "(-1, -1, -1, 1)\n")


def test_a_machine_without_a_filter_is_refused() -> None:
    with pytest.raises(seccomp.UnknownMachine, match="no filter of system calls for vax"):
        seccomp.program("vax")
    assert len(seccomp.program("x86_64")) == len(seccomp.program("aarch64")) == 8 * 17


def test_memory_ends(process: Process) -> None:
    assert said(process, "import numpy as np\nnp.ones(2**40)")[0] == "out of memory"
    assert said(process, "much = []\nwhile True:\n    much.append(bytearray(2**26))")[0] == "out of memory"
    assert said(process, "del much\n1") == ("done", "1\n")


def test_processor_time_ends_and_the_process_goes_on(process: Process) -> None:
    assert said(process, "while True: pass")[0] == "timed out"
    assert said(process, "1") == ("done", "1\n")


def test_a_request_may_have_less_time_than_the_limits_give(process: Process) -> None:
    source = "import time\nuntil = time.process_time() + 2\nwhile time.process_time() < until: pass"
    outcomes = []
    for less in ({}, {"seconds": 0.5}):
        answer = process.ask({"cell": 1, "source": source} | less, [], LIMITS.patience)
        outcomes.append(json.loads(answer[-1])["outcome"])
    assert outcomes == ["done", "timed out"]


def test_what_no_exception_stops_is_killed(jailed) -> None:
    stubborn = "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nwhile True: pass"
    with jailed(Limits(seconds=1, patience=4)) as process:
        with pytest.raises(frames.TooLate):
            process.ask({"cell": 1, "source": stubborn}, [], 4)
        process.close()
        assert process.process.returncode is not None


def test_nothing_is_left_of_a_process_that_is_closed(jailed) -> None:
    process = jailed(LIMITS)
    processes = children(process.process.pid)
    assert processes
    process.close()
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in processes) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes)


def children(pid: int) -> list[int]:
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [below for child in found for below in children(child)]


def test_what_is_no_frame_is_refused() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pickled = np.asarray([{}], dtype=object)
        with pytest.raises(frames.Malformed, match="only numbers cross"):
            frames.packed(pickled)
        for data in (
            b"A" + (9).to_bytes(8, "big") + b"no array!",
            b"T" + (2**40).to_bytes(8, "big"),
            b"Z" + bytes(8),
        ):
            theirs.sendall(data)
            with pytest.raises(frames.Malformed):
                frames.receive(ours, 5)


def test_a_pickle_is_no_array(tmp_path: Path) -> None:
    np.save(tmp_path / "evil.npy", np.asarray([{}], dtype=object), allow_pickle=True)
    with pytest.raises(frames.Malformed):
        frames.unpacked(b"A", (tmp_path / "evil.npy").read_bytes())


def test_without_bubblewrap_there_is_no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoJail, match="is not installed"):
        jail.jailed(LIMITS)
