"""Checks that the problem sets add to those of the chapters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import SmallBody, SmallWorld, small_body, small_world
from aggbandit.checks.reduction import FALLS, fall
from aggbandit.checks.report import Candidate, Fault, check, close
from aggbandit.mdp import FiniteHorizonMDP

# --- the laws of an occupancy measure -----------------------------------------------------------------------

LAWS = ("start", "flow", "dynamics")


@check(
    "a function of x (H, S, A, S), transitions (H, S, A, S) and initial_state that returns three numbers, by "
    "how much x breaks start, flow and dynamics"
)
def occupancy_violations(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """By how much a table breaks the three laws of an occupancy measure: each alone, and all at once."""
    world = small_world(rng)
    for name, x in _made_up(world, rng).items():
        found = answer(x, world.transitions, world.initial_state, shape=(3,))
        yield from _amounts(name, found, _violations(x, world))


def _violations(x: FloatArray, world: SmallWorld) -> FloatArray:
    """(3,) the largest absolute differences in start, flow and dynamics."""
    leaves, arrives = x.sum(axis=(2, 3)), x.sum(axis=(1, 2))
    start = leaves[0] - np.eye(x.shape[1])[world.initial_state]
    flow = leaves[1:] - arrives[:-1]
    dynamics = x - x.sum(axis=3, keepdims=True) * world.transitions
    return np.array([np.abs(law).max() for law in (start, flow, dynamics)])


def _made_up(world: SmallWorld, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Tables by name: a true one, one for each law that breaks this law alone, and noise."""
    n_states = len(world.policy[0])
    true = FiniteHorizonMDP(world.transitions, world.initial_state).occupancy(world.policy)
    elsewhere = (world.initial_state + 1) % n_states
    other = rng.dirichlet(np.ones(n_states), size=world.transitions.shape[:3])
    shares = rng.dirichlet(np.ones(n_states), size=len(true))  # who is where, each step for itself
    shares[0] = np.eye(n_states)[world.initial_state]
    return {
        "the list of a crowd in this world": true,
        "the list of a crowd that starts in another state": FiniteHorizonMDP(
            world.transitions, elsewhere
        ).occupancy(world.policy),
        "a table in which people vanish between two steps": shares[:, :, None, None]
        * world.policy[..., None]
        * world.transitions,
        "the list of a crowd in another world": FiniteHorizonMDP(other, world.initial_state).occupancy(
            world.policy
        ),
        "a table of random numbers": rng.dirichlet(np.ones(true[0].size), size=len(true)).reshape(true.shape),
    }


def _amounts(table: str, found: FloatArray, wanted: FloatArray) -> Iterator[Fault]:
    """A fault for each law whose number is not its largest difference."""
    for law, number, right in zip(LAWS, found, wanted, strict=True):
        if abs(number - right) <= 1e-9:
            continue
        if right < 1e-12:
            said = f"it obeys this law, and yours is {number:.3g}"
        elif abs(number) < 1e-12:
            said = "it breaks this law, and yours is zero"
        else:
            said = f"off by {abs(number - right):.3g}"
        yield Fault(f"the number for {law} is the largest difference in this law", table, said)


# --- Algorithm 2, end to end --------------------------------------------------------------------------------

ROUNDS = 5
RIGHT = "grad R(x_(t+1)) - grad R(x_t) + eta_t l_t vanishes along the slice"
DECREMENT = 1e-6  # how far, in the local norm, a mirror step may stop before its end


@dataclass(frozen=True)
class _Game:
    """Rounds of a distorted bandit, nothing in them left to chance.

    Attributes:
        body: the set, and x_1 in it.
        losses: (T, D) the losses.
        directions: (T, D) along the slice; round t plays y on the surface of the ellipsoid in direction t.
        moves: (T, D) what is added to y before the loss is read.
        epsilons: (T, D) the announced perturbations.
        eta0: the first rate.
    """

    body: SmallBody
    losses: FloatArray
    directions: FloatArray
    moves: FloatArray
    epsilons: FloatArray
    eta0: float


@check(
    "a function of A (m, D), b (m,), C (p, D), x1 (D,), losses (T, D), directions (T, D), moves (T, D), "
    "epsilons (T, D) and eta0 that returns the points x_1, ..., x_(T+1) of Algorithm 2, (T + 1, D)"
)
def algorithm_2(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """Algorithm 2 with its randomness passed in: every round is the mirror step that it should be."""
    game = _small_game(rng)
    body = game.body
    arguments = (body.A, body.b, body.C, body.x, game.losses, game.directions, game.moves, game.epsilons)
    x = answer(*arguments, game.eta0, shape=(ROUNDS + 1, body.x.size))
    first = list(close("the game begins at x_1", x[0], body.x, "i"))
    yield from first
    if first:
        return
    eta = game.eta0
    for t in range(ROUNDS):
        fault, eta = _round_fault(game, t, x[t], x[t + 1], eta)
        if fault is not None:
            yield fault
            return


def _small_game(rng: np.random.Generator) -> _Game:
    """A small body and five rounds in it; the rate rises in each and meets its clip now and then."""
    body = small_body(rng)
    shape = (ROUNDS, body.x.size)
    losses = rng.normal(size=shape)
    losses /= np.abs(losses @ body.x)[:, None] + 1
    directions = rng.normal(size=(ROUNDS, body.dimension)) @ body.basis.T
    eta0 = 0.15 / body.dimension
    epsilons = np.abs(rng.normal(size=shape)) + 0.1
    epsilons *= rng.uniform(0.1, 0.4, size=(ROUNDS, 1)) / (eta0 * 2 * body.dimension)
    epsilons /= np.abs(epsilons @ body.x)[:, None] / epsilons.mean(axis=1, keepdims=True) + 1
    return _Game(body, losses, directions, 0.2 * rng.normal(size=shape), epsilons, eta0)


def _round_fault(
    game: _Game, t: int, x: FloatArray, found: FloatArray, eta: float
) -> tuple[Fault | None, float]:
    """What is wrong with the step from x in round t, if anything, and the rate of that round."""
    body, place = game.body, f"t = {t}"
    rate, steps = _steps(game, t, x, eta)
    slacks = body.b - body.A @ found
    if slacks.min() <= 0:
        amount = f"yours is {-slacks.min():.3g} beyond wall {slacks.argmin()}"
        return Fault("every point is strictly inside", place, amount), rate
    if np.abs(body.C @ (found - body.x)).max() > 1e-8:
        return Fault("every point is on the slice, C x = C x_1", place, "yours has left it"), rate
    off = {rule: _slope(body, x, found, step) for rule, step in steps.items()}
    if off[RIGHT] <= DECREMENT:
        return None, rate
    for rule, slope in off.items():
        if slope <= DECREMENT:
            return Fault(rule, place, "yours differs in just this"), rate
    return Fault(RIGHT, place, f"its dual norm at your point is {off[RIGHT]:.3g}"), rate


def _steps(game: _Game, t: int, x: FloatArray, eta: float) -> tuple[float, dict[str, FloatArray]]:
    """The rate of round t; rate times estimate, right and with one slip each, by the rule broken."""
    body, n, loss, epsilon = game.body, game.body.dimension, game.losses[t], game.epsilons[t]
    reports = body.A / (body.b - body.A @ x)[:, None]
    hessian = reports.T @ reports
    y = x + game.directions[t] / np.linalg.norm(reports @ game.directions[t])
    z = y + game.moves[t]
    tried, moved = hessian @ (y - x), hessian @ (z - x)

    def raised(much: float, clip: float = 2.0) -> float:
        return float(1 / max(1 / eta - much, 1 / (clip * game.eta0)))

    paid = fall(n, z, epsilon)
    unclipped = 1 / (1 / eta - paid) if paid < 1 / eta else np.inf
    rate, total = raised(paid), loss @ z
    steps = {
        RIGHT: rate * n * total * tried,
        "the rate is raised in the round itself, before the step": eta * n * total * tried,
        "the rate rises by what was played, z, not by what was chosen, y": raised(fall(n, y, epsilon))
        * (n * total * tried),
        FALLS: raised(fall(1, z, epsilon)) * n * total * tried,
        "the loss that is read is that of z, not of y": rate * n * (loss @ y) * tried,
        "the estimate goes along y - x, the direction that was tried, not along z - x": rate
        * n
        * total
        * moved,
        "the estimate has the factor n": rate * total * tried,
        "a step goes against the estimate, not along it": -rate * n * total * tried,
    }
    if np.isfinite(unclipped):
        steps["the rate is never more than 2 eta0"] = unclipped * n * total * tried
    return rate, steps


def _slope(body: SmallBody, x: FloatArray, found: FloatArray, step: FloatArray) -> float:
    """The dual norm, at the point found, of `grad R(found) - grad R(x) + step` along the slice."""
    here, there = (body.A / (body.b - body.A @ point)[:, None] for point in (x, found))
    along = body.basis.T @ (there.sum(axis=0) - here.sum(axis=0) + step)
    lower = np.linalg.cholesky(body.basis.T @ there.T @ there @ body.basis)
    return float(np.linalg.norm(np.linalg.solve(lower, along)))
