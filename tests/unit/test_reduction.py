"""Algorithm 3, line by line."""

from dataclasses import dataclass

import numpy as np
import pytest

import aggbandit as ab

WORLD = ab.night_driver()
SHAPE = WORLD.mdp.shape
TUNED = {"rates": ab.tuned_rates()}


def learner(K, **choices):
    return ab.AggregateFeedbackLearner(3, 2, 3, K, initial_state=WORLD.mdp.initial_state, **(TUNED | choices))


def play(agent, episodes, rng, loss=WORLD.loss):
    for _ in range(episodes):
        trajectory = WORLD.mdp.rollout(agent.policy(rng), rng)
        yield agent.epoch, trajectory, agent.observe(ab.AggregateFeedback.observe(trajectory, loss))


def test_epochs_count_and_double_as_the_algorithm_says(rng):
    """Lines 1-14 replayed from the trajectories alone."""
    agent = learner(300)
    counts, in_epoch, index, first = np.zeros(SHAPE, int), np.zeros(SHAPE, int), 1, 0
    for k, (epoch, trajectory, _) in enumerate(play(agent, 300, rng)):
        assert (epoch.index, epoch.first_episode) == (index, first)
        np.testing.assert_array_equal(epoch.counts, counts)
        visits = np.maximum(counts.sum(axis=-1), 1)
        P_hat = counts / visits[..., None]
        seen = counts.sum(axis=-1) > 0
        np.testing.assert_allclose(epoch.body.P_hat[seen], P_hat[seen])
        np.testing.assert_allclose(
            epoch.epsilon, ab.theory.printed_epsilon(counts.astype(float), 300, 1 / 900)
        )
        np.testing.assert_allclose(epoch.body.radius[seen], epoch.epsilon[seen] / 6)
        in_epoch += trajectory.indicator().astype(int)
        if not (in_epoch.sum(axis=-1) < visits).all():
            counts, in_epoch, index, first = counts + in_epoch, np.zeros(SHAPE, int), index + 1, k + 1
    assert len(agent.epochs) == index <= ab.epochs.most_epochs(3, 2, 3, 300)
    assert sum(summary.episodes for summary in agent.epochs) == 300


def test_the_policy_is_that_of_a_point_of_the_set_drawn_by_algorithm_2(rng):
    """Lines 8 and 9: y_k from the Dikin ellipsoid of S_i at the minimiser, and its policy."""
    agent = learner(60)
    for _ in play(agent, 40, rng):
        pass
    center, barrier = agent.state.center, ab.OccupancyBarrier(agent.epoch.body)
    again = np.random.default_rng(5)
    y = barrier.dikin(center).sample(again)
    agent.epoch.body.check(y, tolerance=1e-12)
    np.testing.assert_allclose(agent.policy(np.random.default_rng(5)), ab.policy_of(y), atol=1e-12)


def test_the_estimate_and_the_step_are_those_of_algorithm_2(rng):
    agent = learner(200, between_epochs=ab.epochs.carry, baseline=ab.RunningMean())
    totals, dual = [], np.zeros(SHAPE)
    for epoch, trajectory, played in play(agent, 60, rng):
        baseline = np.mean(totals) if totals else 1.5
        total = trajectory.total(WORLD.loss)
        totals.append(total)
        barrier = ab.OccupancyBarrier(epoch.body)
        estimate = 35 * (total - baseline) * barrier.dikin(played.x).apply(played.y - played.x)
        np.testing.assert_allclose(played.estimate, estimate, atol=1e-9 * np.abs(estimate).max())
        assert played.z_hat_epsilon == pytest.approx(epoch.epsilon[trajectory.cells[:3]].sum())
        assert epoch.eta0 <= played.eta <= 2 * epoch.eta0 * (1 + 1e-12)
        dual = dual + played.eta * estimate
        best = barrier.minimize(dual, epoch.body.interior_point()).x
        np.testing.assert_allclose(played.next_x, best, atol=1e-6)


@pytest.mark.parametrize("between", [ab.epochs.restart, ab.epochs.carry])
def test_what_happens_between_epochs_is_what_was_chosen(rng, between):
    agent = learner(200, between_epochs=between)
    index, dual = 1, np.zeros(SHAPE)
    for epoch, _, played in play(agent, 30, rng):
        if epoch.index > index:
            dual = between(dual)
            start = ab.OccupancyBarrier(epoch.body).minimize(dual, epoch.body.interior_point()).x
            np.testing.assert_allclose(played.x, start, atol=1e-6)
            np.testing.assert_allclose(epoch.dual, dual, atol=1e-12)
        index, dual = epoch.index, dual + played.eta * played.estimate
    assert index > 5
    assert np.abs(ab.epochs.restart(dual)).max() == 0
    np.testing.assert_array_equal(ab.epochs.carry(dual), dual)


def test_rates_are_the_presets_and_the_cap_is_recorded():
    few, many = learner(50), learner(10**7)
    assert few.epoch.eta0_capped
    assert few.epoch.eta0 == pytest.approx(ab.theory.eta0_cap(35, 3.0))
    assert not many.epoch.eta0_capped
    theta = ab.OccupancyBarrier(many.epoch.body).theta
    assert many.epoch.eta0 == pytest.approx(np.sqrt(theta * np.log(3e7) / 1e7) / (35 * 3))
    triple = learner(10**7, rates=ab.tuned_rates(3.0))
    assert triple.epoch.eta0 == pytest.approx(3 * many.epoch.eta0)
    theorem = learner(10**7, rates=ab.theorem_rates())
    assert theorem.epoch.eta0 == ab.theory.eta0(35, theta, 3.0, 10**7, theorem.epoch.budget)
    assert theorem.epoch.eta0 < 1e-3 * many.epoch.eta0


def test_the_theorems_rate_never_meets_its_clip_and_a_tuned_one_does(rng):
    theorem, tuned = learner(200, rates=ab.theorem_rates()), learner(200)
    for agent in (theorem, tuned):
        for _ in play(agent, 200, rng):
            pass
    assert sum(summary.clipped for summary in theorem.epochs) == 0
    assert sum(summary.clipped for summary in tuned.epochs) > 100


def test_a_constant_schedule_stays_constant(rng):
    agent = learner(100, rates=ab.tuned_rates(1.0, ab.ConstantRate(2.0)))
    for epoch, _, played in play(agent, 40, rng):
        assert played.eta == 2 * epoch.eta0


def test_it_learns(rng):
    """With rates outside the theorem, the last tenth of twenty thousand episodes is cheaper than the
    first."""
    mdp = ab.random_mdp(2, 2, 2, rng)
    loss = rng.random(mdp.shape)
    K = 20_000
    agent = ab.AggregateFeedbackLearner(
        2, 2, 2, K, rates=ab.tuned_rates(3.0), between_epochs=ab.epochs.carry, baseline=ab.RunningMean()
    )
    history = ab.simulate(agent, mdp, ab.losses.fixed(loss, K), rng)
    tenths = history.expected_loss.reshape(10, -1).mean(axis=1)
    _, best = mdp.best_policy(loss)
    assert tenths[-1] - best < 0.7 * (tenths[0] - best)


@pytest.mark.parametrize("K", [1, 2])
def test_very_short_runs(rng, K):
    for rates in (ab.tuned_rates(), ab.theorem_rates()):
        agent = learner(K, rates=rates)
        assert (
            len(ab.simulate(agent, WORLD.mdp, ab.losses.fixed(WORLD.loss, K), rng, engine="reference")) == K
        )
    one = ab.AggregateFeedbackLearner(2, 2, 1, 1, **TUNED)
    ab.simulate(
        one, ab.random_mdp(2, 2, 1, rng), ab.losses.fixed(np.ones((1, 2, 2, 2)), 1), rng, engine="reference"
    )


def test_a_world_with_nothing_to_choose(rng):
    agent = ab.AggregateFeedbackLearner(1, 1, 2, 5, **TUNED)
    mdp = ab.FiniteHorizonMDP(np.ones((2, 1, 1, 1)))
    history = ab.simulate(agent, mdp, ab.losses.fixed(np.full(mdp.shape, 0.5), 5), rng, engine="reference")
    np.testing.assert_allclose(history.expected_loss, 1.0)
    assert len(agent.epochs) == 4  # visits 1, 2 and 4 end an epoch


def test_a_state_can_be_written_down_and_taken_up(rng):
    agent, fresh = learner(200, between_epochs=ab.epochs.carry), learner(200, between_epochs=ab.epochs.carry)
    for _ in play(agent, 70, rng):
        pass
    fresh.restore(agent.snapshot())
    assert fresh.epochs == agent.epochs
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    for (_, _, left), (_, _, right) in zip(play(agent, 20, one), play(fresh, 20, two), strict=True):
        np.testing.assert_array_equal(left.next_x, right.next_x)
        assert left.eta == right.eta
    with pytest.raises(ValueError, match=r"the state is of a learner with .*between_epochs=carry"):
        learner(200).restore(agent.snapshot())


def test_what_is_wrong_is_named_before_anything_changes(rng):
    agent = learner(3)
    trajectory = WORLD.mdp.rollout(ab.uniform_policy(WORLD.mdp), rng)
    with pytest.raises(RuntimeError, match="observe was called before policy"):
        agent.observe(ab.AggregateFeedback(trajectory, 1.0))
    agent.policy(rng)
    with pytest.raises(ValueError, match=r"loss_value = 3\.5; the observed loss must lie in \[0, 3\.0\]"):
        agent.observe(ab.AggregateFeedback(trajectory, 3.5))
    other = ab.Trajectory(np.zeros(3, int), np.zeros(2, int), 3, 2)
    with pytest.raises(ValueError, match=r"the trajectory has shape \(2, 3, 2, 3\)"):
        agent.observe(ab.AggregateFeedback(other, 1.0))
    assert agent.episode == 0
    assert agent.in_epoch.sum() == 0
    agent.observe(ab.AggregateFeedback(trajectory, 1.0))
    for _ in play(agent, 2, rng):
        pass
    with pytest.raises(RuntimeError, match="1 more episodes after 3; the learner was made for 3 in all"):
        agent.policy(rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_states": 0}, "n_states is 0; it must be an integer of at least 1"),
        ({"episodes": 2.5}, "episodes is 2.5"),
        ({"initial_state": 3}, "initial_state is 3; it must be a state 0..2"),
        ({"initial_state": 0.5}, "initial_state is 0.5; it must be a state 0..2"),
        ({"baseline": 4.0}, r"baseline is 4.0; it must lie in \[0, 3\]"),
    ],
)
def test_a_learner_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ab.AggregateFeedbackLearner(
            **({"n_states": 3, "n_actions": 2, "horizon": 3, "episodes": 9} | TUNED | change)
        )


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf])
def test_a_rate_that_is_none_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale is .*; it must be positive and finite"):
        ab.tuned_rates(scale)


@dataclass(frozen=True)
class GivenRate:
    """A preset of one's own: any first rate."""

    value: float
    schedule: object = ab.IncreasingRate()

    def eta0(self, dimension, theta, loss_bound, episodes, budget):
        return self.value


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_first_rate_that_is_none_is_refused_before_it_starts(value):
    with pytest.raises(ValueError, match=r"eta0 = .*; a learning rate must be positive and finite"):
        learner(9, rates=GivenRate(value))


class Shifted(ab.CorrectedConfidence):
    """Radii as they are, perturbations moved."""

    def __init__(self, epsilon):
        super().__init__()
        object.__setattr__(self, "moved", epsilon)

    def epsilon(self, counts, episodes):
        return self.moved

    def radius(self, counts, episodes):
        return ab.CorrectedConfidence().radius(counts, episodes)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (np.full((3, 3, 2), np.nan), r"epsilon\[0, 0, 0\] is nan; every entry must be finite"),
        (np.full((3, 3, 2), -1.0), r"epsilon\[0, 0, 0\] is -1; a perturbation must not be negative"),
        (np.ones((1, 3, 2)), r"epsilon has shape \(1, 3, 2\)"),
    ],
)
def test_a_perturbation_that_is_none_is_refused_before_it_starts(epsilon, message):
    with pytest.raises(ValueError, match=message):
        learner(9, confidence=Shifted(epsilon))


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_what_is_carried_between_epochs_is_checked(engine, rng):
    losses = ab.losses.fixed(WORLD.loss, 9)
    with pytest.raises(ValueError, match=r"between_epochs\(dual\)\[0, 0, 0, 0\] is nan; every entry must be"):
        ab.simulate(
            learner(9, between_epochs=lambda dual: dual * np.nan), WORLD.mdp, losses, rng, engine=engine
        )


def test_a_trajectory_from_elsewhere_is_refused(rng):
    agent = learner(3)
    agent.policy(rng)
    start = WORLD.mdp.initial_state
    states = np.full(4, (start + 1) % 3)
    with pytest.raises(ValueError, match=f"the trajectory starts in state {states[0]}; .* in {start}"):
        agent.observe(ab.AggregateFeedback(ab.Trajectory(states, np.zeros(3, int), 3, 2), 1.0))
    assert agent.episode == 0


def test_a_total_is_checked_also_where_there_is_nothing_to_learn():
    agent = ab.AggregateFeedbackLearner(1, 1, 2, 5, **TUNED)
    trajectory = ab.Trajectory(np.zeros(3, int), np.zeros(2, int), 1, 1)
    with pytest.raises(ValueError, match=r"loss_value = 7\.0; the observed loss must lie in \[0, 2\.0\]"):
        agent.observe(ab.AggregateFeedback(trajectory, 7.0))
    assert agent.episode == 0


def test_sizes_may_be_numpys_integers(rng):
    """They say the same, also in a state that was written down."""
    sizes = np.array([3, 2, 3, 9])
    agent = ab.AggregateFeedbackLearner(*sizes, **TUNED, initial_state=np.int64(1))
    ab.AggregateFeedbackLearner(3, 2, 3, 9, **TUNED, initial_state=1).restore(agent.snapshot())
