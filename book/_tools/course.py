"""Make a teacher's course: `make course INTO=../my-course SEED=…` (see classroom/course.py)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from classroom.jail import Limits
from classroom.notebooks import BadNotebook

from classroom import course, release


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the course is made, outside of this repository")
    parser.add_argument("--seed", help="what its instances are drawn from (default: a secret one)")
    arguments = parser.parse_args()
    try:
        known = (arguments.folder / "course.json").exists()
        made = course.make(arguments.folder, arguments.seed, say=lambda line: print(line, flush=True))
    except (course.BadCourse, BadNotebook) as error:
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
    print(f"next: write your students into {made.folder / 'roster.csv'} and the due dates into course.json,")
    print("then run `make course` once more without SEED: the dates then stand in the students' README")
    return 0


if __name__ == "__main__":
    sys.exit(main())
