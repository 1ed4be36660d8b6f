"""Online mirror descent behind a barrier, with everything its lemma speaks of.

    x_{t+1} = argmin { R(x) + (eta_t l_t - grad R(x_t))·x : x in S }

The projection on the slice is part of the step. The steps are computed against the sum
Theta_t = sum of eta_s l_s over s < t, which is the same in exact arithmetic and keeps the errors of
the steps from adding up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import FloatArray, check_finite, check_shape, place, read_only, reduce_frozen
from aggbandit.geometry.protocol import Barrier

__all__ = ["MirrorDescentBound", "MirrorDescentRun", "mirror_descent"]


@dataclass(frozen=True)
class MirrorDescentBound:
    """The right-hand side of the mirror-descent lemma, term by term.

    `first` = B(u||x_1)/eta_1; `middle` = - sum_{t>=2} (1/eta_{t-1} - 1/eta_t) B(u||x_t), negative when
    the rates increase; `last` = sum_t eta_t (||l_t||*)^2. Source: Lemma (mdbarrier).
    """

    first: float
    middle: float
    last: float

    @property
    def total(self) -> float:
        """first + middle + last."""
        return self.first + self.middle + self.last


@dataclass(frozen=True, eq=False)
class MirrorDescentRun:
    """A run of mirror descent: what was played, and what the lemma needs to judge it.

    `barrier` is R; `losses` (T, ...) and `rates` (T,) are the input; `iterates` (T + 1, ...) are
    x_1, ..., x_{T+1}; `dual_norms` (T,) are ||l_t||* at x_t, on the slice; `decrements` (T,) and
    `iterations` (T,) are the Newton decrement x_{t+1} was accepted with and the steps it took.
    """

    barrier: Barrier
    losses: FloatArray
    rates: FloatArray
    iterates: FloatArray
    dual_norms: FloatArray
    decrements: FloatArray
    iterations: npt.NDArray[np.int64]
    __reduce__ = reduce_frozen

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return len(self.rates)

    @property
    def step_sizes(self) -> FloatArray:
        """eta_t ||l_t||* (T,): the lemma asks for at most 1/2 in every round."""
        sizes: FloatArray = self.rates * self.dual_norms
        return sizes

    @property
    def within_lemma(self) -> bool:
        """Whether eta_t ||l_t||* <= 1/2 in all rounds, the condition of the lemma."""
        return bool((self.step_sizes <= 0.5).all())

    def regret(self, u: npt.ArrayLike) -> float:
        """sum_t l_t·(x_t - u), the left-hand side of the lemma. `u` is a point of the set.

        Raises `ValueError` if `u` does not have a point's shape.
        """
        u = np.asarray(u, dtype=np.float64)
        check_shape("u", u, self.iterates.shape[1:], "a point's shape")
        away = self.iterates[:-1] - u
        return float(np.vdot(self.losses, away))

    def divergences(self, u: npt.ArrayLike) -> FloatArray:
        """The Bregman divergences B(u||x_t), t = 1..T, shape (T,). `u` lies strictly inside the set.

        Raises `ValueError` if it does not: on the boundary they are infinite.
        """
        u = np.asarray(u, dtype=np.float64)
        return np.array([self.barrier.bregman(u, x) for x in self.iterates[:-1]])

    def bound(self, u: npt.ArrayLike) -> MirrorDescentBound:
        """The right-hand side of the lemma at `u`, a point strictly inside the set, term by term.

        B(u||x_1)/eta_1 - sum_{t>=2} (1/eta_{t-1} - 1/eta_t) B(u||x_t) + sum_t eta_t (||l_t||*)^2.
        It bounds `regret(u)` if `within_lemma`. Raises `ValueError` if `u` is not strictly inside.

        Source: Lemma (mdbarrier).
        """
        divergences = self.divergences(u)
        inverse = 1 / self.rates
        return MirrorDescentBound(
            first=float(inverse[0] * divergences[0]),
            middle=-float((inverse[:-1] - inverse[1:]) @ divergences[1:]),
            last=float(self.rates @ self.dual_norms**2),
        )


def mirror_descent(
    barrier: Barrier, losses: npt.ArrayLike, rates: npt.ArrayLike, start: npt.ArrayLike | None = None
) -> MirrorDescentRun:
    """Online mirror descent with a barrier, for any loss vectors and any rates.

    `barrier` is R; `losses` (T, ...) holds l_1, ..., l_T, each of a point's shape; `rates` (T,) holds
    eta_1, ..., eta_T, positive, in any order; `start` is x_1, strictly inside, or None for the
    analytic centre. The step exists for every rate; only the lemma needs eta_t ||l_t||* <= 1/2, and
    the run says whether that held.

    Raises `ValueError` before the first step: a shape that does not fit, a loss that is not finite, a
    rate that is not finite and positive, a start that is not strictly inside.

    Source: Section 2, Eq. (ALG:OMD); Abernethy, Hazan and Rakhlin (2008).
    """
    center = barrier.analytic_center() if start is None else np.array(start, dtype=np.float64)
    total = np.zeros_like(center) if start is None else -barrier.gradient(center)  # refuses a bad start
    losses, rates = read_only(losses), read_only(rates)
    if rates.ndim != 1 or not rates.size:
        raise ValueError(f"rates has shape {rates.shape}; expected (T,) with at least one round")
    check_shape("losses", losses, (rates.size, *center.shape), "(T, shape of a point)")
    check_finite("losses", losses)
    check_finite("rates", rates)
    for t in np.flatnonzero(rates <= 0)[:1]:
        raise ValueError(f"{place('rates', (int(t),))} is {rates[t]:.6g}; a learning rate must be positive")

    x, ellipsoid = center, barrier.dikin(center)
    iterates, dual_norms, decrements, iterations = [x], [], [], []
    for loss, eta in zip(losses, rates, strict=True):
        dual_norms.append(ellipsoid.dual_norm(loss))
        total = total + eta * loss
        step = barrier.minimize(total, x)
        x, ellipsoid = step.x, step.dikin
        iterates.append(x)
        decrements.append(step.decrement)
        iterations.append(step.iterations)
    return MirrorDescentRun(
        barrier,
        losses,
        rates,
        iterates=_column(iterates),
        dual_norms=_column(dual_norms),
        decrements=_column(decrements),
        iterations=np.array(iterations, dtype=np.int64),
    )


def _column(values: Iterable[float] | Iterable[FloatArray]) -> FloatArray:
    return read_only(np.array(list(values)))
