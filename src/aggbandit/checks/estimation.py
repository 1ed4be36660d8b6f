"""Checks of what chapters 4 and 7 define: the one-point estimate, and its optimistic cousin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import SmallBody, small_body
from aggbandit.checks.report import Candidate, Fault, check, close

# --- one point ----------------------------------------------------------------------------------------------


@check(
    "a function of total, the observed loss l.y, H (D, D), center (D,), y (D,) and the dimension n of the "
    "slice that returns the estimate (D,) of l"
)
def one_point_estimate(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The one-point estimate: its mean over the ends of the half axes is l along the slice, exactly."""
    body = small_body(rng)
    loss = rng.random(body.x.size)
    axes = _half_axes(body)
    estimates = np.array([_estimate(answer, body, loss, v) for v in (*axes, *-axes)])
    found, wanted = axes @ estimates.mean(axis=0), axes @ loss
    factor = found @ wanted / (wanted @ wanted)
    rule = "over the 2n ends of the half axes the mean of the estimates is l along the slice"
    if np.allclose(found, factor * wanted, rtol=1e-7, atol=1e-9) and abs(factor - 1) > 1e-7:
        yield Fault(rule, "", f"yours is {factor:.4g} times l")
        return
    yield from close(f"{rule}: the same product with every half axis", found, wanted, "axis", 1e-7)


def _half_axes(body: SmallBody) -> FloatArray:
    """(n, D) the half axes of the Dikin ellipsoid: orthonormal in the local norm, along the slice."""
    values, vectors = np.linalg.eigh(body.basis.T @ body.hessian @ body.basis)
    return np.asarray((body.basis @ (vectors / np.sqrt(values))).T)


def _estimate(answer: Candidate, body: SmallBody, loss: FloatArray, v: FloatArray) -> FloatArray:
    y = body.x + v
    return answer(float(loss @ y), body.hessian, body.x, y, body.dimension, shape=y.shape)


# --- optimistic ---------------------------------------------------------------------------------------------


@check(
    "a function of points (N, d), p (N,), mu (N,), gamma, played (the index of the point that was played), "
    "total (the observed loss) and epsilon (d,) that returns the optimistic estimates (N,) of all points; "
    "the points span R^d"
)
def optimistic_loss(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The optimistic estimates of Algorithm 1: unbiased undistorted, too small under the worst distortion."""
    d = int(rng.integers(2, 4))
    points = np.vstack([np.eye(d), rng.random((int(rng.integers(2, 4)), d))])
    p, mu = (rng.dirichlet(np.ones(len(points))) for _ in range(2))
    gamma = float(rng.uniform(0.2, 0.6))
    loss, epsilon = rng.random(d), rng.uniform(0.05, 0.3, size=d)
    q = (1 - gamma) * p + gamma * mu

    def estimates(played: int, total: float, allowance: FloatArray) -> FloatArray:
        return answer(points, p, mu, gamma, played, total, allowance, shape=p.shape)

    def mean(observed: Callable[[int], float]) -> FloatArray:
        return np.asarray(sum(q[i] * estimates(i, observed(i), 0 * epsilon) for i in range(len(q))))

    fair = mean(lambda i: float(loss @ points[i]))
    unbiased = list(
        close("with epsilon = 0 and y drawn from q the mean is l.y", fair, points @ loss, "y", 1e-8)
    )
    yield from unbiased
    moment = points.T @ (q[:, None] * points)
    bonus = estimates(0, 0.0, 0 * epsilon) - estimates(0, 0.0, epsilon)
    if bonus.min() < 0:
        yield Fault("with epsilon > 0 every estimate is smaller", f"y = {bonus.argmin()}", "yours is larger")
        return
    if not unbiased:
        yield from _underestimates(points, q, moment, epsilon, bonus)
    whitened = solve_triangular(cholesky(moment, lower=True), points.T, lower=True)
    norms = np.sqrt((whitened**2).sum(axis=0))
    wanted = np.sqrt(d * (epsilon @ moment @ epsilon)) * norms
    yield from close(
        "what is subtracted is sqrt(d) ||y||_(M^-1) ||epsilon||_M, M the moment under q",
        bonus,
        wanted,
        "y",
        1e-8,
    )


def _underestimates(
    points: FloatArray, q: FloatArray, moment: FloatArray, epsilon: FloatArray, bonus: FloatArray
) -> Iterator[Fault]:
    """What the worst distortion can add to the mean at each point must be subtracted there."""
    # Played y_i, it may be moved so that the observed loss rises or falls by epsilon.y_i.
    worst = np.abs(points @ np.linalg.solve(moment, points.T)) @ (q * (points @ epsilon))
    short = worst - bonus
    if short.max() > 1e-9:
        yield Fault(
            "however the points are moved within epsilon, the mean estimate is at most l.y",
            f"y = {short.argmax()}",
            f"yours can be {short.max():.3g} more",
        )
