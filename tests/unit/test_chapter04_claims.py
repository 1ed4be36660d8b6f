"""What chapter 4 says beside its theorems: three samplers, two estimates in one norm, one night and many."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import special_ortho_group

import aggbandit as ab

WORLD = ab.night_driver()
MDP, LOSS = WORLD.mdp, WORLD.loss
BARRIER = ab.LogBarrier(ab.known_occupancy_polytope(MDP))
TABLE = ab.occupancy_coordinates(MDP)
N, W, C = BARRIER.dimension, BARRIER.body.basis, BARRIER.body.C
COIN = TABLE.from_table(MDP.occupancy(ab.uniform_policy(MDP)))
BEST = TABLE.from_table(MDP.occupancy(MDP.best_policy(LOSS)[0]))
ELL = TABLE.loss_vector(LOSS)


def nights(y):
    """Every trajectory of the policy of y, and its probability."""
    return list(ab.enumerate_trajectories(MDP, ab.policy_of(TABLE.to_table(y))))


def power(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 0.99])
def test_the_lifted_sampler_has_the_law_of_ours_and_the_printed_one_has_not(share):
    x = (1 - share) * COIN + share * BEST
    hessian = BARRIER.hessian(x)
    root = power(hessian, -0.5)
    lifted = root @ null_space(C @ root)
    ours = BARRIER.dikin(x).axes().T
    printed = W @ (W.T @ root @ W)
    np.testing.assert_allclose(C @ lifted, 0, atol=1e-12)
    np.testing.assert_allclose(lifted.T @ hessian @ lifted, np.eye(N), atol=1e-8)
    np.testing.assert_allclose(lifted @ lifted.T, ours @ ours.T, rtol=1e-8, atol=1e-16)
    assert np.trace(printed.T @ hessian @ printed) / N > 1.05  # on average outside the ellipsoid


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_their_guess_is_ours(share, rng):
    x = (1 - share) * COIN + share * BEST
    root = power(BARRIER.hessian(x), -0.5)
    s = null_space(C @ root) @ rng.standard_normal(N)
    s /= np.linalg.norm(s)
    theirs = power(BARRIER.hessian(x), 0.5) @ s
    np.testing.assert_allclose(theirs, BARRIER.dikin(x).apply(root @ s), rtol=1e-9)


def from_trajectory(x, night, weight):
    """(L - b) (z(h,s,a) / x(h,s,a) - z(h,s) / x(h,s))."""
    x, guess = TABLE.to_table(x).sum(axis=-1), np.zeros((3, 3, 2))
    for h, (s, a) in enumerate(zip(night.states, night.actions, strict=False)):
        guess[h, s] -= weight / x[h, s].sum()
        guess[h, s, a] += weight / x[h, s, a]
    return guess[tuple(TABLE.cells.T)]


def mean_squares(x, b):
    """Mean squares (Euclidean along the slice, local) of the estimates with and without the trajectory."""
    ellipsoid = BARRIER.dikin(x)
    squares, means = np.zeros((2, 2)), np.zeros((2, x.size))
    draws = [(0, x, None, 1.0)]
    draws += [(1, x + v, v, 0.5 / N) for axis in ellipsoid.axes() for v in (axis, -axis)]
    for k, y, v, p in draws:
        for night, q in nights(y):
            weight = night.total(LOSS) - b
            guess = N * weight * ellipsoid.apply(v) if k else from_trajectory(x, night, weight)
            means[k] += p * q * guess
            squares[k] += p * q * np.array([np.sum((W.T @ guess) ** 2), ellipsoid.dual_norm(guess) ** 2])
    return squares, means


def test_both_estimates_are_right_and_in_one_norm_the_one_with_the_trajectory_is_smaller():
    ratios = []
    for p in (0.5, 0.05):
        x = TABLE.from_table(MDP.occupancy(np.tile([1 - p, p], (3, 3, 1))))
        squares, means = mean_squares(x, 1.5)
        np.testing.assert_allclose(means @ W, np.tile(ELL @ W, (2, 1)), atol=1e-9)
        ratios.append(squares[1] / squares[0])
    assert (ratios[0] > 40).all()
    assert (np.diff(ratios, axis=0) > 0).all()


def test_reinforce_is_the_estimate_from_the_trajectory(rng):
    """By differences: the log-probability of a trajectory along a line of occupancy measures."""
    x, v, small = 0.5 * COIN + 0.5 * BEST, W @ rng.standard_normal(N), 1e-6
    v /= BARRIER.dikin(x).norm(v)
    at = {sign: ab.policy_of(TABLE.to_table(x + sign * small * v)) for sign in (1, -1)}
    for night, _ in nights(x)[::17]:
        logs = {
            sign: sum(
                np.log(pi[h, s, a]) for h, (s, a) in enumerate(zip(night.states, night.actions, strict=False))
            )
            for sign, pi in at.items()
        }
        score = (logs[1] - logs[-1]) / (2 * small)
        assert from_trajectory(x, night, 1.0) @ v == pytest.approx(score, rel=1e-5, abs=1e-6)


def test_turning_the_axes_hardly_changes_the_scatter():
    sums = []
    for seed in (None, 1):
        turn = np.eye(N) if seed is None else special_ortho_group.rvs(N, random_state=seed)
        second = 0.0
        for axis in turn @ BARRIER.dikin(COIN).axes():
            for y in (COIN + axis, COIN - axis):
                second += sum(q * (night.total(LOSS) - ELL @ COIN) ** 2 for night, q in nights(y)) / (2 * N)
        sums.append(N**2 * second)
    assert sums[0] == pytest.approx(9.7, abs=0.05)
    assert abs(sums[0] - sums[1]) < 1e-3


def test_one_night_prefers_the_best_policy_hardly_more_often_than_a_tossed_coin(rng):
    ellipsoid = BARRIER.dikin(COIN)
    right = {0.0: [], ELL @ COIN: []}
    for _ in range(15):
        v = ellipsoid.sample(rng) - COIN
        for step in (v, -v):
            toward = ellipsoid.apply(step) @ (BEST - COIN)
            for b in right:
                right[b].append(
                    sum(q for night, q in nights(COIN + step) if (night.total(LOSS) - b) * toward < 0)
                )
    shares = {b: np.mean(values) for b, values in right.items()}
    assert shares[0.0] == pytest.approx(0.5, abs=0.01)
    assert 0.51 < shares[ELL @ COIN] < 0.58
