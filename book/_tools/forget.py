"""Delete what a course holds of a student: `make forget COURSE=../my-course STUDENT=…`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from classroom import course, grading, roster


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("course", type=Path, help="the folder that `make course` has made")
    parser.add_argument("student", help="the student's id")
    arguments = parser.parse_args()
    try:
        deleted = grading.forget(course.load(arguments.course), arguments.student)
    except (course.BadCourse, roster.BadRoster) as error:
        print(f"forget: {error}", file=sys.stderr)
        return 1
    for path in deleted:
        print(f"deleted {path}")
    print(
        "Deleted from the database and its copies too. Delete the line of roster.csv and the files handed in"
    )
    print("yourself, or the next `make grade` marks them again; it also writes the tables anew.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
