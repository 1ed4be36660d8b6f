"""The barrier of the set S_i, its Dikin ellipsoid, and Newton's method on the slice of the flow equations.

The L1 ball is not O(S) inequalities in x. With auxiliary variables t >= |r|, sum t <= rho it has the barrier
-sum log(t² - r²) - log(rho - sum t), where r = x - P_hat X, rho = w X and X = x(h,s,a). Its minimum over t is
again a self-concordant barrier, with the same parameter 2S + 1, and it is known in closed form: with sigma
the positive root of

    (S+1) sigma + sum_s' sqrt(sigma² + r_s'²) = rho,        t = sigma + sqrt(sigma² + r²),

    value     -(S+1) log sigma - sum log t - S log 2
    gradient  -J'(m r) - z/sigma         m = 1/(t sqrt(sigma² + r²)),   J = I - P_hat 1'
    Hessian   J' diag(m) J + kappa z z'  q = -r / sqrt(sigma² + r²),   z = q - (q·P_hat) 1 + w 1,
                                         1/kappa = sigma² (1 + sum m t²)

The Hessian of the whole barrier is block diagonal over cells, each block diag(1/x²) plus rank three. Its
inverse G is needed to full relative precision also close to a wall, where kappa swallows the rest of a block;
the formulas below subtract nothing that is nearly equal. With e = 1/(1 + m x²), v = x² e and sums over s',

    a = sum v,   b = sum P_hat e,   c = sum m P_hat² e,   delta = a c + b²,   p = (a m P_hat + b) v / delta,

    G_2 u = v (u - (v·u)/a) + (delta/a) (p·u) p          the inverse without kappa;  G_2 1 = p
    G u   = G_2 u - s (s·u)/tau,   s = G_2 z,   tau = 1/kappa + z·s.

An unconstrained cell is the case m = 0, z = 0, where G = diag(x²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve_banded, cholesky_banded

from aggbandit._arrays import (
    FloatArray,
    check_finite,
    check_kind,
    check_shape,
    first,
    place,
    real_array,
)
from aggbandit.geometry._newton import TOLERANCE, TOO_CLOSE, NoMinimizer, newton
from aggbandit.geometry.barrier import divergence
from aggbandit.geometry.occupancy_set import OccupancySet
from aggbandit.geometry.protocol import Step

__all__ = ["OccupancyBarrier", "OccupancyDikin"]

# Below this decrement further steps are taken with the old factorization: they cost a solve each, and the
# point so reached is the one whose factorization the next round needs anyway.
CHORD_LIMIT = 0.05
# What a sample may miss its set by and a point its slice or its ellipsoid, being rounding.
ROUNDING = 1e-12
SURFACE_TOLERANCE = 1e-9
# Rounding moves x - P_hat X by some 1e-16 x(h,s,a). In a thinner set than this no gradient has a digit left.
LEAST_RADIUS = 1e-12
# A Newton step for sigma this small, relatively, leaves an error of its square.
QUADRATIC = 1e-8


@dataclass(frozen=True, eq=False)
class _Flow:
    """The equations C x = d of an occupancy measure on its cells: the start, then the flow into each (h, s),
    h >= 1.

    u and C'lambda have shape (cells, S); C u, d and lambda have shape (p,), p = 1 + (H - 1) S.
    """

    horizon: int
    n_states: int
    n_actions: int

    @property
    def rows(self) -> int:
        return 1 + (self.horizon - 1) * self.n_states

    def layers(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The first step, (A, S), and the later ones, (H - 1, S, A, S), as views."""
        later = u[self.n_actions :].reshape(self.horizon - 1, self.n_states, self.n_actions, u.shape[1])
        return u[: self.n_actions], later

    def __call__(self, u: FloatArray) -> FloatArray:
        """C u: what leaves minus what arrives."""
        initial, later = self.layers(u)
        out = np.empty(self.rows)
        out[0] = initial.sum()
        if self.horizon > 1:
            balance = out[1:].reshape(self.horizon - 1, self.n_states)
            later.sum(axis=(2, 3), out=balance)
            balance[0] -= initial.sum(axis=0)
            balance[1:] -= later[:-1].sum(axis=(1, 2))
        return out

    def transpose(self, dual: FloatArray) -> FloatArray:
        """C'lambda."""
        n_cells = self.n_actions * (1 + (self.horizon - 1) * self.n_states)
        out = np.zeros((n_cells, self.n_states))
        initial, later = self.layers(out)
        initial += dual[0]
        if self.horizon > 1:
            potential = dual[1:].reshape(self.horizon - 1, self.n_states)
            later += potential[:, :, None, None]
            initial -= potential[0]
            later[:-1] -= potential[1:, None, None, :]
        return out

    def residual(self, x: FloatArray) -> FloatArray:
        """C x - d: zero on the set, up to rounding."""
        balance = self(x)
        balance[0] -= 1.0
        return balance


class _Wall(NamedTuple):
    """The L1 term of every cell at x; rows of unconstrained cells are zero, and inverse_kappa is one."""

    r: FloatArray  # (cells, S)   x - P_hat X
    sigma: FloatArray  # (cells,)
    t: FloatArray  # (cells, S)
    m: FloatArray  # (cells, S)
    z: FloatArray  # (cells, S)
    inverse_kappa: FloatArray  # (cells,)


def _smallest_auxiliary(distance: FloatArray, slack: FloatArray) -> FloatArray:
    """sigma: the root of (S+1) sigma + sum sqrt(sigma² + r²) = rho, for |r| (cells, S) and slack rho - sum
    |r| > 0.

    Written as (S+1) sigma + sum sigma²/(sqrt(sigma² + r²) + |r|) = slack, which subtracts nothing. Newton
    from slack/(S+1), where the left side is too large and convex, decreases to the root.
    """
    n_states = distance.shape[1]
    sigma: FloatArray = slack / (n_states + 1)
    for _ in range(60):
        root = np.hypot(sigma[:, None], distance)
        excess = (n_states + 1) * sigma + (sigma[:, None] ** 2 / (root + distance)).sum(axis=1) - slack
        slope = (n_states + 1) + (sigma[:, None] / root).sum(axis=1)
        step = excess / slope
        sigma = sigma - step
        if np.all(np.abs(step) <= QUADRATIC * sigma):
            break
    return sigma


def _root_plus(r: FloatArray, sigma: FloatArray, root: FloatArray) -> FloatArray:
    """sqrt(sigma² + r²) + r, without cancellation where r is negative."""
    return np.where(r < 0, sigma**2 / (root + np.abs(r)), root + r)


class OccupancyBarrier:
    """The logarithmic barrier of S_i, its auxiliary variables minimized out; `LogBarrier`'s interface.

    R is the sum over cells of `-sum_s' log x[h,s,a,s']` and, where the cell is constrained, of
    `-(S+1) log sigma - sum_s' log t_s' - S log 2` with sigma and t as in this module's first lines.

    Points, gradients and directions have shape (H, S, A, S); entries of cells without mass, (0, s != s_1),
    are zero and stay zero. `theta` is S a cell plus 2S + 1 a constrained cell; `dimension` is that of the
    slice.

    Args:
        body: the set.

    Raises:
        TypeError: for anything else than an `OccupancySet`.
        ValueError: for a radius below 1e-12, at which double precision has no digit left.

    Source:
        Section D, Option 1 (there without saying how the L1 constraint is written).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
        >>> body = ab.OccupancySet(world.transitions, np.full((2, 2, 2), 0.3))
        >>> barrier = ab.OccupancyBarrier(body)
        >>> center = barrier.analytic_center()
        >>> y = barrier.dikin(center).sample(np.random.default_rng(1))
        >>> body.contains(y), round(barrier.dikin(center).norm(y - center), 6)
        (True, 1.0)
        >>> step = barrier.mirror_step(center, np.random.default_rng(2).random(body.shape))
        >>> step.decrement <= 1e-8, body.contains(step.x)
        (True, True)
    """

    def __init__(self, body: OccupancySet) -> None:
        check_kind("body", body, OccupancySet, "ab.OccupancySet(P_hat, radius)")
        horizon, n_states, n_actions, _ = body.shape
        thin = body.radius < LEAST_RADIUS
        if thin.any():
            where = first(thin)
            raise ValueError(
                f"{place('radius', where)} is {body.radius[where]:.6g}; a barrier needs at least"
                f" {LEAST_RADIUS:g}, a thinner set is lost in double precision"
            )
        self.body = body
        self.dimension = body.dimension
        self._flow = _Flow(horizon, n_states, n_actions)
        self._P_hat = body.P_hat[body.cells]
        self._constrained = body.constrained[body.cells]
        # Unconstrained cells get a radius no one looks at; infinity would poison the sums.
        self._radius = np.where(self._constrained, body.radius[body.cells], 2.0)
        n_cells, n_constrained = len(self._radius), int(self._constrained.sum())
        self._last: OccupancyDikin | None = None
        self.theta = float(n_states * n_cells + (2 * n_states + 1) * n_constrained)

    # Points are tables outside, cells inside.

    def _cells(self, name: str, table: ArrayLike) -> FloatArray:
        array = real_array(name, table)
        check_shape(name, array, self.body.shape, "(H, S, A, S)")
        check_finite(name, array)
        return array[self.body.cells]

    def _table(self, cells: FloatArray) -> FloatArray:
        table = np.zeros(self.body.shape)
        table[self.body.cells] = cells
        return table

    def _inside(self, x: ArrayLike) -> FloatArray:
        """The cells of a point, once it is strictly inside the inequalities."""
        cells = self._cells("x", x)
        index = np.stack(self.body.cells, axis=1)
        if not np.all(cells > 0):
            c, s = first(~(cells > 0))
            where = place("x", (*index[c], s))
            raise ValueError(f"{where} is {cells[c, s]:.6g}; it must be positive inside the set")
        mass = cells.sum(axis=1)
        slack = self._radius * mass - np.abs(cells - self._P_hat * mass[:, None]).sum(axis=1)
        bad = self._constrained & ~(slack > 0)
        if bad.any():
            (c,) = first(bad)
            raise ValueError(f"{place('x', tuple(index[c]))} misses its L1 radius by {-slack[c]:.6g}")
        return cells

    def _wall(self, x: FloatArray) -> _Wall:
        """The L1 term at x (cells, S), vectorized over the constrained cells.

        Raises NoMinimizer if x is not strictly inside: a Newton step keeps a point inside, so only
        rounding can have carried it out.
        """
        at = self._constrained
        P_hat, radius, cells = self._P_hat[at], self._radius[at], x[at]
        mass = cells.sum(axis=1)
        r = cells - P_hat * mass[:, None]
        distance = np.abs(r)
        slack = radius * mass - distance.sum(axis=1)
        if not (np.all(x > 0) and np.all(slack > 0)):
            raise NoMinimizer(TOO_CLOSE)
        sigma = _smallest_auxiliary(distance, slack)
        root = np.hypot(sigma[:, None], r)
        t = sigma[:, None] + root
        m = 1.0 / (root * t)
        q = -r / root
        z = q - (q * P_hat).sum(axis=1, keepdims=True) + radius[:, None]
        inverse_kappa = sigma**2 * (1.0 + (t / root).sum(axis=1))
        wall = _Wall(
            np.zeros_like(x),
            np.ones(len(x)),
            np.ones_like(x),
            np.zeros_like(x),
            np.zeros_like(x),
            np.ones(len(x)),
        )
        for whole, part in zip(wall, (r, sigma, t, m, z, inverse_kappa), strict=True):
            whole[at] = part
        return wall

    def _gradient(self, x: FloatArray, wall: _Wall) -> FloatArray:
        """-1/x - J'(m r) - z/sigma."""
        pull = wall.m * wall.r
        pull -= (pull * self._P_hat).sum(axis=1, keepdims=True)
        return -1.0 / x - pull - wall.z / wall.sigma[:, None]

    def value(self, x: ArrayLike) -> float:
        """The value R(x).

        Args:
            x: (H, S, A, S) strictly inside the inequalities (it need not satisfy the equations).

        Raises:
            ValueError: for a wrong shape, a NaN, or a point that is not inside, naming the inequality.
        """
        cells = self._inside(x)
        wall = self._wall(cells)
        n_states, at = self.body.shape[1], self._constrained
        l1 = -(n_states + 1) * np.log(wall.sigma[at]).sum() - np.log(2.0 * wall.t[at]).sum()
        return float(l1 - np.log(cells).sum())

    def gradient(self, x: ArrayLike) -> FloatArray:
        """The gradient of R, `-1/x - J'(m r) - z/sigma` cell by cell.

        Args:
            x: (H, S, A, S) strictly inside the inequalities.

        Returns:
            (H, S, A, S) the gradient.

        Raises:
            ValueError: as `value`.
        """
        cells = self._inside(x)
        return self._table(self._gradient(cells, self._wall(cells)))

    def hessian(self, x: ArrayLike) -> FloatArray:
        """The Hessian of R as a dense matrix, for looking at and for tests: nothing here uses it.

        Args:
            x: (H, S, A, S) strictly inside the inequalities.

        Returns:
            (d, d) for vectors `table.ravel()`, d = HSAS; rows and columns of cells without mass are zero.

        Raises:
            ValueError: as `value`.
        """
        dikin = self.dikin(x)
        size = math.prod(self.body.shape)
        columns = [dikin.apply(unit.reshape(self.body.shape)).ravel() for unit in np.eye(size)]
        return np.stack(columns, axis=1)

    def bregman(self, y: ArrayLike, x: ArrayLike) -> float:
        """The Bregman divergence R(y) - R(x) - gradient(x)·(y - x).

        Computed without cancellation, as the divergence of the lifted barrier F from (x, t(x)) to (y, t(y)).
        The two are equal: R(x) = F(x, t(x)) with dF/dt = 0 there, so the gradient of R is dF/dx, and the term
        of F that belongs to t(y) - t(x) is zero. F is minus the sum of the logarithms of x, t - r, t + r and
        sigma = rho - sum t; its divergence is the sum of q - log(1 + q) over them, q being the part by which
        each one grows. The growth comes from y - x by the differences of the formulas of sigma and t, so that
        nothing nearly equal is subtracted; no term is negative.

        Args:
            y: (H, S, A, S), strictly inside the inequalities.
            x: (H, S, A, S), likewise.

        Raises:
            ValueError: as `value`.

        Source:
            Section 2, Bregman divergence.
        """
        before, after = self._inside(x), self._inside(y)
        step = after - before
        at = self._constrained
        total = divergence(step / before, after / before)
        return total + self._l1_divergence(before[at], after[at], step[at])

    def _l1_divergence(self, x: FloatArray, y: FloatArray, step: FloatArray) -> float:
        """The L1 terms' share of `bregman`, from x to y = x + step, (constrained cells, S)."""
        P_hat, radius = self._P_hat[self._constrained], self._radius[self._constrained]
        r, s = (cells - P_hat * cells.sum(axis=1, keepdims=True) for cells in (x, y))
        slack_x, slack_y = (
            radius * cells.sum(axis=1) - np.abs(residual).sum(axis=1) for cells, residual in ((x, r), (y, s))
        )
        sigma_x = _smallest_auxiliary(np.abs(r), slack_x)[:, None]
        sigma_y = _smallest_auxiliary(np.abs(s), slack_y)[:, None]
        root_x, root_y = np.hypot(sigma_x, r), np.hypot(sigma_y, s)
        roots, sigmas = root_x + root_y, sigma_x + sigma_y
        mass_step = step.sum(axis=1, keepdims=True)
        r_step = step - P_hat * mass_step
        # Of (S+1) sigma + sum sqrt(sigma² + r²) = w X, the equation at y minus the equation at x.
        sigma_step = radius[:, None] * mass_step - (r_step * (r + s) / roots).sum(axis=1, keepdims=True)
        sigma_step /= x.shape[1] + 1 + (sigmas / roots).sum(axis=1, keepdims=True)
        total = divergence(sigma_step / sigma_x, sigma_y / sigma_x)
        for sign in (1.0, -1.0):
            # t + sign r = sigma + rest, and how much it grows.
            rest_x, rest_y = _root_plus(sign * r, sigma_x, root_x), _root_plus(sign * s, sigma_y, root_y)
            grown = sigma_step + (sigma_step * sigmas + sign * r_step * (rest_x + rest_y)) / roots
            total += divergence(grown / (sigma_x + rest_x), (sigma_y + rest_y) / (sigma_x + rest_x))
        return total

    def dikin(self, x: ArrayLike) -> OccupancyDikin:
        """The Dikin ellipsoid at x, factorized.

        Args:
            x: (H, S, A, S) strictly inside the inequalities.

        Raises:
            ValueError: as `value`.
        """
        return self._factorized(self._inside(x))

    def _factorized(self, cells: FloatArray) -> OccupancyDikin:
        # A learner asks again for the ellipsoid at the point that `minimize` has just returned.
        if self._last is None or not np.array_equal(self._last.x, cells):
            self._last = OccupancyDikin(self, cells)
        return self._last

    def analytic_center(self) -> FloatArray:
        """The point of the slice where R is least: x_1 of Algorithm 2.

        Returns:
            (H, S, A, S) the center.

        Source:
            Algorithm 2, line 2.
        """
        return self.minimize(np.zeros(self.body.shape), self.body.interior_point()).x

    def mirror_step(self, x: ArrayLike, g: ArrayLike) -> Step:
        """The mirror descent step from x against g, the minimizer of `g·y + B_R(y, x)` over the slice.

        Args:
            x: (H, S, A, S) strictly inside.
            g: (H, S, A, S) rate times loss.

        Raises:
            ValueError: as `minimize`.
            NoMinimizer: as `minimize`.

        Source:
            Eq. (OMD), with the projection of Section D, Option 1.
        """
        return self.minimize(real_array("g", g) - self.gradient(x), x)

    def minimize(self, linear: ArrayLike, start: ArrayLike, tolerance: float = TOLERANCE) -> Step:
        """The minimizer of `R(y) + linear·y` over the slice, by Newton's method.

        A step is damped by `1/(1 + decrement)` while the decrement is 1/4 or more. Once it is at most 1/20,
        further steps are taken with the old factorization, as long as they halve the decrement: they cost a
        solve each, and the point so reached is the one whose factorization the next round needs anyway. Every
        step also removes what rounding did to the flow equations. The result is certified by a factorization
        at the result: its decrement is at most `tolerance`, or what rounding allows close to a wall.

        Args:
            linear: (H, S, A, S) the linear function.
            start: (H, S, A, S) strictly inside the inequalities.
            tolerance: the decrement at which to stop.

        Raises:
            ValueError: for a wrong shape, a NaN, or a start that is not inside.
            NoMinimizer: when the minimizer is closer to a wall than double precision can tell, for `linear`
                of 1e9 and more.
        """
        return newton(_Objective(self, self._cells("linear", linear)), self.dikin(start).x, tolerance)


class OccupancyDikin:
    """The Dikin ellipsoid `{y : ||y - x||_x <= 1}` of an `OccupancyBarrier`, on the slice of its flow.

    Its metric is the Hessian at x, kept cell by cell as diagonal plus rank three. The flow equations couple
    neighboring steps only, so that C G C' is block tridiagonal, and banded. Made by
    `OccupancyBarrier.dikin`, which takes a table.

    Args:
        barrier: whose ellipsoid.
        x: (cells, S) the center.

    Source:
        Section 2 (Dikin ellipsoid); Section D, Option 1, corrected.
    """

    def __init__(self, barrier: OccupancyBarrier, x: FloatArray) -> None:
        self._barrier, self._flow = barrier, barrier._flow
        self.x = x
        P_hat = barrier._P_hat
        self.wall = wall = barrier._wall(x)
        shrink = 1.0 / (1.0 + wall.m * x**2)
        self._v = v = x**2 * shrink
        self._a = a = v.sum(axis=1)
        b = (P_hat * shrink).sum(axis=1)
        c = (wall.m * P_hat**2 * shrink).sum(axis=1)
        delta = a * c + b**2
        self._p = p = (a[:, None] * wall.m * P_hat + b[:, None]) * v / delta[:, None]
        self._mass_scale = scale = delta / a
        # s = G_2 z and tau = 1/kappa + z·s, as sums of squares.
        spread = wall.z - ((v * wall.z).sum(axis=1) / a)[:, None]
        pz = (p * wall.z).sum(axis=1)
        self._s = s = v * spread + (scale * pz)[:, None] * p
        self._tau = tau = wall.inverse_kappa + (v * spread**2).sum(axis=1) + scale * pz**2
        self._factorize(v, a, p, scale, s, tau)

    def _factorize(
        self, v: FloatArray, a: FloatArray, p: FloatArray, scale: FloatArray, s: FloatArray, tau: FloatArray
    ) -> None:
        """Cholesky of C G C' in lower banded form, its diagonal scaled to one.

        A cell (h,s,a) touches row (h,s) through its sum and rows (h+1,s') through its coordinates, so it adds
        1'G 1 to the first, -G 1 beside it and G itself to the block of step h + 1.
        """
        flow = self._flow
        horizon, n_states = flow.horizon, flow.n_states
        total_s = s.sum(axis=1)
        row_sum = p - (total_s / tau)[:, None] * s
        mass = (1.0 / scale - total_s**2 / tau)[:, None]
        band = np.zeros((2 * n_states, flow.rows))
        first_mass, later_mass = flow.layers(mass)
        band[0, 0] = first_mass.sum()
        if horizon > 1:
            leaving = later_mass.sum(axis=(2, 3))  # (H - 1, S)
            arriving = np.empty((horizon - 1, n_states, n_states))
            for h, cells in enumerate(self._layer_slices()[:-1]):
                vh, ph, sh = v[cells], p[cells], s[cells]
                block = (ph.T * scale[cells]) @ ph - (vh.T / a[cells]) @ vh - (sh.T / tau[cells]) @ sh
                block[np.diag_indices(n_states)] += vh.sum(axis=0) + leaving[h]
                arriving[h] = block
            for offset in range(n_states):
                diagonal = np.diagonal(arriving, -offset, axis1=1, axis2=2)  # (H - 1, S - offset)
                band[offset, 1:].reshape(horizon - 1, n_states)[:, : n_states - offset] = diagonal
            initial_sum, later_sum = flow.layers(row_sum)
            band[1 : n_states + 1, 0] = -initial_sum.sum(axis=0)
            beside = -later_sum[:-1].sum(axis=2)  # (H - 2, S, S): row (h, s), column (h + 1, s')
            for s_from in range(n_states):
                for s_to in range(n_states):
                    offset = n_states + s_to - s_from
                    column = 1 + s_from + n_states * np.arange(horizon - 2)
                    band[offset, column] = beside[:, s_from, s_to]
        self._unit = unit = 1.0 / np.sqrt(band[0])
        for offset in range(min(2 * n_states, flow.rows)):
            band[offset, : flow.rows - offset] *= unit[offset:] * unit[: flow.rows - offset]
        try:
            self._band = cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise NoMinimizer(TOO_CLOSE) from error

    def _layer_slices(self) -> list[slice]:
        """The cells of each step."""
        n_actions, width = self._flow.n_actions, self._flow.n_states * self._flow.n_actions
        starts = [0, *range(n_actions, n_actions + width * (self._flow.horizon - 1) + 1, width)]
        return [slice(low, high) for low, high in pairwise(starts)]

    # The metric and its inverse, cell by cell.

    def _hessian_times(self, u: FloatArray) -> FloatArray:
        """H u = u/x² + J'(m J u) + kappa z (z·u)."""
        wall, P_hat = self.wall, self._barrier._P_hat
        pull = wall.m * (u - P_hat * u.sum(axis=1, keepdims=True))
        pull -= (pull * P_hat).sum(axis=1, keepdims=True)
        along = (wall.z * u).sum(axis=1) / wall.inverse_kappa
        return np.asarray(u / self.x**2 + pull + along[:, None] * wall.z, dtype=np.float64)

    def _square(self, u: FloatArray) -> float:
        """u'H u, as a sum of squares."""
        wall = self.wall
        moved = u - self._barrier._P_hat * u.sum(axis=1, keepdims=True)
        along = (wall.z * u).sum(axis=1)
        return float(
            ((u / self.x) ** 2).sum() + (wall.m * moved**2).sum() + (along**2 / wall.inverse_kappa).sum()
        )

    def _inverse_times(self, u: FloatArray) -> FloatArray:
        """G u."""
        centered = u - ((self._v * u).sum(axis=1) / self._a)[:, None]
        pu = (self._p * u).sum(axis=1)
        image = self._v * centered + (self._mass_scale * pu)[:, None] * self._p
        su = (self._s * u).sum(axis=1)
        return np.asarray(image - (su / self._tau)[:, None] * self._s, dtype=np.float64)

    def _gaussian(self, xi: FloatArray) -> FloatArray:
        """A vector of covariance G from independent normals `xi`, (cells, S); see `sample`."""
        noise = np.sqrt(self._v) * xi
        total = noise.sum(axis=1)
        lift = total * np.sqrt(self._mass_scale / self._a)
        noise += lift[:, None] * self._p - (total / self._a)[:, None] * self._v
        along = (self.wall.z * noise).sum(axis=1)
        along /= self._tau + np.sqrt(self.wall.inverse_kappa * self._tau)
        return np.asarray(noise - along[:, None] * self._s, dtype=np.float64)

    def _multipliers(self, balance: FloatArray) -> FloatArray:
        """(C G C')^{-1} balance."""
        scaled = cho_solve_banded((self._band, True), self._unit * balance, check_finite=False)
        return np.asarray(self._unit * scaled, dtype=np.float64)

    def solve(self, g: FloatArray, residual: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """The Newton step in cells: the d that minimizes `g·d + d'H d/2` over `C d = -residual`.

        It is `d = -G (g + C'lambda)` with `C G C' lambda = residual - C G g`.

        Args:
            g: (cells, S) the gradient.
            residual: (p,) how far the point is off the flow equations.

        Returns:
            d, lambda, and the decrement sqrt(d'H d).
        """
        dual = self._multipliers(residual - self._flow(self._inverse_times(g)))
        reduced = g + self._flow.transpose(dual)
        direction = -self._inverse_times(reduced)
        # Negative only by rounding; its size then says how much of the decrement is rounding.
        return direction, dual, math.sqrt(abs(float(np.vdot(reduced, direction))))

    # The public face, on tables.

    @property
    def center(self) -> FloatArray:
        """The center x, (H, S, A, S)."""
        return self._barrier._table(self.x)

    def apply(self, v: ArrayLike) -> FloatArray:
        """The product H v of the Hessian and a direction.

        Args:
            v: (H, S, A, S) the direction.

        Returns:
            (H, S, A, S) the product; entries of cells without mass are zero.

        Raises:
            ValueError: for a wrong shape or a NaN.
        """
        return self._barrier._table(self._hessian_times(self._barrier._cells("v", v)))

    def norm(self, v: ArrayLike) -> float:
        """The local norm `||v||_x = sqrt(v'H v)`.

        Args:
            v: (H, S, A, S) the direction.

        Raises:
            ValueError: for a wrong shape or a NaN.

        Source:
            Section 2.
        """
        return math.sqrt(self._square(self._barrier._cells("v", v)))

    def dual_norm(self, loss: ArrayLike) -> float:
        """The dual norm on the slice, the largest `loss·v` over `Cv = 0, ||v||_x <= 1`.

        Adding C'lambda to the loss changes nothing.

        Args:
            loss: (H, S, A, S) the loss.

        Raises:
            ValueError: for a wrong shape or a NaN.

        Source:
            Section 2.
        """
        _, _, decrement = self.solve(self._barrier._cells("loss", loss), np.zeros(self._flow.rows))
        return decrement

    def contains(self, y: ArrayLike) -> bool:
        """Whether a point is on the slice and in the ellipsoid, `||y - x||_x <= 1`, both up to rounding.

        Args:
            y: (H, S, A, S) the point.

        Raises:
            ValueError: for a wrong shape or a NaN.
        """
        cells = self._barrier._cells("y", y)
        on_slice = bool(np.abs(self._flow.residual(cells)).max() <= SURFACE_TOLERANCE)
        return on_slice and math.sqrt(self._square(cells - self.x)) <= 1.0 + SURFACE_TOLERANCE

    def newton_step(self, g: ArrayLike) -> FloatArray:
        """The d that minimizes `g·d + d'H d/2` over `Cd = 0`.

        Args:
            g: (H, S, A, S) the gradient.

        Returns:
            (H, S, A, S) the step.

        Raises:
            ValueError: for a wrong shape or a NaN.
        """
        direction, _, _ = self.solve(self._barrier._cells("g", g), np.zeros(self._flow.rows))
        return self._barrier._table(direction)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A point drawn uniformly from the surface of the ellipsoid within the slice.

        A Gaussian of covariance G is drawn cell by cell from S normals xi. In the names of this module, and
        with `u = v^{1/2} xi`, of which 1'u and `u - v (1'u)/a` are independent::

            w = u - v (1'u)/a + delta^{1/2} p (1'u)/a        has the covariance G_2, and
            w - s (z·w) / (tau + (tau/kappa)^{1/2})          the covariance G.

        It is projected H-orthogonally onto Cv = 0, and scaled to local norm one. y is strictly inside the
        set: a direction v with Cv = 0 has two nonzero coordinates, so no v_i reaches x_i.

        Args:
            rng: the source of randomness. The normals are a contract: xi for every cell and s', in the order
                of `OccupancySet.cells`, whether the cell is constrained or not.

        Returns:
            (H, S, A, S) the point; the center if the slice is a point (S = A = 1).

        Raises:
            NoMinimizer: if more than rounding put y outside, which has not been seen.

        Source:
            Algorithm 2, lines 4 and 5; Section D, Option 1, corrected.
        """
        xi = rng.standard_normal(self.x.shape)
        if self._barrier.dimension == 0:
            return self.center
        noise = self._gaussian(xi)
        dual = self._multipliers(self._flow(noise))
        v = noise - self._inverse_times(self._flow.transpose(dual))
        y = self.x + v / math.sqrt(self._square(v))
        # On a thin ellipsoid y may miss its wall by less than rounding sees; anything more is a mistake.
        if not np.all(y > -ROUNDING * self.x):
            raise NoMinimizer(f"a sample left the set: its least coordinate is {y.min():.3g}")
        return self._barrier._table(np.maximum(y, 0.0))


class _Objective:
    """R + linear·x on the slice, as Newton's method sees it.

    Every direction also removes what rounding did to the flow equations. C'lambda, which changes nothing on
    the slice, is added to the linear part: it keeps the residual small, hence accurate.
    """

    chord_limit = CHORD_LIMIT

    def __init__(self, barrier: OccupancyBarrier, linear: FloatArray) -> None:
        self._barrier, self._linear = barrier, linear

    def factorize(self, x: FloatArray) -> OccupancyDikin:
        return self._barrier._factorized(x)

    def direction(self, x: FloatArray, at: OccupancyDikin) -> tuple[FloatArray, float]:
        barrier = self._barrier
        wall = at.wall if x is at.x else barrier._wall(x)
        gradient = barrier._gradient(x, wall) + self._linear
        direction, dual, decrement = at.solve(gradient, barrier._flow.residual(x))
        self._linear = self._linear + barrier._flow.transpose(dual)
        return direction, decrement
