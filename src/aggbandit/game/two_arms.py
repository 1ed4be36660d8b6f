"""The freezing game: two arms, one adversary, many seeds at once, in closed form.

The learner is Algorithm 2 on the two-armed simplex. With p the probability of arm 1 the barrier is
R(p) = -log p - log(1 - p), the slice has dimension n = 1, the Dikin ellipsoid is the pair p ± 1/sqrt(R''(p)),
and the mirror step solves R'(p) = w, w being minus the sum of rate times estimate, by a quadratic equation.
So a round costs a few array operations for all seeds together, and agrees with ``IncreasingRateOMD`` to
rounding.

The game: arm 2 is the better one for the first share of the rounds, arm 1 afterward, and in hindsight. When
the better arm changes, the adversary begins to move the learner's hand back to where it came from, z from y
toward x, by at most half of a small e a round, until its budget, sum (z_hat·eps)² <= B, is spent. It may
have spent a part of it before, on a decoy: perturbation vectors under which it moves nothing, and which
raise the rate early.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_at_least_zero,
    check_positive,
    check_positive_int,
    check_rng,
)
from aggbandit.game.adversaries import Freezing, Undistorted
from aggbandit.game.contests import Contest, ContestHistory, check_contests, evenly_spaced
from aggbandit.game.protocol import DistortedBandit
from aggbandit.game.samplers import DrawArm
from aggbandit.geometry.bodies import simplex

__all__ = ["FreezingGame", "freezing_epsilon", "play_freezing", "replay_freezing"]

BLOCK = 4096  # rounds whose random numbers are drawn together
CHUNK = 128  # rounds whose random numbers are laid out for all contests together


@dataclass(frozen=True)
class FreezingGame:
    """The losses and the perturbations of the game, all fixed beforehand.

    Since z_hat·eps_t = e in a frozen round whatever is drawn, exactly floor((B - D)/e²) rounds are frozen,
    from round aT + 1 on.

    Args:
        rounds: T.
        change: a in (0, 1/2), the share of the rounds in which arm 2 is better.
        gap: g in (0, 1]; the arms lose 1/2 ± g/2.
        epsilon: e >= 0; in a frozen round eps_t = (e, e).
        budget: B >= 0.
        decoy: D in [0, B], the part of the budget spent evenly on the first aT/2 rounds.

    Raises:
        ValueError: for values out of range.

    Source:
        Ours; the protocol of Section 3.2 with H = 1.
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
            raise ValueError(f"change is {self.change}; arm 1 is best in hindsight only for 0 < change < 1/2")
        if self.change_round < 1:
            raise ValueError(f"change * rounds is {self.change * self.rounds:.6g}; it must be at least 1")
        if not 0 < self.gap <= 1:
            raise ValueError(f"gap is {self.gap}; the losses 1/2 ± gap/2 lie in [0, 1] only for 0 < gap <= 1")
        check_at_least_zero("epsilon", self.epsilon)
        check_at_least_zero("budget", self.budget)
        if not 0 <= self.decoy <= self.budget:
            raise ValueError(f"decoy is {self.decoy}; it is a part of the budget, {self.budget}")

    @property
    def loss_bound(self) -> float:
        """H, which is 1 on the simplex."""
        return 1.0

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
        """The loss vectors.

        Returns:
            (T, 2).
        """
        losses = np.empty((self.rounds, 2))
        losses[: self.change_round] = (0.5 + self.gap / 2, 0.5 - self.gap / 2)
        losses[self.change_round :] = (0.5 - self.gap / 2, 0.5 + self.gap / 2)
        return losses

    def perturbations(self) -> FloatArray:
        """The two equal entries of each perturbation vector.

        Returns:
            (T,).
        """
        sizes = np.zeros(self.rounds)
        early = max(self.change_round // 2, 1)
        sizes[:early] = math.sqrt(self.decoy / early)
        sizes[self.change_round : self.change_round + self.frozen_rounds] = self.epsilon
        return sizes

    def epsilons(self) -> FloatArray:
        """The perturbation vectors.

        Returns:
            (T, 2).
        """
        return np.repeat(self.perturbations()[:, None], 2, axis=1)

    def as_distorted_bandit(self) -> DistortedBandit:
        """The same game, to be played through the protocol, with the moves as an adversary makes them.

        Returns:
            The game on the simplex of two arms, z_hat being the arm drawn.

        Source:
            Section 3.2.
        """
        adversary = Freezing(self.change_round + 1) if self.frozen_rounds else Undistorted()
        return DistortedBandit(self.losses(), self.epsilons(), adversary, simplex(2), 1.0, DrawArm())


def freezing_epsilon(
    rounds: int, eta0: float, strength: float, change: float = 0.36, gap: float = 1.0
) -> float:
    """The perturbation that just hides what a learner at the wall tries: e = k / (eta_0 g a T).

    After a T rounds against a gap g the learner is about 1/(eta_0 g a T) away from the wall, and explores
    about as far.

    Args:
        rounds: T.
        eta0: the learner's rate.
        strength: k.
        change: a.
        gap: g.

    Returns:
        e.

    Raises:
        ValueError: for values that are not positive.

    Source:
        Ours.
    """
    for name, value in (
        ("rounds", rounds),
        ("eta0", eta0),
        ("strength", strength),
        ("change", change),
        ("gap", gap),
    ):
        check_positive(name, value)
    return strength / (eta0 * gap * change * rounds)


def play_freezing(
    contests: Sequence[Contest[FreezingGame]],
    n_seeds: int,
    rng: np.random.Generator,
    baseline: float = 0.0,
    n_looks: int = 1,
) -> list[ContestHistory]:
    """Play freezing games with Algorithm 2, many seeds at once and all with the same coins.

    A schedule is asked in the first round and where eps_t > 0: elsewhere its rate must stay what it was. One
    with a memory must not be in two contests.

    Args:
        contests: games that differ in what the adversary does only: `rounds`, `change` and `gap` agree.
        n_seeds: N.
        rng: for blocks of 4096 rounds, first the signs of the directions, then the uniforms of the arms, both
            of shape (block, N).
        baseline: b, subtracted from every loss.
        n_looks: how often the result is looked at, C.

    Returns:
        A history for each contest: what it would be alone.

    Raises:
        TypeError: for what is no contest of this kind, or no generator.
        ValueError: for games that differ in more, or a rate above `theory.eta0_cap`; nothing has been drawn
            then.

    Source:
        Algorithm 2 with R = -log p - log(1 - p).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> rounds, eta0 = 3000, 3000**-0.5
        >>> epsilon = ab.game.freezing_epsilon(rounds, eta0, strength=0.75)
        >>> frost = ab.game.FreezingGame(rounds, epsilon=epsilon)
        >>> rates = ab.ConstantRate(), ab.IncreasingRate()
        >>> contests = [ab.game.Contest(frost, eta0, rate) for rate in rates]
        >>> rng = np.random.default_rng(0)
        >>> constant, increasing = ab.game.play_freezing(contests, 40, rng, baseline=0.5)
        >>> bool(increasing.pseudo_regret[-1].mean() < constant.pseudo_regret[-1].mean())
        True
    """
    check_positive_int("n_seeds", n_seeds)
    check_rng(rng)
    _check(contests, baseline)
    rounds = contests[0].game.rounds
    looks = evenly_spaced(rounds, n_looks)

    def draws() -> Iterator[tuple[FloatArray, FloatArray]]:
        for start in range(0, rounds, BLOCK):
            chunks = [
                (min(CHUNK, rounds - t), n_seeds) for t in range(start, min(start + BLOCK, rounds), CHUNK)
            ]
            # A byte each: with many seeds a block of whole numbers would be most of what is held.
            ups = [rng.integers(0, 2, size=shape).astype(np.bool_) for shape in chunks]
            for up, shape in zip(ups, chunks, strict=True):
                yield np.where(up, 1.0, -1.0), rng.random(shape)

    return _play(contests, draws(), n_seeds, baseline, looks)


def replay_freezing(
    contests: Sequence[Contest[FreezingGame]], signs: FloatArray, uniforms: FloatArray, baseline: float = 0.0
) -> list[ContestHistory]:
    """Play freezing games with given coins, looked at after every round.

    Args:
        contests: as in `play_freezing`.
        signs: (T, N) the signs of y - x in its first coordinate, +1 or -1.
        uniforms: (T, N) the uniforms of the arms, in [0, 1].
        baseline: b, subtracted from every loss.

    Returns:
        A history for each contest.

    Raises:
        TypeError: for what is no contest of this kind.
        ValueError: as `play_freezing`, and for coins that are none.

    Source:
        Algorithm 2 with R = -log p - log(1 - p).
    """
    _check(contests, baseline)
    rounds = contests[0].game.rounds
    signs, uniforms = np.asarray(signs, dtype=np.float64), np.asarray(uniforms, dtype=np.float64)
    if signs.shape != uniforms.shape or signs.ndim != 2 or len(signs) != rounds or not signs.size:
        raise ValueError(
            f"signs has shape {signs.shape}, uniforms {uniforms.shape}; both must be ({rounds}, N)"
        )
    for name, values, fine, rule in (
        ("signs", signs, np.abs(signs) == 1, "+1 or -1"),
        ("uniforms", uniforms, (uniforms >= 0) & (uniforms <= 1), "in [0, 1]"),
    ):
        if not fine.all():
            t, i = np.argwhere(~fine)[0]
            raise ValueError(f"{name}[{t}, {i}] is {values[t, i]}; every entry must be {rule}")
    return _play(contests, iter([(signs, uniforms)]), signs.shape[1], baseline, np.arange(1, rounds + 1))


def _check(contests: Sequence[Contest[FreezingGame]], baseline: float) -> None:
    """Raise unless these contests can be played together."""
    check_contests(contests, FreezingGame, 1, baseline)
    game = contests[0].game
    for i, contest in enumerate(contests):
        other = contest.game
        if (other.rounds, other.change, other.gap) != (game.rounds, game.change, game.gap):
            raise ValueError(f"contests[{i}].game and contests[0].game differ in more than the perturbations")


def _play(
    contests: Sequence[Contest[FreezingGame]],
    draws: Iterator[tuple[FloatArray, FloatArray]],
    n_seeds: int,
    baseline: float,
    looks: IntArray,
) -> list[ContestHistory]:
    game = contests[0].game
    seats = [_Seat(contest) for contest in contests]
    distorted = np.any([seat.sizes for seat in seats], axis=0)
    table = _Table(len(seats), n_seeds, game.gap, baseline)
    wanted = set(looks.tolist())
    kept: list[tuple[FloatArray, ...]] = []
    t = 0
    for block in draws:
        for start in range(0, len(block[0]), CHUNK):
            coins = (np.tile(coin[start : start + CHUNK], len(seats)) for coin in block)
            for sign, uniform in zip(*coins, strict=True):
                if t in (0, game.change_round) or distorted[t] or distorted[t - 1]:
                    changed = [seat for seat in seats if seat.begins_anew(t)]
                    if changed:
                        table.seat(seats, changed)
                if t == game.change_round:
                    table.change_sides()
                table.play(sign, uniform)
                t += 1
                if t in wanted:
                    kept.append(table.look(seats))
    centers, etas, regrets, pseudo_regrets, hidden = (np.array(column) for column in zip(*kept, strict=True))
    return [
        ContestHistory(
            at=looks,
            center=centers[:, i],
            eta=np.broadcast_to(etas[:, i, None], (len(looks), n_seeds)),
            regret=regrets[:, i],
            pseudo_regret=pseudo_regrets[:, i],
            spent=np.full(n_seeds, (seat.sizes**2).sum()),
            hidden=hidden[-1, i] / game.rounds,
            clipped=seat.n_clipped / max(int((seat.sizes > 0).sum()), 1),
        )
        for i, seat in enumerate(seats)
    ]


class _Seat:
    """One contest at the table of all: its rate and its hand, the same for all seeds, and its place."""

    def __init__(self, contest: Contest[FreezingGame]) -> None:
        self.schedule, self.eta0 = contest.schedule, float(contest.eta0)
        self.sizes, self.change_round = contest.game.perturbations(), contest.game.change_round
        self.eta, self.hand, self.n_clipped, self.place = self.eta0, 0.0, 0, 0

    def begins_anew(self, t: int) -> bool:
        """Line 9 for the round t, counted from 0, and how far its hand is moved; whether either is new."""
        before = self.eta, self.hand
        size = float(self.sizes[t])
        self.hand = size / 2 if t >= self.change_round else 0.0
        # Without a perturbation a schedule stays where it is.
        if size > 0 or t == 0:
            rate = self.schedule.next_rate(self.eta, self.eta0, 1, size)
            self.eta = rate.eta
            self.n_clipped += rate.clipped
        return t == 0 or before != (self.eta, self.hand)


class _Table:
    """The state of all contests, a place each of N rows, and a round played in place.

    Contests share a place, and are played once, until their rates or their hands differ: before the change
    most of them are one game.

    R'(p) = w is a quadratic equation: with s = sqrt(w² + 4), 1/(p (1 - p)) = 2 + s, p = 2/(2 - w + s) and
    R''(p) = s (2 + s), without cancellation anywhere.
    """

    def __init__(self, n_contests: int, n_seeds: int, gap: float, baseline: float) -> None:
        self.n_places, self.n_seeds, self.gap = 1, n_seeds, gap
        # w; sums of z, of ±gap/2 for arm 2 and 1, of the share of a trial that is left; regrets before.
        self.state = np.zeros((6, n_contests, n_seeds))
        self.rates, self.hands = np.zeros((2, n_contests, n_seeds))
        self.work = np.empty((4, n_contests * n_seeds))
        self.side, self.above = -1.0, 0.5 - baseline  # arm 2 loses 1/2 + side gap/2, the mean is above b
        self.n_rounds = self.n_moved = 0
        self.guests, self.moving = Counter({0: n_contests}), False
        self._cut()

    def _cut(self) -> None:
        """The rows in use."""
        n_rows = self.n_places * self.n_seeds
        flat = [part.reshape(-1)[:n_rows] for part in (*self.state[:4], self.rates, self.hands)]
        self.w, self.sum_z, self.sum_arm, self.sum_left, self.rate, self.hand = flat
        self.s, self.x, self.stretch, self.z = self.work[:, :n_rows]

    def seat(self, seats: Sequence[_Seat], changed: Sequence[_Seat]) -> None:
        """The round's rates and hands, for the contests where they `changed`."""
        if any(self.guests[seat.place] > 1 for seat in changed):
            self._part(seats)
        for seat in changed:
            self.rates[seat.place], self.hands[seat.place] = self.side * seat.eta, seat.hand
        self.moving = any(seat.hand > 0 for seat in seats)

    def _part(self, seats: Sequence[_Seat]) -> None:
        """Give contests that shared a place and differ from now on places of their own."""
        places: dict[tuple[int, float, float], int] = {}
        for seat in seats:
            parted = seat.place, seat.eta, seat.hand
            if parted not in places:
                place = seat.place
                if place in places.values():
                    place, self.n_places = self.n_places, self.n_places + 1
                    self.state[:, place] = self.state[:, seat.place]
                    self.rates[place], self.hands[place] = self.rates[seat.place], self.hands[seat.place]
                places[parted] = place
            seat.place = places[parted]
        self.guests = Counter(seat.place for seat in seats)
        self._cut()

    def change_sides(self) -> None:
        """From now on the other arm is better: put away the regrets so far, and turn the signs."""
        self.state[4:] = self._regrets()
        self.state[1:3] = 0.0
        self.rates *= -1
        self.side, self.n_rounds = -self.side, 0

    def _regrets(self) -> FloatArray:
        """(2, C, N) the regret so far with l·z_hat, and with l·z."""
        z, arm = self.state[1:3]
        excess = self.side * self.gap  # of arm 2 over arm 1, the best in hindsight
        since = [self.side * arm + excess * self.n_rounds / 2, excess * (self.n_rounds - z)]
        return np.asarray(self.state[4:] + np.stack(since))

    def play(self, sign: FloatArray, uniform: FloatArray) -> None:
        """A round with these coins, as many as there are rows or more."""
        w, s, x, stretch, z = self.w, self.s, self.x, self.stretch, self.z
        # Lines 4 and 5: the ellipsoid is {x - 1/stretch, x + 1/stretch}; its sign goes with the stretch.
        np.multiply(w, w, out=s)
        s += 4.0
        np.sqrt(s, out=s)
        np.add(s, 2.0, out=x)
        np.multiply(s, x, out=stretch)
        np.sqrt(stretch, out=stretch)
        stretch *= sign[: len(w)]
        x -= w
        np.divide(2.0, x, out=x)
        np.divide(1.0, stretch, out=z)
        if self.moving:  # the trial y - x, of length 1/stretch, is shortened by the hand
            np.abs(stretch, out=s)
            s *= self.hand
            np.subtract(1.0, s, out=s)
            np.maximum(s, 0.0, out=s)
            z *= s
            self.sum_left += s
            self.n_moved += 1
        z += x
        self.sum_z += z
        # The arm drawn, as +gap/2 for arm 2 and -gap/2 for arm 1.
        np.subtract(uniform[: len(w)], z, out=z)
        arm = np.copysign(self.gap / 2, z, out=z)
        self.sum_arm += arm
        # Lines 8 and 10 along the slice: l~(1) - l~(2) = (L - b) R''(x) (y - x), and the last two factors
        # are the stretch.
        if self.above:
            arm += self.side * self.above
        arm *= self.rate
        arm *= stretch
        w -= arm
        self.n_rounds += 1

    def look(self, seats: Sequence[_Seat]) -> tuple[FloatArray, ...]:
        """For each contest: the centers (N, 2), the rate, both regrets so far, and what was hidden, (N,)."""
        places = [seat.place for seat in seats]
        w = self.state[0, places]
        s = np.sqrt(w * w + 4)
        regret, pseudo_regret = self._regrets()[:, places]
        centers = np.stack([2 / (2 - w + s), 2 / (2 + w + s)], axis=-1)
        etas = np.array([seat.eta for seat in seats])
        return centers, etas, regret, pseudo_regret, self.n_moved - self.state[3, places]
