"""Distorted linear bandits: the learner points, somebody moves its hand, it sees what the moved hand paid.

A round of the game, as the paper's protocol has it:

1. the learner picks y_t in the set S;
2. an adversary picks z_t with ||z_t - y_t||_1 <= min(|z_t·eps_t|, |y_t·eps_t|) and ||z_t||_1 <= H;
3. z_hat_t is drawn with mean z_t, ||z_hat_t||_1 <= H;
4. the learner suffers and sees l_t·z_hat_t, and sees z_hat_t and eps_t.

Three assumptions that the paper's protocol does not list are part of the game here: ||l_t||_inf <= 1, used
in the proofs; E[z_hat_t | z_t, y_t] = z_t, since a z_hat that correlated with y_t could lie about
everything; and l_t·z_hat_t in [0, H], as Algorithm 2 has it in its line 7. Whoever breaks a rule is stopped
by a ``RuleViolation`` that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aggbandit._arrays import FloatArray, read_only
from aggbandit.learners.protocol import VectorLearner

TOLERANCE = 1e-9  # of H: how far rounding may carry a move beyond its rule
ROUNDING = 1e-12  # of H: how far the norm of a point of S may exceed H by rounding


class RuleViolation(ValueError):
    """A move the protocol does not allow; the message names the rule, the round and the values."""


class Body(Protocol):
    """What the game needs of a decision set given as a convex body."""

    def contains(self, x: FloatArray, tolerance: float, /) -> bool:
        """Whether ``x`` is in the set, up to ``tolerance``."""

    def minimize(self, linear: FloatArray, /) -> FloatArray:
        """A point of the set where ``linear``·x is least."""


class HalfSpaces(Protocol):
    """A body {x : A x <= b, C x = d} by its inequalities and its directions."""

    @property
    def A(self) -> FloatArray:
        """Normals of the walls, shape (m, d)."""

    @property
    def b(self) -> FloatArray:
        """Offsets of the walls, shape (m,)."""

    @property
    def basis(self) -> FloatArray:
        """An orthonormal basis of {v : C v = 0}, shape (d, n)."""


# --- what an adversary sees, and how far it may go
# ------------------------------------------------------------


class View(NamedTuple):
    """What an adversary sees before it moves.

    ``round`` t from 1; ``y``, ``loss`` l_t and ``epsilon`` eps_t, shape (d,); ``loss_bound`` H; the
    ``learner`` with its public state: x_t is a function of the past, so an adversary may know
    ``learner.center``.
    """

    round: int
    y: FloatArray
    loss: FloatArray
    epsilon: FloatArray
    loss_bound: float
    learner: Any


class Adversary(Protocol):
    """Whoever moves the hand."""

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """The point z_t, from what is in ``view``; ``rng`` for its own coins."""


def allowance(y: ArrayLike, z: ArrayLike, epsilon: ArrayLike) -> float:
    """How far the hand may be moved from y to z: min(|z·eps|, |y·eps|), to be compared with ||z - y||_1.

    ``y``, ``z`` and ``epsilon`` have shape (d,). Source: the protocol, step 2.
    """
    e = np.asarray(epsilon, dtype=np.float64)
    return float(min(abs(np.asarray(z) @ e), abs(np.asarray(y) @ e)))


def largest_step(y: FloatArray, direction: FloatArray, epsilon: FloatArray, loss_bound: float) -> float:
    """The largest s in [0, 1] for which z = y + s v keeps the rules of a move.

    s ||v||_1 <= |y·eps|,  s ||v||_1 <= |y·eps + s v·eps|,  ||y + s v||_1 <= H: all piecewise linear in s, and
    solved exactly. The second leaves out an interval of s at most, so the step is the end of what is allowed
    before it, or lies beyond it.

    ``y``, ``direction`` v and ``epsilon`` have shape (d,), ``loss_bound`` is H and ||y||_1 <= H.
    Source: the protocol, step 2.
    """
    length = float(np.abs(direction).sum())
    if length == 0.0:
        return 0.0
    at_y = float(y @ epsilon)
    slope = float(direction @ epsilon)
    if at_y < 0:  # only |y·eps + s v·eps| matters
        at_y, slope = -at_y, -slope
    largest = min(1.0, at_y / length, _largest_within_norm(y, direction, loss_bound))
    # |at_y + s slope| < s length exactly between these two points.
    gap_start = at_y / (length - slope) if length > slope else np.inf
    gap_end = at_y / (-slope - length) if -slope > length else np.inf
    if gap_start < largest < gap_end:
        return gap_start
    return largest


def _largest_within_norm(y: FloatArray, direction: FloatArray, loss_bound: float) -> float:
    """The largest s in [0, 1] with ||y + s v||_1 <= H: a convex, piecewise linear function of s."""
    bound = loss_bound * (1 + ROUNDING)
    if np.abs(y + direction).sum() <= bound:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = -y / direction
    kinks = np.sort(kinks[(kinks > 0) & (kinks < 1)])
    previous, below = 0.0, min(float(np.abs(y).sum()), bound)
    places: list[float] = [*kinks.tolist(), 1.0]
    for kink in places:
        above = float(np.abs(y + kink * direction).sum())
        if above > bound:
            return previous + (bound - below) / (above - below) * (kink - previous)
        previous, below = kink, above
    return 1.0


def moved_towards(view: View, target: FloatArray) -> FloatArray:
    """y moved towards ``target`` as far as the rules allow; stays in S when the target is in it.

    ``view`` is what the adversary sees; ``target`` and the result have shape (d,). Source: the protocol, step
    2.
    """
    direction = target - view.y
    return view.y + largest_step(view.y, direction, view.epsilon, view.loss_bound) * direction


# --- adversaries --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Undistorted:
    """Nobody moves the hand: z = y, an ordinary linear bandit. Source: the protocol, step 2."""

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y, from ``view``; ``rng`` is not used."""
        return view.y


@dataclass(frozen=True)
class RandomMove:
    """The hand is moved towards a point drawn at random, as far as the rules allow.

    ``points``, shape (N, d), in S (its vertices, say). Source: ours; the protocol, step 2.
    """

    points: FloatArray

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved towards one of the points, drawn with ``rng``; ``view`` says what is allowed."""
        return moved_towards(view, self.points[rng.integers(len(self.points))])


@dataclass(frozen=True)
class TowardsWorstVertex:
    """The hand is moved towards the point that loses most this round, as far as the rules allow.

    ``points``, shape (N, d): the vertices of S. Source: ours; the protocol, step 2.
    """

    points: FloatArray

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved towards the point of largest loss; ``view`` says what is allowed, ``rng`` is not used."""
        return moved_towards(view, self.points[np.argmax(self.points @ view.loss)])


@dataclass(frozen=True)
class Freezing:
    """The hand is moved back to where the learner's exploration began: z from y towards x_t.

    Where z reaches x_t the loss says nothing of the direction tried, the estimate has mean zero and the
    learner learns nothing. Near a wall exploration is small, so this is cheap. It acts where eps_t is not
    zero: how long it lasts is settled beforehand, by the game's ``epsilons``. Source: ours.
    """

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved towards ``view.learner.center``; ``rng`` is not used."""
        return moved_towards(view, view.learner.center)


@dataclass(frozen=True)
class AgainstEstimator:
    """The hand is moved so that the estimate lies most about how x_t compares with a given point.

    The estimate of (x_t - u)·l gains n l·(z - y) (x_t - u)·H(y - x_t) by a move, so the sign of the last
    factor says which loss to show: a smaller one where it is positive. Then u looks worse than it is. The
    hand goes to the vertex of smallest or largest loss.

    ``comparator`` u, shape (d,); ``points``, shape (N, d): the vertices of S. It reads ``learner.center`` and
    ``learner.ellipsoid``. Source: ours; the bias term (3) in the proof of Lemma boundlossbias.
    """

    comparator: FloatArray
    points: FloatArray

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved to show a misleading loss; ``view`` says what is allowed, ``rng`` is not used."""
        x = view.learner.center
        weight = (x - self.comparator) @ view.learner.ellipsoid.apply(view.y - x)
        values = self.points @ view.loss
        return moved_towards(view, self.points[np.argmin(values) if weight > 0 else np.argmax(values)])


# --- drawing z_hat
# --------------------------------------------------------------------------------------------


class Sampler(Protocol):
    """How z_hat is drawn. It is given z alone, so that E[z_hat | z, y] = z holds by construction."""

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A point with mean ``z``, drawn with ``rng``."""


@dataclass(frozen=True)
class Exactly:
    """z_hat = z: nothing is random in what is played. Source: the protocol, step 3."""

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """``z`` itself; ``rng`` is not used."""
        return z


@dataclass(frozen=True)
class DrawArm:
    """On the simplex: z_hat is the arm e_i with probability z_i.

    One uniform a round. Source: the protocol, step 3.
    """

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An arm drawn from ``z`` with ``rng``: the first whose cumulated probability exceeds the uniform.

        Raises ``RuleViolation`` when z is not a distribution.
        """
        if not (z.min() >= -TOLERANCE and abs(z.sum() - 1) <= TOLERANCE):  # a NaN is no distribution either
            raise RuleViolation(f"z = {z} is not a distribution, so that no arm can be drawn from it")
        arm = int(np.searchsorted(np.cumsum(z), rng.random(), side="right"))
        while arm >= len(z) or z[arm] <= 0:  # rounding at the last positive entry
            arm -= 1
        z_hat = np.zeros(len(z))
        z_hat[arm] = 1.0
        return z_hat


@dataclass(frozen=True)
class RandomChord:
    """In a body {x : A x <= b, C x = d}: z_hat is an end of a random chord through z, with mean z.

    The chord's direction is uniform within the slice; its ends are at -s and +t along it, and are drawn with
    probabilities t/(s + t) and s/(s + t). One call of ``standard_normal(n)`` and one uniform a round.

    ``body`` has ``A``, ``b`` and an orthonormal ``basis`` of {v : C v = 0}, as a ``Polytope`` has. Source:
    the protocol, step 3.
    """

    body: HalfSpaces

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An end of a chord through ``z``, drawn with ``rng``.

        Raises ``RuleViolation`` when z is outside the body.
        """
        body = self.body
        slack = body.b - body.A @ z
        if not slack.min() >= -TOLERANCE * (1 + np.abs(body.b).max()):
            raise RuleViolation(f"z = {z} is outside the body: no chord passes through it")
        direction = body.basis @ rng.standard_normal(body.basis.shape[1])
        speed = body.A @ direction
        slack = np.maximum(slack, 0.0)
        ahead = np.min(slack[speed > 0] / speed[speed > 0])
        behind = np.min(slack[speed < 0] / -speed[speed < 0])
        uniform = rng.random()
        if ahead + behind == 0.0:
            return z
        step = ahead if uniform * (ahead + behind) < behind else -behind
        return np.asarray(z + step * direction, dtype=np.float64)


# --- the game ---------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """What happened in one round: everything, including what the learner never sees.

    ``round`` t from 1; ``y``, ``z``, ``z_hat``, ``loss`` l_t and ``epsilon`` eps_t, shape (d,); ``value``
    l_t·z_hat_t; ``record``, whatever the learner's update returned.
    """

    round: int
    y: FloatArray
    z: FloatArray
    z_hat: FloatArray
    loss: FloatArray
    epsilon: FloatArray
    value: float
    record: Any


@dataclass(frozen=True)
class GameHistory:
    """A game that was played.

    ``y``, ``z`` and ``z_hat``, shape (T, d); ``values`` l_t·z_hat_t, ``z_hat_epsilon`` z_hat_t·eps_t and
    ``bias`` l_t·(z_t - y_t), shape (T,); the ``comparator`` z*, the best fixed point of S for the whole
    sequence, shape (d,), and its ``comparator_values`` l_t·z*, shape (T,). Source: Section 3.2.
    """

    y: FloatArray
    z: FloatArray
    z_hat: FloatArray
    values: FloatArray
    z_hat_epsilon: FloatArray
    bias: FloatArray
    comparator: FloatArray
    comparator_values: FloatArray

    def regret(self) -> FloatArray:
        """Regret up to each round against the best fixed point of the whole sequence, shape (T,).

        sum_{s <= t} l_s·(z_hat_s - z*); its last entry is Reg_T. Source: Section 3.2.
        """
        return np.cumsum(self.values - self.comparator_values)

    def budget_spent(self) -> FloatArray:
        """sum_{s <= t} (z_hat_s·eps_s)², shape (T,), whose last entry B must bound. Source: Section 3.2."""
        return np.cumsum(self.z_hat_epsilon**2)


@dataclass(frozen=True)
class DistortedBandit:
    """The game of distorted linear bandits, with losses and perturbation vectors chosen beforehand.

    ``losses`` l_t, shape (T, d), ||l_t||_inf <= 1; ``epsilons`` eps_t >= 0, shape (T, d) (``np.broadcast_to``
    makes constant ones at no cost); ``adversary`` who moves the hand; ``decision_set`` S: a polytope, or a
    finite set as an array of shape (N, d); ``loss_bound`` H, with ||y||_1 <= H on S and l_t·y in [0, H];
    ``sampler`` how z_hat is drawn with mean z, by default z itself. Raises ``ValueError`` naming the first
    entry that is out of range, ``TypeError`` when ``decision_set`` is neither an array nor a ``Body``.
    Source: Section 3.2.
    """

    losses: FloatArray
    epsilons: FloatArray
    adversary: Adversary
    decision_set: Body | FloatArray
    loss_bound: float
    sampler: Sampler = field(default_factory=Exactly)

    def __post_init__(self) -> None:
        losses, epsilons = read_only(self.losses), read_only(self.epsilons)  # fixed before the game
        if losses.ndim != 2 or len(losses) == 0:
            raise ValueError(f"losses has shape {losses.shape}; it must be (T, d) with T >= 1")
        if epsilons.shape != losses.shape:
            raise ValueError(
                f"epsilons has shape {epsilons.shape}; it must be that of losses, {losses.shape}"
            )
        if not (self.loss_bound > 0 and np.isfinite(self.loss_bound)):
            raise ValueError(f"loss_bound = {self.loss_bound}; it must be positive and finite")
        _refuse("losses", losses, ~(np.abs(losses) <= 1), "||l||_inf <= 1")
        _refuse("epsilons", epsilons, ~((epsilons >= 0) & np.isfinite(epsilons)), "eps >= 0, finite")
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "epsilons", epsilons)
        _check_decision_set(self.decision_set, losses.shape[1])

    @property
    def beta(self) -> float:
        """The bias parameter: the largest entry of the perturbation vectors. Source: Section 3.2."""
        return float(self.epsilons.max())

    def best_fixed_point(self) -> FloatArray:
        """The point of S whose total loss is least, shape (d,). Source: Section 3.2, the regret."""
        total = self.losses.sum(axis=0)
        if isinstance(self.decision_set, np.ndarray):
            return np.asarray(self.decision_set[np.argmin(self.decision_set @ total)], dtype=np.float64)
        return np.asarray(self.decision_set.minimize(total), dtype=np.float64)

    def rounds(self, learner: VectorLearner, rng: np.random.Generator) -> Iterator[Round]:
        """Play, and hand out each round as it happens.

        Random numbers are drawn from ``rng`` in the order ``learner``, adversary, sampler. Raises
        ``RuleViolation`` when a rule is broken. Source: Section 3.2, the protocol.
        """
        for t, (loss, epsilon) in enumerate(zip(self.losses, self.epsilons, strict=True), start=1):
            y = read_only(learner.predict(rng))  # what was chosen stays what it is, whoever sees it
            self._check_prediction(t, y)
            view = View(t, y, loss, epsilon, self.loss_bound, learner)
            z = read_only(self.adversary.move(view, rng))
            self._check_move(t, y, z, epsilon)
            z_hat = read_only(self.sampler.draw(z, rng))
            value = self._check_draw(t, z_hat, loss)
            record = learner.update(value, z_hat, epsilon)
            yield Round(t, y, z, z_hat, loss, epsilon, value, record)

    def play(self, learner: VectorLearner, rng: np.random.Generator) -> GameHistory:
        """Play all rounds with ``learner`` and ``rng``, and return what happened.

        Raises ``RuleViolation`` when a rule is broken. Source: Section 3.2, the protocol.
        """
        shape = self.losses.shape
        y, z, z_hat, values = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[0])
        for t, played in enumerate(self.rounds(learner, rng)):
            y[t], z[t], z_hat[t], values[t] = played.y, played.z, played.z_hat, played.value
        comparator = self.best_fixed_point()
        return GameHistory(
            y=y,
            z=z,
            z_hat=z_hat,
            values=values,
            z_hat_epsilon=np.einsum("td,td->t", z_hat, self.epsilons),
            bias=np.einsum("td,td->t", z - y, self.losses),
            comparator=comparator,
            comparator_values=self.losses @ comparator,
        )

    def _check_prediction(self, t: int, y: FloatArray) -> None:
        if y.shape != self.losses.shape[1:] or not np.isfinite(y).all():
            raise RuleViolation(f"round {t}: y = {y} is not a finite vector of shape {self.losses.shape[1:]}")
        if isinstance(self.decision_set, np.ndarray):
            inside = bool((self.decision_set == y).all(axis=1).any())
        else:
            inside = self.decision_set.contains(y, TOLERANCE * self.loss_bound)
        if not inside:
            raise RuleViolation(f"round {t}: y = {y} is not in the decision set")
        if np.abs(y).sum() > self.loss_bound * (1 + TOLERANCE):
            raise RuleViolation(f"round {t}: ||y||_1 = {np.abs(y).sum()} exceeds H = {self.loss_bound}")

    def _check_move(self, t: int, y: FloatArray, z: FloatArray, epsilon: FloatArray) -> None:
        if z.shape != y.shape or not np.isfinite(z).all():
            raise RuleViolation(f"round {t}: z = {z} is not a finite vector of shape {y.shape}")
        distance = np.abs(z - y).sum()
        if distance > min(abs(z @ epsilon), abs(y @ epsilon)) + TOLERANCE * self.loss_bound:
            raise RuleViolation(
                f"round {t}: ||z - y||_1 = {distance:.6g} exceeds min(|z·eps|, |y·eps|) = "
                f"min({abs(z @ epsilon):.6g}, {abs(y @ epsilon):.6g})"
            )
        if np.abs(z).sum() > self.loss_bound * (1 + TOLERANCE):
            raise RuleViolation(f"round {t}: ||z||_1 = {np.abs(z).sum()} exceeds H = {self.loss_bound}")

    def _check_draw(self, t: int, z_hat: FloatArray, loss: FloatArray) -> float:
        """The loss l·z_hat that is paid, if z_hat keeps the rules."""
        if z_hat.shape != loss.shape:
            raise RuleViolation(f"round {t}: z_hat = {z_hat} is not a vector of shape {loss.shape}")
        if not np.abs(z_hat).sum() <= self.loss_bound * (1 + TOLERANCE):
            raise RuleViolation(
                f"round {t}: ||z_hat||_1 = {np.abs(z_hat).sum()} exceeds H = {self.loss_bound}"
            )
        value = float(loss @ z_hat)
        if not -TOLERANCE * self.loss_bound <= value <= self.loss_bound * (1 + TOLERANCE):
            raise RuleViolation(
                f"round {t}: the loss l·z_hat = {value} is outside [0, H] = [0, {self.loss_bound}]"
            )
        return value


def _check_decision_set(decision_set: Body | FloatArray, dimension: int) -> None:
    """Refuse what is neither a finite set of points in R^d nor a body with the two methods of the game."""
    if isinstance(decision_set, np.ndarray):
        if decision_set.ndim != 2 or decision_set.shape[1] != dimension or len(decision_set) == 0:
            raise ValueError(
                f"decision_set has shape {decision_set.shape}; points must be (N, {dimension}), N >= 1"
            )
        return
    missing = [name for name in ("contains", "minimize") if not callable(getattr(decision_set, name, None))]
    if missing:
        raise TypeError(
            f"decision_set is a {type(decision_set).__name__} without {' and '.join(missing)};"
            f" it must be an array of points, shape (N, {dimension}), or a body with contains and minimize"
        )


def _refuse(name: str, table: FloatArray, wrong: NDArray[np.bool_], rule: str) -> None:
    """Name the first entry of ``table`` where ``wrong``, if there is one."""
    if wrong.any():
        t, i = np.argwhere(wrong)[0]
        raise ValueError(f"{name}[{t}, {i}] = {table[t, i]}; the game needs {rule}")
