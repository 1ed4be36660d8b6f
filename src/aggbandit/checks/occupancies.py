"""Checks of what chapters 1 and 2 define: occupancy measures, and the policies they come from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import SmallWorld, small_world
from aggbandit.checks.report import Answer, Fault, check, close
from aggbandit.mdp import FiniteHorizonMDP, enumerate_trajectories


@check(
    "a function of policy (H, S, A), transitions (H, S, A, S) and initial_state that returns x (H, S, A, S)"
)
def occupancy(answer: Answer, rng: np.random.Generator) -> Iterator[Fault]:
    """The occupancy measure of a policy: mass, start, flow, dynamics, and expected totals by enumeration."""
    world = small_world(rng)
    x = answer(world.policy, world.transitions, world.initial_state, shape=world.transitions.shape)
    laws = [
        *mass(x),
        *start(x, world.initial_state),
        *flow(x),
        *policy_kept(x, world),
        *dynamics_kept(x, world),
    ]
    yield from laws or totals(x, world)


def mass(x: FloatArray) -> Iterator[Fault]:
    """No negative entry; each step has mass one."""
    if x.min() < -1e-12:
        h, s, a, then = np.unravel_index(np.argmin(x), x.shape)
        yield Fault("no entry is negative", f"h = {h}, s = {s}, a = {a}, s' = {then}", f"{x.min():.3g}")
    yield from close("the entries of each step sum to one", x.sum((1, 2, 3)), 1.0, "h")


def start(x: FloatArray, initial_state: int) -> Iterator[Fault]:
    """At the first step all mass is in the initial state."""
    at_start = np.zeros(x.shape[1])
    at_start[initial_state] = 1
    yield from close("at h = 0 all mass leaves the initial state", x[0].sum((1, 2)), at_start, "s")


def flow(x: FloatArray) -> Iterator[Fault]:
    """What flows into a state flows out of it at the next step."""
    arrives, leaves = x[:-1].sum((1, 2)), x[1:].sum((2, 3))
    if np.allclose(arrives, leaves, rtol=0, atol=1e-9):
        return
    h, s = np.unravel_index(np.argmax(np.abs(arrives - leaves)), arrives.shape)
    amount = f"{arrives[h, s]:.4g} flows in and {leaves[h, s]:.4g} out"
    yield Fault(
        "what flows into a state at one step flows out of it at the next", f"h = {h + 1}, s = {s}", amount
    )


def policy_kept(x: FloatArray, world: SmallWorld) -> Iterator[Fault]:
    """In each state the actions have the shares that the policy gives them."""
    taken = x.sum(3)
    yield from close(
        "x(h,s,a) = x(h,s) pi(a|s,h)", taken, taken.sum(2, keepdims=True) * world.policy, "h s a"
    )


def dynamics_kept(x: FloatArray, world: SmallWorld) -> Iterator[Fault]:
    """From each state and action the next states have the shares that the dynamics give them."""
    taken = x.sum(3, keepdims=True)
    yield from close("x(h,s,a,s') = x(h,s,a) P(s'|s,a,h)", x, taken * world.transitions, "h s a s'")


def totals(x: FloatArray, world: SmallWorld) -> Iterator[Fault]:
    """The loss table times x is the expected total, summed over all trajectories."""
    mdp = FiniteHorizonMDP(world.transitions, world.initial_state)
    expected = sum(
        chance * path.total(world.loss) for path, chance in enumerate_trajectories(mdp, world.policy)
    )
    yield from close(
        "the loss table times x is the expected total", np.asarray(np.vdot(x, world.loss)), float(expected)
    )
