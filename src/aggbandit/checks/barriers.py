"""Checks of what chapter 3 defines: the logarithmic barrier, its divergence, its Dikin ellipsoid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import SmallBody, inside, small_body
from aggbandit.checks.report import Candidate, Fault, check, close

BODY = "A (m, D), b (m,)"


@check(f"a function of {BODY} and x (D,) that returns the gradient (D,) of R = -sum_i log(b_i - a_i.x)")
def barrier_gradient(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The gradient of the barrier: it rises toward the walls, inversely to the slacks."""
    body = small_body(rng)
    found = answer(body.A, body.b, body.x, shape=body.x.shape)
    halved = answer(body.A, body.A @ body.x + body.slacks / 2, body.x, shape=body.x.shape)
    wanted = body.gradient(body.x)
    if found @ wanted < 0:
        yield Fault("R rises toward a wall", "", "your gradient points away from the walls that are near")
    yield from close("with all slacks halved the gradient is twice as long", halved, 2 * found, "i")
    yield from close("the gradient times a direction is the slope of R along it", found, wanted, "i")


@check(f"a function of {BODY} and x (D,) that returns the Hessian (D, D) of R = -sum_i log(b_i - a_i.x)")
def barrier_hessian(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The Hessian of the barrier: symmetric, positive, inverse to the squares of the slacks."""
    body = small_body(rng)
    shape = (body.x.size, body.x.size)
    found = answer(body.A, body.b, body.x, shape=shape)
    halved = answer(body.A, body.A @ body.x + body.slacks / 2, body.x, shape=shape)
    yield from close("a Hessian is symmetric", found, found.T, "i j")
    smallest = np.linalg.eigvalsh((found + found.T) / 2)[0]
    if smallest <= 0:
        yield Fault("R is strictly convex", "", f"your Hessian has the eigenvalue {smallest:.3g}")
    yield from close("with all slacks halved the Hessian is four times as large", halved, 4 * found, "i j")
    yield from close("the Hessian is the derivative of the gradient", found, body.hessian, "i j")


@check(
    f"a function of {BODY}, y (D,) and x (D,) that returns the divergence B(y||x) of "
    "R = -sum_i log(b_i - a_i.x)"
)
def bregman(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The Bregman divergence: zero at x, above rho of the local distance, the tangent at the second point."""
    body = small_body(rng)
    x, y = body.x, inside(body, rng)
    found = answer(body.A, body.b, y, x, shape=())
    yield from close("B(x||x) = 0", answer(body.A, body.b, x, x, shape=()), 0.0)
    right, swapped = body.bregman(y, x), body.bregman(x, y)
    if _near(found, swapped) and not _near(found, right):
        yield Fault(
            "B(y||x) measures R from its tangent at x, the second point", "", "yours has the tangent at y"
        )
        return
    least = theory.rho(float(np.sqrt((y - x) @ body.hessian @ (y - x))))
    if found < least - 1e-9:
        yield Fault(
            "B(y||x) is at least rho of the local distance ||y - x||_x",
            "",
            f"yours is {least - found:.3g} less",
        )
    yield from close("B(y||x) = R(y) - R(x) - grad R(x).(y - x)", found, right)


def _near(found: FloatArray, wanted: float) -> bool:
    return bool(np.isclose(found, wanted, rtol=1e-9, atol=1e-9))


@check(
    "a function of H (D, D), C (p, D), center (D,) and a unit vector u (n,), n = D - p, that returns a point "
    "y (D,) of the surface of the Dikin ellipsoid {y : (y - center).H(y - center) <= 1, C y = C center}; for "
    "u uniform on the unit sphere it must be uniform"
)
def dikin_point(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The Dikin sampler at a skewed point, u passed in: on the slice, of norm one, with the right law."""
    body = small_body(rng)
    frame = np.linalg.qr(rng.normal(size=(body.dimension, body.dimension)))[0]
    moves, opposite = (
        np.array([answer(body.hessian, body.C, body.x, u, shape=body.x.shape) - body.x for u in sign * frame])
        for sign in (1, -1)
    )
    geometry = [*_on_slice(moves, body), *_norm_one(moves, body), *_inside_walls(moves, body)]
    yield from geometry
    if geometry:
        return
    yield from close("u and -u give opposite points", opposite, -moves, "u i", 1e-7)
    # Relative to the inverse along the slice, so that no direction is too short to be seen.
    reduced = np.linalg.cholesky(body.basis.T @ body.hessian @ body.basis)
    found = reduced.T @ (body.basis.T @ (moves.T @ moves) @ body.basis) @ reduced
    rule = (
        "over an orthonormal frame of u, (y - center)(y - center)' sums to the inverse of H along the slice"
    )
    off = float(np.abs(found - np.eye(body.dimension)).max())
    if off > 1e-7:
        yield Fault(rule, "", f"in the local norm yours is off by {off:.3g}: some directions are too likely")


def _on_slice(moves: FloatArray, body: SmallBody) -> Iterator[Fault]:
    yield from close("C y = C center", moves @ body.C.T, 0.0, "direction row", 1e-8)


def _norm_one(moves: FloatArray, body: SmallBody) -> Iterator[Fault]:
    norms = np.sqrt(np.maximum(np.einsum("ui,ij,uj->u", moves, body.hessian, moves), 0))
    worst = int(np.argmax(np.abs(norms - 1)))
    if abs(norms[worst] - 1) > 1e-7:
        yield Fault(
            "the local norm of y - center is one", f"direction = {worst}", f"yours is {norms[worst]:.4g}"
        )


def _inside_walls(moves: FloatArray, body: SmallBody) -> Iterator[Fault]:
    over = moves @ body.A.T - body.slacks
    u, wall = np.unravel_index(np.argmax(over / body.slacks), over.shape)
    if over[u, wall] > 0:
        part = f"by {over[u, wall] / body.slacks[wall]:.3g} of the center's slack there"
        rule = "every point of a Dikin ellipsoid is inside the set"
        yield Fault(rule, f"direction = {u}", f"wall {wall} is crossed {part}")
