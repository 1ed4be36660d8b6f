"""Millions of episodes: memory stays flat, every number is finite, every iterate is strictly inside.

The compiled engine checks each iterate as it makes it, and refuses to go on from one that is not strictly
inside. `make soak` runs this file.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import aggbandit as ab

RUNS = [((2, 2, 2), 10**5, 1), ((3, 3, 2), 10**6, 1), ((2, 2, 2), 10**7, 100)]
MEGABYTES = 100.0


def peak() -> float:
    """The most memory this process has ever held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)


def play(shape: tuple[int, int, int], episodes: int, every: int, progress: bool) -> ab.History:
    H, S, A = shape
    rng = np.random.default_rng(0)
    mdp = ab.random_mdp(S, A, H, rng)
    losses = ab.losses.fixed(rng.random(mdp.shape), episodes)
    agent = ab.AggregateFeedbackLearner(
        S,
        A,
        H,
        episodes,
        rates=ab.tuned_rates(3.0),
        between_epochs=ab.epochs.carry,
        baseline=ab.RunningMean(),
    )
    history = ab.simulate(agent, mdp, losses, rng, engine="compiled", every=every, progress=progress)
    agent.epoch.body.check(agent.state.center, tolerance=1e-12)
    return history


def main() -> None:
    play((2, 2, 2), 10, 1, progress=False)  # what importing and compiling take is not counted
    for shape, episodes, every in RUNS:
        before = peak()
        history = play(shape, episodes, every, progress=True)
        excess = (history.expected_loss - history.comparator_loss).reshape(10, -1).sum(axis=1) / (
            episodes / 10
        )
        print(
            f"{shape}: {episodes:,} episodes, {peak() - before:.0f} MB more, {len(history.epochs)} epochs, "
            f"{sum(epoch.damped for epoch in history.epochs)} damped steps, "
            f"excess loss {excess[0]:.3f} in the first tenth, {excess[-1]:.3f} in the last"
        )
        assert history.complete
        assert np.isfinite(history.expected_loss).all()
        assert np.isfinite(history.total_loss).all()
        assert peak() - before < MEGABYTES, f"{peak() - before:.0f} MB; at most {MEGABYTES:.0f}"


if __name__ == "__main__":
    main()
