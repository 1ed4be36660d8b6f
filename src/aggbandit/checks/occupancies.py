"""Checks of what chapters 1 and 2 define: expected totals, best policies, occupancy measures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import SmallWorld, small_world
from aggbandit.checks.report import Candidate, Fault, check, close, place_of
from aggbandit.mdp import FiniteHorizonMDP

NEGATIVE = -1e-12  # rounding may make a zero this much smaller

# --- totals and policies ------------------------------------------------------------------------------------


@check(
    "a function of policy (H, S, A), transitions (H, S, A, S), loss (H, S, A, S) and initial_state that "
    "returns the expected total loss of an episode"
)
def expected_total(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The expected total of a policy: H where all losses are one, a sum over trajectories elsewhere."""
    world = small_world(rng)
    ones = np.ones(world.loss.shape)
    horizon = len(world.loss)

    def total(policy: FloatArray, loss: FloatArray, initial_state: int = world.initial_state) -> FloatArray:
        return answer(policy, world.transitions, loss, initial_state, shape=())

    counted = total(world.policy, ones)
    yield from close("where every loss is one, the total is H", counted, float(horizon))
    last = ones * (np.arange(horizon) == horizon - 1)[:, None, None, None]
    yield from close("where only the last step costs one, the total is one", total(world.policy, last), 1.0)
    found = total(world.policy, world.loss)
    elsewhere = (world.initial_state + 1) % world.loss.shape[1]
    if not _same(found, _total(world)) and _same(found, _total(world, elsewhere)):
        yield Fault("an episode starts in the initial state", "", "yours is the total from another state")
    yield from close(
        "the total is the sum over all trajectories of probability times losses", found, _total(world)
    )


def _total(world: SmallWorld, initial_state: int | None = None) -> float:
    """The expected total, forward through the occupancy measure."""
    start = world.initial_state if initial_state is None else initial_state
    return float(np.vdot(FiniteHorizonMDP(world.transitions, start).occupancy(world.policy), world.loss))


def _same(found: FloatArray, wanted: float) -> bool:
    return bool(np.isclose(found, wanted, rtol=1e-9, atol=1e-9))


@check(
    "a function of transitions (H, S, A, S), loss (H, S, A, S) and initial_state that returns a policy "
    "(H, S, A) of least expected total loss"
)
def best_policy(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """A policy, and no worse than another action anywhere it gets to; ties and unmet places are free."""
    world = small_world(rng, shortest=3)
    shape = world.policy.shape
    policy = answer(world.transitions, world.loss, world.initial_state, shape=shape)
    wrong = list(_distributions(policy, "pi(.|s,h)", "h s a"))
    yield from wrong
    if wrong:
        return
    costs = _costs_to_go(world)
    # What an action costs more than the best one, everything after it being the best.
    regrets = costs - costs.min(axis=2, keepdims=True)
    policy = np.maximum(policy, 0)  # rounding aside, the world would refuse it
    met = world.mdp.occupancy(policy / policy.sum(axis=2, keepdims=True)).sum(axis=3)
    lost = met * regrets
    if lost.sum() <= 1e-9:
        return
    h, s, a = np.unravel_index(np.argmax(lost), shape)
    yield Fault(
        "no other action is cheaper, the loss of this step and all that can follow at its best together",
        place_of((h, s), "h s"),
        f"yours takes an action that costs {regrets[h, s, a]:.3g} more than another; all in all your policy "
        f"costs {lost.sum():.3g} more than the best",
    )


def _costs_to_go(world: SmallWorld) -> FloatArray:
    """(H, S, A) what an action costs, the best policy being played afterward."""
    costs = np.zeros(world.policy.shape)
    after = np.zeros(len(world.policy[0]))
    for h in reversed(range(len(costs))):
        costs[h] = (world.transitions[h] * (world.loss[h] + after)).sum(axis=2)
        after = costs[h].min(axis=1)
    return costs


def _distributions(rows: FloatArray, symbol: str, names: str) -> Iterator[Fault]:
    """Nonnegative, summing to one over the last axis."""
    if rows.min() < NEGATIVE:
        index = np.unravel_index(np.argmin(rows), rows.shape)
        yield Fault(f"no entry of {symbol} is negative", place_of(index, names), f"{rows.min():.3g}")
    short = names.rpartition(" ")[0]
    yield from close(f"{symbol} sums to one, at places that are never met too", rows.sum(axis=-1), 1.0, short)


# --- occupancy measures -------------------------------------------------------------------------------------


@check(
    "a function of policy (H, S, A), transitions (H, S, A, S) and initial_state that returns x (H, S, A, S)"
)
def occupancy(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The occupancy measure of a policy: mass, start, flow, policy, dynamics; together they leave one x."""
    world = small_world(rng)
    x = answer(world.policy, world.transitions, world.initial_state, shape=world.transitions.shape)
    yield from _laws(x, world.initial_state)
    yield from _policy_kept(x, world.policy)
    yield from _dynamics_kept(x, world)


@check(
    "a function of y (H, S, A, S), transitions (H, S, A, S) and initial_state that returns z (H, S, A, S): "
    "what happens in expectation when the policy of y is played under these transitions"
)
def induced_occupancy(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """What the world makes of y: its policy, under the dynamics of the world instead of its own."""
    world = small_world(rng)
    believed = rng.dirichlet(np.full(world.loss.shape[3], 0.6), size=world.policy.shape)
    y = FiniteHorizonMDP(believed, world.initial_state).occupancy(world.policy)
    z = answer(y, world.transitions, world.initial_state, shape=y.shape)
    yield from _laws(z, world.initial_state)
    if np.allclose(z, y, rtol=0, atol=1e-9):
        yield Fault("the dynamics are those of the world, not those of y", "", "yours returns y itself")
        return
    yield from _policy_kept(z, world.policy)
    yield from _dynamics_kept(z, world)


@check("a function of x (H, S, A, S) that returns the policy (H, S, A) that x plays")
def policy_of_occupancy(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The policy of an occupancy measure: round trip, and a distribution even where nobody ever is."""
    world = small_world(rng)
    x = world.mdp.occupancy(world.policy)
    policy = answer(x, shape=world.policy.shape, finite=False)
    met = x.sum(axis=(2, 3)) > 0
    broken = ~np.isfinite(policy).all(axis=2)
    if broken.any():
        index = np.argwhere(broken)[0]
        nobody = (
            ""
            if met[tuple(index)]
            else "; nobody is ever there, 0/0 is no probability, any distribution will do"
        )
        yield Fault("every probability is a finite number", place_of(index, "h s"), f"yours is not{nobody}")
        return
    yield from _distributions(policy, "pi(.|s,h)", "h s a")
    taken = x.sum(axis=3)
    yield from close("x(h,s) pi(a|s,h) = x(h,s,a)", taken.sum(2, keepdims=True) * policy, taken, "h s a")


def _laws(x: FloatArray, initial_state: int) -> Iterator[Fault]:
    """What makes a table an occupancy measure of some policy and some dynamics."""
    yield from _mass(x)
    yield from _start(x, initial_state)
    yield from _flow(x)


def _mass(x: FloatArray) -> Iterator[Fault]:
    if x.min() < NEGATIVE:
        index = np.unravel_index(np.argmin(x), x.shape)
        yield Fault("no entry is negative", place_of(index, "h s a s'"), f"{x.min():.3g}")
    yield from close("the entries of each step sum to one", x.sum((1, 2, 3)), 1.0, "h")


def _start(x: FloatArray, initial_state: int) -> Iterator[Fault]:
    at_start = np.zeros(x.shape[1])
    at_start[initial_state] = 1
    yield from close("at h = 0 all mass leaves the initial state", x[0].sum((1, 2)), at_start, "s")


def _flow(x: FloatArray) -> Iterator[Fault]:
    arrives, leaves = x[:-1].sum((1, 2)), x[1:].sum((2, 3))
    if np.allclose(arrives, leaves, rtol=0, atol=1e-9):
        return
    h, s = np.unravel_index(np.argmax(np.abs(arrives - leaves)), arrives.shape)
    rule = "what flows into a state at one step flows out of it at the next"
    amount = f"{arrives[h, s]:.4g} flows in and {leaves[h, s]:.4g} out"
    yield Fault(rule, place_of((h + 1, s), "h s"), amount)


def _policy_kept(x: FloatArray, policy: FloatArray) -> Iterator[Fault]:
    """In each state the actions have the shares that the policy gives them."""
    taken = x.sum(3)
    wanted = taken.sum(2, keepdims=True) * policy
    yield from close("x(h,s,a) = x(h,s) pi(a|s,h)", taken, wanted, "h s a")


def _dynamics_kept(x: FloatArray, world: SmallWorld) -> Iterator[Fault]:
    """From each state and action the next states have the shares that the dynamics give them."""
    taken = x.sum(3, keepdims=True)
    yield from close("x(h,s,a,s') = x(h,s,a) P(s'|s,a,h)", x, taken * world.transitions, "h s a s'")
