"""The long tables: what the learner to use reaches in Gymnasium's worlds, written to `book/evidence.md`.

`make evidence` runs this file. Runs are kept in `_build/evidence` as they end: interrupted, it goes on where
it was, and a second time it only writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

import aggbandit as ab

ROOT = Path(__file__).resolve().parents[2]
RUNS, PAGE = ROOT / "_build" / "evidence", ROOT / "book" / "evidence.md"
BEGIN, END = "<!-- written by `make evidence`: -->", "<!-- until here -->"
# Fewer seeds where an episode takes longer, in the order of the worlds.
SEEDS, EPISODES, TENTHS = (20, 20, 20, 4), 100_000, (0, 4, 9)


def worlds() -> dict[str, ab.World]:
    """The worlds of the table, by the name they have there."""
    lake, cliff = "FrozenLake-v1", "CliffWalking-v1"
    return {
        "FrozenLake 4x4, not slippery, H = 10": ab.from_gymnasium(lake, horizon=10, is_slippery=False),
        "FrozenLake 4x4, slippery, H = 20": ab.from_gymnasium(lake, horizon=20, is_slippery=True),
        "CliffWalking, H = 15": ab.from_gymnasium(cliff, horizon=15),
        "FrozenLake 8x8, not slippery, H = 20": ab.from_gymnasium(
            lake, horizon=20, is_slippery=False, map_name="8x8"
        ),
    }


def learner(mdp: ab.FiniteHorizonMDP, episodes: int) -> ab.UFunctionLearner:
    """The learner of the table, the same for all worlds: it knows their sizes and where they start."""
    horizon, n_states, n_actions, _ = mdp.shape
    rates = ab.PolicyRates.curious()
    return ab.UFunctionLearner(n_states, n_actions, horizon, rates=rates, initial_state=mdp.initial_state)


def tenths(expected_loss: np.ndarray) -> np.ndarray:
    """(R, 3) the mean total in the first, fifth and last tenth, of (R, N) runs."""
    runs = expected_loss.reshape(len(expected_loss), 10, -1).mean(axis=2)
    return np.asarray(runs[:, list(TENTHS)])


def row(name: str, world: ab.World, found: np.ndarray) -> str:
    """A line of the table."""
    best = world.mdp.best_policy(world.loss)[1]
    uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    cells = [f"{mean:.4f} ± {of:.4f}" for mean, of in zip(found.mean(axis=0), error, strict=True)]
    numbers = [f"{best:.4f}", f"{uniform:.4f}", *cells, f"{found[:, -1].max():.4f}"]
    return f"| {name} | {len(found)} | {' | '.join(numbers)} |"


def table(
    seeds: Sequence[int], episodes: int, folder: Path, chosen: Mapping[str, ab.World], progress: bool
) -> str:
    """Play what is not in the folder yet, and make the table of all."""
    every = episodes // 100
    lines = [
        "| world | seeds | best | uniform | first tenth | fifth tenth | last tenth | last, worst seed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name, world), many in zip(chosen.items(), seeds, strict=True):
        found = ab.sweep(
            {"U": learner},
            {name: world},
            {"fixed": lambda world, rng: ab.losses.fixed(world.loss, episodes)},
            many,
            every=every,
            folder=folder,
            progress=progress,
        )
        lines.append(row(name, world, tenths(found.expected_loss[0, 0, 0] / every)))
    return "\n".join(lines)


def written(page: str, block: str) -> str:
    """The page with what stands between the two marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


def block(lines: str) -> str:
    """The table and what it was made with."""
    rates = ab.PolicyRates.curious()
    packages = ", ".join(f"{name} {version(name)}" for name in ("aggbandit", "numpy", "numba", "gymnasium"))
    return (
        f"{lines}\n\nRuns of {EPISODES:,} episodes; mean over seeds ± standard error. "
        f"`{rates}`. Made with {packages}."
    )


def main() -> int:
    lines = table(SEEDS, EPISODES, RUNS, worlds(), progress=True)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), block(lines)), encoding="utf-8")
    print(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
