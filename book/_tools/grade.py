"""Mark what was handed in: `make grade COURSE=../my-course SUBMISSIONS=…` (see classroom/grading.py)."""

from __future__ import annotations

import argparse
import os
import re
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from classroom.notebooks import BadNotebook

from classroom import course, grading, jail, roster

REFUSAL = """grade: submissions are not run here, since nothing would hold them: {reason}.
Marking wants Linux and bubblewrap: `apt-get install bubblewrap`, or `dnf install bubblewrap`. Elsewhere a
container does, for instance, from the top of this repository, with the course and submissions below /home/me:
    docker run --rm -it --cap-add SYS_ADMIN --cap-add NET_ADMIN \\
        --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\
        -v "$PWD":/book:ro -v /home/me:/home/me python:3.12 sh -c 'apt-get update &&
            apt-get install -y bubblewrap && cp -r /book /tmp/book && cd /tmp/book && rm -rf .venv &&
            make grade COURSE=/home/me/my-course SUBMISSIONS=/home/me/handed-in'
`--unsafe` runs them all the same, with your rights: they can read and delete what you can."""


MEMORY = Path("/proc/meminfo")
LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("course", type=Path, help="the folder that `make course` has made")
    parser.add_argument("submissions", type=Path, help="what was handed in")
    parser.add_argument(
        "--again", nargs="*", default=[], metavar="STUDENT", help="mark these again, or `all`"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="mark so many side by side; as many as there are processors, and memory for, if not given",
    )
    parser.add_argument("--unsafe", action="store_true", help="run submissions with your own rights")
    arguments = parser.parse_args()
    if arguments.jobs is not None and arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; at least one marks")
    limits = jail.Limits()
    jobs, remark = side_by_side(arguments.jobs, limits.memory)
    start = jail.unsafe if arguments.unsafe else jail.jailed
    try:
        start(limits).close()
    except jail.NoJail as error:
        print(REFUSAL.format(reason=error), file=sys.stderr)
        return 1
    try:
        again = frozenset(arguments.again)
        run = grading.Run(course.load(arguments.course), start, limits, again, jobs)
        if remark:
            print(remark, flush=True)
        results = grading.grade(run, arguments.submissions, lambda line: print(line, flush=True))
    except (course.BadCourse, roster.BadRoster, BadNotebook, OSError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 1
    except BrokenProcessPool:
        print(
            "grade: a process that marks was ended from outside, perhaps for want of memory; what is marked"
            " is kept; run it again with --jobs 1",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("grade: interrupted; what is marked is kept, run it again", file=sys.stderr)
        return 130
    if not results:
        print(
            f"grade: nothing in {arguments.submissions} is the work of a student on roster.csv",
            file=sys.stderr,
        )
        return 1
    waiting = sum(one.waiting for one in results)
    tables = run.course.folder / "marks"
    there = sum(one.record.status != "missing" for one in results)
    print(f"{there} submissions; {waiting} answers wait for a person; tables in {tables}")
    strangers = len(roster.unclaimed(arguments.submissions, roster.read(run.course.folder / "roster.csv")))
    if strangers:
        are = "file or folder is" if strangers == 1 else "files or folders are"
        print(f"{strangers} {are} nobody's (see above)")
    return 0


def side_by_side(asked: int | None, memory: int) -> tuple[int, str]:
    """How many submissions are marked at once, and what to say of it, or nothing.

    Args:
        asked: how many somebody has asked for, or None.
        memory: bytes that each may use.
    """
    free, wanted = available(), asked or processors()
    room = wanted if free is None else max(1, free // memory)
    if wanted <= room:
        return wanted, ""
    each = f"{free / 2**30:.1f} GB of memory are free, and each may use {memory / 2**30:g}"
    if asked:
        return asked, f"marking {asked} side by side as you say, though {each}"
    return room, f"marking {room} side by side, not {wanted}: {each}"


def available() -> int | None:
    """Bytes of memory that there are for this process, and None where the system does not say."""
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB", MEMORY.read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        return None
    try:
        most = int(LIMIT.read_text())
    except (OSError, ValueError):  # none, or "max"
        most = sys.maxsize
    return min(int(found[1]) * 1024, most)


def processors() -> int:
    """How many processors there are for this process."""
    known = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(known(0)) if known else os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
