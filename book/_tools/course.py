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
        made = course.make(arguments.folder, arguments.seed)
    except (course.BadCourse, BadNotebook) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    print(f"{len(made.sets)} sets: {', '.join(made.sets)}")
    print(f"for students: {release.pack(made, Limits().seconds)}")
    print(f"for teachers only: everything else in {made.folder}; when a set is due is written in course.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
