"""Theorem main: what its proof puts together, on a run that has counted enough for something to be at stake.

The learner first plays two hundred thousand episodes, after which every radius is small; then the parts of
the proof are looked at in each of some more. Expectations are exact: the sample is one of 2n points with the
mean and the second moment of the sphere.
"""

import numpy as np
import pytest

import aggbandit as ab

H, S, A, EARLIER, K = 2, 2, 2, 200_000, 200_400
CONFIDENCE = ab.TightConfidence()


class Run:
    """Some hundred episodes of one epoch, late in a run."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.mdp = ab.random_mdp(S, A, H, rng)
        self.loss = rng.random(self.mdp.shape)
        agent = ab.AggregateFeedbackLearner(S, A, H, K, rates=ab.tuned_rates(), confidence=CONFIDENCE)
        ab.simulate(agent, self.mdp, ab.losses.fixed(self.loss, EARLIER), rng)
        self.epoch, self.n_epochs = agent.epoch, len(agent.epochs)
        self.barrier = ab.OccupancyBarrier(self.epoch.body)
        self.policies, self.rounds = [], []
        for _ in range(K - EARLIER):
            policy = agent.policy(rng)
            trajectory = self.mdp.rollout(policy, rng)
            self.rounds.append(agent.observe(ab.AggregateFeedback.observe(trajectory, self.loss)))
            self.policies.append(policy)
            if agent.epoch is not self.epoch:
                break
        self.best = self.mdp.occupancy(self.mdp.best_policy(self.loss)[0])


@pytest.fixture(scope="module")
def run():
    return Run()


def cross(ellipsoid, n, rng):
    """2n points of the ellipsoid, ± n directions orthonormal in its metric: mean x, second moment G/n."""
    axes = []
    while len(axes) < n:
        v = ellipsoid.sample(rng) - ellipsoid.center
        for _ in range(2):  # twice is enough
            for axis in axes:
                v = v - np.vdot(axis, ellipsoid.apply(v)) * axis
        axes.append(v / ellipsoid.norm(v))
    return [ellipsoid.center + sign * axis for axis in axes for sign in (1, -1)]


def test_something_is_at_stake(run):
    """The learner has left the center, most radii bind, and eps·y is well below the trivial 2H."""
    assert len(run.rounds) > 100
    assert run.epoch.body.constrained[run.epoch.body.cells].mean() > 0.9
    assert np.vdot(run.epoch.epsilon, run.rounds[0].y.sum(axis=-1)) < 0.1 * 2 * H
    x, center = run.rounds[0].x, run.barrier.analytic_center()
    assert np.vdot(x - run.best, run.loss) < 0.5 * np.vdot(center - run.best, run.loss)


def test_the_comparator_is_in_the_set_and_epochs_are_few(run):
    run.epoch.body.check(run.best, tolerance=1e-12)
    assert run.n_epochs <= ab.epochs.most_epochs(S, A, H, K)
    assert run.epoch.budget <= ab.theory.B(S, A, H, K, 1 / (H * K)) * (1 + 1e-12)
    assert sum(played.z_hat_epsilon**2 for played in run.rounds) <= run.epoch.budget


def test_the_world_moves_the_hand_no_farther_than_the_game_allows(run):
    shares = []
    for policy, played in zip(run.policies, run.rounds, strict=True):
        z = run.mdp.occupancy(policy)
        allowed = min(np.vdot(run.epoch.epsilon, point.sum(axis=-1)) for point in (played.y, z))
        shares.append(np.abs(z - played.y).sum() / allowed)
    assert max(shares) <= 1
    assert max(shares) > 0.05  # it does move it


@pytest.mark.parametrize("episode", [0, 50, 100])
def test_the_bias_of_the_estimate_is_paid_for(run, episode):
    """Lemma boundlossbias with the world as the adversary: E over the policy's y, and over z_hat given y."""
    rng, n = np.random.default_rng(episode), run.barrier.dimension
    ellipsoid = run.barrier.dikin(run.rounds[episode].x)
    x, estimate, seen, undistorted = ellipsoid.center, 0.0, 0.0, 0.0
    points = cross(ellipsoid, n, rng)
    for y in points:
        z = run.mdp.occupancy(ab.policy_of(y))
        estimate = estimate + n * np.vdot(z, run.loss) * ellipsoid.apply(y - x) / len(points)
        undistorted = undistorted + n * np.vdot(y, run.loss) * ellipsoid.apply(y - x) / len(points)
        seen += np.vdot(run.epoch.epsilon, z.sum(axis=-1)) / len(points)
    for u in (run.best, run.barrier.analytic_center()):
        away = x - u
        assert np.vdot(away, run.loss - undistorted) == pytest.approx(0, abs=1e-7)
        bias = np.vdot(away, run.loss - estimate)
        assert abs(bias) <= ab.theory.bias_bound(n, ellipsoid.norm(away), seen)
        assert abs(bias) > 1e-4  # there is a bias


def test_mirror_descent_on_the_set(run):
    """Lemma mdbarrier pathwise, from the first of these episodes on, and how little it gives away.

    The divergence is what the pull toward the center allows; the rates pay back.
    """
    barrier, rounds, n = run.barrier, run.rounds, run.barrier.dimension
    center, pull = barrier.analytic_center(), 1 / (H * K)
    u = (1 - pull) * run.best + pull * center
    assert barrier.bregman(u, center) <= ab.theory.bregman_from_center(barrier.theta, pull)
    divergences = [barrier.bregman(u, played.x) for played in rounds]
    inverse = [1 / played.eta for played in rounds]
    estimated = sum(np.vdot(played.x - u, played.estimate) for played in rounds)
    credit = sum((inverse[k - 1] - inverse[k]) * divergences[k] for k in range(1, len(rounds)))
    sizes = [barrier.dikin(played.x).dual_norm(played.estimate) for played in rounds]
    for size, played in zip(sizes, rounds, strict=True):
        assert size == pytest.approx(n * played.loss, rel=1e-6)
        assert played.eta * size <= 0.5
    last = sum(played.eta * size**2 for size, played in zip(sizes, rounds, strict=True))
    right = divergences[0] * inverse[0] - credit + last
    assert estimated <= right + 1e-6
    final = barrier.bregman(u, rounds[-1].next_x) * inverse[-1]
    assert estimated > right - final - 2 * last  # the three-point identity: nothing else was given away
