"""Distorted games on polygons, many seeds at once: two dimensions, two-by-two matrices, no loop over seeds.

`PolygonOMD` is Algorithm 2 on a set of dimension n = 2 with its logarithmic barrier, a polygon in the plane
or a slice such as the triangle of three arms. It plays a `DistortedBandit` like any learner, N seeds at once,
and agrees with `IncreasingRateOMD` to the tolerance of the Newton steps. `play_polygons` plays several games
at once, since a round costs little more for a thousand rows than for one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggbandit._arrays import BoolArray, FloatArray, IntArray, check_positive_int, check_rng
from aggbandit.game.contests import Contest, ContestHistory, check_contests, evenly_spaced
from aggbandit.game.protocol import DistortedBandit
from aggbandit.game.rules import check_paid
from aggbandit.game.samplers import Exactly
from aggbandit.geometry._newton import (
    FULL_STEP,
    MOST_STEPS,
    ROUNDING_FLOOR,
    TOLERANCE,
    TOO_CLOSE,
    NoMinimizer,
    step_length,
)
from aggbandit.geometry.barrier import LogBarrier
from aggbandit.geometry.bodies import regular_polygon, simplex
from aggbandit.geometry.polytope import Polytope
from aggbandit.learners.rates import ConstantRate, IncreasingRate

__all__ = ["PolygonOMD", "play_polygons", "polygon_of_arms", "replay_polygons"]

UNIT_TOLERANCE = 1e-6  # how far a given direction may be from having length one


def polygon_of_arms(k: int) -> Polytope:
    """A regular polygon among the distributions over three arms, in their incircle.

    Its points have shape (3,) and sum to one, the slice has dimension 2, and theta is k.

    Args:
        k: the number of sides.

    Returns:
        The polygon.

    Raises:
        ValueError: for fewer than three sides.

    Source:
        Ours.
    """
    flat, arms = regular_polygon(k), simplex(3)
    normals = flat.A @ arms.basis.T
    offsets = flat.b / math.sqrt(6) + normals @ np.full(3, 1 / 3)
    return Polytope(normals, offsets, C=np.ones((1, 3)), d=[1.0])


class PolygonOMD:
    """Algorithm 2 on a polygon with its logarithmic barrier, many seeds at once; z_hat = z or not.

    Args:
        body: a polytope of dimension 2.
        n_seeds: N.
        eta0: the first rate.
        baseline: b, subtracted from every loss.
        schedule: how the rate goes on, by default `IncreasingRate()`.

    Raises:
        ValueError: for a set of another dimension, or a rate that is not positive.

    Source:
        Algorithm 2.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> body, rounds = ab.game.polygon_of_arms(6), 100
        >>> game = ab.DistortedBandit(
        ...     np.tile([0.1, 0.5, 0.9], (rounds, 1)),
        ...     np.full((rounds, 3), 0.1),
        ...     ab.game.TowardsWorstVertex(body.vertices()),
        ...     body,
        ...     loss_bound=1.0,
        ... )
        >>> learner = ab.game.PolygonOMD(body, n_seeds=50, eta0=0.1, baseline=0.5)
        >>> history = game.play(learner, np.random.default_rng(0))
        >>> history.regret().shape
        (100, 50)
    """

    def __init__(
        self,
        body: Polytope,
        n_seeds: int,
        eta0: float,
        baseline: float = 0.0,
        schedule: IncreasingRate | ConstantRate | None = None,
    ) -> None:
        check_positive_int("n_seeds", n_seeds)
        if not (eta0 > 0 and np.isfinite(eta0)):
            raise ValueError(f"eta0 is {eta0}; a learning rate must be positive and finite")
        schedule = IncreasingRate() if schedule is None else schedule
        _check_schedule("schedule", schedule)
        self.eta0, self.baseline, self.schedule = float(eta0), float(baseline), schedule
        self.eta: FloatArray = np.full(n_seeds, self.eta0)
        self._rows, self._predicted = _Rows(body, n_seeds), False
        self._seeds = _Seeds(self._rows, slice(None))

    @property
    def center(self) -> FloatArray:
        """(N, d) the centers x_t."""
        return self._seeds.center

    @property
    def ellipsoid(self) -> _Seeds:
        """The Dikin ellipsoids at the centers; `.apply` multiplies by H_t along the slice."""
        return self._seeds.ellipsoid

    def predict(self, rng: np.random.Generator) -> FloatArray:
        """The points y_t to play.

        Args:
            rng: one uniform angle is drawn for each seed.

        Returns:
            (N, d) points, each uniform on the Dikin ellipsoid at its center.

        Source:
            Algorithm 2, lines 4 and 5.
        """
        self._predicted = True
        angle = rng.uniform(0, 2 * np.pi, size=len(self.eta))
        return self._rows.aim(np.stack([np.cos(angle), np.sin(angle)]))

    def update(self, loss_value: FloatArray, z_hat: FloatArray, epsilon: FloatArray) -> None:
        """Learn from a round.

        Args:
            loss_value: (N,) l_t·z_hat_t.
            z_hat: (N, d) what was played.
            epsilon: (d,) the perturbation vector.

        Raises:
            RuntimeError: when nothing was predicted.
            NoMinimizer: when double precision is not enough for a center.

        Source:
            Algorithm 2, lines 7 to 10.
        """
        if not self._predicted:
            raise RuntimeError("update was called before predict")
        z_hat_epsilon = np.abs(z_hat @ epsilon)
        self._predicted = False
        self.eta, _ = self.schedule.next_rates(self.eta, self.eta0, 2, z_hat_epsilon)
        self._rows.learn(2 * (loss_value - self.baseline), self.eta)


def play_polygons(
    contests: Sequence[Contest[DistortedBandit]],
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.0,
    n_looks: int = 1,
) -> list[ContestHistory]:
    """Play games on one polygon with Algorithm 2, many seeds at once and all with the same coins.

    Args:
        contests: games on the same polygon with the same losses and z_hat = z, which differ in what the
            adversary does.
        n_seeds: N.
        rng: one uniform angle for each round and seed, then one integer: the seed of each adversary's coins.
        baseline: b, subtracted from every loss.
        n_looks: how often the result is looked at, C.

    Returns:
        A history for each contest: what it would be alone.

    Raises:
        TypeError: for what is no contest of this kind, or no generator.
        ValueError: for games that differ in more, or a rate above `theory.eta0_cap`; nothing has been drawn
            then.
        RuleViolation: when an adversary breaks a rule.

    Source:
        Algorithm 2.
    """
    check_positive_int("n_seeds", n_seeds)
    check_rng(rng)
    _check(contests, baseline)
    rounds = contests[0].game.n_rounds
    looks = evenly_spaced(rounds, n_looks)
    angle = rng.uniform(0, 2 * np.pi, size=(rounds, n_seeds))
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _play(contests, directions, int(rng.integers(2**63)), baseline, looks)


def replay_polygons(
    contests: Sequence[Contest[DistortedBandit]],
    directions: FloatArray,
    baseline: float = 0.0,
    looks: IntArray | None = None,
) -> list[ContestHistory]:
    """Play games on one polygon with given directions; an adversary's own coins have seed 0.

    Args:
        contests: as in `play_polygons`.
        directions: (T, N, 2) u_t, unit vectors: y = x + W L^{-T} u, where W is the body's basis and
            L L^T = W^T H W.
        baseline: b, subtracted from every loss.
        looks: (C,) the rounds after which the result is looked at, increasing, by default every one.

    Returns:
        A history for each contest.

    Raises:
        TypeError: for what is no contest of this kind.
        ValueError: as `play_polygons`, and for directions or looks that are not of this kind.
        RuleViolation: when an adversary breaks a rule.

    Source:
        Algorithm 2.
    """
    _check(contests, baseline)
    rounds = contests[0].game.n_rounds
    directions = np.asarray(directions, dtype=np.float64)
    if directions.ndim != 3 or directions.shape[::2] != (rounds, 2) or not directions.shape[1]:
        raise ValueError(f"directions has shape {directions.shape}; it must be ({rounds}, N, 2)")
    length: FloatArray = np.sqrt((directions**2).sum(axis=-1))
    wrong = ~(np.abs(length - 1) < UNIT_TOLERANCE)
    if wrong.any():
        t, i = np.argwhere(wrong)[0]
        raise ValueError(f"directions[{t}, {i}] has length {length[t, i]:.6g}; it must be a unit vector")
    looks = np.arange(1, rounds + 1) if looks is None else np.asarray(looks)
    if looks.ndim != 1 or not looks.size or np.diff(looks, prepend=0, append=rounds + 1).min() < 1:
        raise ValueError(f"looks is {looks.tolist()}; they must increase, from 1 to {rounds} at most")
    return _play(contests, np.swapaxes(directions, 1, 2), 0, baseline, looks)


def _check(contests: Sequence[Contest[DistortedBandit]], baseline: float) -> None:
    """Raise unless these contests can be played together."""
    check_contests(contests, DistortedBandit, 2, baseline)
    game = contests[0].game
    _check_polygon(game.decision_set)
    for i, contest in enumerate(contests):
        other = contest.game
        _check_schedule(f"contests[{i}].schedule", contest.schedule)
        if not isinstance(other.sampler, Exactly):
            raise ValueError(f"contests[{i}].game has the sampler {other.sampler}; it must be Exactly()")
        if other.decision_set is not game.decision_set or not np.array_equal(other.losses, game.losses):
            raise ValueError(f"contests[{i}] and contests[0] differ in body or losses; they must agree there")
        if other.loss_bound != game.loss_bound:
            raise ValueError(f"contests[{i}] and contests[0] differ in loss_bound; they must agree there")


def _check_polygon(body: Any) -> None:
    """Raise ValueError unless this is a polygon."""
    if not isinstance(body, Polytope):
        raise ValueError(f"the decision set is a {type(body).__name__}; it must be a polygon")
    if body.dimension != 2:
        raise ValueError(f"the decision set is of dimension {body.dimension}; it must be a polygon, of 2")


def _check_schedule(name: str, schedule: Any) -> None:
    """Raise TypeError unless this is a schedule for many seeds at once."""
    if isinstance(schedule, type) or not callable(getattr(schedule, "next_rates", None)):
        raise TypeError(
            f"{name} is {schedule!r}; with many seeds at once it must be an object with the method"
            " next_rates, such as IncreasingRate()"
        )


def _play(
    contests: Sequence[Contest[DistortedBandit]],
    directions: FloatArray,
    adversary_seed: int,
    baseline: float,
    looks: IntArray,
) -> list[ContestHistory]:
    """Play with directions of shape (T, 2, N)."""
    game, n_seeds = contests[0].game, directions.shape[2]
    # One row for each contest and seed.
    rows = _Rows(game.decision_set, len(contests) * n_seeds)
    seats = [
        _Seat(contest, _Seeds(rows, slice(i * n_seeds, (i + 1) * n_seeds)), adversary_seed)
        for i, contest in enumerate(contests)
    ]
    eta = np.concatenate([seat.eta for seat in seats])
    regret = np.zeros(rows.n_rows)
    best = game.losses @ game.best_fixed_point()
    wanted = set(looks.tolist())
    kept = []
    for t, loss in enumerate(game.losses, start=1):
        y = rows.aim(np.concatenate([directions[t - 1]] * len(contests), axis=1))
        values = y @ loss
        for seat in seats:
            seat.play(t, y, values, eta)
        # Line 8; the rules of what is paid hold for a hand that was moved and for one that was not.
        rows.learn(2 * (check_paid(t, values, game.loss_bound) - baseline), eta)
        regret += values - best[t - 1]
        if t in wanted:
            kept.append((rows.center, eta.copy(), regret.copy()))
    centers, etas, regrets = (np.array(column) for column in zip(*kept, strict=True))
    return [seat.history(looks, centers, etas, regrets, game.n_rounds) for seat in seats]


class _Seat:
    """One contest at the table of all: its rows, its adversary's coins, what it spent."""

    def __init__(self, contest: Contest[DistortedBandit], seeds: _Seeds, adversary_seed: int) -> None:
        self.game, self.schedule, self.eta0 = contest.game, contest.schedule, float(contest.eta0)
        self.seeds, self.rows = seeds, seeds.rows
        self.coins = np.random.default_rng(adversary_seed)
        self.moves: BoolArray = np.asarray(self.game.epsilons.any(axis=1))
        n_seeds = self.rows.stop - self.rows.start
        self.eta = self._next(np.full(n_seeds, self.eta0), np.zeros(n_seeds))[0]
        self.spent, self.hidden = np.zeros(n_seeds), np.zeros(n_seeds)
        self.n_clipped, self.n_distorted = 0, 0

    def _next(self, eta: FloatArray, z_epsilon: FloatArray) -> tuple[FloatArray, Any]:
        rates: tuple[FloatArray, Any] = self.schedule.next_rates(eta, self.eta0, 2, z_epsilon)  # type: ignore[attr-defined]
        return rates

    def play(self, t: int, y: FloatArray, values: FloatArray, eta: FloatArray) -> None:
        """Steps 2 to 4 of the protocol and line 9, for the rows of this contest: new `values` and `eta`."""
        mine = y[self.rows]
        z, _ = self.game.answer(t, mine, self.seeds, self.coins)
        if not self.moves[t - 1]:
            return
        values[self.rows] = z @ self.game.losses[t - 1]
        z_epsilon = np.abs(z @ self.game.epsilons[t - 1])
        self.spent += z_epsilon**2
        self.hidden -= self.seeds.signal(z - mine)
        eta[self.rows], clipped = self._next(eta[self.rows], z_epsilon)
        self.n_clipped += int(clipped.sum())
        self.n_distorted += int((z_epsilon > 0).sum())

    def history(
        self, at: IntArray, centers: FloatArray, etas: FloatArray, regrets: FloatArray, rounds: int
    ) -> ContestHistory:
        """What is kept of this contest; z_hat = z, so that both regrets are one."""
        regret = regrets[:, self.rows]
        return ContestHistory(
            at=at,
            center=centers[:, self.rows],
            eta=etas[:, self.rows],
            regret=regret,
            pseudo_regret=regret,
            spent=self.spent,
            hidden=self.hidden / rounds,
            clipped=self.n_clipped / max(self.n_distorted, 1),
        )


class _Seeds:
    """Some of the rows, as an adversary sees a learner: its centers, and its ellipsoids."""

    def __init__(self, all_rows: _Rows, rows: slice) -> None:
        self._all, self.rows = all_rows, rows

    @property
    def center(self) -> FloatArray:
        """(N, d) the centers."""
        return self._all.center[self.rows]

    @property
    def ellipsoid(self) -> _Seeds:
        """What has `apply`."""
        return self

    def apply(self, v: FloatArray) -> FloatArray:
        """(N, d) H_t v along the slice, for v of shape (N, d)."""
        a, b, c = (entry[self.rows] for entry in self._all.hessian)
        v0, v1 = self._all.basis.T @ v.T
        return np.asarray(np.stack([a * v0 + b * v1, b * v0 + c * v1], axis=1) @ self._all.basis.T)

    def signal(self, v: FloatArray) -> FloatArray:
        """(N,) v·H_t(y_t - x_t), for v of shape (N, d)."""
        v0, v1 = self._all.basis.T @ v.T
        e0, e1 = self._all.pull[:, self.rows]
        return np.asarray(v0 * e0 + v1 * e1)


class _Rows:
    """Algorithm 2 on a polygon, a row a seed: coordinates v with x = x_1 + W v, as arrays of shape (2, R)."""

    def __init__(self, body: Any, n_rows: int) -> None:
        _check_polygon(body)
        self.n_rows, self.basis = n_rows, body.basis
        self._origin = LogBarrier(body).analytic_center()
        self._normals = np.ascontiguousarray(body.A @ body.basis)
        self._offsets = (body.b - body.A @ self._origin)[:, None]
        p, q = self._normals.T
        self._gradients = np.stack([p, q])
        self._squares = np.stack([p * p, p * q, q * q])
        self._dual = np.zeros((2, n_rows))
        self._move_to(np.zeros((2, n_rows)), *self._derivatives(np.zeros((2, n_rows)))[1])

    def _move_to(self, v: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray) -> None:
        self._v, self.hessian = v, (a, b, c)
        self.center: FloatArray = self._origin + v.T @ self.basis.T

    def aim(self, directions: FloatArray) -> FloatArray:
        """Lines 4 and 5: (R, d) the points y for the unit vectors `directions`, (2, R)."""
        # With H = [[a, b], [b, c]] = L L^T the step is L^{-T} u.
        a, b, c = self.hessian
        first = np.sqrt(a)
        lower = b / first
        step = np.empty_like(self._v)
        np.divide(directions[1], np.sqrt(c - lower * lower), out=step[1])
        np.divide(directions[0] - lower * step[1], first, out=step[0])
        self._step = step
        self.pull = np.empty_like(step)
        np.add(a * step[0], b * step[1], out=self.pull[0])
        np.add(b * step[0], c * step[1], out=self.pull[1])
        y: FloatArray = self._origin + (self._v + step).T @ self.basis.T
        y.setflags(write=False)
        return y

    def learn(self, weight: FloatArray, eta: FloatArray) -> None:
        """Lines 8 and 10, `weight` being n (l·z_hat - b), (R,). Raises NoMinimizer."""
        scale = eta * weight
        self._dual += scale * self.pull
        # At x the gradient of R cancels the old dual, so the first Newton step is known.
        v, step, decrement = self._v, -scale * self._step, np.abs(scale)
        largest = decrement.max()
        for _ in range(MOST_STEPS):
            v = v + (step if largest < FULL_STEP else step_length(decrement) * step)
            gradient, (a, b, c) = self._derivatives(v)
            gradient += self._dual
            g0, g1 = gradient
            step = np.empty_like(v)
            np.subtract(b * g1, c * g0, out=step[0])
            np.subtract(b * g0, a * g1, out=step[1])
            step /= a * c - b * b
            previous, before = decrement, largest
            decrement = np.sqrt(np.maximum(-(step[0] * g0 + step[1] * g1), 0.0))
            largest = decrement.max()
            # The largest decrement halves at least, unless rounding keeps some row from it.
            if largest <= TOLERANCE or (not largest <= before / 2 and _stalled(decrement, previous)):
                return self._move_to(v, a, b, c)
        raise NoMinimizer(f"after {MOST_STEPS} Newton steps the decrement is still {decrement.max():.3g}")

    def _derivatives(self, v: FloatArray) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """The gradient of R, (2, R), and the entries (1,1), (1,2) and (2,2) of its Hessian, (R,) each."""
        slacks = self._offsets - self._normals @ v
        if not slacks.min() > 0:
            raise NoMinimizer(TOO_CLOSE)
        inverse = 1 / slacks
        a, b, c = self._squares @ (inverse * inverse)
        return self._gradients @ inverse, (a, b, c)


def _stalled(decrement: FloatArray, previous: FloatArray) -> bool:
    """Whether the rows that are not there yet are kept by rounding alone, and near; NoMinimizer if far."""
    stalled = (previous < FULL_STEP) & (decrement > previous / 2) & (decrement > TOLERANCE)
    if (decrement[stalled] > ROUNDING_FLOOR).any():
        raise NoMinimizer(
            f"rounding keeps the Newton decrement at {decrement[stalled].max():.3g}: the minimizer is too"
            " close to a wall for double precision"
        )
    return bool((decrement[~stalled] <= TOLERANCE).all())
