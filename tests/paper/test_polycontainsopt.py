"""Lemma polycontainsopt: where the radii hold, S_i contains what any policy does in the true world."""

import numpy as np
import pytest
from reduction_runs import epochs_of_a_run, row_at_distance
from scipy.optimize import linprog

import aggbandit as ab

WORLD = ab.night_driver()


def test_the_true_occupancy_measure_of_every_policy_is_plausible(rng):
    for epoch, _ in epochs_of_a_run(WORLD.mdp, 300, 3, ab.TightConfidence()):
        for policy in rng.dirichlet([0.3, 0.3], size=(10, 3, 3)):
            epoch.body.check(WORLD.mdp.occupancy(policy), tolerance=1e-12)


def test_a_world_outside_the_radii_is_not(rng):
    P_hat = rng.dirichlet(np.ones(3), size=(2, 3, 2))
    radius = np.full((2, 3, 2), 0.2)
    away = P_hat.copy()
    away[1, 2, 0] = row_at_distance(P_hat[1, 2, 0], 0.25, np.array([1.0, -0.5, -0.5]))
    assert np.abs(away - P_hat).sum(axis=-1).max() > 0.2
    x = ab.FiniteHorizonMDP(away).occupancy(np.full((2, 3, 2), 0.5))
    with pytest.raises(ValueError, match=r"radius fails at x\[1, 2, 0\]"):
        ab.OccupancySet(P_hat, radius).check(x)


def least_loss(body, loss):
    """min l·x over S_i by a linear program with the lifted constraints t >= |r|, sum t <= w X."""
    H, S, _, _ = body.shape
    d = int(np.prod(body.shape))
    index = np.arange(d).reshape(body.shape)
    A_eq, b_eq, A_ub = [], [], []
    for h in range(H):
        for s in range(S):
            row = np.zeros(2 * d)
            row[index[h, s].ravel()] = 1
            if h:
                row[index[h - 1, :, :, s].ravel()] -= 1
            A_eq.append(row)
            b_eq.append(float(h == 0 and s == body.initial_state))
    for cell in zip(*np.nonzero(body.constrained), strict=True):
        x = index[cell]
        for j in range(S):
            r = np.zeros(2 * d)
            r[x] -= body.P_hat[cell][j]
            r[x[j]] += 1
            for sign in (1, -1):
                row = sign * r
                row[d + x[j]] = -1
                A_ub.append(row)
        row = np.zeros(2 * d)
        row[d + x] = 1
        row[x] = -body.radius[cell]
        A_ub.append(row)
    cost = np.concatenate([loss.ravel(), np.zeros(d)])
    limits = {"A_ub": np.array(A_ub), "b_ub": np.zeros(len(A_ub))} if A_ub else {}
    result = linprog(cost, A_eq=np.array(A_eq), b_eq=b_eq, **limits)
    x = np.maximum(result.x[:d], 0).reshape(body.shape)
    body.check(x, tolerance=1e-7)
    return result.fun


def test_so_the_set_is_optimistic_and_less_so_as_counts_grow():
    """The least loss over S_i is at most that of the best policy, and approaches it."""
    _, best = WORLD.mdp.best_policy(WORLD.loss)
    P = WORLD.mdp.transitions
    values = []
    for visits in (10, 1000, 10**5, 10**7):
        counts = np.rint(P * visits).astype(np.int64)
        body = ab.OccupancySet(ab.empirical_dynamics(counts), ab.TightConfidence().radius(counts, 10**7))
        values.append(least_loss(body, WORLD.loss))
    assert (np.diff(values) > 0).all()
    assert values[-1] <= best + 1e-9
    assert values[-1] >= best - 0.02
    for epoch, _ in epochs_of_a_run(WORLD.mdp, 100, 4, ab.CorrectedConfidence()):
        assert least_loss(epoch.body, WORLD.loss) <= best + 1e-9
