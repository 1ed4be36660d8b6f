"""The freezing game: two arms, one adversary, many seeds at once, in closed form.

The learner is Algorithm 2 on the two-armed simplex. With p the probability of arm 1 the barrier is
R(p) = -log p - log(1 - p), the slice has dimension n = 1, the Dikin ellipsoid is the pair p ± 1/sqrt(R''(p)),
and the mirror step solves R'(p) = w, w being minus the sum of rate times estimate, by a quadratic equation.
So a round costs a few array operations for all seeds together, and agrees with ``IncreasingRateOMD`` to
rounding.

The game: arm 2 is the better one for the first share of the rounds, arm 1 afterwards, and in hindsight. When
the better arm changes, the adversary begins to move the learner's hand back to where it came from, z from y
towards x, by at most half of a small e a round, until its budget, sum (z_hat·eps)² <= B, is spent. It may
have spent a part of it before, on a decoy: perturbation vectors under which it moves nothing, and which
raise the rate early.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, IntArray, check_positive_int
from aggbandit.game.protocol import DistortedBandit, DrawArm, Freezing, Undistorted, View
from aggbandit.geometry.bodies import simplex
from aggbandit.learners.rates import RateSchedule

BLOCK = 4096  # rounds whose random numbers are drawn together


@dataclass(frozen=True)
class FreezingFrom:
    """The freezing adversary, which waits until ``first_round``, counted from 1. Source: ours."""

    first_round: int

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y, and from ``first_round`` on y moved towards ``view.learner.center``; ``rng`` is not used."""
        return view.y if view.round < self.first_round else Freezing().move(view, rng)


@dataclass(frozen=True)
class FreezingGame:
    """The losses and the perturbations of the game, all fixed beforehand.

    ``rounds`` T; ``change`` a in (0, 1/2), the share of the rounds in which arm 2 is better; ``gap`` g in (0,
    1]: the arms lose 1/2 ± g/2; ``epsilon`` e >= 0: in a frozen round eps_t = (e, e); ``budget`` B >= 0;
    ``decoy`` D in [0, B]: the part of the budget spent evenly on the first aT/2 rounds. Since z_hat·eps_t = e
    in a frozen round whatever is drawn, exactly floor((B - D)/e²) rounds are frozen, from round aT + 1 on.
    Raises ``ValueError`` for values out of range. Source: ours; the protocol of Section 3.2 with H = 1.
    """

    rounds: int
    change: float = 0.36
    gap: float = 1.0
    epsilon: float = 0.0
    budget: float = 1.0
    decoy: float = 0.0

    def __post_init__(self) -> None:
        check_positive_int("rounds", self.rounds)
        if not 0 < self.change < 0.5:
            raise ValueError(f"change = {self.change}; arm 1 is best in hindsight only for 0 < change < 1/2")
        if self.change_round < 1:
            raise ValueError(f"change * rounds = {self.change * self.rounds:.6g}; it must be at least 1")
        if not 0 < self.gap <= 1:
            raise ValueError(f"gap = {self.gap}; the losses 1/2 ± gap/2 lie in [0, 1] only for 0 < gap <= 1")
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise ValueError(f"epsilon = {self.epsilon}; it must be nonnegative and finite")
        if not (self.budget >= 0 and math.isfinite(self.budget)):
            raise ValueError(f"budget = {self.budget}; it must be nonnegative and finite")
        if not 0 <= self.decoy <= self.budget:
            raise ValueError(f"decoy = {self.decoy}; it is a part of the budget, {self.budget}")

    @property
    def change_round(self) -> int:
        """The last round in which arm 2 is better: floor(a T)."""
        return int(self.change * self.rounds)

    @property
    def frozen_rounds(self) -> int:
        """How many rounds are frozen: floor((B - D)/e²), as many as remain at most; none when e = 0."""
        if self.epsilon == 0:
            return 0
        affordable = (self.budget - self.decoy) / self.epsilon / self.epsilon * (1 + 1e-12)
        return int(min(affordable, self.rounds - self.change_round))

    def losses(self) -> FloatArray:
        """The loss vectors, shape (T, 2)."""
        losses = np.empty((self.rounds, 2))
        losses[: self.change_round] = (0.5 + self.gap / 2, 0.5 - self.gap / 2)
        losses[self.change_round :] = (0.5 - self.gap / 2, 0.5 + self.gap / 2)
        return losses

    def perturbations(self) -> FloatArray:
        """The two equal entries of each perturbation vector, shape (T,)."""
        sizes = np.zeros(self.rounds)
        early = max(self.change_round // 2, 1)
        sizes[:early] = math.sqrt(self.decoy / early)
        sizes[self.change_round : self.change_round + self.frozen_rounds] = self.epsilon
        return sizes

    def epsilons(self) -> FloatArray:
        """The perturbation vectors, shape (T, 2)."""
        return np.repeat(self.perturbations()[:, None], 2, axis=1)

    def as_distorted_bandit(self) -> DistortedBandit:
        """The same game, played through the protocol one round at a time. Source: Section 3.2."""
        adversary = FreezingFrom(self.change_round + 1) if self.frozen_rounds else Undistorted()
        return DistortedBandit(self.losses(), self.epsilons(), adversary, simplex(2), 1.0, DrawArm())


def freezing_epsilon(
    rounds: int, eta0: float, strength: float, change: float = 0.36, gap: float = 1.0
) -> float:
    """The perturbation that just hides what a learner at the wall tries: e = k / (eta_0 g a T).

    After a T rounds against a gap g the learner is about 1/(eta_0 g a T) away from the wall, and explores
    about as far. ``rounds`` T, ``eta0`` its rate, ``strength`` k, ``change`` a, ``gap`` g. Raises
    ``ValueError`` for values that are not positive. Source: ours.
    """
    for name, value in (
        ("rounds", rounds),
        ("eta0", eta0),
        ("strength", strength),
        ("change", change),
        ("gap", gap),
    ):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} = {value}; it must be positive and finite")
    return strength / (eta0 * gap * change * rounds)


@dataclass(frozen=True)
class FreezingHistory:
    """A freezing game played with many seeds, looked at after the rounds ``at``.

    ``at``, shape (C,), counts rounds; ``eta``, shape (C,), is the rate, the same for all seeds, since
    z_hat·eps_t is. With shape (C, N), N the number of seeds: ``p`` the probability of arm 1 at the next
    centre, ``regret`` so far against arm 1 with the losses suffered, ``pseudo_regret`` with the losses l·z
    expected of them. ``hidden``, shape (N,), is how much of what was tried was taken back: the mean over all
    rounds of 1 - |z - x|/|y - x|, the share of the information that is lost; ``clipped`` the share of the
    rounds with eps_t > 0 in which the rate met its clip (0 when there is none).
    """

    at: IntArray
    eta: FloatArray
    p: FloatArray
    regret: FloatArray
    pseudo_regret: FloatArray
    hidden: FloatArray
    clipped: float


def play_freezing(
    game: FreezingGame,
    eta0: float,
    schedule: RateSchedule,
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.5,
    n_looks: int = 100,
) -> FreezingHistory:
    """Play ``game`` with ``n_seeds`` copies of Algorithm 2 at once.

    ``eta0`` is the first rate, ``schedule`` how it goes on, ``baseline`` b what is subtracted from every
    loss. ``rng`` gives, for blocks of 4096 rounds, first the signs of the directions, then the uniforms of
    the arms, both shape (block, N). The result is looked at ``n_looks`` times. Raises ``ValueError`` for a
    rate that is not positive or exceeds ``theory.eta0_cap``, or a number that is not positive; ``rng`` has
    not been used then. ``schedule`` is asked in the first round and where eps_t > 0: elsewhere its rate must
    stay what it was. Source: Algorithm 2 with R = -log p - log(1-p).
    """
    return play_contests([(game, schedule)], eta0, n_seeds, rng, baseline, n_looks)[0]


def play_contests(
    contests: Sequence[tuple[FreezingGame, RateSchedule]],
    eta0: float,
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.5,
    n_looks: int = 100,
) -> list[FreezingHistory]:
    """Play several ``contests``, each a game and a schedule, at once and with the same coins.

    The games differ in what the adversary does only: ``rounds``, ``change`` and ``gap`` agree. ``eta0``,
    ``n_seeds``, ``rng``, ``baseline`` and ``n_looks`` are as in ``play_freezing``, and so is each of the
    histories returned, one a contest: the coins do not depend on who else plays. A schedule with a memory
    must not be in two contests. Raises ``ValueError`` as ``play_freezing``, and for no contests or games that
    differ in more. Source: Algorithm 2.
    """
    check_positive_int("n_seeds", n_seeds)
    check_positive_int("n_looks", n_looks)
    _check_contests(contests, eta0, baseline)
    rounds = contests[0][0].rounds

    def draws() -> Iterator[tuple[FloatArray, FloatArray]]:
        for start in range(0, rounds, BLOCK):
            shape = (min(BLOCK, rounds - start), n_seeds)
            signs: FloatArray = np.where(rng.integers(0, 2, size=shape) == 1, 1.0, -1.0)
            yield signs, rng.random(shape)

    looks = np.unique(np.linspace(0, rounds, n_looks + 1).round().astype(np.int64))
    return _play(contests, eta0, baseline, draws(), n_seeds, looks[looks > 0])


def replay_freezing(
    game: FreezingGame,
    eta0: float,
    schedule: RateSchedule,
    signs: FloatArray,
    uniforms: FloatArray,
    baseline: float = 0.5,
) -> FreezingHistory:
    """Play ``game`` with given coins, looked at after every round.

    ``signs`` of y - x in its first coordinate, +1 or -1, and ``uniforms`` of the arms, both shape (T, N);
    ``eta0``, ``schedule`` and ``baseline`` as in ``play_freezing``. Raises ``ValueError`` for another shape
    or rate, signs that are none, or uniforms outside [0, 1]. Source: Algorithm 2 with R = -log p - log(1-p).
    """
    signs, uniforms = np.asarray(signs, dtype=np.float64), np.asarray(uniforms, dtype=np.float64)
    if signs.shape != uniforms.shape or signs.ndim != 2 or len(signs) != game.rounds or not signs.size:
        raise ValueError(f"signs {signs.shape}, uniforms {uniforms.shape}; both must be ({game.rounds}, N)")
    for name, values, fine, rule in (
        ("signs", signs, np.abs(signs) == 1, "+1 or -1"),
        ("uniforms", uniforms, (uniforms >= 0) & (uniforms <= 1), "in [0, 1]"),
    ):
        if not fine.all():
            t, i = np.argwhere(~fine)[0]
            raise ValueError(f"{name}[{t}, {i}] = {values[t, i]}; every entry must be {rule}")
    _check_contests([(game, schedule)], eta0, baseline)
    looks = np.arange(1, game.rounds + 1)
    return _play([(game, schedule)], eta0, baseline, iter([(signs, uniforms)]), signs.shape[1], looks)[0]


def _check_contests(
    contests: Sequence[tuple[FreezingGame, RateSchedule]], eta0: float, baseline: float
) -> None:
    """Raise ValueError unless these contests can be played together."""
    if not contests:
        raise ValueError("contests is empty; there is nothing to play")
    cap = theory.eta0_cap(1, 1.0, baseline)
    if not 0 < eta0 <= cap:
        raise ValueError(f"eta0 = {eta0}; it must lie in (0, {cap}], the cap for baseline {baseline}")
    game = contests[0][0]
    for other, _ in contests:
        if (other.rounds, other.change, other.gap) != (game.rounds, game.change, game.gap):
            raise ValueError(f"{other} and {game} differ in more than the perturbations")


def _play(
    contests: Sequence[tuple[FreezingGame, RateSchedule]],
    eta0: float,
    baseline: float,
    draws: Iterator[tuple[FloatArray, FloatArray]],
    n_seeds: int,
    looks: IntArray,
) -> list[FreezingHistory]:
    game = contests[0][0]
    shape = (len(contests), n_seeds)
    epsilons = np.stack([other.perturbations() for other, _ in contests], axis=1)
    distorted = epsilons.max(axis=1) > 0
    eta = np.full((len(contests), 1), eta0)
    n_clipped = np.zeros(len(contests))
    etas = np.empty((len(looks), len(contests)))
    ps, regrets, pseudo_regrets = (np.empty((len(looks), *shape)) for _ in range(3))
    # R'(p) = w is a quadratic equation: with s = sqrt(w² + 4), 1/(p (1 - p)) = 2 + s, p = 2/(2 - w + s) and
    # R''(p) = s (2 + s), without cancellation anywhere.
    w, s = np.zeros(shape), np.full(shape, 2.0)
    hidden, regret, pseudo_regret = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    look, t = 0, 0
    for signs, uniforms in draws:
        for sign, uniform in zip(signs, uniforms, strict=True):
            # What arm 2 loses more than arm 1.
            excess = -game.gap if t < game.change_round else game.gap
            # Lines 4 and 5: the ellipsoid is {p - 1/stretch, p + 1/stretch}, and signed is ± stretch.
            span = 2 + s
            signed = sign * np.sqrt(s * span)
            trial = 1 / signed
            if distorted[t] and t >= game.change_round:
                left = np.maximum(1 - epsilons[t][:, None] / 2 * np.abs(signed), 0.0)
                hidden += 1 - left
                trial *= left
            # Line 9. Without a perturbation a schedule stays where it is.
            if distorted[t] or t == 0:
                for i, (_, schedule) in enumerate(contests):
                    if epsilons[t, i] == 0 and t > 0:
                        continue
                    rate = schedule.next_rate(float(eta[i, 0]), eta0, 1, float(epsilons[t, i]))
                    eta[i] = rate.eta
                    n_clipped[i] += rate.clipped
            z = 2 / (span - w) + trial
            paid = excess * (uniform >= z)
            regret += paid
            pseudo_regret += excess * (1 - z)
            # Line 8 along the slice: l~(1) - l~(2) = (L - b) R''(p) (y - p), with R''(p) (y - p) = ± stretch.
            paid += 0.5 - excess / 2 - baseline
            w -= eta * paid * signed
            s = np.sqrt(w * w + 4)  # line 10
            t += 1
            if t == looks[look]:
                etas[look], ps[look] = eta[:, 0], 2 / (2 - w + s)
                regrets[look], pseudo_regrets[look] = regret, pseudo_regret
                look += 1
    n_distorted = np.maximum((epsilons > 0).sum(axis=0), 1)
    return [
        FreezingHistory(
            at=looks,
            eta=etas[:, i],
            p=ps[:, i],
            regret=regrets[:, i],
            pseudo_regret=pseudo_regrets[:, i],
            hidden=hidden[i] / game.rounds,
            clipped=float(n_clipped[i] / n_distorted[i]),
        )
        for i in range(len(contests))
    ]
