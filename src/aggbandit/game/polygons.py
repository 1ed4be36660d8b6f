"""Distorted games on polygons, many seeds at once: two dimensions, two-by-two matrices, no loop over seeds.

The learner is Algorithm 2 on a set of dimension n = 2 with its logarithmic barrier, a polygon in the plane or
a slice such as the triangle of three arms, as ``IncreasingRateOMD`` plays it, and agrees with it to the
tolerance of the Newton steps; z_hat = z. It exists because a growth rate is an average over many games, and
playing one seed at a time is slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aggbandit import theory
from aggbandit._arrays import BoolArray, FloatArray, IntArray, check_positive_int, read_only
from aggbandit.geometry._newton import MOST_STEPS, TOLERANCE, NoMinimizer, step_length
from aggbandit.geometry.barrier import LogBarrier
from aggbandit.geometry.bodies import regular_polygon, simplex
from aggbandit.geometry.polytope import Polytope
from aggbandit.learners.rates import ConstantRate, IncreasingRate

Move = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Where an adversary wants the hands: from x (N, d), y (N, d) and the loss (d,) to targets (N, d)."""


def stay(x: FloatArray, y: FloatArray, loss: FloatArray) -> FloatArray:
    """Nobody moves the hand: the target is ``y``, whatever ``x`` and ``loss``. Source: the protocol."""
    return y


def back_to_center(x: FloatArray, y: FloatArray, loss: FloatArray) -> FloatArray:
    """The freezing adversary: the target is ``x``, from where ``y`` was tried; ``loss`` does not matter.

    Source: ours.
    """
    return x


def silence(x: FloatArray, y: FloatArray, loss: FloatArray) -> FloatArray:
    """Hide the loss alone: ``y`` with as much moved between two coordinates that it loses what ``x`` loses.

    The coordinates are those where ``loss`` is largest and smallest, so among the points with the sum of y
    none is nearer to y in L1. The target may lie outside the set, which the protocol allows. Source: ours.
    """
    dear, cheap = int(np.argmax(loss)), int(np.argmin(loss))
    if loss[dear] == loss[cheap]:
        return y
    moved = ((y - x) @ loss) / (loss[dear] - loss[cheap])
    target = y.copy()
    target[:, dear] -= moved
    target[:, cheap] += moved
    return target


@dataclass(frozen=True)
class ToWorstOf:
    """The hand is moved towards the point that loses most. ``points``, shape (M, d). Source: ours."""

    points: FloatArray

    def __call__(self, x: FloatArray, y: FloatArray, loss: FloatArray) -> FloatArray:
        """The worst point for ``loss``, for every seed; ``x`` and ``y`` only give the shape."""
        worst = self.points[np.argmax(self.points @ loss)]
        return np.asarray(np.broadcast_to(worst, y.shape), dtype=np.float64)


def polygon_of_arms(k: int) -> Polytope:
    """A regular polygon with ``k`` sides among the distributions over three arms, in their incircle.

    Points have shape (3,) and sum to one, the slice has dimension 2, theta is k. Raises ``ValueError`` for
    k < 3. Source: ours.
    """
    flat, arms = regular_polygon(k), simplex(3)
    normals = flat.A @ arms.basis.T
    offsets = flat.b / math.sqrt(6) + normals @ np.full(3, 1 / 3)
    return Polytope(normals, offsets, C=np.ones((1, 3)), d=[1.0])


@dataclass(frozen=True, eq=False)
class PolygonGame:
    """Losses and perturbations fixed beforehand, on a polygon.

    ``body`` a polytope of dimension 2 with points y >= 0; ``losses`` l_t in [0, 1] and ``epsilons`` eps_t
    >= 0, shape (T, d); ``move`` what the adversary wants, and gets as far as the rules allow. H is the
    largest ||y||_1 on the body. Raises ``ValueError`` for shapes or values out of range. Source: Section 3.2.
    """

    body: Polytope
    losses: FloatArray
    epsilons: FloatArray
    move: Move = stay

    def __post_init__(self) -> None:
        for name in ("losses", "epsilons"):
            table = read_only(getattr(self, name))
            object.__setattr__(self, name, table)
            if table.ndim != 2 or table.shape != (self.rounds, self.body.A.shape[1]) or not len(table):
                raise ValueError(f"{name} has shape {table.shape}; it must be (T, {self.body.A.shape[1]})")
            if not (table.min() >= 0 and np.isfinite(table).all()):
                raise ValueError(f"{name} has the entry {table.min()}; all must be nonnegative and finite")
        if self.losses.max() > 1:
            raise ValueError(f"losses has the entry {self.losses.max()}; the game needs ||l||_inf <= 1")
        if self.body.dimension != 2:
            raise ValueError(
                f"body has dimension {self.body.dimension}; it must be a polygon, of dimension 2"
            )
        corners = self.body.vertices()
        if corners.min() < -1e-12:
            raise ValueError(f"body has a corner with the entry {corners.min()}; the game needs y >= 0")

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.losses)

    @property
    def loss_bound(self) -> float:
        """H: the largest ||y||_1 on the body."""
        return float(self.body.vertices().sum(axis=1).max())

    def best_corner(self) -> FloatArray:
        """The corner with the least total loss, shape (d,)."""
        corners = self.body.vertices()
        best: FloatArray = corners[np.argmin(corners @ self.losses.sum(axis=0))]
        return best


Contest = tuple[PolygonGame, float, IncreasingRate | ConstantRate]
"""A game, the first rate eta_0, and the schedule it is played with."""


@dataclass(frozen=True, eq=False)
class PolygonHistory:
    """A polygon game played with N seeds, looked at after the rounds ``at``, shape (C,).

    ``x`` the next centres, shape (C, N, d); ``eta`` the rates and ``regret`` so far against the best corner,
    shape (C, N); ``spent`` sum (z·eps)², shape (N,); ``clipped`` the share of the rounds with z·eps > 0 in
    which the rate met its clip (0 when there is none).
    """

    at: IntArray
    x: FloatArray
    eta: FloatArray
    regret: FloatArray
    spent: FloatArray
    clipped: float


def play_polygon(
    game: PolygonGame,
    eta0: float,
    schedule: IncreasingRate | ConstantRate,
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.0,
    n_looks: int = 1,
) -> PolygonHistory:
    """Play ``game`` with ``n_seeds`` copies of Algorithm 2 at once.

    ``eta0`` the first rate, ``schedule`` how it goes on, ``baseline`` b what is subtracted from every loss,
    ``n_looks`` how often the result is looked at. ``rng`` gives one angle for each round and seed. Raises
    ``ValueError`` for a rate that is not positive or exceeds ``theory.eta0_cap``, or a number that is not
    positive. Source: Algorithm 2.
    """
    return play_polygons([(game, eta0, schedule)], n_seeds, rng, baseline, n_looks)[0]


def play_polygons(
    contests: Sequence[Contest],
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.0,
    n_looks: int = 1,
) -> list[PolygonHistory]:
    """Play several ``contests``, each a game, an eta_0 and a schedule, at once and with the same coins.

    The games differ in what the adversary does only: ``body`` is the same object, and the losses agree.
    ``n_seeds``, ``rng``, ``baseline`` and ``n_looks`` are as in ``play_polygon``, and so is each of the
    histories returned, one a contest. Raises ``ValueError`` as ``play_polygon``, and for no contests or games
    that differ in more; ``rng`` has not been used then. Source: Algorithm 2.
    """
    check_positive_int("n_seeds", n_seeds)
    check_positive_int("n_looks", n_looks)
    _check_contests(contests, baseline)
    rounds = contests[0][0].rounds
    angles = rng.uniform(0, 2 * np.pi, size=(rounds, n_seeds))
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    looks = np.unique(np.linspace(0, rounds, n_looks + 1).round().astype(np.int64))
    return _play(contests, directions, baseline, looks[looks > 0])


def replay_polygon(
    game: PolygonGame,
    eta0: float,
    schedule: IncreasingRate | ConstantRate,
    directions: FloatArray,
    baseline: float,
    looks: IntArray,
) -> PolygonHistory:
    """Play ``game`` with given directions.

    ``directions`` u_t, unit vectors, shape (T, N, 2): y = x + W L^{-T} u where W is the body's basis and
    L L^T = W^T H W. ``eta0``, ``schedule`` and ``baseline`` are as in ``play_polygon``; ``looks`` are the
    rounds after which the state is kept, increasing, from 1 to T. Raises ``ValueError`` as ``play_polygon``,
    and for directions or looks that are not of this kind. Source: Algorithm 2.
    """
    directions, looks = np.asarray(directions, dtype=np.float64), np.asarray(looks)
    if directions.ndim != 3 or directions.shape[::2] != (game.rounds, 2) or not directions.shape[1]:
        raise ValueError(f"directions has shape {directions.shape}; it must be ({game.rounds}, N, 2)")
    length: FloatArray = np.sqrt((directions**2).sum(axis=-1))
    unit: BoolArray = np.abs(length - 1) < 1e-6
    if not unit.all():
        t, i = np.argwhere(~unit)[0]
        raise ValueError(f"directions[{t}, {i}] has length {length[t, i]:.6g}; it must be a unit vector")
    if looks.ndim != 1 or not looks.size or np.diff(looks, prepend=0, append=game.rounds + 1).min() < 1:
        raise ValueError(f"looks = {looks.tolist()}; they must increase, from 1 to {game.rounds} at most")
    contests = [(game, eta0, schedule)]
    _check_contests(contests, baseline)
    return _play(contests, directions, baseline, looks)[0]


def _check_contests(contests: Sequence[Contest], baseline: float) -> None:
    """Raise ValueError unless these contests can be played together."""
    if not contests:
        raise ValueError("contests is empty; there is nothing to play")
    game = contests[0][0]
    cap = theory.eta0_cap(2, game.loss_bound, baseline)
    for i, (other, eta0, schedule) in enumerate(contests):
        if not 0 < eta0 <= cap * (1 + 1e-12):
            raise ValueError(f"eta0 = {eta0}; it must lie in (0, {cap:.6g}], the cap for baseline {baseline}")
        if not isinstance(schedule, (IncreasingRate, ConstantRate)):
            raise ValueError(f"schedule is {schedule!r}; it must be an IncreasingRate or a ConstantRate")
        if other.body is not game.body or not np.array_equal(other.losses, game.losses):
            raise ValueError(f"contests[{i}] and contests[0] differ in body or losses; they must agree there")


def _play(
    contests: Sequence[Contest], directions: FloatArray, baseline: float, looks: IntArray
) -> list[PolygonHistory]:
    game, n_seeds = contests[0][0], directions.shape[1]
    newton = _Newton(game.body)
    best, loss_bound = game.best_corner(), game.loss_bound
    # One row for each contest and seed.
    parts = [slice(i * n_seeds, (i + 1) * n_seeds) for i in range(len(contests))]
    n_rows = len(contests) * n_seeds
    v = np.zeros((n_rows, 2))
    x, hessian = newton.point(v), newton.hessian(v)
    dual = np.zeros((n_rows, 2))
    eta = np.repeat([float(eta0) for _, eta0, _ in contests], n_seeds)
    for part, (_, eta0, schedule) in zip(parts, contests, strict=True):
        eta[part] = _next_rates(schedule, eta[part], eta0, np.zeros(n_seeds))[0]
    regret, spent = np.zeros(n_rows), np.zeros(n_rows)
    kept_x, kept_eta, kept_regret = [], [], []
    n_clipped, n_distorted = np.zeros(len(contests)), np.zeros(len(contests))
    wanted = set(looks.tolist())
    distorted = [other.epsilons.max(axis=1) > 0 for other, _, _ in contests]
    for t, loss in enumerate(game.losses):
        # Lines 4 and 5: with H = [[a, b], [b, c]] = L L^T.
        a, b, c = hessian
        first = np.sqrt(a)
        lower = b / first
        second = np.sqrt(c - lower * lower)
        u0, u1 = np.concatenate([directions[t]] * len(contests)).T
        step = np.empty_like(v)
        step[:, 1] = u1 / second
        step[:, 0] = (u0 - lower * step[:, 1]) / first
        z = y = newton.point(v + step)
        for i, (part, (other, eta0, schedule)) in enumerate(zip(parts, contests, strict=True)):
            if not distorted[i][t]:
                continue
            z = z.copy() if z is y else z
            epsilon = other.epsilons[t]
            z[part] = _moved(y[part], other.move(x[part], y[part], loss), epsilon, loss_bound)
            z_epsilon = z[part] @ epsilon
            spent[part] += z_epsilon**2
            # Line 9. Without a perturbation a rate stays what it is.
            eta[part], clipped = _next_rates(schedule, eta[part], eta0, z_epsilon)
            n_clipped[i] += clipped.sum()
            n_distorted[i] += (z_epsilon > 0).sum()
        # Line 8.
        values = z @ loss
        weight = 2 * (values - baseline)
        estimate = np.stack([a * step[:, 0] + b * step[:, 1], b * step[:, 0] + c * step[:, 1]], axis=1)
        estimate *= weight[:, None]
        # Line 10. At x the gradient of R cancels the old dual, so the first Newton step is known.
        dual += eta[:, None] * estimate
        scale = eta * weight
        v, hessian = newton.minimize(dual, v, -scale[:, None] * step, np.abs(scale))
        x = newton.point(v)
        regret += values - best @ loss
        if t + 1 in wanted:
            kept_x.append(x)
            kept_eta.append(eta.copy())
            kept_regret.append(regret.copy())
    xs, etas, regrets = np.array(kept_x), np.array(kept_eta), np.array(kept_regret)
    return [
        PolygonHistory(
            at=looks,
            x=xs[:, part],
            eta=etas[:, part],
            regret=regrets[:, part],
            spent=spent[part],
            clipped=float(n_clipped[i] / max(n_distorted[i], 1)),
        )
        for i, part in enumerate(parts)
    ]


def _moved(y: FloatArray, target: FloatArray, epsilon: FloatArray, loss_bound: float) -> FloatArray:
    """The hands as far towards their targets as ||z - y||_1 <= min(z·eps, y·eps) and ||z||_1 <= H allow.

    With y >= 0 and steps that are shorter than y·eps, z·eps stays positive, and both rules are linear in s.
    """
    direction = target - y
    length = np.abs(direction).sum(axis=1)
    at_y = y @ epsilon
    loss_of_room = np.maximum(length - direction @ epsilon, length)
    share = np.minimum(1.0, at_y / np.maximum(loss_of_room, 1e-300))
    # ||z||_1 is convex in s: halve the step in the rare case that it leaves the ball.
    for _ in range(60):
        z: FloatArray = y + share[:, None] * direction
        outside = np.abs(z).sum(axis=1) > loss_bound * (1 + 1e-12)
        if not outside.any():
            return z
        share = np.where(outside, share / 2, share)
    return np.asarray(np.where(outside[:, None], y, z), dtype=np.float64)


def _next_rates(
    schedule: IncreasingRate | ConstantRate, previous: FloatArray, eta0: float, z_epsilon: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``schedule.next_rate`` for all seeds at once: the rates, and which were clipped."""
    if isinstance(schedule, ConstantRate):
        return np.full_like(previous, schedule.factor * eta0), np.zeros_like(previous)
    largest = schedule.clip * eta0
    inverse = 1 / previous - 4 * z_epsilon
    clipped = (z_epsilon > 0) & (inverse * largest < 1)
    rates = np.where(clipped, largest, 1 / np.where(inverse > 0, inverse, 1.0))
    return np.where(z_epsilon > 0, rates, previous), clipped.astype(np.float64)


class _Newton:
    """Newton's method for R + dual·v on a polygon, for all seeds at once; x = x_1 + W v."""

    def __init__(self, body: Polytope) -> None:
        self.center, self.basis = LogBarrier(body).analytic_center(), body.basis
        self.normals = np.ascontiguousarray(body.A @ body.basis)
        self.offsets = body.b - body.A @ self.center
        p, q = self.normals.T
        self.squares = np.stack([p * p, p * q, q * q], axis=1)

    def point(self, v: FloatArray) -> FloatArray:
        """x = x_1 + W v, shape (N, d)."""
        return np.asarray(self.center + v @ self.basis.T, dtype=np.float64)

    def hessian(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The entries (1,1), (1,2) and (2,2) of the Hessians, each of shape (N,)."""
        return self._state(v)[1]

    def _state(self, v: FloatArray) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        inverse = 1 / (self.offsets - v @ self.normals.T)
        entries = (inverse * inverse) @ self.squares
        return inverse @ self.normals, (entries[:, 0], entries[:, 1], entries[:, 2])

    def minimize(
        self, dual: FloatArray, v: FloatArray, step: FloatArray, decrement: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """The minimisers and the Hessians there, from ``v`` and the first ``step`` with its ``decrement``."""
        for _ in range(MOST_STEPS):
            v = v + step_length(decrement)[:, None] * step
            gradient, (a, b, c) = self._state(v)
            g0, g1 = (gradient + dual).T
            determinant = a * c - b * b
            step = np.empty_like(v)
            step[:, 0] = (b * g1 - c * g0) / determinant
            step[:, 1] = (b * g0 - a * g1) / determinant
            decrement = np.sqrt(np.maximum(-step[:, 0] * g0 - step[:, 1] * g1, 0.0))
            if decrement.max() <= TOLERANCE:
                return v, (a, b, c)
        raise NoMinimizer(f"a mirror step was not found: the decrement is still {decrement.max():.3g}")
