"""Checks of what chapters 5 and 11 define: the mirror step, the lemma's ledger, partial minimization."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.checks.instances import small_body
from aggbandit.checks.report import Candidate, Fault, check, close

DECREMENT = 1e-6  # how far, in the local norm, a mirror step may stop before its end


@check(
    "a function of A (m, D), b (m,), C (p, D), x (D,) and eta_loss (D,), the rate times the loss, that "
    "returns the point (D,) of {y : A y <= b, C y = C x} where R(y) + (eta_loss - grad R(x)).y is least, "
    "R = -sum_i log(b_i - a_i.y)"
)
def mirror_step(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """One step of mirror descent: inside, on the slice, and stationary along it."""
    body = small_body(rng)
    direction = rng.normal(size=body.x.size)
    eta_loss = rng.uniform(0.2, 3.0) / _dual_norm(body.hessian, body.basis, direction) * direction
    y = answer(body.A, body.b, body.C, body.x, eta_loss, shape=body.x.shape)
    slacks = body.b - body.A @ y
    wall = int(slacks.argmin())
    if slacks[wall] <= 0:
        yield Fault("the point is strictly inside", f"wall {wall}", f"yours is {-slacks[wall]:.3g} beyond it")
    off_slice = list(
        close("the point stays on the slice, C y = C x", body.C @ (y - body.x), 0.0, "row", 1e-8)
    )
    yield from off_slice
    if slacks[wall] <= 0 or off_slice:
        return
    if eta_loss @ (y - body.x) > 0:
        yield Fault("a step goes where the loss is smaller", "", "yours goes the other way")
    walls = body.A / slacks[:, None]
    slope = eta_loss + walls.sum(axis=0) - body.gradient(body.x)
    decrement = _dual_norm(walls.T @ walls, body.basis, slope)
    if decrement > DECREMENT:
        yield Fault(
            "grad R(y) - grad R(x) + eta l vanishes along the slice",
            "",
            f"its dual norm at your point is {decrement:.3g}",
        )


def _dual_norm(hessian: FloatArray, basis: FloatArray, loss: FloatArray) -> float:
    """The length of a loss along the slice."""
    along = basis.T @ loss
    return float(np.sqrt(along @ np.linalg.solve(basis.T @ hessian @ basis, along)))


@check(
    "a function of divergences (T,), the B(u||x_t), rates (T,) and dual_norms (T,), the ||l_t||* at x_t, "
    "that returns the three terms (3,) of the lemma's bound: the first, the one that rates make, the movement"
)
def regret_ledger(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The right-hand side of the mirror-descent lemma, term by term."""
    rounds = int(rng.integers(4, 8))
    divergences, dual_norms = rng.uniform(0.5, 9.0, size=rounds), rng.uniform(0.2, 3.0, size=rounds)
    rising = 0.1 * np.cumprod(rng.uniform(1.05, 1.4, size=rounds))
    rates = rising if rng.random() < 0.5 else rng.permutation(rising)
    middle = -float((1 / rates[:-1] - 1 / rates[1:]) @ divergences[1:])
    wanted = (divergences[0] / rates[0], middle, rates @ dual_norms**2)
    found = answer(divergences, rates, dual_norms, shape=(3,))
    if np.all(np.diff(rates) >= 0) and found[1] > 1e-12:
        yield Fault(
            "where the rates only rise, the second term is a credit: at most zero", "", "yours is a debt"
        )
    rules = (
        "the first term is B(u||x_1) over the first rate",
        "the second term has one part for each change of 1/eta, times B(u||x_t) at the later round",
        "the movement is the sum of eta_t times the squared dual norm",
    )
    for rule, mine, right in zip(rules, found, wanted, strict=True):
        yield from close(rule, mine, float(right))


@check(
    "a function of r (S,) and rho, with sum |r_i| < rho, that returns the t (S,) where "
    "-sum_i log(t_i^2 - r_i^2) - log(rho - sum_i t_i) is least"
)
def partial_minimum(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The lifted variables of an L1 ball, minimized out: inside, and no lower value anywhere."""
    r = rng.normal(size=int(rng.integers(2, 6)))
    rho = float(np.abs(r).sum() * (1 + np.exp(rng.uniform(-3, 1))))
    t = answer(r, rho, shape=r.shape)
    over = np.abs(r) - t
    if over.max() >= 0:
        yield Fault("t_i > |r_i|", f"i = {over.argmax()}", f"yours is {over.max():.3g} too small")
    room = rho - t.sum()
    if room <= 0:
        yield Fault("the t_i sum to less than rho", "", f"yours sum to {-room:.3g} more")
    if over.max() >= 0 or room <= 0:
        return
    # Each partial derivative, in units in which it is between -1 and 1 near a wall.
    slopes = 1 - 2 * t * room / (t**2 - r**2)
    yield from close(
        "the derivative by every t_i is zero (here multiplied by the room left)", slopes, 0.0, "i", 1e-6
    )
