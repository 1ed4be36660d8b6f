"""Every constant and bound of the paper as a function.

The corrected statements carry the plain names. What the paper prints, where it differs, is named
`printed_...` and kept for comparison. Throughout, `dimension` is the dimension n of the slice on which the
learner moves, `loss_bound` is H, `rounds` is T, `budget` is B. The paper's results are cited by number, with
their label in its source in brackets.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from aggbandit._arrays import (
    FloatArray,
    check_at_least_zero,
    check_finite,
    check_number,
    check_positive,
    real_array,
)

# --- self-concordance ---------------------------------------------------------------------------------------


def rho(z: float) -> float:
    """How much Bregman divergence a local distance guarantees: `rho(z) = z - log(1 + z)`.

    Args:
        z: a local norm, above -1.

    Returns:
        rho(z), nonnegative.

    Raises:
        ValueError: unless z is finite and above -1.

    Source:
        Section 2, Eq. (scbergmanlb).

    Example:
        >>> round(rho(1.0), 4)
        0.3069
    """
    if not -1 < z < math.inf:
        raise ValueError(f"z is {z}; rho(z) = z - log(1 + z) needs a finite z > -1")
    return z - math.log1p(z)


def rho_conjugate(z: float) -> float:
    """The Fenchel conjugate of rho: `rho*(z) = -z - log(1 - z)`, at most z² on [0, 1/2].

    Args:
        z: a dual norm, below 1.

    Returns:
        rho*(z), nonnegative.

    Raises:
        ValueError: unless z is finite and below 1.

    Source:
        Proof of Lemma 2 (mdbarrier).
    """
    if not -math.inf < z < 1:
        raise ValueError(f"z is {z}; rho*(z) = -z - log(1 - z) needs a finite z < 1")
    return -z - math.log1p(-z)


def bregman_from_distance(local_distance: float) -> float:
    """The line below rho: `B_R(x, x_t) >= ||x - x_t||_{x_t} / 2 - 1`.

    Args:
        local_distance: `||x - x_t||_{x_t}`.

    Returns:
        The lower bound on the divergence, negative for distances below 2.

    Raises:
        ValueError: if the distance is negative or not finite.

    Source:
        Section 4.2, Lemma 9 (boundbregfromxt).
    """
    check_at_least_zero("local_distance", local_distance)
    return 0.5 * local_distance - 1.0


def bregman_from_center(theta: float, gamma: float) -> float:
    """The divergence from the center of a point pulled toward it: `B_R(y, x_1) <= theta log(1/gamma)`.

    Here `y = (1 - gamma) x + gamma x_1` with x in the set.

    Args:
        theta: the barrier parameter.
        gamma: the share of the pull, in (0, 1].

    Returns:
        theta log(1/gamma).

    Raises:
        ValueError: unless 0 < gamma <= 1 and theta >= 0.

    Source:
        Section 2, Lemma 1 (boundbregfromx1).
    """
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma is {gamma}; a pull toward the center needs 0 < gamma <= 1")
    check_at_least_zero("theta", theta)
    return theta * math.log(1 / gamma)


# --- Algorithm 2 --------------------------------------------------------------------------------------------


def loss_range(loss_bound: float, baseline: float = 0.0) -> float:
    """The largest |L - b| for a loss L in [0, H]: `max(b, H - b)`.

    Args:
        loss_bound: H.
        baseline: b.

    Returns:
        c = max(b, H - b).

    Raises:
        ValueError: unless H > 0 and 0 <= b <= H.

    Source:
        With b = 0, the bound `||l~||* <= n H` of Lemma 18 (technicalstuff); the baseline is ours.
    """
    check_positive("loss_bound", loss_bound)
    if not 0 <= baseline <= loss_bound:
        raise ValueError(f"baseline is {baseline}; it must lie in [0, loss_bound] = [0, {loss_bound}]")
    return max(baseline, loss_bound - baseline)


def eta0_cap(dimension: int, loss_bound: float, baseline: float = 0.0) -> float:
    """The largest first rate that keeps every step within the mirror-descent lemma: `1/(4 n max(b, H - b))`.

    Then `2 eta_0 ||l~||* <= 1/2`. The paper draws this from B >= H, which needs T >= H besides; here it is a
    condition of its own.

    Args:
        dimension: n, the dimension of the slice.
        loss_bound: H, the largest loss of a round.
        baseline: b, subtracted from every loss; 0 in the paper, where c = H.

    Returns:
        The cap on eta_0.

    Raises:
        ValueError: for values that are not positive, or b outside [0, H].

    Source:
        Proof of Theorem 7 (inclrregret).
    """
    _whole("dimension", dimension)
    return 1 / (4 * dimension * loss_range(loss_bound, baseline))


def eta0(
    dimension: int, theta: float, loss_bound: float, rounds: int, budget: float = 0.0, baseline: float = 0.0
) -> float:
    """The theorem's first rate for Algorithm 2.

    With c = max(b, H - b)::

        eta_0 = min{ sqrt(theta log(HT) / (n² c² T)), 1/(4 n sqrt(BT)), 1/(4 n c) }.

    Args:
        dimension: n, the dimension of the slice.
        theta: the barrier parameter.
        loss_bound: H, the largest loss of a round.
        rounds: T.
        budget: B, a bound on `sum_t (z_hat_t·eps_t)^2`.
        baseline: b, subtracted from every loss; 0 in the paper, where c = H.

    Returns:
        eta_0.

    Raises:
        ValueError: for values that are not positive (the budget: negative), b outside [0, H], or
            HT <= 1.

    Source:
        Section 4.2, Theorem 7 (inclrregret), as restated in the appendix; the last term is ours (see
        `eta0_cap`).
    """
    first = scrible_eta0(dimension, theta, loss_bound, rounds, baseline)
    check_at_least_zero("budget", budget)
    if budget == 0:
        return first
    return min(first, 1 / (4 * dimension * math.sqrt(budget * rounds)))


def increasing_rates_bound(
    dimension: int,
    theta: float,
    loss_bound: float,
    rounds: int,
    budget: float = 0.0,
    baseline: float = 0.0,
    rate: float | None = None,
) -> float:
    """What Algorithm 2's expected regret cannot exceed.

    With c = max(b, H - b)::

        theta log(HT) / eta_0 + (2n + 1) sqrt(BT) + 2 eta_0 n² c² T + 2.

    Args:
        dimension: n, the dimension of the slice.
        theta: the barrier parameter.
        loss_bound: H, the largest loss of a round.
        rounds: T.
        budget: B, a bound on `sum_t (z_hat_t·eps_t)^2`.
        baseline: b, subtracted from every loss; 0 in the paper, where c = H.
        rate: eta_0; the theorem's if None.

    Returns:
        The bound on the regret of T rounds.

    Raises:
        ValueError: for values out of range, also for a rate above 1/(4 n sqrt(BT)) or 1/(4 n c), where the
            proof does not hold.

    Source:
        Section 4.2, Theorem 7 (inclrregret), with its constants written out and the printed first-round
        term 2 n beta H theta log(HT), which the proof does not need, left out.
    """
    chosen = _rate_within_theorem(dimension, theta, loss_bound, rounds, budget, baseline, rate)
    spread = loss_range(loss_bound, baseline)
    return (
        theta * math.log(loss_bound * rounds) / chosen
        + (2 * dimension + 1) * math.sqrt(budget * rounds)
        + 2 * chosen * (dimension * spread) ** 2 * rounds
        + 2
    )


def rate_ceiling(eta0: float, dimension: int, rounds: int, budget: float) -> float:
    """The largest rate the increasing schedule can reach: `1 / (1/eta_0 - 2 n sqrt(BT))`.

    At most 2 eta_0 whenever eta_0 <= 1/(4 n sqrt(BT)).

    Args:
        eta0: the first rate.
        dimension: n, the dimension of the slice.
        rounds: T.
        budget: B, a bound on `sum_t (z_hat_t·eps_t)^2`.

    Returns:
        The ceiling, infinite where the denominator is not positive.

    Raises:
        ValueError: for values that are not positive (the budget: negative).

    Source:
        Lemma 19 (lr-relation), whose sum runs over s: `sum_s |z_hat_s·eps_s| <= sqrt(BT)`.
    """
    check_positive("eta0", eta0)
    _whole("dimension", dimension)
    check_positive("rounds", rounds)
    check_at_least_zero("budget", budget)
    inverse = 1 / eta0 - 2 * dimension * math.sqrt(budget * rounds)
    return 1 / inverse if inverse > 0 else math.inf


def bias_bound(dimension: int, local_distance: float, z_hat_epsilon: float) -> float:
    """What a moved hand can hide in one round: `n ||x_t - u||_{x_t} |z_hat_t·eps_t|`.

    Args:
        dimension: n, the dimension of the slice.
        local_distance: `||x_t - u||_{x_t}`.
        z_hat_epsilon: `z_hat_t·eps_t`.

    Returns:
        The bound on the bias.

    Raises:
        ValueError: for values out of range.

    Source:
        Section 4.2, Lemma 8 (boundlossbias).
    """
    _whole("dimension", dimension)
    check_at_least_zero("local_distance", local_distance)
    if not math.isfinite(z_hat_epsilon):
        raise ValueError(f"z_hat_epsilon is {z_hat_epsilon}; it must be finite")
    return dimension * local_distance * abs(z_hat_epsilon)


def rate_credit(previous_rate: float, rate: float, divergence: float) -> float:
    """What raising the rate pays back in one round: `(1/eta_{t-1} - 1/eta_t) B_R(u, x_t)`.

    With Algorithm 2's rates it is `2 n |z_hat_t·eps_t| B_R(u, x_t)`.

    Args:
        previous_rate: eta_{t-1}.
        rate: eta_t.
        divergence: `B_R(u, x_t)`.

    Returns:
        The credit, negative where the rate falls.

    Raises:
        ValueError: for rates that are not positive or a divergence that is negative.

    Source:
        Section 2, Lemma 2 (mdbarrier).
    """
    check_positive("previous_rate", previous_rate)
    check_positive("rate", rate)
    check_at_least_zero("divergence", divergence)
    return (1 / previous_rate - 1 / rate) * divergence


def scrible_eta0(
    dimension: int, theta: float, loss_bound: float, rounds: int, baseline: float = 0.0
) -> float:
    """The rate of SCRiBLe: `sqrt(theta log(HT) / (n² c² T))`, no more than 1/(4 n c).

    Here c = max(b, H - b).

    Args:
        dimension: n, the dimension of the slice.
        theta: the barrier parameter.
        loss_bound: H, the largest loss of a round.
        rounds: T.
        baseline: b, subtracted from every loss; 0 in the paper, where c = H.

    Returns:
        eta.

    Raises:
        ValueError: for values that are not positive, b outside [0, H], or HT <= 1.

    Source:
        Theorem 7 (inclrregret) with B = 0; Abernethy, Hazan and Rakhlin (2008).
    """
    _whole("dimension", dimension)
    check_positive("theta", theta)
    check_positive("rounds", rounds)
    spread = loss_range(loss_bound, baseline)
    if not loss_bound * rounds > 1:
        raise ValueError(f"loss_bound * rounds is {loss_bound * rounds}; the rate needs log(HT) > 0")
    tuned = math.sqrt(theta * math.log(loss_bound * rounds) / rounds) / (dimension * spread)
    return min(tuned, eta0_cap(dimension, loss_bound, baseline))


def scrible_bound(
    dimension: int,
    theta: float,
    loss_bound: float,
    rounds: int,
    baseline: float = 0.0,
    rate: float | None = None,
) -> float:
    """What SCRiBLe's expected regret cannot exceed when nobody moves its hand.

    With c = max(b, H - b)::

        theta log(HT) / eta + eta n² c² T + 2,

    which is 2 n c sqrt(theta T log(HT)) + 2 at the best rate for the bound.

    Args:
        dimension: n, the dimension of the slice.
        theta: the barrier parameter.
        loss_bound: H, the largest loss of a round.
        rounds: T.
        baseline: b, subtracted from every loss; 0 in the paper, where c = H.
        rate: eta; `scrible_eta0` if None.

    Returns:
        The bound on the regret of T rounds.

    Raises:
        ValueError: for values out of range.

    Source:
        Lemma 2 (mdbarrier) with a constant rate; Abernethy, Hazan and Rakhlin (2008).
    """
    chosen = _rate_within_theorem(dimension, theta, loss_bound, rounds, 0.0, baseline, rate)
    spread = loss_range(loss_bound, baseline)
    return theta * math.log(loss_bound * rounds) / chosen + chosen * (dimension * spread) ** 2 * rounds + 2


# --- Algorithm 1 --------------------------------------------------------------------------------------------


class OptimisticRates(NamedTuple):
    """Algorithm 1's learning rate `eta` and its share of exploration `gamma`."""

    eta: float
    gamma: float


def optimistic_exploration(
    eta: float, rank: int, loss_bound: float, epsilon_bound: float, design_norm: float | None = None
) -> float:
    """The exploration that keeps every |l~_t(y)| <= 1/eta: `gamma = eta H kappa (1 + beta)`.

    An exploration mu with `||y||²_{M^+} <= kappa` on the whole set (kappa >= r, with equality for a G-optimal
    design) gives `|l~(y)| <= H kappa/gamma + sqrt(r kappa/gamma) beta H <= H kappa (1 + beta)/gamma`.

    Args:
        eta: the learning rate.
        rank: r, the dimension of the span of the set.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation.
        design_norm: kappa, the largest `||y||²_{M^+}` of the exploration; r if None.

    Returns:
        gamma.

    Raises:
        ValueError: for values out of range.

    Source:
        Proof of Lemma 16 (mw-sec-ord-bound), with the design's certificate for the paper's lambda, which need
        not exist.
    """
    check_positive("eta", eta)
    check_positive("loss_bound", loss_bound)
    check_at_least_zero("epsilon_bound", epsilon_bound)
    return eta * loss_bound * _design_norm(rank, design_norm) * (1 + epsilon_bound)


def optimistic_second_moment(
    rank: int, loss_bound: float, epsilon_bound: float, design_norm: float | None = None
) -> float:
    """The second moment of the optimistic estimate: `E sum_y p_t(y) l~_t(y)² <= 2 kappa H² (1 + r beta²)`.

    The paper proves it under q_t, with r for kappa, and uses it under p_t. That needs p_t <= 2 q_t besides, a
    factor two that its sketch has and its appendix leaves out. The certificate makes it unnecessary: with
    `M = (1 - gamma) M_p + gamma M_mu`, let lambda_1, ..., lambda_r be the eigenvalues of M_p relative to
    M_mu. They sum to at most kappa, and
    `sum_y p(y) ||y||²_{M^+} = sum_i lambda_i / ((1 - gamma) lambda_i + gamma) <= kappa`, a concave function
    of each.

    Args:
        rank: r, the dimension of the span of the set.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation.
        design_norm: kappa, the largest `||y||²_{M^+}` of the exploration; r if None. With r the
            bound holds under q_t whatever mu is.

    Returns:
        The bound on the second moment.

    Raises:
        ValueError: for values out of range.

    Source:
        Lemma 17 (sec-mom-bound), without its assumption beta² r >= 1, under which it is at most the printed
        (2 H beta r)² for kappa = r.
    """
    check_positive("loss_bound", loss_bound)
    check_at_least_zero("epsilon_bound", epsilon_bound)
    return 2 * _design_norm(rank, design_norm) * loss_bound**2 * (1 + rank * epsilon_bound**2)


def optimistic_rates(
    rank: int,
    n_points: int,
    loss_bound: float,
    epsilon_bound: float,
    rounds: int,
    design_norm: float | None = None,
) -> OptimisticRates:
    """The rate and the exploration at which Algorithm 1's corrected bound is least.

    That is::

        eta = sqrt( log|S| / (T H² kappa (2 (1 + r beta²) + 1 + beta)) ),    gamma = eta H kappa (1 + beta).

    Args:
        rank: r, the dimension of the span of the set.
        n_points: |S|, at least 2.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation.
        rounds: T.
        design_norm: kappa, the largest `||y||²_{M^+}` of the exploration; r if None.

    Returns:
        eta and gamma.

    Raises:
        ValueError: for values out of range, and when T is so small that gamma > 1/2, beyond which the learner
            would mostly explore.

    Source:
        Section 4.1, Theorem 5 (optimismmain), corrected (its printed rate: `printed_optimistic_rates`).
    """
    check_positive("rounds", rounds)
    _choice(n_points)
    cost = optimistic_second_moment(rank, loss_bound, epsilon_bound, design_norm)
    cost += loss_bound * optimistic_exploration(1.0, rank, loss_bound, epsilon_bound, design_norm)
    eta = math.sqrt(math.log(n_points) / (rounds * cost))
    gamma = optimistic_exploration(eta, rank, loss_bound, epsilon_bound, design_norm)
    if gamma > 0.5:
        needed = math.ceil(rounds * (2 * gamma) ** 2)
        raise ValueError(f"gamma is {gamma:.3g} at rounds = {rounds}; it must be <= 1/2 (rounds >= {needed})")
    return OptimisticRates(eta, gamma)


def optimistic_bound(
    rank: int,
    n_points: int,
    loss_bound: float,
    epsilon_bound: float,
    rounds: int,
    budget: float = 0.0,
    rates: OptimisticRates | None = None,
    design_norm: float | None = None,
) -> float:
    """What Algorithm 1's expected regret cannot exceed.

    With losses l·y in [0, H] on the set::

        log|S|/eta + 2 kappa H² (1 + r beta²) eta T + gamma H T + (2 kappa + 1)(1 + beta) sqrt(BT).

    With kappa = r and beta² r >= 1 the second term is at most the printed 4 (H beta r)² eta T; by the paper's
    own route, for any mu, that constant is twice as large, and 2 kappa + 1 is 4 r + 1.

    Args:
        rank: r, the dimension of the span of the set.
        n_points: |S|.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation.
        rounds: T.
        budget: B, a bound on `sum_t (z_hat_t·eps_t)^2`.
        rates: eta and gamma; `optimistic_rates` if None.
        design_norm: kappa, the largest `||y||²_{M^+}` of the exploration; r if None.

    Returns:
        The bound on the regret of T rounds.

    Raises:
        ValueError: for values out of range, or a gamma outside [eta H kappa (1 + beta), 1].

    Source:
        Section 4.1, Theorem 5 (optimismmain), with the certificate kappa in place of p_t <= 2 q_t (see
        `optimistic_second_moment`; also `sum_y p(y) ||y||_{M^+} <= sqrt(kappa)`), and
        `|y·eps| <= (1 + beta) |z·eps|`.
    """
    check_positive("rounds", rounds)
    if not 1 <= n_points < math.inf:
        raise ValueError(f"n_points is {n_points}; a set has at least one point, and finitely many")
    check_at_least_zero("budget", budget)
    if rates is None:
        rates = optimistic_rates(rank, n_points, loss_bound, epsilon_bound, rounds, design_norm)
    eta, gamma = rates
    least = optimistic_exploration(eta, rank, loss_bound, epsilon_bound, design_norm)
    if not least * (1 - 1e-12) <= gamma <= 1:
        raise ValueError(
            f"gamma is {gamma}; the bound needs eta H kappa (1 + beta) = {least:.6g} <= gamma <= 1"
        )
    return (
        math.log(n_points) / eta
        + optimistic_second_moment(rank, loss_bound, epsilon_bound, design_norm) * eta * rounds
        + gamma * loss_bound * rounds
        + (2 * _design_norm(rank, design_norm) + 1) * (1 + epsilon_bound) * math.sqrt(budget * rounds)
    )


def printed_optimistic_rates(
    dimension: int,
    n_points: int,
    loss_bound: float,
    epsilon_bound: float,
    rounds: int,
    least_eigenvalue: float,
) -> OptimisticRates:
    """Algorithm 1's rates as printed.

    That is::

        eta = sqrt(log|S|/T) / (2 H beta d),    gamma = 2 H² (H + beta sqrt d) eta/lambda.

    Args:
        dimension: d, the number of coordinates.
        n_points: |S|, at least 2.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation.
        rounds: T.
        least_eigenvalue: lambda of E_mu[y y']; no exploration of an occupancy set has a positive one.

    Returns:
        eta and gamma.

    Raises:
        ValueError: for values that are not positive, or |S| < 2.

    Source:
        Section 4.1, Theorem 5 (optimismmain).
    """
    _whole("dimension", dimension)
    for name, value in (
        ("loss_bound", loss_bound),
        ("epsilon_bound", epsilon_bound),
        ("rounds", rounds),
        ("least_eigenvalue", least_eigenvalue),
    ):
        check_positive(name, value)
    _choice(n_points)
    eta = math.sqrt(math.log(n_points) / rounds) / (2 * loss_bound * epsilon_bound * dimension)
    gamma = 2 * loss_bound**2 * (loss_bound + epsilon_bound * math.sqrt(dimension)) * eta / least_eigenvalue
    return OptimisticRates(eta, gamma)


def printed_optimistic_bound(
    dimension: int,
    n_points: int,
    loss_bound: float,
    epsilon_bound: float,
    rounds: int,
    budget: float,
    least_eigenvalue: float,
) -> float:
    """Algorithm 1's bound as printed; for its general mu the proof gives 6 for the first constant, 4.

    That is::

        (4 H beta d + H³/(beta lambda d) + H²/(lambda sqrt d)) sqrt(T log|S|) + 10 beta d sqrt(BT).

    Args:
        dimension: d, the number of coordinates.
        n_points: |S|, at least 2.
        loss_bound: H, the largest loss of a round.
        epsilon_bound: beta, the largest entry of a perturbation, at least 1.
        rounds: T.
        budget: B, a bound on `sum_t (z_hat_t·eps_t)^2`.
        least_eigenvalue: lambda of E_mu[y y'].

    Returns:
        The printed bound on the regret of T rounds.

    Raises:
        ValueError: for values that are not positive (the budget: negative), or |S| < 2.

    Source:
        Section 4.1, Theorem 5 (optimismmain), as restated in the appendix.
    """
    printed_optimistic_rates(dimension, n_points, loss_bound, epsilon_bound, rounds, least_eigenvalue)
    check_at_least_zero("budget", budget)
    leading = (
        4 * loss_bound * epsilon_bound * dimension
        + loss_bound**3 / (epsilon_bound * least_eigenvalue * dimension)
        + loss_bound**2 / (least_eigenvalue * math.sqrt(dimension))
    )
    return leading * math.sqrt(rounds * math.log(n_points)) + 10 * epsilon_bound * dimension * math.sqrt(
        budget * rounds
    )


# --- the reduction ------------------------------------------------------------------------------------------


def confidence_radius(counts: FloatArray, episodes: int, delta: float) -> FloatArray:
    """How far the empirical next-state distribution can be from the true one, in L1.

    That is::

        w(h,s,a) = sqrt( 2 (S log 2 + log(HSAK/delta)) / N(h,s,a) ).

    Args:
        counts: (H, S, A, S) visits N(h,s,a,s').
        episodes: K.
        delta: the probability of failure, in (0, 1).

    Returns:
        (H, S, A) radii w, infinite where N = 0.

    Raises:
        ValueError: for a wrong shape, negative counts, or delta outside (0, 1).

    Source:
        Appendix B, Lemma 10 (concentration), with the constants of Weissman et al. (2003).

    Example:
        >>> counts = np.full((2, 3, 2, 3), 400)
        >>> confidence_radius(counts, episodes=10_000, delta=1 / 20_000)[0, 0, 0].round(3).item()
        0.199
    """
    counts = real_array("counts", counts)
    visits, log_term = _visits_and_log(counts, episodes, delta, math.log(2))
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * log_term / visits)


def epsilon(radius: FloatArray) -> FloatArray:
    """The perturbation of a confidence radius: `eps(h,s,a) = (H - h + 1) min(2, 2 w(h,s,a))`, h from 1.

    Twice the radius, because both the true dynamics and those of y lie in the ball; (H - h + 1), because an
    error made at step h is carried to the end.

    Args:
        radius: (H, S, A) L1 radii w, nonnegative; infinite where nothing is known.

    Returns:
        (H, S, A) eps, between 0 and 2H.

    Raises:
        ValueError: for a wrong shape or a negative radius.

    Source:
        Appendix B, Lemma 13 (boundocdiff), corrected.

    Example:
        >>> epsilon(np.full((3, 1, 1), 0.25)).ravel().tolist()
        [1.5, 1.0, 0.5]
    """
    radius = real_array("radius", radius)
    if radius.ndim != 3:
        raise ValueError(f"radius has shape {radius.shape}; it must be (H, S, A)")
    if not np.all(radius >= 0):
        raise ValueError(f"radius has the entry {radius.min()}; radii are nonnegative")
    steps_left = np.arange(radius.shape[0], 0, -1.0)[:, None, None]
    return np.asarray(steps_left * 2 * np.minimum(1.0, radius), dtype=np.float64)


def beta(horizon: int) -> float:
    """The largest entry `epsilon` can have: 2 H.

    Args:
        horizon: H.

    Returns:
        2H.

    Raises:
        ValueError: unless the horizon is a positive integer.

    Source:
        The protocol of Section 3.2, for the corrected Lemma 13 (boundocdiff).
    """
    _whole("horizon", horizon)
    return 2.0 * horizon


def B(n_states: int, n_actions: int, horizon: int, episodes: int, delta: float) -> float:
    """What `sum (z_hat·eps)²` cannot exceed in one epoch.

    That is::

        8 H (S log 2 + log(HSAK/delta)) sum over (h,s,a) of (H - h + 1)².

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        delta: the probability of failure, in (0, 1).

    Returns:
        B.

    Raises:
        ValueError: for values out of range.

    Source:
        Appendix B, Lemma 14 (sumofepsilons), for `epsilon`.
    """
    log_term = _log_term(n_states, n_actions, horizon, episodes, delta, math.log(2))
    cells = n_states * n_actions * sum(steps_left**2 for steps_left in range(1, horizon + 1))
    return 8 * horizon * log_term * cells


def printed_epsilon(counts: FloatArray, episodes: int, delta: float) -> FloatArray:
    """The printed perturbation vector: `5 H sqrt( (S + log(HSAK/delta)) / max(N(h,s,a), 1) )`.

    Args:
        counts: (H, S, A, S) visits N(h,s,a,s').
        episodes: K.
        delta: the probability of failure, in (0, 1).

    Returns:
        (H, S, A) eps.

    Raises:
        ValueError: for a wrong shape, negative counts, or delta outside (0, 1).

    Source:
        Eq. (epsilon); Algorithm 3, line 4.
    """
    counts = real_array("counts", counts)
    visits, log_term = _visits_and_log(counts, episodes, delta, 1.0)
    scale = 5 * counts.shape[0]
    return np.asarray(scale * np.sqrt(log_term / np.maximum(visits, 1.0)), dtype=np.float64)


def printed_beta(n_states: int, n_actions: int, horizon: int, episodes: int, delta: float) -> float:
    """The printed bound on the perturbation vector: `5 H sqrt(S + log(HSAK/delta))`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        delta: the probability of failure, in (0, 1).

    Returns:
        beta.

    Raises:
        ValueError: for values out of range.

    Source:
        Appendix B, proof of Theorem 3 (main).
    """
    return 5 * horizon * math.sqrt(_log_term(n_states, n_actions, horizon, episodes, delta, 1.0))


def printed_B(n_states: int, n_actions: int, horizon: int, episodes: int, delta: float) -> float:
    """The printed budget of an epoch: `25 H⁴ S A (S + log(HSAK/delta)) = beta² S A H²`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        delta: the probability of failure, in (0, 1).

    Returns:
        B.

    Raises:
        ValueError: for values out of range.

    Source:
        Appendix B, Lemma 14 (sumofepsilons).
    """
    return (
        printed_beta(n_states, n_actions, horizon, episodes, delta) ** 2 * n_states * n_actions * horizon**2
    )


# --- policy optimization, which came later ------------------------------------------------------------------


def u_function_eta(n_states: int, n_actions: int, horizon: int, episodes: int) -> float:
    """The learning rate of `UFunctionLearner` for known dynamics.

    That is::

        min( sqrt( log A / (6 e H² S A K) ), 1/(24 H³) ).

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        eta; at A = 1, where there is nothing to learn, that of A = 2.

    Raises:
        ValueError: for values out of range.

    Source:
        `u_function_bound`.
    """
    _sizes(n_states=n_states, n_actions=n_actions, horizon=horizon, episodes=episodes)
    cells = horizon**2 * n_states * n_actions * episodes
    return min(math.sqrt(math.log(max(n_actions, 2)) / (6 * math.e * cells)), 1 / (24 * horizon**3))


def u_function_bound(
    n_states: int, n_actions: int, horizon: int, episodes: int, eta: float | None = None
) -> float:
    """What `UFunctionLearner` with `PolicyRates.theorem` and known dynamics cannot exceed on average.

    That is `H log(A)/eta + 6 e eta H³ S A K`, of order H² sqrt(SAK) with the rate of `u_function_eta`. Proof
    idea, with gamma = 2 eta H. (1) In each state exponential weights pay
    `log(A)/eta + eta sum_k sum_a pi (U_hat - B)²`, since `eta (U_hat - B) >= -1`. (2) `(U_hat - B)² <=
    2 U_hat² + 2 B²`, where `eta 2 E[U_hat²] <= gamma H/(q pi + gamma)` and `2 eta B² <= B/H`, since
    `B <= 6 H²` and `eta <= 1/(24 H³)`. (3) U_hat is below U on average, by at most
    `gamma H/(q pi + gamma)`, which costs as much once more. (4) So all costs are below `b + B/H`, and the
    dilated bonus turns them from states of the comparator into the learner's own: `e sum_k E_q[b_k]`, and
    `sum_{h,s} q b <= 3 gamma H times H S A`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the rate; `u_function_eta` if None.

    Returns:
        The bound on the expected regret.

    Raises:
        ValueError: for values out of range, or a rate above 1/(24 H³).

    Source:
        The rate H² sqrt(SAK) is that of Lancewicki and Mansour (2025); constants and proof are ours.
    """
    largest = u_function_eta(n_states, n_actions, horizon, episodes)
    rate = largest if eta is None else eta
    if not 0 < check_number("eta", rate) <= 1 / (24 * horizon**3) * (1 + 1e-12):
        raise ValueError(f"eta is {rate}; the bound is proved for rates up to 1/(24 H³)")
    cells = horizon**3 * n_states * n_actions * episodes
    return horizon * math.log(n_actions) / rate + 6 * math.e * rate * cells


def policy_optimization_eta(n_actions: int, horizon: int, episodes: int) -> float:
    """The learning rate of `PolicyOptimization`: `sqrt(8 log A / (H² K))`.

    Args:
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        eta; at A = 1, where there is nothing to learn, that of A = 2.

    Raises:
        ValueError: for values out of range.

    Source:
        `policy_optimization_bound`.
    """
    _sizes(n_actions=n_actions, horizon=horizon, episodes=episodes)
    return math.sqrt(8 * math.log(max(n_actions, 2)) / episodes) / horizon


def policy_optimization_bound(n_actions: int, horizon: int, episodes: int) -> float:
    """What `PolicyOptimization` cannot exceed: `H² sqrt(K log(A) / 2)`.

    In each of the H steps, exponential weights on losses in [0, H] pay `log(A)/eta + eta H² K/8`.

    Args:
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        The bound on the regret.

    Raises:
        ValueError: for values out of range.

    Source:
        Even-Dar, Kakade and Mansour (2009), for finite horizons.
    """
    policy_optimization_eta(n_actions, horizon, episodes)
    return horizon**2 * math.sqrt(episodes * math.log(n_actions) / 2)


# --- O-REPS -------------------------------------------------------------------------------------------------


def oreps_eta(n_states: int, n_actions: int, episodes: int) -> float:
    """The learning rate of `OREPS`: `sqrt(2 log(SA) / K)`.

    Args:
        n_states: S.
        n_actions: A.
        episodes: K.

    Returns:
        eta; at SA = 1, where there is nothing to learn, that of SA = 2.

    Raises:
        ValueError: for values out of range.

    Source:
        `oreps_bound`.
    """
    _sizes(n_states=n_states, n_actions=n_actions, episodes=episodes)
    return math.sqrt(2 * math.log(max(n_states * n_actions, 2)) / episodes)


def oreps_bound(
    n_states: int, n_actions: int, horizon: int, episodes: int, eta: float | None = None
) -> float:
    """What `OREPS` cannot exceed: `H log(SA)/eta + eta H K/2`, which is `H sqrt(2 K log(SA))` at best.

    Mirror descent pays `KL(q* || q_1)/eta + eta/2 sum_k <q_k, l_k²>`. From the largest entropy, the
    divergence is at most the entropy of q_1, H log(SA); and `<q_k, l²> <= H`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the rate; `oreps_eta` if None.

    Returns:
        The bound on the regret.

    Raises:
        ValueError: for values out of range.

    Source:
        Zimin and Neu (2013), Theorem 1, in our notation; it holds for every sequence of losses.

    Example:
        >>> round(oreps_bound(n_states=3, n_actions=2, horizon=3, episodes=1000))
        180
    """
    best = oreps_eta(n_states, n_actions, episodes)
    _whole("horizon", horizon)
    rate = best if eta is None else check_positive("eta", eta)
    return horizon * math.log(n_states * n_actions) / rate + rate * horizon * episodes / 2


def semi_bandit_oreps_eta(n_states: int, n_actions: int, episodes: int) -> float:
    """The learning rate of `SemiBanditOREPS`: `sqrt(2 log(SA) / (S A K))`.

    Args:
        n_states: S.
        n_actions: A.
        episodes: K.

    Returns:
        eta; at SA = 1, where there is nothing to learn, that with log 2.

    Raises:
        ValueError: for values out of range.

    Source:
        `semi_bandit_oreps_bound`.
    """
    return oreps_eta(n_states, n_actions, episodes) / math.sqrt(n_states * n_actions)


def semi_bandit_oreps_bound(
    n_states: int, n_actions: int, horizon: int, episodes: int, eta: float | None = None
) -> float:
    """What `SemiBanditOREPS` cannot exceed on average: `H log(SA)/eta + eta H S A K/2`.

    That is `H sqrt(2 S A K log(SA))` at best. As `oreps_bound`, where the mean of `<q_k, l^²>` is at most
    the number of cells: `E[l^²] <= 1/q`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the rate; `semi_bandit_oreps_eta` if None.

    Returns:
        The bound on the expected regret.

    Raises:
        ValueError: for values out of range.

    Source:
        Zimin and Neu (2013), Theorem 2, in our notation.
    """
    best = semi_bandit_oreps_eta(n_states, n_actions, episodes)
    _whole("horizon", horizon)
    rate = best if eta is None else check_positive("eta", eta)
    cells = horizon * n_states * n_actions
    return horizon * math.log(n_states * n_actions) / rate + rate * cells * episodes / 2


# --- FTRL with the Q - V estimate ---------------------------------------------------------------------------


def q_minus_v_eta(n_states: int, n_actions: int, horizon: int, episodes: int) -> float:
    """The rate of `FTRL` with a log barrier: `sqrt(SA log(HK) / (H² (1 - 1/A) K))`, capped.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        eta, no more than `1/sqrt(8 H³)`; at A = 1, where there is nothing to learn, with 1 - 1/A = 1/2.

    Raises:
        ValueError: for sizes that are not positive integers, or HK <= 1.

    Source:
        `q_minus_v_bound`.
    """
    _sizes(n_states=n_states, n_actions=n_actions, horizon=horizon, episodes=episodes)
    if not horizon * episodes > 1:
        raise ValueError(f"horizon * episodes is {horizon * episodes}; the rate needs log(HK) > 0")
    spread = 1 - 1 / max(n_actions, 2)
    tuned = math.sqrt(n_states * n_actions * math.log(horizon * episodes) / (spread * episodes)) / horizon
    return min(tuned, 1 / math.sqrt(8 * horizon**3))


def q_minus_v_bound(
    n_states: int, n_actions: int, horizon: int, episodes: int, eta: float | None = None
) -> float:
    """What `FTRL` with a log barrier cannot exceed on average: of order H² sqrt(S (A-1) K log(HK)).

    That is `H S A log(HK)/eta + eta H³ (1 - 1/A) K + 1`. Proof idea: (1) the estimate's norm at q is at most
    `sum q² l^² = L² sum_h ((1 - pi_a)² + sum_{b != a} pi_b²)`, a the action played: never above 2 H³, so
    that eta times the norm is at most 1/2, and on average at most `H³ (1 - 1/A)`. (2) A barrier over eta so
    pays `eta` times that (Lemma 2, mdbarrier), and for the comparator, moved by 1/(HK) toward q_1, at most
    `log(HK)/eta` an entry. (3) To move it costs at most 1. (4) Against every policy, the mean of the estimate
    gives the regret, by the performance difference lemma.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the rate; `q_minus_v_eta` if None.

    Returns:
        The bound on the expected regret.

    Raises:
        ValueError: for values out of range, or a rate above `1/sqrt(8 H³)`.

    Source:
        The rate is that of Ito et al. (2025); constants and proof are ours.

    Example:
        >>> round(q_minus_v_bound(n_states=3, n_actions=2, horizon=3, episodes=10_000))
        10011
    """
    best = q_minus_v_eta(n_states, n_actions, horizon, episodes)
    rate = best if eta is None else eta
    if not 0 < check_number("eta", rate) <= (1 + 1e-12) / math.sqrt(8 * horizon**3):
        raise ValueError(f"eta is {rate}; the bound is proved for rates up to 1/sqrt(8 H³)")
    cells = horizon * n_states * n_actions
    moved = rate * horizon**3 * (1 - 1 / n_actions) * episodes
    return cells * math.log(horizon * episodes) / rate + moved + 1


def q_minus_v_tsallis_weights(horizon: int, episodes: int) -> tuple[float, float]:
    """The weights of `FTRL` with Tsallis' entropy: roots `2 H sqrt(K)`, logarithms `8 H³`.

    Args:
        horizon: H.
        episodes: K.

    Returns:
        Both weights.

    Raises:
        ValueError: for sizes that are not positive integers.

    Source:
        `q_minus_v_tsallis_bound`.
    """
    _sizes(horizon=horizon, episodes=episodes)
    return 2 * horizon * math.sqrt(episodes), 8.0 * horizon**3


def q_minus_v_tsallis_bound(n_states: int, n_actions: int, horizon: int, episodes: int) -> float:
    """What `FTRL` with Tsallis' entropy cannot exceed: `4 H² sqrt(SAK) + 8 H⁴ SA log(HK) + 1`.

    As `q_minus_v_bound`; the leading term has no logarithm. With `beta = 8 H³` the regularizer is
    self-concordant (its third derivative is at most twice the second over q, and the second at least
    beta/q²), and the norm of an estimate at most 1/2. On average its square is at most
    `4/root sum q^(3/2) l^² <= 4/root H³ sqrt(SA)`; and the roots sum to at most `H sqrt(SA)`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        The bound on the expected regret.

    Raises:
        ValueError: for values out of range.

    Source:
        The rate is that of Ito et al. (2025); constants and proof are ours.
    """
    q_minus_v_eta(n_states, n_actions, horizon, episodes)
    cells = n_states * n_actions
    leading = 4 * horizon**2 * math.sqrt(cells * episodes)
    return leading + 8 * horizon**4 * cells * math.log(horizon * episodes) + 1


# --- optimistic value iteration -----------------------------------------------------------------------------


def optimistic_values_bound(n_states: int, n_actions: int, horizon: int, episodes: int) -> float:
    """What `OptimisticValueIteration` cannot exceed on average, if losses are drawn anew around a fixed mean.

    With delta = 1/(HK) and `iota = log(HSAK/delta)`::

        H (H+1) sqrt(SAK) (sqrt(2 iota) + sqrt(2 (S log 2 + iota))) + S A H (H+1)/2 + 2.

    Proof idea: V is nowhere above the truth, with probability 1 - delta. So an episode costs at most what its
    own value and V differ by, and that is a sum over the cells it passes: at most twice the bonus, and
    `(P - P_hat)(V - V*) <= (H - h + 1) |P - P_hat|_1`, which Weissman's inequality bounds, with probability
    1 - delta. Over all episodes, 1/sqrt(n) sums to at most `2 sqrt(SAK)` in a step. A first visit costs at
    most `H - h + 1`, and a failure H K.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        The bound on the expected regret against the policy that is best for the means, of order
        H² S sqrt(AK).

    Raises:
        ValueError: for sizes that are not positive integers.

    Source:
        Ours, and cruder than that of Azar, Osband and Munos (2017), Theorem 1, which lacks a sqrt(S).
    """
    _sizes(horizon=horizon, episodes=episodes)
    delta = min(0.5, 1 / (horizon * episodes))
    iota = _log_term(n_states, n_actions, horizon, episodes, delta, 0.0)
    cells = n_states * n_actions
    spread = math.sqrt(2 * iota) + math.sqrt(2 * (n_states * math.log(2) + iota))
    steps = horizon * (horizon + 1)
    return steps * math.sqrt(cells * episodes) * spread + cells * steps / 2 + 2


# --- helpers ------------------------------------------------------------------------------------------------


def _design_norm(rank: int, design_norm: float | None) -> float:
    """kappa: the rank for a G-optimal design; no design has less (a tiny bit less is rounding)."""
    _whole("rank", rank)
    if design_norm is None:
        return float(rank)
    if not rank * (1 - 1e-9) <= design_norm < math.inf:
        raise ValueError(f"design_norm is {design_norm}; no design has max ||y||² below the rank, {rank}")
    return design_norm


def _choice(n_points: int) -> None:
    if not 2 <= check_number("n_points", n_points) < math.inf:
        raise ValueError(f"n_points is {n_points}; a choice needs at least two points, and finitely many")


def _rate_within_theorem(
    dimension: int,
    theta: float,
    loss_bound: float,
    rounds: int,
    budget: float,
    baseline: float,
    rate: float | None,
) -> float:
    """The rate to use in a bound: the theorem's, or a given one that satisfies the proof's conditions."""
    largest = eta0(dimension, theta, loss_bound, rounds, budget, baseline)
    if rate is None:
        return largest
    check_positive("rate", rate)
    ceiling = eta0_cap(dimension, loss_bound, baseline)
    if budget > 0:
        ceiling = min(ceiling, 1 / (4 * dimension * math.sqrt(budget * rounds)))
    if rate > ceiling * (1 + 1e-12):
        raise ValueError(f"rate is {rate}; the bound is proved for rates up to {ceiling:.6g}")
    return rate


def _log_term(
    n_states: int, n_actions: int, horizon: int, episodes: int, delta: float, per_state: float
) -> float:
    _sizes(n_states=n_states, n_actions=n_actions, horizon=horizon, episodes=episodes)
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; a probability of failure lies in (0, 1)")
    return per_state * n_states + math.log(horizon * n_states * n_actions * episodes / delta)


def _visits_and_log(
    counts: FloatArray, episodes: int, delta: float, per_state: float
) -> tuple[FloatArray, float]:
    if counts.ndim != 4 or counts.shape[1] != counts.shape[3]:
        raise ValueError(f"counts has shape {counts.shape}; it must be (H, S, A, S)")
    check_finite("counts", counts)
    if not np.all(counts >= 0):
        raise ValueError(f"counts has the entry {counts.min()}; counts are nonnegative")
    horizon, n_states, n_actions, _ = counts.shape
    log_term = _log_term(n_states, n_actions, horizon, episodes, delta, per_state)
    return np.asarray(counts.sum(axis=-1), dtype=np.float64), log_term


def _sizes(**sizes: float) -> None:
    """Refuse sizes that are no positive integers, by name."""
    for name, value in sizes.items():
        _whole(name, value)


def _whole(name: str, value: float) -> None:
    if not (check_number(name, value) >= 1 and float(value).is_integer()):
        raise ValueError(f"{name} is {value}; it must be an integer of at least 1")
