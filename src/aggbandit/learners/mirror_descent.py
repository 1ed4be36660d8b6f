"""Online mirror descent behind a barrier, with everything its lemma speaks of::

    x_{t+1} = argmin { R(x) + (eta_t l_t - grad R(x_t)) . x : x in S }

The projection on the slice is part of the step. The steps are computed against the sum
Theta_t = sum of eta_s l_s over s < t, which is the same in exact arithmetic and keeps the errors of
the steps from adding up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import (
    FloatArray,
    check_finite,
    check_has,
    check_shape,
    place,
    read_only,
    real_array,
    reduce_frozen,
)
from aggbandit.geometry.protocol import Barrier

__all__ = ["MirrorDescentBound", "MirrorDescentRun", "mirror_descent"]


@dataclass(frozen=True)
class MirrorDescentBound:
    """The right-hand side of the mirror-descent lemma, term by term.

    Args:
        first: `B(u||x_1) / eta_1`.
        middle: `- sum_{t>=2} (1/eta_{t-1} - 1/eta_t) B(u||x_t)`, negative when the rates increase.
        last: `sum_t eta_t (||l_t||*)^2`.

    Source:
        Lemma (mdbarrier).
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

    Attributes:
        barrier: R.
        losses: (T, ...) l_1, ..., l_T.
        rates: (T,) eta_1, ..., eta_T.
        iterates: (T + 1, ...) x_1, ..., x_{T+1}.
        dual_norms: (T,) the dual norms `||l_t||*` at x_t, on the slice.
        decrements: (T,) the Newton decrement that x_{t+1} was accepted with.
        iterations: (T,) the steps that it took.
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
        """(T,) `eta_t ||l_t||*`: the lemma asks for at most 1/2 in every round."""
        sizes: FloatArray = self.rates * self.dual_norms
        return sizes

    @property
    def within_lemma(self) -> bool:
        """Whether `eta_t ||l_t||* <= 1/2` in all rounds, the condition of the lemma."""
        return bool((self.step_sizes <= 0.5).all())

    def regret(self, u: npt.ArrayLike) -> float:
        """The left-hand side of the lemma, `sum_t l_t . (x_t - u)`.

        Args:
            u: a point of the set.

        Returns:
            The regret against u.

        Raises:
            ValueError: if u does not have a point's shape.
        """
        u = real_array("u", u)
        check_shape("u", u, self.iterates.shape[1:], "a point's shape")
        away = self.iterates[:-1] - u
        return float(np.vdot(self.losses, away))

    def divergences(self, u: npt.ArrayLike) -> FloatArray:
        """The Bregman divergences `B(u||x_t)`.

        Args:
            u: a point strictly inside the set.

        Returns:
            (T,) the divergences, t = 1..T.

        Raises:
            ValueError: if u is not strictly inside: on the boundary they are infinite.
        """
        u = real_array("u", u)
        return np.array([self.barrier.bregman(u, x) for x in self.iterates[:-1]])

    def bound(self, u: npt.ArrayLike) -> MirrorDescentBound:
        """The right-hand side of the lemma, term by term.

        That is::

            B(u||x_1)/eta_1 - sum_{t>=2} (1/eta_{t-1} - 1/eta_t) B(u||x_t) + sum_t eta_t (||l_t||*)^2

        It bounds `regret(u)` if `within_lemma`.

        Args:
            u: a point strictly inside the set.

        Returns:
            The three terms.

        Raises:
            ValueError: if u is not strictly inside.

        Source:
            Lemma (mdbarrier).
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

    The step exists for every rate; only the lemma needs `eta_t ||l_t||* <= 1/2`, and the run says
    whether that held.

    Args:
        barrier: R.
        losses: (T, ...) l_1, ..., l_T, each of a point's shape.
        rates: (T,) eta_1, ..., eta_T, positive, in any order.
        start: x_1, strictly inside; the analytic center if None.

    Returns:
        The run.

    Raises:
        ValueError: before the first step, for a shape that does not fit, a loss that is not finite, a rate
            that is not finite and positive, a start that is not strictly inside.
        TypeError: if `barrier` is none.

    Source:
        Section 2, Eq. (ALG:OMD); Abernethy, Hazan and Rakhlin (2008).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> triangle = ab.LogBarrier(ab.simplex(3))
        >>> losses = np.random.default_rng(0).random((200, 3))
        >>> run = ab.mirror_descent(triangle, losses, rates=np.full(200, 0.1))
        >>> u = np.array([0.8, 0.1, 0.1])
        >>> bool(run.within_lemma and run.regret(u) <= run.bound(u).total)
        True
    """
    check_has("barrier", barrier, ("dikin", "minimize"), "a barrier, such as ab.LogBarrier(body)")
    center = barrier.analytic_center() if start is None else np.array(real_array("start", start))
    total = np.zeros_like(center) if start is None else -barrier.gradient(center)  # refuses a bad start
    losses, rates = read_only(real_array("losses", losses)), read_only(real_array("rates", rates))
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
