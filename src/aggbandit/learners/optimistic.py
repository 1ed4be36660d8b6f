"""Algorithm 1: exponential weights on optimistic estimates, for a finite set of points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, read_only, reduce_frozen
from aggbandit.learners.increasing_rates import check_observation
from aggbandit.learners.optimal_design import OptimalDesign, g_optimal_design


@dataclass(frozen=True, slots=True)
class OptimisticRound:
    """What happened in one round of Algorithm 1.

    ``round`` t from 1; ``y`` the point played, shape (d,); ``probabilities`` q_t, shape (N,); the observed
    ``loss`` l·z_hat; the ``second_moment`` M_t of y, shape (d, d); the ``estimate`` l^ = (l·z_hat) M^+ y,
    shape (d,); ``values`` l~(y) at every point, shape (N,); ``epsilon_norm`` ||eps||_M.
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

    q_t = (1 - gamma) p_t + gamma mu;  y_t ~ q_t;  M_t = E[y y'];  l^_t = (l_t·z_hat_t) M_t^+ y_t;
    l~_t(y) = l^_t·y - sqrt(r) ||y||_{M_t^+} ||eps_t||_{M_t};  p_{t+1}(y) ~ p_t(y) exp(-eta l~_t(y)).

    The set need not span the space: the inverse of M is taken in its span, and r, its rank, stands for the
    paper's d. The exploration mu is a G-optimal ``design``; it takes the place of the paper's lambda > 0,
    which need not exist.

    ``points`` S, shape (N, d); ``rounds`` T; ``loss_bound`` H with ||y||_1 <= H; ``epsilon_bound`` beta, the
    largest entry eps_t may have; ``rates`` eta and gamma, by default ``theory.optimistic_rates`` with the
    design's certificate; ``design`` by default computed here. Raises ``ValueError`` for values
    out of range. Source: Algorithm 1; Section 4.1.
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
        self.design = g_optimal_design(points) if design is None else design
        self.points: FloatArray = read_only(points)
        self.rank = self.design.rank
        self.rounds = rounds
        self.loss_bound = float(loss_bound)
        self.epsilon_bound = float(epsilon_bound)
        if not (self.rounds > 0 and np.isfinite(self.rounds)):
            raise ValueError(f"rounds = {rounds}; it must be positive and finite")
        if not (self.loss_bound > 0 and np.isfinite(self.loss_bound)):
            raise ValueError(f"loss_bound = {loss_bound}; it must be positive and finite")
        if not (self.epsilon_bound >= 0 and np.isfinite(self.epsilon_bound)):
            raise ValueError(f"epsilon_bound = {epsilon_bound}; it must be nonnegative and finite")
        longest = float(np.abs(self.points).sum(axis=1).max())
        if longest > self.loss_bound * (1 + 1e-9):
            raise ValueError(f"a point has ||y||_1 = {longest}; it must be at most loss_bound = {loss_bound}")
        self._coordinates = self._whitened()
        self.eta, self.gamma = self._theorem_rates() if rates is None else rates
        if not (self.eta > 0 and np.isfinite(self.eta)):
            raise ValueError(f"eta = {self.eta}; a learning rate must be positive and finite")
        if not 0 < self.gamma <= 1:
            raise ValueError(f"gamma = {self.gamma}; a share of exploration must lie in (0, 1]")
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
        """The exponential weights p_t, before exploration, shape (N,). Source: Algorithm 1, line 4."""
        shifted = np.exp(self._log_weights - self._log_weights.max())
        return np.asarray(shifted / shifted.sum())

    @property
    def probabilities(self) -> FloatArray:
        """The distribution q_t of the next point, shape (N,). Source: Algorithm 1, line 4."""
        return self._probabilities

    @property
    def center(self) -> FloatArray:
        """The mean of the next point, sum_y q_t(y) y, shape (d,). Source: proof of Lemma to-mw-regret."""
        return np.asarray(self._probabilities @ self.points)

    def predict(self, rng: np.random.Generator) -> FloatArray:
        """The point y_t to play, drawn from q_t with one uniform of ``rng``; shape (d,).

        Source: Algorithm 1, line 5.
        """
        cumulated = np.cumsum(self._probabilities)
        self._played = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        y: FloatArray = self.points[self._played]
        return y

    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> OptimisticRound:
        """Learn from one round, and say what happened.

        ``loss_value`` l_t·z_hat_t in [0, H]; ``z_hat`` and ``epsilon`` in [0, beta], shape (d,). Raises
        ``ValueError`` for values out of range, ``RuntimeError`` when nothing was predicted; nothing has
        changed then. Source: Algorithm 1, lines 7 to 10.
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
