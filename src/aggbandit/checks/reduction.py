"""Checks of what chapters 8 to 10 define: increasing rates, confidence sets, epochs, regret."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import small_world
from aggbandit.checks.report import Candidate, Fault, check, close, place_of
from aggbandit.mdp import FiniteHorizonMDP

# --- rates --------------------------------------------------------------------------------------------------

FALLS = "1/eta, the inverse of the rate, falls by as much as Algorithm 2 says"


def fall(dimension: int, point: FloatArray, epsilon: FloatArray) -> float:
    """By how much 1/eta falls after a round, for all checks that ask it.

    Args:
        dimension: n.
        point: (D,) what was played.
        epsilon: (D,) the announced perturbations.

    Returns:
        The fall, nonnegative.

    Source:
        Algorithm 2, line 9.
    """
    return float(2 * dimension * abs(point @ epsilon))


@check(
    "a function of eta, the dimension n, y (D,), z_hat (D,) and epsilon (D,) that returns the next rate of "
    "Algorithm 2, line 9, without its clip"
)
def increasing_rate(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The rate rises by as much as was announced for what was played."""
    n, size = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    y, epsilon = rng.random(size), rng.uniform(0.01, 0.2, size=size)
    z_hat = rng.normal(size=size)
    eta = float(rng.uniform(0.2, 0.8) / (2 * n * max(abs(z_hat @ epsilon), y @ epsilon)))
    still = answer(eta, n, y, z_hat, 0 * epsilon, shape=())
    yield from close("with epsilon = 0 the rate stays as it is", still, eta)
    found = answer(eta, n, y, z_hat, epsilon, shape=())
    if found < eta:
        yield Fault("the rate never falls", "", f"yours falls by {eta - found:.3g}")
        return
    fell, wanted = float(1 / eta - 1 / found), fall(n, z_hat, epsilon)
    if np.isclose(fell, fall(n, y, epsilon), rtol=1e-7):
        yield Fault("the increase pays for what was played, z_hat", "", "yours takes y, what was chosen")
        return
    if abs(fell - wanted) > 1e-7 * (1 + wanted):
        way = "much" if fell > wanted else "little"
        amount = f"yours lowers it by {fell:.3g}, {abs(fell - wanted):.3g} too {way}"
        yield Fault(FALLS, "", amount)


# --- confidence and epochs ----------------------------------------------------------------------------------


@check(
    "a function of counts (H, S, A, S), episodes K and delta that returns the L1 radii (H, S, A) around the "
    "empirical rows, w = sqrt(2 (S log 2 + log(HSAK/delta)) / N(h,s,a)); np.inf where nothing was counted"
)
def confidence_radius(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """Radii by visits of the cell; where there is none, nothing is excluded."""
    horizon, n_states, n_actions = (
        int(size) for size in (rng.integers(2, 5), rng.integers(2, 5), rng.integers(2, 4))
    )
    counts = rng.integers(0, 40, size=(horizon, n_states, n_actions, n_states))
    counts *= rng.random((horizon, n_states, n_actions, 1)) < 0.8
    counts[rng.integers(horizon), rng.integers(n_states), rng.integers(n_actions)] = 0
    episodes, delta = int(rng.integers(100, 10_000)), float(rng.uniform(0.001, 0.2))
    radius = answer(counts, episodes, delta, shape=counts.shape[:3], finite=False)
    new = counts.sum(axis=3) == 0
    unknown = new & ~(radius >= 2)
    if unknown.any():
        index = np.argwhere(unknown)[0]
        yield Fault(
            "where nothing was counted no row is excluded, and two rows can be 2 apart",
            place_of(index, "h s a"),
            f"N = 0, and your radius is {radius[tuple(index)]:.3g}",
        )
    seen = radius[~new]
    if not (np.isfinite(seen) & (seen > 0)).all():
        index = np.argwhere(~new)[int(np.argmin(np.isfinite(seen) & (seen > 0)))]
        amount = f"yours is {radius[tuple(index)]:.3g}"
        yield Fault("the radius of a visited cell is a positive number", place_of(index, "h s a"), amount)
        return
    fewer = answer(4 * counts, episodes, delta, shape=radius.shape, finite=False)[~new]
    yield from close("four times the visits, half the radius", fewer, seen / 2, "cell")
    wanted = theory.confidence_radius(counts.astype(np.float64), episodes, delta)
    found = np.where(new, 0, radius)
    squares = found**2 * counts.sum(axis=3) / 2
    right = np.where(new, 0, wanted) ** 2 * counts.sum(axis=3) / 2
    yield from close("w^2 N / 2 = S log 2 + log(HSAK/delta)", squares, right, "h s a")


@check(
    "a function of visits (K, H, S, A), one where a cell was visited in an episode and zero elsewhere, that "
    "returns (K,) zeros and ones: one where an epoch of Algorithm 3 ends after the episode"
)
def epoch_ends(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The epochs of a run: each ends at the first episode after which some cell has doubled."""
    visits = _random_visits(rng)
    found = answer(visits, shape=(len(visits),))
    for k in np.flatnonzero((found != 0) & (found != 1))[:1]:
        yield Fault("every entry is zero or one", f"k = {k}", f"yours is {found[k]:.3g}")
        return
    begun = 0
    for k, ended in enumerate(found):
        # Up to here both agree: what the epoch began with, and what has been seen in it.
        before, during = visits[:begun].sum(axis=0), visits[begun : k + 1].sum(axis=0)
        enough = during >= np.maximum(before, 1)
        if enough.any() != ended:
            yield _epoch_fault(k, begun, before, during, enough)
            return
        begun = k + 1 if ended else begun


def _epoch_fault(k: int, begun: int, before: FloatArray, during: FloatArray, enough: FloatArray) -> Fault:
    """An epoch that goes on too long, or ends too early."""
    place = f"k = {k}"
    if enough.any():
        index = tuple(np.argwhere(enough)[0])
        cell = place_of(index, "h s a")
        was = f"{before[index]:.0f} visits before the epoch began at k = {begun}, {during[index]:.0f} since"
        return Fault(
            "an epoch ends when a cell has as many visits in it as before it, or its first",
            place,
            f"{cell} has {was}, and yours goes on",
        )
    return Fault(
        "an epoch goes on until some cell has as many visits in it as before it",
        place,
        f"yours ends, and since k = {begun} no cell has",
    )


def _random_visits(rng: np.random.Generator) -> FloatArray:
    """(K, H, S, A) one cell a step; some cells are met often and some are new late."""
    episodes, horizon, n_states, n_actions = 60, int(rng.integers(1, 4)), int(rng.integers(2, 4)), 2
    chances = rng.dirichlet(np.full(n_states * n_actions, 0.7), size=horizon)
    visits = np.zeros((episodes, horizon, n_states * n_actions))
    for h, row in enumerate(chances):
        visits[np.arange(episodes), h, rng.choice(len(row), size=episodes, p=row)] = 1
    return visits.reshape(episodes, horizon, n_states, n_actions)


# --- regret -------------------------------------------------------------------------------------------------


@check(
    "a function of losses (K, H, S, A, S), policies (K, H, S, A), transitions (H, S, A, S) and initial_state "
    "that returns the regret of playing these policies"
)
def regret(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The regret against the best fixed policy: blind to constants, zero for that policy itself."""
    world = small_world(rng)
    episodes = int(rng.integers(3, 7))
    losses = rng.random((episodes, *world.loss.shape)) / 2  # so that a half can be added
    policies = rng.dirichlet(np.ones(world.policy.shape[2]), size=(episodes, *world.policy.shape[:2]))
    mdp = FiniteHorizonMDP(world.transitions, world.initial_state)

    def of(losses: FloatArray, policies: FloatArray) -> FloatArray:
        return answer(losses, policies, world.transitions, world.initial_state, shape=())

    found = of(losses, policies)
    yield from close("a constant added to every loss changes nothing", of(losses + 0.5, policies), found)
    comparator, least = mdp.best_policy(losses.sum(axis=0))
    paid = sum(mdp.expected_loss(policy, loss) for policy, loss in zip(policies, losses, strict=True))
    each = sum(mdp.best_policy(loss)[1] for loss in losses)
    if np.isclose(found, paid - each, rtol=1e-9) and not np.isclose(paid - each, paid - least, rtol=1e-9):
        yield Fault(
            "the comparator is one policy for all episodes", "", "yours takes the best of each episode"
        )
        return
    fixed = of(losses, np.broadcast_to(comparator, policies.shape).copy())
    yield from close("the best policy in hindsight, played in every episode, has regret zero", fixed, 0.0)
    yield from close("the regret is what was paid minus the least that one policy pays", found, paid - least)
