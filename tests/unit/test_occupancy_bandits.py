"""SCRiBLe and EXP2 on occupancy measures: the points they play, their estimates, their bounds."""

import signal

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory
from aggbandit.learners import exp2_on_occupancies, occupancy_vertices, scrible_on_occupancies
from aggbandit.learners.occupancy_bandits import OccupancyBandit


@pytest.fixture
def world():
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(2, 2, 2, rng)
    return mdp, rng.random(mdp.shape)


@pytest.mark.parametrize(
    "mdp",
    [ab.random_mdp(2, 2, 2, np.random.default_rng(0)), ab.layered_grid(2, 3).mdp],
    ids=["random", "grid"],
)
def test_the_vertices_are_those_of_all_deterministic_policies(mdp):
    """By brute force: each policy's point is one of them, and each of them is some policy's."""
    coordinates = ab.occupancy_coordinates(mdp)
    brute = [coordinates.from_table(mdp.occupancy(policy)) for policy in ab.deterministic_policies(mdp)]
    brute = np.unique(np.round(brute, 10), axis=0)
    ours = occupancy_vertices(mdp)
    assert len(ours) == len(brute)
    np.testing.assert_allclose(np.unique(np.round(ours, 10), axis=0), brute)


def test_too_many_vertices_are_refused():
    with pytest.raises(MemoryError, match="choices"):
        occupancy_vertices(ab.random_mdp(60, 4, 3, np.random.default_rng(0)))


@pytest.mark.parametrize("make", [scrible_on_occupancies, exp2_on_occupancies])
def test_the_policy_has_the_point_for_its_occupancy_measure(world, make):
    mdp, _ = world
    learner = make(mdp, 5_000)
    predict, points = learner.vectors.predict, []
    learner.vectors.predict = lambda rng: points.append(predict(rng)) or points[-1]
    policy = learner.policy(np.random.default_rng(0))
    x = learner.coordinates.from_table(mdp.occupancy(policy))
    np.testing.assert_allclose(x, points[0], atol=1e-12)


def test_the_mean_of_what_is_played_in_the_end_is_the_point(world):
    mdp, loss = world
    policy = np.random.default_rng(1).dirichlet(np.ones(2), size=(2, 2))
    seen = []

    class Writing:
        def update(self, loss_value, z_hat, epsilon):
            seen.append((loss_value, z_hat, epsilon))

        def predict(self, rng):
            raise NotImplementedError

        snapshot = restore = predict

    learner = OccupancyBandit(mdp, Writing())
    mean, total = 0.0, 0.0
    for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
        learner.observe(ab.AggregateFeedback.observe(trajectory, loss))
        mean, total = mean + chance * seen[-1][1], total + chance * seen[-1][0]
        assert not seen[-1][2].any()
    np.testing.assert_allclose(mean, learner.coordinates.from_table(mdp.occupancy(policy)), atol=1e-12)
    assert total == pytest.approx(mdp.expected_loss(policy, loss))


def test_the_estimate_of_exp2_by_enumeration(world):
    """Over points and trajectories: unbiased for every vertex."""
    mdp, loss = world
    learner = exp2_on_occupancies(mdp, 5_000)
    exp2 = learner.vectors
    moment = exp2.points.T @ (exp2.probabilities[:, None] * exp2.points)
    mean = np.zeros(exp2.points.shape[1])
    for y, q in zip(exp2.points, exp2.probabilities, strict=True):
        policy = ab.policy_of(learner.coordinates.to_table(y))
        for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
            mean += q * chance * trajectory.total(loss) * (np.linalg.pinv(moment) @ y)
    vector = learner.coordinates.loss_vector(loss)
    np.testing.assert_allclose(exp2.points @ mean, exp2.points @ vector, atol=1e-9)


def test_the_regret_is_below_the_bounds_where_they_say_something():
    """H = S = 1: both bounds are below K/2, what uniform play loses."""
    episodes = 500
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1)))
    losses = ab.losses.fixed(np.array([[[0.0], [1.0]]])[None], episodes)
    exp2 = exp2_on_occupancies(mdp, episodes)
    kappa = exp2.vectors.design.largest_norm
    for learner, bound in (
        (scrible_on_occupancies(mdp, episodes), theory.scrible_bound(1, 2, 1, episodes)),
        (exp2, theory.optimistic_bound(2, 2, 1, 0, episodes, design_norm=kappa)),
    ):
        assert bound < episodes / 2
        history = ab.simulate(learner, mdp, losses, np.random.default_rng(0), "reference")
        assert history.expected_loss.sum() <= bound


def test_each_sees_totals_and_nothing_else(world):
    mdp, loss = world
    trajectory = mdp.rollout(ab.uniform_policy(mdp), np.random.default_rng(0))
    for learner in (scrible_on_occupancies(mdp, 100), exp2_on_occupancies(mdp, 5_000)):
        learner.policy(np.random.default_rng(0))
        for kind in (ab.FullFeedback, ab.StepFeedback):
            with pytest.raises(TypeError, match="AggregateFeedback"):
                learner.observe(kind.observe(trajectory, loss))
        with pytest.raises(ValueError, match="the total is"):
            learner.observe(ab.AggregateFeedback(trajectory, 2.5))
        with pytest.raises(ValueError, match="the world has shape"):
            learner.check_run(ab.random_mdp(3, 2, 2, np.random.default_rng(0)), 1)
    with pytest.raises(TypeError, match="mdp"):
        scrible_on_occupancies(ab.night_driver(), 10)
    with pytest.raises(ValueError, match="rounds >="):
        exp2_on_occupancies(mdp, 10)


@pytest.mark.parametrize("make", [scrible_on_occupancies, exp2_on_occupancies])
def test_interrupted_and_resumed_it_is_the_same(world, make, tmp_path, monkeypatch):
    mdp, loss = world
    losses = ab.losses.fixed(loss, 60)
    straight = ab.simulate(make(mdp, 5_000), mdp, losses, np.random.default_rng(0), "reference")
    learner = make(mdp, 5_000)
    update, count = learner.vectors.update, [0]

    def pressing(*arguments):
        count[0] += 1
        if count[0] == 15:
            signal.raise_signal(signal.SIGINT)
        return update(*arguments)

    monkeypatch.setattr(learner.vectors, "update", pressing)
    part = ab.simulate(learner, mdp, losses, np.random.default_rng(0), "reference")
    assert len(part) == 15
    part.save(tmp_path / "run.npz")
    whole = ab.resume(ab.History.load(tmp_path / "run.npz"), make(mdp, 5_000), mdp, losses)
    np.testing.assert_array_equal(whole.expected_loss, straight.expected_loss)


@pytest.mark.parametrize("make", [scrible_on_occupancies, exp2_on_occupancies])
def test_another_state_is_refused_before_anything_changes(world, make):
    mdp, loss = world
    learner, rng = make(mdp, 5_000), np.random.default_rng(0)
    ab.simulate(learner, mdp, ab.losses.fixed(loss, 3), rng, "reference")
    good, before = make(mdp, 5_000).snapshot(), learner.snapshot()
    name = "center" if "center" in good else "log_weights"
    elsewhere = make(ab.random_mdp(2, 2, 2, rng), 5_000).snapshot()
    for state, said in (
        (make(mdp, 6_000).snapshot(), "the state is of a learner with"),
        (elsewhere, "another world"),
        (good | {"round": np.array([1.5])}, "round is 1.5"),
        (good | {name: np.zeros(3)}, name),
        ({key: value for key, value in good.items() if key != name}, f"lacks {name}"),
    ):
        with pytest.raises(ValueError, match=said):
            learner.restore(state)
        for key, value in learner.snapshot().items():
            np.testing.assert_array_equal(value, before[key])
    if name == "center":
        with pytest.raises(ValueError, match="strictly inside"):
            learner.restore(good | {"center": -good["center"]})
