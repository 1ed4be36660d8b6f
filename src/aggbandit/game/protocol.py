"""Distorted linear bandits: the learner points, somebody moves its hand, it sees what the moved hand paid.

A round of the game, as the paper's protocol has it:

1. the learner picks y_t in the set S;
2. an adversary picks z_t with ||z_t - y_t||_1 <= min(|z_t·eps_t|, |y_t·eps_t|) and ||z_t||_1 <= H;
3. z_hat_t is drawn with mean z_t, ||z_hat_t||_1 <= H;
4. the learner suffers and sees l_t·z_hat_t, and sees z_hat_t and eps_t.

Three assumptions that the paper's protocol does not list are part of the game here: ||l_t||_inf <= 1, used
in the proofs; E[z_hat_t | z_t, y_t] = z_t, since a z_hat that correlated with y_t could lie about
everything; and l_t·z_hat_t in [0, H], as Algorithm 2 has it in its line 7. Whoever breaks a rule is stopped
by a `RuleViolation` that names it.

A learner may play many seeds at once: then y, z and z_hat have shape (N, d) in place of (d,), and what is
paid has shape (N,). One seed and one point is the same game.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import (
    FloatArray,
    check_positive,
    check_rng,
    first,
    place,
    read_only,
    real_array,
    reduce_frozen,
)
from aggbandit.game.adversaries import Adversary
from aggbandit.game.rules import TOLERANCE, View, check_draw, check_move, check_paid, check_prediction
from aggbandit.game.samplers import Exactly, Sampler
from aggbandit.learners.protocol import VectorLearner

__all__ = ["Body", "DistortedBandit", "GameHistory", "Round"]


class Body(Protocol):
    """What the game needs of a decision set given as a convex body."""

    def contains(self, x: FloatArray, tolerance: float, /) -> bool:
        """Whether `x`, (d,), is in the set, up to `tolerance`."""

    def minimize(self, linear: FloatArray, /) -> FloatArray:
        """A point of the set, (d,), where `linear`·x is least."""


class Round(NamedTuple):
    """What happened in one round: everything, including what the learner never sees.

    Attributes:
        round: t, from 1.
        y: (d,) the point chosen; with many seeds at once (N, d).
        z: in the shape of y, where it was moved to.
        z_hat: in the shape of y, what was played.
        loss: (d,) the loss vector l_t.
        epsilon: (d,) the perturbation vector eps_t.
        value: l_t·z_hat_t, what was paid; with many seeds at once (N,).
        record: whatever the learner's update returned.
    """

    round: int
    y: FloatArray
    z: FloatArray
    z_hat: FloatArray
    loss: FloatArray
    epsilon: FloatArray
    value: Any
    record: Any


@dataclass(frozen=True, eq=False)
class GameHistory:
    """A game that was played; with many seeds at once the second axis, of length N, counts them.

    Attributes:
        y: (T, d) or (T, N, d) the points chosen.
        z: in the shape of y, where they were moved to.
        z_hat: in the shape of y, what was played.
        values: (T,) or (T, N) l_t·z_hat_t.
        z_hat_epsilon: (T,) or (T, N) z_hat_t·eps_t.
        bias: (T,) or (T, N) l_t·(z_t - y_t).
        comparator: (d,) z*, the best fixed point of S for the whole sequence.
        comparator_values: (T,) l_t·z*.

    Source:
        Section 3.2.
    """

    y: FloatArray
    z: FloatArray
    z_hat: FloatArray
    values: FloatArray
    z_hat_epsilon: FloatArray
    bias: FloatArray
    comparator: FloatArray
    comparator_values: FloatArray
    __reduce__ = reduce_frozen

    def regret(self) -> FloatArray:
        """Regret up to each round against the best fixed point of the whole sequence.

        It is `sum_{s <= t} l_s·(z_hat_s - z*)`; the last entry is Reg_T.

        Returns:
            (T,) or (T, N).

        Source:
            Section 3.2.
        """
        return np.cumsum((self.values.T - self.comparator_values).T, axis=0)

    def budget_spent(self) -> FloatArray:
        """`sum_{s <= t} (z_hat_s·eps_s)²`, whose last entry B must bound.

        Returns:
            (T,) or (T, N).

        Source:
            Section 3.2.
        """
        return np.cumsum(self.z_hat_epsilon**2, axis=0)


@dataclass(frozen=True, eq=False)
class DistortedBandit:
    """The game of distorted linear bandits, with losses and perturbation vectors chosen beforehand.

    Args:
        losses: (T, d) l_t, with ||l_t||_inf <= 1.
        epsilons: (T, d) eps_t >= 0 (`np.broadcast_to` makes constant ones at no cost).
        adversary: who moves the hand, one of `aggbandit.game` or an object of one's own with the method
            `move(view, rng)`; see `aggbandit.game.adversaries`.
        decision_set: S, a polytope, or a finite set as an array (M, d).
        loss_bound: H, with ||y||_1 <= H on S and l_t·y in [0, H].
        sampler: how z_hat is drawn with mean z, by default z itself.

    Raises:
        ValueError: naming the first entry that is out of range.
        TypeError: when `decision_set` is neither an array nor a `Body`, `loss_bound` is no number, or the
            adversary or the sampler is
            none.

    Source:
        Section 3.2.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> arms, rounds = ab.simplex(3), 300
        >>> losses = np.tile([0.2, 0.5, 0.8], (rounds, 1))
        >>> epsilons = np.full((rounds, 3), 0.05)
        >>> game = ab.DistortedBandit(
        ...     losses, epsilons, ab.game.Freezing(), arms, loss_bound=1.0, sampler=ab.game.DrawArm()
        ... )
        >>> learner = ab.IncreasingRateOMD(ab.LogBarrier(arms), rounds, loss_bound=1.0, budget=0.75)
        >>> history = game.play(learner, np.random.default_rng(0))
        >>> float(history.budget_spent()[-1].round(6))
        0.75
        >>> history.regret().shape
        (300,)
    """

    losses: FloatArray
    epsilons: FloatArray
    adversary: Adversary
    decision_set: Body | FloatArray
    loss_bound: float
    sampler: Sampler = field(default_factory=Exactly)
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        # Fixed before the game.
        losses = read_only(real_array("losses", self.losses))
        epsilons = read_only(real_array("epsilons", self.epsilons))
        if losses.ndim != 2 or not losses.size:
            raise ValueError(f"losses has shape {losses.shape}; it must be (T, d) with T >= 1")
        if epsilons.shape != losses.shape:
            raise ValueError(
                f"epsilons has shape {epsilons.shape}; it must be that of losses, {losses.shape}"
            )
        check_positive("loss_bound", self.loss_bound)
        _refuse("losses", losses, ~(np.abs(losses) <= 1), "the game needs ||l||_inf <= 1")
        wrong = ~((epsilons >= 0) & np.isfinite(epsilons))
        _refuse("epsilons", epsilons, wrong, "the game needs eps >= 0, finite")
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "epsilons", epsilons)
        _check_object("adversary", self.adversary, "move")
        _check_object("sampler", self.sampler, "draw")
        _check_decision_set(self.decision_set, losses.shape[1])

    @property
    def n_rounds(self) -> int:
        """T."""
        return len(self.losses)

    @property
    def beta(self) -> float:
        """The bias parameter: the largest entry of the perturbation vectors. Source: Section 3.2."""
        return float(self.epsilons.max())

    def best_fixed_point(self) -> FloatArray:
        """The point of S whose total loss is least.

        Returns:
            (d,) the point.

        Source:
            Section 3.2, the regret.
        """
        total = self.losses.sum(axis=0)
        if isinstance(self.decision_set, np.ndarray):
            return np.asarray(self.decision_set[np.argmin(self.decision_set @ total)], dtype=np.float64)
        return np.asarray(self.decision_set.minimize(total), dtype=np.float64)

    def answer(
        self, t: int, y: FloatArray, learner: Any, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Steps 2 and 3: what becomes of the points y that the learner chose in round t.

        Args:
            t: the round, from 1.
            y: (d,) the point; with many seeds at once (N, d).
            learner: what the adversary may look into.
            rng: randomness is drawn in the order adversary, sampler.

        Returns:
            z and z_hat, in the shape of y.

        Raises:
            RuleViolation: when a rule is broken.

        Source:
            Section 3.2, the protocol.
        """
        loss, epsilon, bound = self.losses[t - 1], self.epsilons[t - 1], self.loss_bound
        y = read_only(y)  # what was chosen stays what it is, whoever sees it
        z = self.adversary.move(View(t, y, loss, epsilon, bound, learner), rng)
        z = z if z is y else read_only(z)
        check_move(t, y, z, epsilon, bound)
        z_hat = self.sampler.draw(z, rng)
        z_hat = z_hat if z_hat is z else read_only(z_hat)
        if z_hat is not y:
            check_draw(t, z_hat, y.shape, bound)
        return z, z_hat

    def rounds(self, learner: VectorLearner, rng: np.random.Generator) -> Iterator[Round]:
        """Play, and hand out each round as it happens.

        Args:
            learner: an object with `predict` and `update`; with many seeds at once `predict` gives (N, d),
                and `update` is given (N,) losses and (N, d) points.
            rng: randomness is drawn in the order learner, adversary, sampler.

        Returns:
            An iterator over the rounds.

        Raises:
            TypeError: at once, when the learner or the generator is none.
            RuleViolation: when a rule is broken.

        Source:
            Section 3.2, the protocol.
        """
        _check_object("learner", learner, "predict", "update")
        check_rng(rng)
        return self._rounds(learner, rng)

    def _rounds(self, learner: VectorLearner, rng: np.random.Generator) -> Iterator[Round]:
        for t, (loss, epsilon) in enumerate(zip(self.losses, self.epsilons, strict=True), start=1):
            y = read_only(learner.predict(rng))
            check_prediction(t, y, len(loss), self._contains, self.loss_bound)
            z, z_hat = self.answer(t, y, learner, rng)
            paid = check_paid(t, z_hat @ loss, self.loss_bound)
            value: Any = paid if paid.ndim else float(paid)
            record = learner.update(value, z_hat, epsilon)
            yield Round(t, y, z, z_hat, loss, epsilon, value, record)

    def play(self, learner: VectorLearner, rng: np.random.Generator) -> GameHistory:
        """Play all rounds, and return what happened.

        Args:
            learner: as in `rounds`.
            rng: as in `rounds`.

        Returns:
            The history; with many seeds at once its arrays have an axis for them.

        Raises:
            TypeError: when the learner or the generator is none.
            RuleViolation: when a rule is broken.

        Source:
            Section 3.2, the protocol.
        """
        played = [(r.y, r.z, r.z_hat, r.value) for r in self.rounds(learner, rng)]
        y, z, z_hat, values = (np.array(column) for column in zip(*played, strict=True))
        comparator = self.best_fixed_point()
        return GameHistory(
            y=y,
            z=z,
            z_hat=z_hat,
            values=values,
            z_hat_epsilon=np.einsum("t...d,td->t...", z_hat, self.epsilons),
            bias=np.einsum("t...d,td->t...", z - y, self.losses),
            comparator=comparator,
            comparator_values=self.losses @ comparator,
        )

    def _contains(self, y: FloatArray) -> NDArray[np.bool_]:
        """Whether each of the points y is in S."""
        if isinstance(self.decision_set, np.ndarray):
            return np.asarray((self.decision_set == y[..., None, :]).all(axis=-1).any(axis=-1))
        body, tolerance = self.decision_set, TOLERANCE * self.loss_bound
        return np.asarray(
            body.contains(y, tolerance) if y.ndim == 1 else [body.contains(point, tolerance) for point in y]
        )


def _check_object(name: str, value: object, *methods: str) -> None:
    """Raise TypeError, saying what to write, unless `value` is an object with these methods."""
    if isinstance(value, type):
        raise TypeError(f"{name} is the class {value.__name__}; it must be an object, {value.__name__}(...)")
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        raise TypeError(
            f"{name} is a {type(value).__name__} without {' and '.join(missing)};"
            f" it must be an object with the method{'s' * (len(methods) > 1)} {' and '.join(methods)}"
        )


def _check_decision_set(decision_set: Body | FloatArray, dimension: int) -> None:
    """Refuse what is neither a finite set of points in R^d nor a body with the two methods of the game."""
    if isinstance(decision_set, np.ndarray):
        if decision_set.ndim != 2 or decision_set.shape[1] != dimension or len(decision_set) == 0:
            raise ValueError(
                f"decision_set has shape {decision_set.shape}; points must be (M, {dimension}), M >= 1"
            )
        return
    missing = [name for name in ("contains", "minimize") if not callable(getattr(decision_set, name, None))]
    if missing:
        raise TypeError(
            f"decision_set is a {type(decision_set).__name__} without {' and '.join(missing)};"
            f" it must be an array of points, shape (M, {dimension}), or a body with contains and minimize"
        )


def _refuse(name: str, table: FloatArray, wrong: NDArray[np.bool_], rule: str) -> None:
    """Name the first entry of `table` that is `wrong`, if there is one."""
    if wrong.any():
        at = first(wrong)
        raise ValueError(f"{place(name, at)} is {table[at]}; {rule}")
