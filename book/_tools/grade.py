"""Mark what was handed in: `make grade COURSE=../my-course SUBMISSIONS=…` (see classroom/grading.py)."""

from __future__ import annotations

import argparse
import os
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
        default=processors(),
        metavar="N",
        help="mark so many side by side; as many as there are processors if not given",
    )
    parser.add_argument("--unsafe", action="store_true", help="run submissions with your own rights")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; at least one marks")
    limits = jail.Limits()
    start = jail.unsafe if arguments.unsafe else jail.jailed
    try:
        start(limits).close()
    except jail.NoJail as error:
        print(REFUSAL.format(reason=error), file=sys.stderr)
        return 1
    try:
        again = frozenset(arguments.again)
        run = grading.Run(course.load(arguments.course), start, limits, again, arguments.jobs)
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
    return 0


def processors() -> int:
    """How many processors there are for this process."""
    known = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(known(0)) if known else os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
