"""Make a teacher's course: `make course INTO=../my-course SEED=…` (see classroom/course.py)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from classroom.jail import Limits
from classroom.notebooks import BadNotebook

from classroom import course, release, roster


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the course is made, outside of this repository")
    parser.add_argument("--seed", help="what its instances are drawn from (default: a secret one)")
    arguments = parser.parse_args()
    try:
        known = (arguments.folder / "course.json").exists()
        made = course.make(arguments.folder, arguments.seed, say=lambda line: print(line, flush=True))
        to_do = list(left_to_do(made))
    except (course.BadCourse, roster.BadRoster, BadNotebook) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    print(f"{len(made.sets)} sets: {', '.join(made.sets)}")
    print(f"for students: {release.pack(made, Limits().seconds)}")
    print(f"for teachers only: everything else in {made.folder}")
    if arguments.seed is None and not known:
        print("a secret seed has been drawn; it stands in course.json, and makes the same course again")
    if len(made.seed) < course.SHORT:
        print(
            f"WARNING: the seed has {len(made.seed)} characters; from the numbers in the notebooks a short"
            " one can be guessed, and with it the instances that mark; without SEED a strong one is drawn"
        )
    for line in to_do:
        print(line)
    return 0


def left_to_do(made: course.Course) -> Iterator[str]:
    """What a teacher still has to fill in, a line each."""
    if not roster.read(made.folder / "roster.csv"):
        yield f"next: write your students into {made.folder / 'roster.csv'}"
    undated = [name for name, due in made.due.items() if due is None]
    if undated:
        yield (
            f"no due date yet: {', '.join(undated)}; write dates into course.json, and run `make course`"
            " again, without SEED: they then stand in the students' README"
        )


if __name__ == "__main__":
    sys.exit(main())
