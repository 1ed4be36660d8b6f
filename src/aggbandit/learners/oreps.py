r"""O-REPS: exponential weights over occupancy measures, one step a projection in relative entropy.

Outside the paper: what is known for feedback that shows more than the total. With l the losses of an episode,
or an estimate of them::

    q_{k+1} = argmin_q  eta <q, l> + sum q log(q / q_k) - q + q_k    over the occupancy measures.

The minimum is found through its dual, which has one potential a state (`potentials`). Where the dynamics are
known, q is a table by (h, s, a). Where they are counted, it is a table by (h, s, a, s'), and the dynamics may
be any between two bounds; a cell then answers with the row between them that is nearest in relative entropy.

Source:
    Peters, Mülling and Altün (2010); Zimin and Neu (2013), for `OREPS` and `SemiBanditOREPS`; Rosenberg and
    Mansour (2019), for `UCOREPS`; Jin, Jin, Luo, Sra and Yu (2020), for `UOBREPS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import (
    FloatArray,
    check_kind,
    check_positive,
    check_rng,
    reduce_frozen,
)
from aggbandit.feedback import FullFeedback, StepFeedback
from aggbandit.learners import snapshots
from aggbandit.learners.fits import check_full, check_steps, check_world
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.potentials import (
    Layers,
    Reply,
    differences,
    minimize_over_potentials,
)
from aggbandit.mdp import FiniteHorizonMDP, uniform_policy

__all__ = ["OREPS", "SemiBanditOREPS", "entropy_projection"]


# --- the projection -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EntropyCells:
    """Relative entropy to weights, for known dynamics: a cell answers `w(h,s,a) exp(x(h,s,a))`.

    Args:
        log_weight: (H, W, A) log w, minus infinity where there is no cell.
        rows: (H, W, A, W) the dynamics.

    Source:
        Zimin and Neu (2013), Section 3.
    """

    log_weight: FloatArray
    rows: FloatArray
    __reduce__ = reduce_frozen

    def log_mass(self, potential: FloatArray) -> FloatArray:
        """`log w + x`.

        Args:
            potential: (H, W) V.

        Returns:
            (H, W, A) the logarithm of the entries.
        """
        return self.log_weight + differences(potential, self.rows)

    def answer(self, potential: FloatArray) -> Reply:
        """What the cells say to potentials.

        Args:
            potential: (H, W) V.

        Returns:
            The answer.
        """
        with np.errstate(over="ignore"):
            mass: FloatArray = np.exp(self.log_mass(potential))
        return Reply(float(mass.sum()), mass, self.rows, mass, None)


def entropy_projection(log_weight: FloatArray, rows: FloatArray, log_visits: FloatArray) -> FloatArray:
    """The occupancy measure nearest to weights in relative entropy: `argmin_q sum q log(q/w) - q + w`.

    Args:
        log_weight: (H, W, A) log w, minus infinity where there is no cell; the initial state has number 0.
        rows: (H, W, A, W) the dynamics.
        log_visits: (H, W) a guess of `log sum_a q(h,s,a)`, where Newton's method begins.

    Returns:
        (H, W, A) log q.

    Raises:
        NoMinimizer: if double precision is not enough.

    Source:
        Zimin and Neu (2013), Section 3.

    Example:
        Two actions, weights 3 and 1 at the only state:

        >>> import numpy as np
        >>> log_q = entropy_projection(np.log([[[3.0, 1.0]]]), np.zeros((1, 1, 2, 1)), np.zeros((1, 1)))
        >>> np.exp(log_q).round(3)
        array([[[0.75, 0.25]]])
    """
    cells = EntropyCells(log_weight, rows)
    return cells.log_mass(minimize_over_potentials(cells, _potential_of(cells, log_visits)).potential)


def _potential_of(cells: EntropyCells, log_visits: FloatArray) -> FloatArray:
    """The potentials with which so much flows out of every state, backwards from the last step."""
    potential = np.zeros(log_visits.shape)
    following = potential[0]
    for h in reversed(range(len(potential))):
        out = np.logaddexp.reduce(cells.log_weight[h] - cells.rows[h] @ following, axis=1)
        met = np.isfinite(log_visits[h]) & np.isfinite(out)
        np.subtract(log_visits[h], out, out=potential[h], where=met)
        following = potential[h]
    return potential


# --- known dynamics -----------------------------------------------------------------------------------------


class KnownIterate:
    """Where mirror descent stands in a known world: q_k, by its logarithm.

    It begins at the occupancy measure of the largest entropy.

    Args:
        mdp: the world.

    Raises:
        TypeError: for anything else.
    """

    def __init__(self, mdp: FiniteHorizonMDP) -> None:
        check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
        self.mdp, self.layers = mdp, Layers.of(mdp)
        self.rows = self.layers.rows(mdp.transitions)
        uniform = np.where(self.layers.met[:, :, None], np.zeros(mdp.n_actions), -np.inf)
        visits = mdp.occupancy(uniform_policy(mdp)).sum(axis=(2, 3))
        with np.errstate(divide="ignore"):
            log_visits = np.where(self.layers.met, np.log(self.layers.narrow(visits)), -np.inf)
        self.log_q = entropy_projection(uniform, self.rows, log_visits)

    @property
    def occupancy(self) -> FloatArray:
        """(H, S, A) q_k."""
        return self.layers.widen(np.exp(self.log_q))

    @property
    def policy(self) -> FloatArray:
        """(H, S, A) the policy of q_k; uniform where no state is met."""
        top = self.log_q.max(axis=2, keepdims=True)
        weights = np.exp(self.log_q - np.where(np.isfinite(top), top, 0.0))
        weights[~self.layers.met] = 1.0
        narrow = weights / weights.sum(axis=2, keepdims=True)
        policy = np.full(self.mdp.shape[:3], 1 / self.mdp.n_actions)
        steps, numbers = np.nonzero(self.layers.met)
        policy[steps, self.layers.states[steps, numbers]] = narrow[steps, numbers]
        return policy

    @property
    def arguments(self) -> tuple[str, ...]:
        """What a learner was made with here, by value; see `aggbandit.learners.identity`."""
        return (f"mdp={described(self.mdp)}",)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """All there is to go on from, by name: `log_q`."""
        return {"log_q": self.log_q}

    def step(self, loss: FloatArray) -> None:
        """`q_{k+1} = argmin <q, loss> + KL(q || q_k)`.

        Args:
            loss: (H, S, A) the rate times the losses.

        Raises:
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        log_visits = np.logaddexp.reduce(self.log_q, axis=2)
        self.log_q = entropy_projection(self.log_q - self.layers.narrow(loss), self.rows, log_visits)

    def check_run(self, mdp: FiniteHorizonMDP) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of this one.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.mdp.shape, self.mdp.initial_state)

    def restore(self, snapshot: dict[str, NDArray[Any]], arguments: tuple[str, ...]) -> None:
        """Go to the `state` that a learner wrote down.

        Args:
            snapshot: what it wrote.
            arguments: of the learner that is to be restored.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        self.log_q = snapshots.read(snapshot, arguments, log_q=self.log_q.shape)["log_q"]


class OREPS:
    """O-REPS with full information, in a known world.

    It begins at the occupancy measure of the largest entropy, and sees the whole loss function.

    Args:
        mdp: the world, its dynamics known to the learner.
        eta: the learning rate; `theory.oreps_eta(S, A, K)` is the theorem's.

    Raises:
        TypeError: for another kind of argument.
        ValueError: for a rate that is not positive.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Zimin and Neu (2013), Algorithm 1; `theory.oreps_bound`.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 100
        >>> learner = ab.learners.OREPS(world.mdp, ab.theory.oreps_eta(3, 2, episodes))
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 49, 99]]]  # the best: 1.01
        [1.63, 1.06, 1.02]
    """

    feedback: ClassVar[type[FullFeedback]] = FullFeedback

    def __init__(self, mdp: FiniteHorizonMDP, eta: float) -> None:
        self.iterate, self.eta = KnownIterate(mdp), check_positive("eta", eta)

    @property
    def occupancy(self) -> FloatArray:
        """(H, S, A) q_k, the occupancy measure of the next policy."""
        return self.iterate.occupancy

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of q_k; uniform where no state is met.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self.iterate.policy

    @alone
    def observe(self, feedback: FullFeedback) -> None:
        """A step of mirror descent on the losses of the episode.

        Args:
            feedback: whose `loss` is used, in expectation over the next state.

        Raises:
            TypeError: unless it is a `FullFeedback`.
            ValueError: before anything changes, for losses outside [0, 1] or a trajectory of another world.
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        mdp = self.iterate.mdp
        check_full(feedback, mdp.shape, mdp.initial_state)
        self.iterate.step(self.eta * np.einsum("hsat,hsat->hsa", mdp.transitions, feedback.loss))

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of the learner's.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        self.iterate.check_run(mdp)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        return (*self.iterate.arguments, f"eta={self.eta!r}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(self.arguments, **self.iterate.state)

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        self.iterate.restore(snapshot, self.arguments)


class SemiBanditOREPS:
    """O-REPS with the loss of every step, in a known world: `l^(h,s,a) = 1{passed} l_h / q_k(h,s,a)`.

    It begins at the occupancy measure of the largest entropy, and sees the trajectory and its H losses.

    Args:
        mdp: the world, its dynamics known to the learner.
        eta: the learning rate; `theory.semi_bandit_oreps_eta(S, A, K)` is the theorem's.

    Raises:
        TypeError: for another kind of argument.
        ValueError: for a rate that is not positive.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Zimin and Neu (2013), Section 4; `theory.semi_bandit_oreps_bound`.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 100
        >>> learner = ab.learners.SemiBanditOREPS(world.mdp, ab.theory.semi_bandit_oreps_eta(3, 2, episodes))
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 49, 99]]]  # the best: 1.01
        [1.63, 1.43, 1.25]
    """

    feedback: ClassVar[type[StepFeedback]] = StepFeedback

    def __init__(self, mdp: FiniteHorizonMDP, eta: float) -> None:
        self.iterate, self.eta = KnownIterate(mdp), check_positive("eta", eta)

    @property
    def occupancy(self) -> FloatArray:
        """(H, S, A) q_k, the occupancy measure of the next policy."""
        return self.iterate.occupancy

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of q_k; uniform where no state is met.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self.iterate.policy

    @alone
    def observe(self, feedback: StepFeedback) -> None:
        """A step of mirror descent on the estimate.

        Args:
            feedback: the trajectory and its H losses.

        Raises:
            TypeError: unless it is a `StepFeedback`.
            ValueError: before anything changes, for losses outside [0, 1] or a trajectory of another world.
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        check_steps(feedback, self.iterate.mdp.shape, self.iterate.mdp.initial_state)
        self.iterate.step(self.eta * importance_weighted(feedback, self.iterate.occupancy))

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of the learner's.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        self.iterate.check_run(mdp)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        return (*self.iterate.arguments, f"eta={self.eta!r}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(self.arguments, **self.iterate.state)

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        self.iterate.restore(snapshot, self.arguments)


def importance_weighted(feedback: StepFeedback, chances: FloatArray) -> FloatArray:
    """`l^(h,s,a) = 1{passed} l_h / chance(h,s,a)`; with the exact chances its mean is the loss.

    Args:
        feedback: the trajectory and its H losses.
        chances: (H, S, A) how likely a cell is to be passed, positive where the trajectory went.

    Returns:
        (H, S, A) l^, zero except at H entries.
    """
    estimate = np.zeros(chances.shape)
    cells = feedback.trajectory.cells[:3]
    estimate[cells] = feedback.losses / chances[cells]
    return estimate
