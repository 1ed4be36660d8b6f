"""The page of long runs is what its program writes; a run that was made is not made again."""

import sys
from pathlib import Path

import aggbandit as ab

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))
import evidence  # noqa: E402  (the path is set just above)


def test_the_page_has_a_row_of_the_program_for_each_world():
    page = (ROOT / "book" / "evidence.md").read_text(encoding="utf-8")
    rows = page.partition(evidence.BEGIN)[2].partition(evidence.END)[0].splitlines()
    for (name, world), seeds in zip(evidence.worlds().items(), evidence.SEEDS, strict=True):
        best = world.mdp.best_policy(world.loss)[1]
        uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
        begins = f"| {name} | {seeds} | {best:.4f} | {uniform:.4f} |"
        (row,) = [row for row in rows if row.startswith(begins)]
        assert row.count("|") == 9
        assert row.count("±") == 3
    assert str(ab.PolicyRates.curious()) in page


def test_the_same_runs_give_the_same_table_and_are_kept(tmp_path):
    chosen = {"night driver": ab.night_driver()}
    once = evidence.table([2], 200, tmp_path, chosen, progress=False)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(made) == 2
    assert evidence.table([2], 200, tmp_path, chosen, progress=False) == once
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made
    page = f"before\n{evidence.BEGIN}\nold\n{evidence.END}\nafter"
    assert evidence.written(page, once) == f"before\n{evidence.BEGIN}\n\n{once}\n\n{evidence.END}\nafter"
