"""Run the project's tests, step by step, and stop at the first that fails.

`run.py all` is what `make test` runs, `run.py quick` what `make quick` runs. Each step says its name and its
time; the last line says how many tests passed. A test that did not run did not pass: with the environment
variable CI set, a skipped test is a failure.

What needs one processor and nothing that comes later is done first, side by side: style and types, the
book, and the compilation of the engine. A chapter is run once: by nbval, and what that run showed is compared
to the last pixel (tests/notebooks/rerun.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT / "book" / "_tools"))

from execute import CELL_LIMIT, chapters_of_the_book, deterministic_kernels  # noqa: E402  (the path is set just above)

PARALLEL = ["-n", "2", "--dist", "loadfile"]
IN_GROUPS = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]  # of one page
COVERAGE = ["--cov=aggbandit", "--cov-report=term:skip-covered"]
SANITIZE = ROOT / "tests" / "notebooks" / "sanitize.cfg"
NBVAL = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_LIMIT}", *PARALLEL]
NBVAL += [f"--nbval-sanitize-with={SANITIZE}"]
CHAPTERS = "(the chapters)"  # stands for the notebooks of the book where a step names its folders

LINT = {
    "style (ruff)": [str(BIN / "ruff"), "check", "--quiet", "."],
    "format (ruff)": [str(BIN / "ruff"), "format", "--quiet", "--check", "."],
    "types (mypy)": [str(BIN / "mypy"), "--no-error-summary"],
}
ENGINE = {"the engine, compiled once": [sys.executable, "tests/compile_engine.py"]}
BOOK = {"the book, built": ["make", "--no-print-directory", "book"]}
FIRST = {"lint": LINT, "quick": LINT, "live": BOOK, "all": BOOK | ENGINE | LINT}

# A step of pytest: its folders, or the chapters, and its options. Every folder of tests/ is in some step.
# Steps of one group run side by side: each needs one processor, and what they say is shown at their end.
# `make quick` leaves out what takes seconds: the compiled engine against the reference, and long runs.
LONG = [
    "tests/unit/test_engine.py",
    "tests/unit/test_chapter06_claims.py::test_the_worst_arm_costs_its_moved_loss_and_a_lie_costs_more_than_it_moves",
    "tests/unit/test_dikin.py::test_second_moments_by_monte_carlo",
    "tests/unit/test_figures_svg.py::test_what_is_heavier_than_its_pixels_stays_a_raster",
    "tests/unit/test_ftrl.py::test_it_learns_from_totals",
    "tests/unit/test_ftrl.py::test_the_regret_is_below_the_bounds_where_they_say_something",
    "tests/unit/test_game_polygons.py::test_agrees_with_the_learner_and_the_protocol",
    "tests/unit/test_game_protocol.py::test_largest_step_against_a_scan",
    "tests/unit/test_game_two_arms.py::test_agrees_with_the_learner_on_the_simplex",
    "tests/unit/test_history.py::test_a_thinned_history_has_exact_sums",
    "tests/unit/test_history.py::test_every_generator_of_numpy_can_be_resumed",
    "tests/unit/test_history.py::test_numbers_that_no_run_has_left_are_named",
    "tests/unit/test_increasing_rates.py::test_extreme_losses_at_the_largest_rate",
    "tests/unit/test_increasing_rates.py::test_rounding_does_not_accumulate",
    "tests/unit/test_occupancy_set.py::test_rounding_does_not_add_up_over_many_steps",
    "tests/unit/test_policy_optimization.py::test_the_engines_agree",
    "tests/unit/test_reduction.py::test_a_state_that_no_run_has_left_is_refused_before_anything_changes",
    "tests/unit/test_sweeps.py::test_two_workers_find_what_one_finds",
    "tests/unit/test_sweeps_on_dask.py",
    "tests/unit/test_thompson.py::test_the_regret_is_below_the_bound_where_it_says_something",
    "tests/unit/test_uob_reps.py::test_it_learns_the_night_driver_without_knowing_the_city",
    "tests/property/test_geometry.py::test_ten_thousand_rounds_on_a_thin_triangle",
    "tests/property/test_history_files.py::test_any_header_gives_a_history_or_a_named_error",
]
Step = tuple[list[str], list[str]]
EXAMPLES: dict[str, Step] = {"examples in docstrings": (["../src/aggbandit"], ["--doctest-modules"])}
QUICK: list[dict[str, Step]] = [
    {
        "units and properties": (
            ["unit", "property"],
            [*PARALLEL, *(f"--deselect={test}" for test in LONG)],
        )
    },
    EXAMPLES,
]
ALL: list[dict[str, Step]] = [
    {"units, properties, paper": (["unit", "property", "paper"], [*PARALLEL, *COVERAGE])},
    {**EXAMPLES, "project": (["project"], [])},
    {"classroom": (["classroom"], PARALLEL)},
    {"chapters, run again": (["notebooks", CHAPTERS], NBVAL)},
    {"site, in a browser": (["site"], IN_GROUPS)},
    {"lab, in a browser": (["lab"], []), "live, in a browser": (["live"], [])},
]
LIVE: list[dict[str, Step]] = [{"live, every chapter": (["live"], ["--every-chapter", "--durations=20"])}]
PLANS: dict[str, list[dict[str, Step]]] = {"lint": [], "quick": QUICK, "live": LIVE, "all": ALL}


def main() -> int:
    plan = sys.argv[1] if len(sys.argv) == 2 else ""
    if plan not in PLANS:
        print(f"usage: run.py {'|'.join(PLANS)}", file=sys.stderr)
        return 2
    total = 0
    if not side_by_side(FIRST[plan]):
        return 1
    for group in PLANS[plan]:
        passed = pytest(group)
        if passed is None:
            return 1
        total += passed
    print(f"\n{plan}: all good" + (f", {total} tests passed" if total else ""))
    return 0


def side_by_side(commands: Mapping[str, Sequence[str]]) -> bool:
    """Run commands at the same time; say what each said, and whether one failed."""
    print(f"\n== {', '.join(commands)}", flush=True)
    start = time.perf_counter()
    with ThreadPoolExecutor(len(commands)) as pool:
        runs = [pool.submit(run_quietly, command) for command in commands.values()]
    failed = False
    for name, run in zip(commands, runs, strict=True):
        done = run.result()
        if done.stdout:
            print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            report_failure(name, done.returncode)
            failed = True
    if not failed:
        print(f"   {time.perf_counter() - start:.1f} s", flush=True)
    return not failed


def run_quietly(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run one command and keep what it says."""
    return subprocess.run(
        command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def step(name: str, command: Sequence[str]) -> bool:
    """Run one command; say which step it is, how long it took, and whether it failed."""
    print(f"\n== {name}", flush=True)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode != 0:
        report_failure(name, done.returncode)
        return False
    print(f"   {time.perf_counter() - start:.1f} s", flush=True)
    return True


def report_failure(name: str, status: int) -> None:
    print(f"\nFAILED: {name} (the lines above say why; exit status {status})", file=sys.stderr, flush=True)


def pytest(group: Mapping[str, Step]) -> int | None:
    """Run pytest for the steps of a group, side by side; the number of tests passed, None at a failure."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        deterministic_kernels()
        if any(CHAPTERS in folders for folders, _ in group.values())
        else nullcontext(),
    ):
        reports = {name: Path(scratch, f"{number}.xml") for number, name in enumerate(group)}
        commands = {}
        for name, (folders, options) in group.items():
            paths = places(folders)
            if not paths:
                print(f"\nFAILED: {name}: there is nothing to test", file=sys.stderr)
                return None
            command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={reports[name]}", *options]
            commands[name] = [*command, *map(str, paths)]
        alone = len(commands) == 1
        if not (step(*next(iter(commands.items()))) if alone else side_by_side(commands)):
            return None
        counted = {name: list(counts(report)) for name, report in reports.items()}
    for name, suites in counted.items():
        skipped = sum(count for _, count in suites)
        if skipped and os.environ.get("CI"):
            print(
                f"\nFAILED: {name}: {skipped} tests were skipped, and with CI set none may be",
                file=sys.stderr,
            )
            return None
    return sum(passed for suites in counted.values() for passed, _ in suites)


def places(folders: Sequence[str]) -> list[Path]:
    """The folders of tests/ and the chapters that a step names; none where one of them is missing."""
    chapters = list(chapters_of_the_book()) if CHAPTERS in folders else []
    paths = [*(ROOT / "tests" / folder for folder in folders if folder != CHAPTERS), *chapters]
    return paths if all(path.exists() for path in paths) and len(paths) >= len(folders) else []


def counts(report: Path) -> Iterator[tuple[int, int]]:
    """(passed, skipped) of every suite in a JUnit report without failures."""
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        skipped = int(suite.get("skipped", "0"))
        yield int(suite.get("tests", "0")) - skipped, skipped


if __name__ == "__main__":
    sys.exit(main())
