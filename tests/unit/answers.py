"""Answers to the tasks of `aggbandit.checks`, as a student would write them: right ones and wrong ones.

`RIGHT[task]` passes the check. `WRONG[task]` lists (function, what the report says of it).
"""

import numpy as np
from scipy.linalg import null_space

# --- totals and policies ------------------------------------------------------------------------------------


def expected_total(policy, transitions, loss, initial_state):
    value = np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        value = (policy[h][..., None] * transitions[h] * (loss[h] + value)).sum(axis=(1, 2))
    return value[initial_state]


def total_with_values_of_here(policy, transitions, loss, initial_state):
    value = np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        now = loss[h] + value[:, None, None]  # the value of the state that is left
        value = (policy[h][..., None] * transitions[h] * now).sum(axis=(1, 2))
    return value[initial_state]


def total_forward(policy, transitions, loss, initial_state):
    value = np.zeros(transitions.shape[1])
    for h in range(len(transitions)):
        value = (policy[h][..., None] * transitions[h] * (loss[h] + value)).sum(axis=(1, 2))
    return value[initial_state]


def total_of_mean_losses(policy, transitions, loss, initial_state):
    value = np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        costs = loss[h].mean(axis=2) + transitions[h] @ value
        value = (policy[h] * costs).sum(axis=1)
    return value[initial_state]


def total_without_the_last_step(policy, transitions, loss, initial_state):
    short = loss.copy()
    short[-1] = 0
    return expected_total(policy, transitions, short, initial_state)


def total_per_step(policy, transitions, loss, initial_state):
    return expected_total(policy, transitions, loss, initial_state) / len(loss)


def best_policy(transitions, loss, initial_state, choose=np.argmin):
    policy, value = np.zeros(transitions.shape[:3]), np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        costs = (transitions[h] * (loss[h] + value)).sum(axis=2)
        policy[h] = np.eye(costs.shape[1])[choose(costs, axis=1)]
        value = (policy[h] * costs).sum(axis=1)
    return policy


def greedy_policy(transitions, loss, initial_state):
    costs = (transitions * loss).sum(axis=3)
    return np.eye(costs.shape[2])[costs.argmin(axis=2)]


def first_met_only(transitions, loss, initial_state):
    policy = best_policy(transitions, loss, initial_state)
    policy[0, np.arange(len(policy[0])) != initial_state] = 0
    return policy


def best_by_luck(transitions, loss, initial_state):
    """Takes for granted that the next state is the cheapest one."""
    policy, value = np.zeros(transitions.shape[:3]), np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        costs = (loss[h] + value).min(axis=2)
        policy[h] = np.eye(costs.shape[1])[costs.argmin(axis=1)]
        value = costs.min(axis=1)
    return policy


def best_forward(transitions, loss, initial_state):
    """Begins at the first step."""
    policy, value = np.zeros(transitions.shape[:3]), np.zeros(transitions.shape[1])
    for h in range(len(transitions)):
        costs = (transitions[h] * (loss[h] + value)).sum(axis=2)
        policy[h] = np.eye(costs.shape[1])[costs.argmin(axis=1)]
        value = costs.min(axis=1)
    return policy


def best_for_the_uniform(transitions, loss, initial_state):
    """Improves on the uniform policy once, in place of the best one."""
    policy, value = np.zeros(transitions.shape[:3]), np.zeros(transitions.shape[1])
    for h in reversed(range(len(transitions))):
        costs = (transitions[h] * (loss[h] + value)).sum(axis=2)
        policy[h] = np.eye(costs.shape[1])[costs.argmin(axis=1)]
        value = costs.mean(axis=1)
    return policy


def regret(losses, policies, transitions, initial_state):
    paid = sum(
        expected_total(pi, transitions, loss, initial_state)
        for pi, loss in zip(policies, losses, strict=True)
    )
    together = losses.sum(axis=0)
    best = best_policy(transitions, together, initial_state)
    return paid - expected_total(best, transitions, together, initial_state)


def regret_to_each_night(losses, policies, transitions, initial_state):
    return sum(
        regret(losses[k : k + 1], policies[k : k + 1], transitions, initial_state) for k in range(len(losses))
    )


def regret_a_night(losses, policies, transitions, initial_state):
    return regret(losses, policies, transitions, initial_state) / len(losses)


def total_paid(losses, policies, transitions, initial_state):
    return sum(
        expected_total(pi, transitions, loss, initial_state)
        for pi, loss in zip(policies, losses, strict=True)
    )


def regret_of_the_first_night(losses, policies, transitions, initial_state):
    """Compares with the policy that was best for the first table."""
    best = best_policy(transitions, losses[0], initial_state)
    fixed = np.broadcast_to(best, policies.shape)
    return total_paid(losses, policies, transitions, initial_state) - total_paid(
        losses, fixed, transitions, initial_state
    )


def regret_backwards(losses, policies, transitions, initial_state):
    return -regret(losses, policies, transitions, initial_state)


def regret_to_the_played(losses, policies, transitions, initial_state):
    """The comparator is the best of the policies that were played."""
    kept = [np.broadcast_to(pi, policies.shape) for pi in policies]
    least = min(total_paid(losses, pi, transitions, initial_state) for pi in kept)
    return total_paid(losses, policies, transitions, initial_state) - least


# --- occupancy measures -------------------------------------------------------------------------------------


def occupancy(policy, transitions, initial_state):
    x, here = np.zeros(transitions.shape), np.zeros(transitions.shape[1])
    here[initial_state] = 1
    for h in range(len(x)):
        x[h] = here[:, None, None] * policy[h][..., None] * transitions[h]
        here = x[h].sum(axis=(0, 1))
    return x


def occupancy_swapped(policy, transitions, initial_state):
    return occupancy(policy, transitions, initial_state).swapaxes(1, 3)


def occupancy_from_zero(policy, transitions, initial_state):
    return occupancy(policy, transitions, 0 * initial_state)


def occupancy_of_leaving(policy, transitions, initial_state):
    """Carries on with the mass that leaves, in place of the mass that arrives."""
    x, here = np.zeros(transitions.shape), np.zeros(transitions.shape[1])
    here[initial_state] = 1
    for h in range(len(x)):
        x[h] = here[:, None, None] * policy[h][..., None] * transitions[h]
        here = x[h].sum(axis=(1, 2))
    return x


def occupancy_of_the_first_policy(policy, transitions, initial_state):
    return occupancy(np.broadcast_to(policy[0], policy.shape), transitions, initial_state)


def occupancy_of_the_first_dynamics(policy, transitions, initial_state):
    return occupancy(policy, np.broadcast_to(transitions[0], transitions.shape), initial_state)


def occupancy_unnormalized(policy, transitions, initial_state):
    return occupancy(np.ones(policy.shape), transitions, initial_state)


def policy_of_occupancy(x):
    taken = x.sum(axis=3)
    here = taken.sum(axis=2, keepdims=True)
    uniform = np.full(taken.shape, 1 / taken.shape[2])
    return np.divide(taken, here, out=uniform, where=here > 0)


def policy_with_nan(x):
    taken = x.sum(axis=3)
    with np.errstate(invalid="ignore"):
        return taken / taken.sum(axis=2, keepdims=True)


def policy_with_zeros(x):
    return np.nan_to_num(policy_with_nan(x))


def policy_of_shares(x):
    return x.sum(axis=3)


def policy_over_states(x):
    taken = x.sum(axis=3)
    return np.full(taken.shape, 1 / taken.shape[2])


def policy_one_hot(x):
    taken = x.sum(axis=3)
    return np.eye(taken.shape[2])[taken.argmax(axis=2)]


def policy_over_arrivals(x):
    taken = x.sum(axis=1).swapaxes(1, 2)  # (h, s', a)
    here = taken.sum(axis=2, keepdims=True)
    uniform = np.full(taken.shape, 1 / taken.shape[2])
    return np.divide(taken, here, out=uniform, where=here > 0)


def induced_occupancy(y, transitions, initial_state):
    return occupancy(policy_of_occupancy(y), transitions, initial_state)


def induced_by_nobody(y, transitions, initial_state):
    return y


def induced_by_the_uniform(y, transitions, initial_state):
    return occupancy(policy_over_states(y), transitions, initial_state)


def induced_in_place(y, transitions, initial_state):
    """Keeps the states of y, and only moves on by the dynamics of the world."""
    return y.sum(axis=3, keepdims=True) * transitions


def induced_halfway(y, transitions, initial_state):
    return (y + induced_occupancy(y, transitions, initial_state)) / 2


def induced_by_the_likeliest(y, transitions, initial_state):
    return occupancy(policy_one_hot(y), transitions, initial_state)


# --- barriers -----------------------------------------------------------------------------------------------


def barrier_gradient(A, b, x):
    return A.T @ (1 / (b - A @ x))


def barrier_hessian(A, b, x):
    return A.T @ np.diag((b - A @ x) ** -2.0) @ A


def value(A, b, x):
    return -np.log(b - A @ x).sum()


def bregman(A, b, y, x):
    return value(A, b, y) - value(A, b, x) - barrier_gradient(A, b, x) @ (y - x)


def dikin_point(H, C, center, u, reduce=lambda H, W: W.T @ H @ W):
    W = null_space(C)
    eigenvalues, vectors = np.linalg.eigh(reduce(H, W))
    v = W @ vectors @ (u / np.sqrt(eigenvalues))
    return center + v / np.sqrt(v @ H @ v)


def root(H, power):
    eigenvalues, vectors = np.linalg.eigh(H)
    return vectors * eigenvalues**power @ vectors.T


def dikin_as_printed(H, C, center, u):
    """The sampler of Option 1: it projects H^(-1/2) on the slice, where it should cut H."""
    W = null_space(C)
    return center + W @ (W.T @ root(H, -0.5) @ W @ u)


def dikin_off_the_slice(H, C, center, u):
    W = null_space(C)
    return center + root(H, -0.5) @ (W @ u)


def dikin_of_the_sphere(H, C, center, u):
    """Norm one, but the direction is drawn as if the ellipsoid were a ball."""
    v = null_space(C) @ u
    return center + v / np.sqrt(v @ H @ v)


def dikin_without_the_root(H, C, center, u):
    W = null_space(C)
    v = W @ np.linalg.solve(W.T @ H @ W, u)
    return center + v / np.sqrt(v @ H @ v)


def dikin_one_side(H, C, center, u):
    return dikin_point(H, C, center, np.abs(u))


def dikin_inside(H, C, center, u):
    return center + 0.9 * (dikin_point(H, C, center, u) - center)


def dikin_moves(H, C, center, u):
    return dikin_point(H, C, center, u) - center


# --- estimates ----------------------------------------------------------------------------------------------


def one_point_estimate(total, H, center, y, n):
    return n * total * H @ (y - center)


def optimistic_loss(points, p, mu, gamma, played, total, epsilon):
    q = (1 - gamma) * p + gamma * mu
    return optimistic_with(points.T @ np.diag(q) @ points, points, played, total, epsilon)


def optimistic_with(M, points, played, total, epsilon, sign=-1, moment=None, scale=None):
    inverse = np.linalg.inv(M)
    norms = np.sqrt(np.einsum("ni,ij,nj->n", points, inverse, points))
    size = np.sqrt(epsilon @ (M if moment is None else moment) @ epsilon)
    scale = np.sqrt(points.shape[1]) if scale is None else scale
    return points @ (total * inverse @ points[played]) + sign * scale * norms * size


def _mixed(points, p, mu, gamma):
    return points.T @ np.diag((1 - gamma) * p + gamma * mu) @ points


def optimistic_pessimist(points, p, mu, gamma, played, total, epsilon):
    return optimistic_with(_mixed(points, p, mu, gamma), points, played, total, epsilon, sign=1)


def optimistic_unmixed(points, p, mu, gamma, played, total, epsilon):
    return optimistic_with(_mixed(points, p, mu, 0), points, played, total, epsilon)


def optimistic_without_d(points, p, mu, gamma, played, total, epsilon):
    return optimistic_with(_mixed(points, p, mu, gamma), points, played, total, epsilon, scale=1)


def optimistic_euclidean(points, p, mu, gamma, played, total, epsilon):
    M = _mixed(points, p, mu, gamma)
    return optimistic_with(M, points, played, total, epsilon, moment=np.eye(len(M)))


def optimistic_plain(points, p, mu, gamma, played, total, epsilon):
    return optimistic_with(_mixed(points, p, mu, gamma), points, played, total, 0 * epsilon)


def optimistic_on_the_played(points, p, mu, gamma, played, total, epsilon):
    M = _mixed(points, p, mu, gamma)
    undoubted = optimistic_with(M, points, played, total, 0 * epsilon)
    doubted = optimistic_with(M, points, played, total, epsilon)
    undoubted[played] = doubted[played]
    return undoubted


def optimistic_far_too_low(points, p, mu, gamma, played, total, epsilon):
    return optimistic_with(_mixed(points, p, mu, gamma), points, played, total, 10 * epsilon)


# --- descent ------------------------------------------------------------------------------------------------


def mirror_step(A, b, C, x, eta_loss, steps=60):
    linear, y = eta_loss - barrier_gradient(A, b, x), x
    W = null_space(C)
    for _ in range(steps):
        gradient = W.T @ (linear + barrier_gradient(A, b, y))
        move = -np.linalg.solve(W.T @ barrier_hessian(A, b, y) @ W, gradient)
        decrement = np.sqrt(-gradient @ move)
        y = y + W @ move / (1 + decrement)
    return y


def mirror_euclidean(A, b, C, x, eta_loss):
    W = null_space(C)
    return x - 1e-3 * W @ (W.T @ eta_loss)


def mirror_unprojected(A, b, C, x, eta_loss):
    return x - 1e-3 * eta_loss


def mirror_one_newton_step(A, b, C, x, eta_loss):
    return mirror_step(A, b, C, x, eta_loss, steps=1)


def mirror_uphill(A, b, C, x, eta_loss):
    return mirror_step(A, b, C, x, -eta_loss)


def mirror_the_leader(A, b, C, x, eta_loss):
    """Forgets where it was: R + eta l is least there, not R + (eta l - grad R(x))."""
    return mirror_step(A, b, C, x, eta_loss + barrier_gradient(A, b, x))


def mirror_too_far(A, b, C, x, eta_loss):
    W = null_space(C)
    return x - 50 * W @ np.linalg.solve(W.T @ barrier_hessian(A, b, x) @ W, W.T @ eta_loss)


def regret_ledger(divergences, rates, dual_norms):
    middle = -((1 / rates[:-1] - 1 / rates[1:]) * divergences[1:]).sum()
    return np.array([divergences[0] / rates[0], middle, (rates * dual_norms**2).sum()])


def partial_minimum(r, rho):
    low, high = 0.0, rho
    for _ in range(200):
        sigma = (low + high) / 2
        enough = (len(r) + 1) * sigma + np.sqrt(sigma**2 + r**2).sum() > rho
        low, high = (low, sigma) if enough else (sigma, high)
    return sigma + np.sqrt(sigma**2 + r**2)


# --- the game and the reduction -----------------------------------------------------------------------------


def distorted_play(y, target, epsilon):
    v = target - y
    length = np.abs(v).sum()
    return y + min(1, y @ epsilon / max(length, length - v @ epsilon)) * v


def increasing_rate(eta, n, y, z_hat, epsilon):
    return 1 / (1 / eta - 2 * n * abs(z_hat @ epsilon))


def confidence_radius(counts, episodes, delta):
    H, S, A, _ = counts.shape
    N = counts.sum(axis=3)
    logs = S * np.log(2) + np.log(H * S * A * episodes / delta)
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * logs / N)


def radius_with_max(counts, episodes, delta):
    H, S, A, _ = counts.shape
    N = np.maximum(counts.sum(axis=3), 1)
    return np.sqrt(2 * (S * np.log(2) + np.log(H * S * A * episodes / delta)) / N) / 10


def radius_zero_where_new(counts, episodes, delta):
    radius = confidence_radius(counts, episodes, delta)
    return np.where(np.isfinite(radius), radius, 0)


def radius_nan(counts, episodes, delta):
    radius = confidence_radius(counts, episodes, delta)
    return np.where(np.isfinite(radius), radius, np.nan)


def radius_without_the_union(counts, episodes, delta):
    H, S, A, _ = counts.shape
    return confidence_radius(counts, 1, delta * H * S * A)


def radius_of_one_coin(counts, episodes, delta):
    H, S, A, _ = counts.shape
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * (np.log(2) + np.log(H * S * A * episodes / delta)) / counts.sum(axis=3))


def radius_like_one_over_n(counts, episodes, delta):
    return confidence_radius(counts, episodes, delta) ** 2


def radius_of_the_likeliest(counts, episodes, delta):
    """Counts the visits that went where most of them went, in place of all."""
    most = np.zeros(counts.shape)
    most[..., 0] = counts.max(axis=3)
    return confidence_radius(most, episodes, delta)


def radius_doubled(counts, episodes, delta):
    return 2 * confidence_radius(counts, episodes, delta)


def epoch_ends(visits):
    before, during = np.zeros(visits.shape[1:]), np.zeros(visits.shape[1:])
    ends = np.zeros(len(visits))
    for k, seen in enumerate(visits):
        during += seen
        if (during >= np.maximum(before, 1)).any():
            ends[k] = 1
            before, during = before + during, np.zeros(before.shape)
    return ends


def epochs_updated_midway(visits):
    """The count that must double grows while it is waited for."""
    before, during = np.zeros(visits.shape[1:]), np.zeros(visits.shape[1:])
    ends = np.zeros(len(visits))
    for k, seen in enumerate(visits):
        if (during + seen >= np.maximum(before, 1)).any():
            ends[k], during = 1, np.zeros(before.shape)
        else:
            during = during + seen
        before = before + seen
    return ends


def epochs_every_night(visits):
    """Without the maximum with one: zero is not less than zero."""
    before, during = np.zeros(visits.shape[1:]), np.zeros(visits.shape[1:])
    ends = np.zeros(len(visits))
    for k, seen in enumerate(visits):
        during += seen
        if (during >= before).any():
            ends[k] = 1
            before, during = before + during, np.zeros(before.shape)
    return ends


def epochs_one_late(visits):
    before, during = np.zeros(visits.shape[1:]), np.zeros(visits.shape[1:])
    ends = np.zeros(len(visits))
    for k, seen in enumerate(visits):
        during += seen
        if (during > np.maximum(before, 1)).any():
            ends[k] = 1
            before, during = before + during, np.zeros(before.shape)
    return ends


def epochs_of_all_cells(visits):
    nights = np.arange(1, len(visits) + 1)
    return ((nights & (nights - 1)) == 0).astype(float)


def epochs_never_reset(visits):
    before, during = np.zeros(visits.shape[1:]), np.zeros(visits.shape[1:])
    ends = np.zeros(len(visits))
    for k, seen in enumerate(visits):
        during += seen
        if (during >= np.maximum(before, 1)).any():
            ends[k] = 1
            before = before + during
    return ends


def epochs_counted(visits):
    return np.cumsum(epoch_ends(visits))


# --- bounds -------------------------------------------------------------------------------------------------


def worst_regret(x, corners):
    return np.maximum(x - corners, 0).sum(axis=1).max()


def worst_of_all_differences(x, corners):
    return (x - corners).sum(axis=1).max()


def worst_in_the_norm(x, corners):
    return np.abs(x - corners).sum(axis=1).max()


def worst_of_the_nearest(x, corners):
    return np.maximum(x - corners, 0).sum(axis=1).min()


def worst_on_average(x, corners):
    return np.maximum(x - corners, 0).sum(axis=1).mean()


def worst_against_each_cell(x, corners):
    return np.maximum(x - corners, 0).max(axis=0).sum()


# --- measuring ----------------------------------------------------------------------------------------------


def regret_slopes(regret, lengths):
    return np.diff(np.log(regret.mean(axis=0))) / np.diff(np.log(lengths))


def slopes_of_each_run(regret, lengths):
    return (np.diff(np.log(regret), axis=1) / np.diff(np.log(lengths))).mean(axis=0)


def slopes_without_logarithms(regret, lengths):
    return np.diff(regret.mean(axis=0)) / np.diff(lengths)


def slopes_from_the_first(regret, lengths):
    mean = regret.mean(axis=0)
    return np.log(mean[1:] / mean[0]) / np.log(lengths[1:] / lengths[0])


def slopes_of_the_median(regret, lengths):
    return np.diff(np.log(np.median(regret, axis=0))) / np.diff(np.log(lengths))


def slopes_through_the_origin(regret, lengths):
    return np.log(regret.mean(axis=0)[1:]) / np.log(lengths[1:])


# --- totals -------------------------------------------------------------------------------------------------


def u_estimate(states, actions, total, chances, policy):
    estimate, steps = np.zeros(policy.shape), np.arange(len(states))
    passed = (steps, states, actions)
    estimate[passed] = total / (chances[steps, states] * policy[passed])
    return estimate


def u_estimate_of_the_state_alone(states, actions, total, chances, policy):
    estimate, steps = np.zeros(policy.shape), np.arange(len(states))
    estimate[steps, states, actions] = total / chances[steps, states]
    return estimate


def u_estimate_without_chances(states, actions, total, chances, policy):
    estimate, passed = np.zeros(policy.shape), (np.arange(len(states)), states, actions)
    estimate[passed] = total / policy[passed]
    return estimate


def u_estimate_for_all_actions(states, actions, total, chances, policy):
    estimate, steps = np.zeros(policy.shape), np.arange(len(states))
    estimate[steps, states] = total / chances[steps, states][:, None]
    return estimate


def u_estimate_shared_out(states, actions, total, chances, policy):
    return u_estimate(states, actions, total, chances, policy) / len(states)


def q_minus_v_estimate(states, actions, total, x):
    estimate = np.zeros_like(x)
    for h, (s, a) in enumerate(zip(states, actions, strict=True)):
        estimate[h, s] = -total / x[h, s].sum()
        estimate[h, s, a] += total / x[h, s, a]
    return estimate


def q_without_v(states, actions, total, x):
    estimate = np.zeros_like(x)
    for h, (s, a) in enumerate(zip(states, actions, strict=True)):
        estimate[h, s, a] = total / x[h, s, a]
    return estimate


def q_minus_v_everywhere(states, actions, total, x):
    return q_minus_v_estimate(states, actions, total, x) + 1e-3


def q_minus_v_by_the_policy(states, actions, total, x):
    """Divides by the chance of the action alone, not by that of the place."""
    return q_minus_v_estimate(states, actions, total, x / x.sum(axis=2, keepdims=True).clip(1e-300))


def q_minus_v_shared_out(states, actions, total, x):
    return q_minus_v_estimate(states, actions, total, x) / len(states)


def q_minus_v_of_the_played_alone(states, actions, total, x):
    estimate = np.zeros_like(x)
    for h, (s, a) in enumerate(zip(states, actions, strict=True)):
        estimate[h, s, a] = total / x[h, s, a] - total / x[h, s].sum()
    return estimate


RIGHT = {
    function.__name__: function
    for function in (
        expected_total,
        best_policy,
        regret,
        occupancy,
        policy_of_occupancy,
        induced_occupancy,
        barrier_gradient,
        barrier_hessian,
        bregman,
        dikin_point,
        one_point_estimate,
        mirror_step,
        regret_ledger,
        partial_minimum,
        distorted_play,
        optimistic_loss,
        increasing_rate,
        confidence_radius,
        epoch_ends,
        worst_regret,
        regret_slopes,
        q_minus_v_estimate,
        u_estimate,
    )
}

WRONG = {
    "regret_slopes": [
        (slopes_of_each_run, "from one mean of the runs to the next"),
        (slopes_without_logarithms, "the slope of a power is its exponent"),
        (slopes_from_the_first, "from one mean of the runs to the next"),
        (slopes_of_the_median, "from one mean of the runs to the next"),
        (slopes_through_the_origin, "the slope of a power is its exponent"),
        (lambda regret, lengths: regret_slopes(regret[:1], lengths), "from one mean"),
    ],
    "q_minus_v_estimate": [
        (q_without_v, "neither better nor worse than V"),
        (q_minus_v_everywhere, "zero at places the drive did not pass"),
        (q_minus_v_by_the_policy, "the mean is Q - V"),
        (q_minus_v_shared_out, "the mean is Q - V"),
        (q_minus_v_of_the_played_alone, "neither better nor worse than V"),
        (lambda *drive: -q_minus_v_estimate(*drive), "the mean is Q - V"),
        (lambda states, actions, total, x: np.zeros_like(x), "the mean is Q - V"),
    ],
    "u_estimate": [
        (u_estimate_of_the_state_alone, "the mean of the estimate is U"),
        (u_estimate_without_chances, "the mean of the estimate is U"),
        (u_estimate_for_all_actions, "is zero where the episode did not pass"),
        (u_estimate_shared_out, "times U"),
        (lambda s, a, total, q, pi: np.zeros(pi.shape), "times U"),
    ],
    "worst_regret": [
        (worst_of_all_differences, "no prices in [0, 1] cost more"),
        (worst_in_the_norm, "there are prices that cost as much"),
        (worst_of_the_nearest, "the worst"),
        (worst_on_average, "the worst"),
        (worst_against_each_cell, "several comparators"),
        (lambda x, corners: np.maximum(corners - x, 0).max(), "the worst"),
        (lambda x, corners: 1.0, "against itself"),
    ],
    "expected_total": [
        (total_with_values_of_here, "the sum over all trajectories"),
        (total_forward, "the sum over all trajectories"),
        (total_of_mean_losses, "the sum over all trajectories"),
        (total_without_the_last_step, "the total is H"),
        (total_per_step, "the total is H"),
        (
            lambda pi, P, loss, s: expected_total(pi, P, np.broadcast_to(loss[0], loss.shape), s),
            "where only the last step costs one",
        ),
        (lambda pi, P, loss, s: expected_total(pi, P, loss, (s + 1) % len(P[0])), "from another state"),
        (lambda pi, P, loss, s: 2.0, "the total is H"),
    ],
    "best_policy": [
        (greedy_policy, "takes an action that costs"),
        (lambda P, loss, s: best_policy(P, loss, s, np.argmax), "takes an action that costs"),
        (best_by_luck, "takes an action that costs"),
        (best_for_the_uniform, "takes an action that costs"),
        (best_forward, "takes an action that costs"),
        (lambda P, loss, s: best_policy(P, loss, s)[::-1], "takes an action that costs"),
        (first_met_only, "sums to one, at places that are never met too"),
        (lambda P, loss, s: np.full(P.shape[:3], 1 / P.shape[2]), "takes an action that costs"),
        (lambda P, loss, s: 2 * best_policy(P, loss, s) - 1 / P.shape[2], "is negative"),
        (lambda P, loss, s: best_policy(P, loss, s).argmax(axis=2), "the result has shape"),
    ],
    "regret": [
        (regret_to_each_night, "the best of each episode"),
        (regret_a_night, "what was paid minus the least"),
        (total_paid, "a constant added"),
        (regret_of_the_first_night, "played in every episode, has regret zero"),
        (regret_backwards, "what was paid minus the least"),
        (
            lambda losses, policies, P, s: regret(losses, policies[::-1], P, s),
            "what was paid minus the least",
        ),
        (lambda losses, policies, P, s: regret(losses, policies, P, 0), "what was paid minus the least"),
        (regret_to_the_played, "what was paid minus the least"),
        (lambda losses, policies, P, s: 0.0, "what was paid minus the least"),
    ],
    "occupancy": [
        (occupancy_swapped, "all mass leaves the initial state"),
        (occupancy_from_zero, "all mass leaves the initial state"),
        (occupancy_of_leaving, "flows out of it at the next"),
        (occupancy_of_the_first_policy, "x(h,s) pi(a|s,h)"),
        (occupancy_of_the_first_dynamics, "x(h,s,a) P(s'|s,a,h)"),
        (occupancy_unnormalized, "the entries of each step sum to one"),
        (lambda pi, P, s: -occupancy(pi, P, s), "no entry is negative"),
        (lambda pi, P, s: occupancy(pi, P, s).sum(axis=3), "the result has shape"),
        (lambda pi, P, s: np.full(P.shape, 1 / P[0].size), "all mass leaves the initial state"),
    ],
    "policy_of_occupancy": [
        (policy_with_nan, "nobody is ever there, 0/0"),
        (policy_with_zeros, "at places that are never met too"),
        (policy_of_shares, "sums to one"),
        (policy_over_states, "x(h,s) pi(a|s,h) = x(h,s,a)"),
        (policy_one_hot, "x(h,s) pi(a|s,h) = x(h,s,a)"),
        (policy_over_arrivals, "x(h,s) pi(a|s,h) = x(h,s,a)"),
        (lambda x: 2 * policy_of_occupancy(x) - 1 / x.shape[2], "is negative"),
    ],
    "induced_occupancy": [
        (induced_by_nobody, "not those of y"),
        (induced_by_the_uniform, "x(h,s) pi(a|s,h)"),
        (induced_in_place, "flows out of it at the next"),
        (induced_halfway, "x(h,s,a) P(s'|s,a,h)"),
        (induced_by_the_likeliest, "x(h,s) pi(a|s,h)"),
        (lambda y, P, s: policy_of_occupancy(y), "the result has shape"),
    ],
    "barrier_gradient": [
        (lambda A, b, x: -barrier_gradient(A, b, x), "R rises toward a wall"),
        (lambda A, b, x: A.T @ (b - A @ x) ** -2.0, "twice as long"),
        (lambda A, b, x: A.T @ (b - A @ x), "twice as long"),
        (lambda A, b, x: barrier_gradient(A, b, x) / 2, "the slope of R"),
        (lambda A, b, x: barrier_gradient(A, b, x) / len(b), "the slope of R"),
        (lambda A, b, x: barrier_gradient(A, b, 0 * x), "the slope of R"),
        (lambda A, b, x: np.sign(A).T @ (1 / (b - A @ x)), "the slope of R"),
        (lambda A, b, x: 1 / (b - A @ x), "the result has shape"),
        (lambda A, b, x: 1 / x, "twice as long"),
    ],
    "barrier_hessian": [
        (lambda A, b, x: A.T @ np.diag(1 / (b - A @ x)) @ A, "four times as large"),
        (lambda A, b, x: -barrier_hessian(A, b, x), "strictly convex"),
        (lambda A, b, x: np.outer(barrier_gradient(A, b, x), barrier_gradient(A, b, x)), "strictly convex"),
        (lambda A, b, x: np.diag(np.diag(barrier_hessian(A, b, x))), "derivative of the gradient"),
        (lambda A, b, x: np.triu(barrier_hessian(A, b, x)), "symmetric"),
        (lambda A, b, x: np.diag((b - A @ x) ** -2.0), "the result has shape"),
        (lambda A, b, x: np.eye(len(x)), "four times as large"),
        (lambda A, b, x: root(barrier_hessian(A, b, x), 0.5), "four times as large"),
    ],
    "bregman": [
        (lambda A, b, y, x: bregman(A, b, x, y), "the tangent at y"),
        (lambda A, b, y, x: value(A, b, y) - value(A, b, x), "R(y) - R(x) - grad R(x).(y - x)"),
        (
            lambda A, b, y, x: value(A, b, y) - value(A, b, x) + barrier_gradient(A, b, x) @ (y - x),
            "R(y) - R(x) - grad R(x).(y - x)",
        ),
        (
            lambda A, b, y, x: value(A, b, y) - value(A, b, x) - barrier_gradient(A, b, y) @ (y - x),
            "R(y) - R(x) - grad R(x).(y - x)",
        ),
        (lambda A, b, y, x: (y - x) @ barrier_hessian(A, b, x) @ (y - x) / 2, "R(y) - R(x)"),
        (lambda A, b, y, x: -bregman(A, b, y, x), "at least rho of the local distance"),
        (lambda A, b, y, x: bregman(A, b, y, x) + 1, "B(x||x) = 0"),
        (lambda A, b, y, x: 0.0, "at least rho of the local distance"),
    ],
    "dikin_point": [
        (dikin_as_printed, "the local norm of y - center is one"),
        (dikin_off_the_slice, "C y = C center"),
        (dikin_of_the_sphere, "some directions are too likely"),
        (dikin_without_the_root, "some directions are too likely"),
        (dikin_one_side, "u and -u give opposite points"),
        (dikin_inside, "the local norm of y - center is one"),
        (dikin_moves, "the local norm of y - center is one"),
        (lambda H, C, center, u: center, "the local norm of y - center is one"),
        (lambda H, C, center, u: dikin_point(np.linalg.inv(H), C, center, u), "is inside the set"),
    ],
    "one_point_estimate": [
        (lambda total, H, center, y, n: total * H @ (y - center), "times l"),
        (lambda total, H, center, y, n: len(y) * total * H @ (y - center), "times l"),
        (lambda total, H, center, y, n: (n + 2) * total * H @ (y - center), "times l"),
        (lambda total, H, center, y, n: n * total * root(H, 0.5) @ (y - center), "every half axis"),
        (lambda total, H, center, y, n: n * total * root(H, -0.5) @ (y - center), "every half axis"),
        (lambda total, H, center, y, n: n * total * (y - center), "every half axis"),
        (lambda total, H, center, y, n: n * H @ (y - center), "the mean of the estimates"),
        (lambda total, H, center, y, n: n * total * H @ y, "every half axis"),
        (lambda total, H, center, y, n: n * total * H @ (center - y), "-1 times l"),
        (lambda total, H, center, y, n: np.zeros(len(y)), "0 times l"),
    ],
    "mirror_step": [
        (mirror_euclidean, "vanishes along the slice"),
        (mirror_unprojected, "stays on the slice"),
        (mirror_one_newton_step, "vanishes along the slice"),
        (mirror_uphill, "goes the other way"),
        (mirror_the_leader, "vanishes along the slice"),
        (mirror_too_far, "strictly inside"),
        (lambda A, b, C, x, eta_loss: x, "vanishes along the slice"),
    ],
    "regret_ledger": [
        (lambda B, eta, norms: regret_ledger(B, eta, norms) * [1, -1, 1], "a credit: at most zero"),
        (lambda B, eta, norms: regret_ledger(B, eta, norms**0.5), "squared dual norm"),
        (lambda B, eta, norms: regret_ledger(B, 1 / eta, norms), "over the first rate"),
        (lambda B, eta, norms: regret_ledger(np.append(B[:1], B[:-1]), eta, norms), "at the later round"),
        (lambda B, eta, norms: regret_ledger(B, eta, norms) * [1, 0, 1], "at the later round"),
        (lambda B, eta, norms: np.zeros(3), "over the first rate"),
        (lambda B, eta, norms: regret_ledger(B, eta, norms).sum(), "the result has shape"),
    ],
    "partial_minimum": [
        (lambda r, rho: np.abs(r), "t_i > |r_i|"),
        (lambda r, rho: np.abs(r) + (rho - np.abs(r).sum()) / len(r), "sum to less than rho"),
        (lambda r, rho: np.abs(r) + (rho - np.abs(r).sum()) / (len(r) + 1), "the derivative by every t_i"),
        (lambda r, rho: partial_minimum(r, rho) * 0.999 + 0.001 * np.abs(r), "the derivative by every t_i"),
        (lambda r, rho: np.full(len(r), rho / (len(r) + 1)), "t_i > |r_i|"),
        (lambda r, rho: partial_minimum(r, rho).sum(), "the result has shape"),
    ],
    "distorted_play": [
        (lambda y, target, eps: target, "||z - y||_1 is at most"),
        (lambda y, target, eps: y, "as far along as the rule allows"),
        (
            lambda y, target, eps: y + min(1, y @ eps / np.abs(target - y).sum()) * (target - y),
            "at most z.epsilon",
        ),
        (
            lambda y, target, eps: y + min(1, y @ eps / np.linalg.norm(target - y)) * (target - y),
            "||z - y||_1 is at most",
        ),
        (lambda y, target, eps: y - (distorted_play(y, target, eps) - y), "between y and the target"),
        (lambda y, target, eps: y + eps * (target - y), "beside it"),
        (lambda y, target, eps: y + 0.5 * (distorted_play(y, target, eps) - y), "as far along"),
    ],
    "optimistic_loss": [
        (optimistic_pessimist, "every estimate is smaller"),
        (optimistic_unmixed, "drawn from q the mean is l.y"),
        (optimistic_without_d, "what is subtracted"),
        (optimistic_euclidean, "what is subtracted"),
        (optimistic_plain, "the mean estimate is at most l.y"),
        (optimistic_on_the_played, "the mean estimate is at most l.y"),
        (optimistic_far_too_low, "what is subtracted"),
        (lambda points, *rest: np.full(len(points), -1e6), "the mean is l.y"),
    ],
    "increasing_rate": [
        (lambda eta, n, y, z, eps: eta + 2 * n * abs(z @ eps), "the inverse of the rate"),
        (lambda eta, n, y, z, eps: 1 / (1 / eta - 2 * n * (y @ eps)), "yours takes y"),
        (lambda eta, n, y, z, eps: 1 / (1 / eta + 2 * n * abs(z @ eps)), "the rate never falls"),
        (lambda eta, n, y, z, eps: 1 / (1 / eta - 2 * n * (z @ eps)), "the rate never falls"),
        (lambda eta, n, y, z, eps: 1 / (1 / eta - n * abs(z @ eps)), "too little"),
        (lambda eta, n, y, z, eps: 1 / (1 / eta - 2 * n * np.abs(z) @ eps), "too much"),
        (lambda eta, n, y, z, eps: 2 * eta, "with epsilon = 0"),
        (lambda eta, n, y, z, eps: eta, "yours lowers it by 0, "),
    ],
    "confidence_radius": [
        (radius_with_max, "two rows can be 2 apart"),
        (radius_zero_where_new, "two rows can be 2 apart"),
        (radius_nan, "two rows can be 2 apart"),
        (radius_without_the_union, "S log 2 + log(HSAK/delta)"),
        (radius_of_one_coin, "S log 2 + log(HSAK/delta)"),
        (radius_like_one_over_n, "half the radius"),
        (radius_of_the_likeliest, "S log 2 + log(HSAK/delta)"),
        (radius_doubled, "S log 2 + log(HSAK/delta)"),
        (lambda counts, K, delta: np.full(counts.shape[:3], 2.0), "half the radius"),
        (lambda counts, K, delta: np.full(counts.shape[:3], np.inf), "a positive number"),
    ],
    "epoch_ends": [
        (epochs_updated_midway, "yours"),
        (epochs_every_night, "yours ends"),
        (epochs_one_late, "yours goes on"),
        (epochs_of_all_cells, "yours"),
        (epochs_never_reset, "yours ends"),
        (epochs_counted, "zero or one"),
        (lambda visits: np.ones(len(visits)), "yours ends"),
        (lambda visits: np.zeros(len(visits)), "yours goes on"),
    ],
}
