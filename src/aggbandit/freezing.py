"""The freezing game: two arms, one adversary, many seeds at once, in closed form.

The learner is Algorithm 2 on the two-armed simplex. With p the probability of arm 1 the barrier is
R(p) = -log p - log(1 - p), the slice has dimension n = 1, the Dikin ellipsoid is the pair p ± 1/sqrt(R''(p)),
and the mirror step solves R'(p) = w, w being minus the sum of rate times estimate, by a quadratic equation.
So a round costs a few array operations for all seeds together, and agrees with ``IncreasingRateOMD`` to
rounding.

The game: arm 2 is the better one for the first share of the rounds, arm 1 afterwards, and in hindsight. When
the better arm changes, the adversary begins to move the learner's hand back to where it came from, z from y
towards x, by at most half of a small e a round, until its budget, sum (z_hat·eps)² <= B, is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, IntArray
from aggbandit.distorted import DistortedBandit, DrawArm, Freezing, Undistorted
from aggbandit.geometry.bodies import simplex
from aggbandit.learners.increasing_rates import RateSchedule

BLOCK = 4096  # rounds whose random numbers are drawn together


@dataclass(frozen=True)
class FreezingGame:
    """The losses and the perturbations of the game, all fixed beforehand.

    ``rounds`` T; ``change`` a in (0, 1/2), the share of the rounds in which arm 2 is better; ``gap`` g in (0,
    1]: the arms lose 1/2 ± g/2; ``epsilon`` e >= 0: in a frozen round eps_t = (e, e); ``budget`` B >= 0.
    Since z_hat·eps_t = e in a frozen round whatever is drawn, exactly floor(B/e²) rounds are frozen, from
    round aT + 1 on. Raises ``ValueError`` for values out of range. Source: ours; the protocol of Section 3.2
    with H = 1.
    """

    rounds: int
    change: float = 0.36
    gap: float = 1.0
    epsilon: float = 0.0
    budget: float = 1.0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds = {self.rounds}; a game has at least one")
        if not 0 < self.change < 0.5:
            raise ValueError(f"change = {self.change}; arm 1 is best in hindsight only for 0 < change < 1/2")
        if not 0 < self.gap <= 1:
            raise ValueError(f"gap = {self.gap}; the losses 1/2 ± gap/2 lie in [0, 1] only for 0 < gap <= 1")
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise ValueError(f"epsilon = {self.epsilon}; it must be nonnegative and finite")
        if not (self.budget >= 0 and math.isfinite(self.budget)):
            raise ValueError(f"budget = {self.budget}; it must be nonnegative and finite")

    @property
    def change_round(self) -> int:
        """The last round in which arm 2 is better: floor(a T)."""
        return int(self.change * self.rounds)

    @property
    def frozen_rounds(self) -> int:
        """How many rounds are frozen: floor(B/e²), as many as remain at most; none when e = 0."""
        if self.epsilon == 0:
            return 0
        affordable = self.budget / self.epsilon**2 * (1 + 1e-12)
        return int(min(affordable, self.rounds - self.change_round))

    def losses(self) -> FloatArray:
        """The loss vectors, shape (T, 2)."""
        losses = np.empty((self.rounds, 2))
        losses[: self.change_round] = (0.5 + self.gap / 2, 0.5 - self.gap / 2)
        losses[self.change_round :] = (0.5 - self.gap / 2, 0.5 + self.gap / 2)
        return losses

    def epsilons(self) -> FloatArray:
        """The perturbation vectors, shape (T, 2)."""
        epsilons = np.zeros((self.rounds, 2))
        epsilons[self.change_round : self.change_round + self.frozen_rounds] = self.epsilon
        return epsilons

    def as_distorted_bandit(self) -> DistortedBandit:
        """The same game, played through the protocol one round at a time. Source: Section 3.2."""
        adversary = Freezing() if self.frozen_rounds else Undistorted()
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
    rounds of 1 - |z - x|/|y - x|, the share of the information that is lost; ``clipped`` the share of frozen
    rounds in which the rate met its clip (0 when none is frozen).
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
    rate that is not positive or exceeds ``theory.eta0_cap``, or a number that is not positive. Source:
    Algorithm 2 with R = -log p - log(1-p).
    """
    if n_seeds < 1 or n_looks < 1:
        raise ValueError(f"n_seeds = {n_seeds}, n_looks = {n_looks}; both must be at least 1")

    def draws() -> Iterator[tuple[FloatArray, FloatArray]]:
        for start in range(0, game.rounds, BLOCK):
            shape = (min(BLOCK, game.rounds - start), n_seeds)
            signs: FloatArray = np.where(rng.integers(0, 2, size=shape) == 1, 1.0, -1.0)
            yield signs, rng.random(shape)

    looks = np.unique(np.linspace(0, game.rounds, n_looks + 1).round().astype(np.int64)[1:])
    return _play(game, eta0, schedule, baseline, draws(), n_seeds, looks)


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
    or rate. Source: Algorithm 2 with R = -log p - log(1-p).
    """
    if signs.shape != uniforms.shape or signs.ndim != 2 or len(signs) != game.rounds:
        raise ValueError(f"signs {signs.shape}, uniforms {uniforms.shape}; both must be ({game.rounds}, N)")
    looks = np.arange(1, game.rounds + 1)
    return _play(game, eta0, schedule, baseline, iter([(signs, uniforms)]), signs.shape[1], looks)


def _play(
    game: FreezingGame,
    eta0: float,
    schedule: RateSchedule,
    baseline: float,
    draws: Iterator[tuple[FloatArray, FloatArray]],
    n_seeds: int,
    looks: IntArray,
) -> FreezingHistory:
    cap = theory.eta0_cap(1, 1.0, baseline)
    if not 0 < eta0 <= cap:
        raise ValueError(f"eta0 = {eta0}; it must lie in (0, {cap}], the cap for baseline {baseline}")
    freeze_from = game.change_round
    freeze_to = freeze_from + game.frozen_rounds
    etas = np.empty(len(looks))
    ps, regrets, pseudo_regrets = (np.empty((len(looks), n_seeds)) for _ in range(3))
    hidden = np.zeros(n_seeds)
    eta, n_clipped, look, t = eta0, 0, 0, 0
    w, p = np.zeros(n_seeds), np.full(n_seeds, 0.5)
    regret, pseudo_regret = np.zeros(n_seeds), np.zeros(n_seeds)
    for signs, uniforms in draws:
        for sign, uniform in zip(signs, uniforms, strict=True):
            # What arm 2 loses more than arm 1.
            excess = -game.gap if t < game.change_round else game.gap
            # Lines 4 and 5: the ellipsoid is {p - radius, p + radius}.
            radius = p * (1 - p) / np.sqrt(p * p + (1 - p) * (1 - p))
            shown = radius
            if freeze_from <= t < freeze_to:
                shown = np.maximum(radius - game.epsilon / 2, 0.0)
                hidden += 1 - shown / radius
                rate = schedule.next_rate(eta, eta0, 1, game.epsilon)
                n_clipped += rate.clipped
            else:
                rate = schedule.next_rate(eta, eta0, 1, 0.0)
            eta = rate.eta
            z = p + sign * shown
            arm_2 = uniform >= z
            regret += excess * arm_2
            pseudo_regret += excess * (1 - z)
            # Line 8 along the slice: l~(1) - l~(2) = (L - b) R''(p) (y - p).
            loss = 0.5 - excess / 2 + excess * arm_2
            w -= eta * (loss - baseline) * sign / radius
            # Line 10: R'(p) = w is a quadratic equation.
            p = 2 / (2 - w + np.sqrt(w * w + 4))
            t += 1
            if t == looks[look]:
                etas[look], ps[look] = eta, p
                regrets[look], pseudo_regrets[look] = regret, pseudo_regret
                look += 1
    return FreezingHistory(
        at=looks,
        eta=etas,
        p=ps,
        regret=regrets,
        pseudo_regret=pseudo_regrets,
        hidden=hidden / game.rounds,
        clipped=n_clipped / max(game.frozen_rounds, 1),
    )
