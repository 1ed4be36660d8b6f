"""Algorithm 1: exponential weights on optimistic estimates, for a finite set of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggbandit import theory
from aggbandit._arrays import (
    FloatArray,
    check_at_least_zero,
    check_kind,
    check_positive,
    check_rng,
    read_only,
    real_array,
    reduce_frozen,
)
from aggbandit.learners import snapshots
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.increasing_rates import check_observation
from aggbandit.learners.optimal_design import OptimalDesign, g_optimal_design


@dataclass(frozen=True, slots=True)
class OptimisticRound:
    """What happened in one round of Algorithm 1.

    Attributes:
        round: t, from 1.
        y: (d,) the point played.
        probabilities: (N,) q_t.
        loss: the observed loss `l . z_hat`.
        second_moment: (d, d) M_t, of y.
        estimate: (d,) `l^ = (l . z_hat) M^+ y`.
        values: (N,) l~(y) at every point.
        epsilon_norm: the norm of eps in M, `sqrt(eps' M eps)`.
    """

    round: int
    y: FloatArray
    probabilities: FloatArray
    loss: float
    second_moment: FloatArray
    estimate: FloatArray
    values: FloatArray
    epsilon_norm: float
    __reduce__ = reduce_frozen


class OptimisticEXP2:
    """Algorithm 1 on a finite set S.

    In round t::

        q_t = (1 - gamma) p_t + gamma mu,    y_t ~ q_t,    M_t = E[y y']
        l^_t = (l_t . z_hat_t) M_t^+ y_t
        l~_t(y) = l^_t . y - sqrt(r) ||y||_{M_t^+} ||eps_t||_{M_t}
        p_{t+1}(y) ~ p_t(y) exp(-eta l~_t(y))

    The set need not span the space: the inverse of M is taken in its span, and r, its rank, stands for the
    paper's d. The exploration mu is a G-optimal design; it takes the place of the paper's lambda > 0,
    which need not exist.

    Args:
        points: (N, d) the set S.
        rounds: T.
        loss_bound: H, at least the L1 norm of every point.
        epsilon_bound: beta, the largest entry that eps_t may have.
        rates: eta and gamma, by default `theory.optimistic_rates` with the design's certificate.
        design: by default computed here.

    Raises:
        ValueError: for values out of range, or a design of other points.
        TypeError: for an argument of another kind, saying what to write instead.
        LearnerInUse: from every method, when another thread is in one of them.

    Source:
        Algorithm 1; Section 4.1.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> rng, loss = np.random.default_rng(0), np.array([0.2, 0.5, 0.8])
        >>> learner = ab.OptimisticEXP2(np.eye(3), rounds=2000, loss_bound=1.0)
        >>> for _ in range(2000):
        ...     y = learner.predict(rng)
        ...     record = learner.update(loss @ y, z_hat=y, epsilon=np.zeros(3))
        >>> int(learner.probabilities.argmax())
        0
    """

    def __init__(
        self,
        points: FloatArray,
        rounds: int,
        loss_bound: float,
        epsilon_bound: float = 0.0,
        rates: theory.OptimisticRates | None = None,
        design: OptimalDesign | None = None,
    ) -> None:
        self.points: FloatArray = read_only(real_array("points", points))
        check_positive("rounds", rounds)
        check_positive("loss_bound", loss_bound)
        check_at_least_zero("epsilon_bound", epsilon_bound)
        if design is not None:
            check_kind("design", design, OptimalDesign, "ab.learners.g_optimal_design(points)")
        if rates is not None:
            check_kind("rates", rates, tuple, "theory.OptimisticRates(eta, gamma)")
        self.design = g_optimal_design(points) if design is None else design
        self.rank = self.design.rank
        self.rounds = rounds
        self.loss_bound = float(loss_bound)
        self.epsilon_bound = float(epsilon_bound)
        longest = float(np.abs(self.points).sum(axis=1).max())
        if longest > self.loss_bound * (1 + 1e-9):
            raise ValueError(f"a point has ||y||_1 = {longest}; it must be at most loss_bound = {loss_bound}")
        self._coordinates = self._whitened()
        self.eta, self.gamma = self._theorem_rates() if rates is None else rates
        if not (self.eta > 0 and np.isfinite(self.eta)):
            raise ValueError(f"eta is {self.eta}; a learning rate must be positive and finite")
        if not 0 < self.gamma <= 1:
            raise ValueError(f"gamma is {self.gamma}; a share of exploration must lie in (0, 1]")
        self.round = 1
        self._log_weights = np.zeros(len(self.points))
        self._played: int | None = None
        self._probabilities = self._mix()

    def _whitened(self) -> FloatArray:
        """The points in the design's coordinates, in which its moment is the identity, shape (N, r)."""
        design, points = self.design, self.points
        if len(design.weights) != len(points):
            raise ValueError(f"design has {len(design.weights)} weights for {len(points)} points")
        if len(design.whitening) != points.shape[1]:
            raise ValueError(f"design has d = {len(design.whitening)}, points d = {points.shape[1]}")
        coordinates: FloatArray = points @ design.whitening
        moment = coordinates.T @ (design.weights[:, None] * coordinates)
        largest = float((coordinates**2).sum(axis=1).max())
        if not (
            np.allclose(moment, np.eye(design.rank), atol=1e-3)
            and np.isclose(largest, design.largest_norm, rtol=1e-3)
        ):
            raise ValueError(
                f"design is of other points: largest_norm = {design.largest_norm:.6g}, here {largest:.6g}"
            )
        return coordinates

    def _theorem_rates(self) -> theory.OptimisticRates:
        return theory.optimistic_rates(
            self.rank,
            len(self.points),
            self.loss_bound,
            self.epsilon_bound,
            self.rounds,
            self.design.largest_norm,
        )

    def _mix(self) -> FloatArray:
        """Line 4: q_t = (1 - gamma) p_t + gamma mu."""
        mixed = (1 - self.gamma) * self.weights + self.gamma * self.design.weights
        mixed.setflags(write=False)
        return mixed

    @property
    def weights(self) -> FloatArray:
        """The exponential weights p_t before exploration, (N,).

        Source:
            Algorithm 1, line 4.
        """
        shifted = np.exp(self._log_weights - self._log_weights.max())
        return np.asarray(shifted / shifted.sum())

    @property
    def probabilities(self) -> FloatArray:
        """The distribution q_t of the next point, (N,).

        Source:
            Algorithm 1, line 4.
        """
        return self._probabilities

    @property
    def center(self) -> FloatArray:
        """The mean of the next point, `sum_y q_t(y) y`, (d,).

        Source:
            Proof of Lemma to-mw-regret.
        """
        return np.asarray(self._probabilities @ self.points)

    @alone
    def predict(self, rng: np.random.Generator) -> FloatArray:
        """Choose y_t, drawn from q_t.

        Args:
            rng: the source of all randomness; one uniform is drawn.

        Returns:
            (d,) the point.

        Raises:
            TypeError: unless `rng` is a generator.

        Source:
            Algorithm 1, line 5.
        """
        check_rng(rng)
        cumulated = np.cumsum(self._probabilities)
        self._played = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        y: FloatArray = self.points[self._played]
        return y

    @alone
    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> OptimisticRound:
        """Learn from one round.

        Args:
            loss_value: `l_t . z_hat_t`, in [0, H].
            z_hat: (d,) what was played in the end.
            epsilon: (d,) eps_t, in [0, beta].

        Returns:
            What happened.

        Raises:
            ValueError: for values out of range; nothing has changed then.
            RuntimeError: when nothing was predicted.

        Source:
            Algorithm 1, lines 7 to 10.
        """
        if self._played is None:
            raise RuntimeError(f"round {self.round}: update was called before predict")
        z_hat, epsilon = check_observation(loss_value, z_hat, epsilon, self.points.shape[1:], self.loss_bound)
        if epsilon.max() > self.epsilon_bound:
            raise ValueError(
                f"epsilon has the entry {epsilon.max()}, above epsilon_bound = {self.epsilon_bound}"
            )
        y, q = self.points[self._played], self._probabilities
        # Line 8, in coordinates of the span in which the design has moment one, so that M >= gamma.
        second_moment = self.points.T @ (q[:, None] * self.points)
        whitening = self.design.whitening
        inverse = np.linalg.inv(whitening.T @ second_moment @ whitening)
        squared_norms = np.einsum("ni,ij,nj->n", self._coordinates, inverse, self._coordinates)
        epsilon_norm = math.sqrt(max(float(epsilon @ second_moment @ epsilon), 0.0))
        # Line 9.
        estimate = loss_value * (whitening @ (inverse @ self._coordinates[self._played]))
        values = self.points @ estimate - np.sqrt(self.rank * squared_norms) * epsilon_norm
        record = OptimisticRound(
            self.round, y, q, float(loss_value), second_moment, estimate, values, epsilon_norm
        )
        # Line 10.
        self._log_weights = self._log_weights - self.eta * values
        self._log_weights -= self._log_weights.max()
        self._probabilities = self._mix()
        self._played = None
        self.round += 1
        return record

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        bounds = f"loss_bound={self.loss_bound!r}", f"epsilon_bound={self.epsilon_bound!r}"
        rates = f"eta={self.eta!r}", f"gamma={self.gamma!r}"
        return (f"points={described(self.points)}", f"rounds={self.rounds!r}", *bounds, *rates)

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The state between two rounds, as arrays; `restore` is its inverse."""
        return snapshots.written(self.arguments, log_weights=self._log_weights, round=np.array([self.round]))

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes; what was predicted is forgotten.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        shape = self._log_weights.shape
        arrays = snapshots.read(snapshot, self.arguments, log_weights=shape, round=(1,))
        number = float(arrays["round"][0])
        if not (number >= 1 and number.is_integer()):
            raise ValueError(f"round is {number}; it must be a positive integer")
        self._log_weights, self.round, self._played = arrays["log_weights"], int(number), None
        self._probabilities = self._mix()
