"""The game of distorted linear bandits: its rules, its adversaries, what it records."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from aggbandit import (
    DistortedBandit,
    IncreasingRateOMD,
    LogBarrier,
    OptimisticEXP2,
    random_polygon,
    simplex,
)
from aggbandit.game import (
    AgainstEstimator,
    DrawArm,
    Exactly,
    Freezing,
    RandomChord,
    RandomMove,
    RuleViolation,
    TowardsWorstVertex,
    Undistorted,
    View,
    allowance,
    largest_step,
    moved_towards,
)
from aggbandit.geometry import box

LOSS = np.array([0.2, 0.5, 0.8])


@dataclass
class Puppet:
    """A learner who plays one point for ever and keeps what it is told."""

    y: np.ndarray
    told: list

    @property
    def center(self):
        return self.y

    def predict(self, rng):
        return self.y

    def update(self, loss_value, z_hat, epsilon):
        self.told.append((loss_value, z_hat, epsilon))


@dataclass(frozen=True)
class MoveTo:
    z: np.ndarray

    def move(self, view, rng):
        return self.z


@dataclass(frozen=True)
class DrawOf:
    z_hat: np.ndarray

    def draw(self, z, rng):
        return self.z_hat


def game(adversary=None, rounds=5, epsilon=0.1, sampler=None, loss_bound=1.0, decision_set=None, loss=LOSS):
    return DistortedBandit(
        np.broadcast_to(loss, (rounds, 3)),
        np.full((rounds, 3), epsilon),
        adversary or Undistorted(),
        simplex(3) if decision_set is None else decision_set,
        loss_bound,
        sampler or Exactly(),
    )


def uniform_puppet():
    return Puppet(np.full(3, 1 / 3), [])


# --- the rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("z", "rule"),
    [
        (np.array([0.5, 0.25, 0.25]), r"round 1: \|\|z - y\|\|_1 = 0\.333333 exceeds min"),
        (np.array([np.nan, 0.5, 0.5]), "round 1: z = .* not a finite vector"),
        (np.array([0.5, 0.5]), "round 1: z = .* shape"),
        (np.full(3, 1 / 3 + 0.01), r"round 1: \|\|z\|\|_1 = 1\.03.* exceeds H"),
    ],
)
def test_moves_outside_the_rules_are_named(rng, z, rule):
    learner = uniform_puppet()
    with pytest.raises(RuleViolation, match=rule):
        game(MoveTo(z)).play(learner, rng)
    assert learner.told == []


@dataclass(frozen=True)
class Overwrite:
    """Writes into what it was only shown: into one entry of the view."""

    entry: str

    def move(self, view, rng):
        getattr(view, self.entry)[:] = [0, 0, 1]
        return view.y


@pytest.mark.parametrize("entry", ["y", "loss", "epsilon"])
def test_nobody_rewrites_what_was_chosen(rng, entry):
    learner = uniform_puppet()
    played = game(Overwrite(entry))
    with pytest.raises(ValueError, match="read-only"):
        played.play(learner, rng)
    np.testing.assert_array_equal(learner.y, np.full(3, 1 / 3))


def test_the_losses_are_fixed_before_the_game():
    losses, epsilons = np.tile(LOSS, (2, 1)), np.full((2, 3), 0.1)
    played = DistortedBandit(losses, epsilons, Undistorted(), np.eye(3), 1.0)
    losses[:], epsilons[:] = 0, 9
    np.testing.assert_array_equal(played.losses, np.tile(LOSS, (2, 1)))
    assert played.beta == 0.1


def test_the_smaller_of_both_allowances_counts(rng):
    """A move to where eps is zero is not allowed by |z·eps|, however large |y·eps| is."""
    epsilons = np.zeros((1, 3))
    epsilons[:, 0] = 1.0
    y, z = np.array([0.5, 0.5, 0.0]), np.array([0.3, 0.7, 0.0])
    played = DistortedBandit(LOSS[None], epsilons, MoveTo(z), np.array([y, np.eye(3)[0]]), 1.0)
    assert allowance(y, z, epsilons[0]) == pytest.approx(0.3)
    with pytest.raises(RuleViolation, match=r"0\.4 exceeds .* = min\(0\.3, 0\.5\)"):
        played.play(Puppet(y, []), rng)


@pytest.mark.parametrize(
    ("sampler", "loss", "rule"),
    [
        (DrawOf(np.array([2.0, 0, 0])), LOSS, r"round 1: \|\|z_hat\|\|_1 = 2"),
        (DrawOf(np.array([np.nan, 0, 0])), LOSS, r"round 1: \|\|z_hat\|\|_1 = nan"),
        (DrawOf(np.array([1.0, 0])), LOSS, r"round 1: z_hat = .* is not a vector of shape \(3,\)"),
        (Exactly(), -LOSS, r"round 1: the loss l·z_hat = -0\.5.* outside \[0, H\]"),
    ],
)
def test_what_is_played_obeys_rules_too(rng, sampler, loss, rule):
    with pytest.raises(RuleViolation, match=rule):
        game(sampler=sampler, loss=loss).play(uniform_puppet(), rng)


@pytest.mark.parametrize(
    "y", [np.array([0.5, 0.5, 0.5]), np.array([1.1, -0.1, 0.0]), np.array([np.nan, 0.5, 0.5]), np.ones(2) / 2]
)
def test_the_learner_obeys_rules_too(rng, y):
    with pytest.raises(RuleViolation, match="round 1: y = "):
        game().play(Puppet(y, []), rng)
    with pytest.raises(RuleViolation, match="round 1: y = "):
        game(decision_set=np.eye(3)).play(Puppet(y, []), rng)


def test_a_point_longer_than_the_bound_is_refused(rng):
    with pytest.raises(RuleViolation, match=r"round 1: \|\|y\|\|_1 = 1"):
        game(loss_bound=0.9).play(uniform_puppet(), rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"losses": np.full((2, 3), 1.5)}, r"losses\[0, 0\] is 1\.5; the game needs \|\|l\|\|_inf <= 1"),
        ({"losses": np.full((2, 3), np.nan)}, r"losses\[0, 0\] is nan"),
        ({"losses": np.zeros(3)}, r"losses has shape \(3,\)"),
        ({"epsilons": np.zeros((1, 3))}, r"epsilons has shape \(1, 3\)"),
        (
            {"epsilons": np.array([[0, 0, 0], [0, -1.0, 0]])},
            r"epsilons\[1, 1\] is -1\.0; the game needs eps >= 0",
        ),
        ({"loss_bound": 0.0}, r"loss_bound is 0\.0"),
        ({"decision_set": np.eye(2)}, r"decision_set has shape \(2, 2\)"),
        ({"decision_set": np.zeros((0, 3))}, r"decision_set has shape \(0, 3\)"),
    ],
)
def test_bad_games_are_refused(change, message):
    fields = {
        "losses": np.zeros((2, 3)),
        "epsilons": np.zeros((2, 3)),
        "adversary": Undistorted(),
        "decision_set": np.eye(3),
        "loss_bound": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        DistortedBandit(**{**fields, **change})


@dataclass(frozen=True)
class OnlyContains:
    def contains(self, x, tolerance):
        return True


@pytest.mark.parametrize(
    ("decision_set", "message"),
    [
        ([[1, 0, 0], [0, 1, 0]], "decision_set is a list without contains and minimize; it must be an array"),
        (None, "decision_set is a NoneType without contains and minimize"),
        (OnlyContains(), "decision_set is a OnlyContains without minimize"),
        (SimpleNamespace(contains=True, minimize=len), "decision_set is a SimpleNamespace without contains"),
    ],
)
def test_what_is_no_decision_set_is_refused(decision_set, message):
    with pytest.raises(TypeError, match=message):
        DistortedBandit(np.zeros((2, 3)), np.zeros((2, 3)), Undistorted(), decision_set, 1.0)


# --- how far a hand can be moved ----------------------------------------------------------------------------


def feasible(y, v, s, epsilon, loss_bound):
    z = y + s * v
    distance = np.abs(s * v).sum()
    return distance <= allowance(y, z, epsilon) + 1e-12 and np.abs(z).sum() <= loss_bound + 1e-12


@pytest.mark.parametrize("seed", range(200))
def test_largest_step_against_a_scan(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    y, v = rng.standard_normal(d), rng.standard_normal(d)
    epsilon = rng.choice([0.1, 1.0, 10.0]) * rng.random(d)
    loss_bound = np.abs(y).sum() * rng.uniform(1, 1.5)
    step = largest_step(y, v, epsilon, loss_bound)
    assert feasible(y, v, step * (1 - 1e-9), epsilon, loss_bound)
    beyond = [
        s for s in np.linspace(0, 1, 2001) if s > step + 1e-9 and feasible(y, v, s, epsilon, loss_bound)
    ]
    assert beyond == []


def test_largest_step_can_leap_over_a_gap():
    """With beta > 2 a move may be allowed beyond a stretch where it is not: |z·eps| falls and rises again."""
    y, v, epsilon = np.array([1.0]), np.array([-2.0]), np.array([4.0])
    assert largest_step(y, v, epsilon, 10.0) == pytest.approx(1.0)  # z = -1: distance 2, |z·eps| = 4
    assert not feasible(y, v, 0.5, epsilon, 10.0)  # z = 0: |z·eps| = 0


def test_no_direction_no_move():
    y = np.ones(2)
    assert 0 <= largest_step(y, np.zeros(2), np.ones(2), 5.0) <= 1
    np.testing.assert_array_equal(moved_towards(View(1, y, y, y, 5.0, None), y), y)


@pytest.mark.parametrize("seed", range(20))
def test_the_steps_of_many_seeds_are_those_of_each(seed):
    rng = np.random.default_rng(seed)
    y, v = rng.standard_normal((2, 300, 3))
    v[:20] = 0.0
    epsilon, loss_bound = rng.choice([0.1, 1.0, 10.0]) * rng.random(3), np.abs(y).sum(axis=1).max()
    steps = largest_step(y, v, epsilon, loss_bound)
    each = [largest_step(a, b, epsilon, loss_bound) for a, b in zip(y, v, strict=True)]
    np.testing.assert_allclose(steps, each, rtol=1e-12)
    assert 0 < steps.min() <= steps.max() <= 1


@pytest.mark.parametrize(
    ("adversary", "sampler", "message"),
    [
        (Freezing, None, r"adversary is the class Freezing; it must be an object, Freezing\(\.\.\.\)"),
        (None, None, "adversary is a NoneType without move"),
        (Undistorted(), DrawArm, "sampler is the class DrawArm"),
        (Undistorted(), SimpleNamespace(draw=1), "sampler is a SimpleNamespace without draw"),
    ],
)
def test_who_plays_is_asked_at_the_door(adversary, sampler, message):
    with pytest.raises(TypeError, match=message):
        DistortedBandit(np.zeros((2, 3)), np.zeros((2, 3)), adversary, simplex(3), 1.0, sampler or Exactly())


def test_the_learner_and_the_generator_are_asked_at_the_door(rng):
    with pytest.raises(TypeError, match="learner is the class Puppet"):
        game().rounds(Puppet, rng)
    with pytest.raises(TypeError, match=r"learner is a Freezing without predict and update; .* methods"):
        game().play(Freezing(), rng)
    with pytest.raises(TypeError, match=r"rng is 0; .*default_rng\(0\)"):
        game().play(uniform_puppet(), 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TowardsWorstVertex(np.zeros(3)), r"points has shape \(3,\)"),
        (lambda: RandomMove(np.zeros((0, 3))), r"points has shape \(0, 3\)"),
        (lambda: AgainstEstimator(np.zeros(2), np.eye(3)), r"comparator has shape \(2,\)"),
        (lambda: Freezing(0), "first_round is 0"),
    ],
)
def test_adversaries_are_asked_at_the_door(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- adversaries --------------------------------------------------------------------------------------------


def view(y, learner=None, epsilon=0.3):
    return View(1, y, LOSS, np.full(3, epsilon), 1.0, learner)


def test_undistorted_and_zero_budget(rng):
    y = np.array([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(Undistorted().move(view(y), rng), y)
    for adversary in (RandomMove(np.eye(3)), TowardsWorstVertex(np.eye(3))):
        np.testing.assert_array_equal(adversary.move(view(y, epsilon=0.0), rng), y)


def test_toward_the_worst_vertex(rng):
    y = np.array([0.6, 0.3, 0.1])
    z = TowardsWorstVertex(np.eye(3)).move(view(y), rng)
    np.testing.assert_allclose(z, y + 0.3 / 1.8 * (np.eye(3)[2] - y))  # ||e_3 - y||_1 = 1.8, allowance 0.3
    assert LOSS @ z > LOSS @ y


def test_freezing_hides_what_was_tried(rng):
    learner = SimpleNamespace(center=np.full(3, 1 / 3))
    tried = np.array([0.4, -0.2, -0.2])
    near, far = learner.center + tried / 4, learner.center + tried
    np.testing.assert_allclose(Freezing().move(view(near, learner), rng), learner.center)
    z = Freezing().move(view(far, learner), rng)
    assert np.abs(z - far).sum() == pytest.approx(0.3)
    np.testing.assert_allclose(z, learner.center + (1 - 0.3 / 0.8) * (far - learner.center))


def test_against_the_estimator_makes_the_comparator_look_worse(rng):
    """One expectation over the directions of two arms: the estimated regret falls below the true one."""
    barrier = LogBarrier(simplex(2))
    ellipsoid = barrier.dikin(np.array([0.4, 0.6]))
    u, x, loss = np.array([0.9, 0.1]), ellipsoid.center, np.array([0.2, 0.7])
    learner = SimpleNamespace(center=x, ellipsoid=ellipsoid)
    adversary = AgainstEstimator(u, np.eye(2))
    estimate = np.zeros(2)
    for sign in (1.0, -1.0):
        y = x + sign * ellipsoid.axes()[0]
        z = adversary.move(View(1, y, loss, np.full(2, 0.1), 1.0, learner), rng)
        estimate += 0.5 * (loss @ z) * ellipsoid.apply(y - x)
    assert (x - u) @ estimate < (x - u) @ loss - 0.01


@pytest.mark.parametrize("seed", range(5))
def test_every_adversary_keeps_the_rules_against_every_learner(seed):
    """A game that ends is a game in which no rule was broken; z stays in S, so that arms can be drawn."""
    rng = np.random.default_rng(seed)
    rounds, vertices = 60, np.eye(3)
    epsilons, losses = rng.uniform(0, 0.5, size=(rounds, 3)), rng.random((rounds, 3))
    for adversary in (
        Undistorted(),
        RandomMove(vertices),
        TowardsWorstVertex(vertices),
        Freezing(),
        AgainstEstimator(vertices[0], vertices),
    ):
        played = DistortedBandit(losses, epsilons, adversary, simplex(3), 1.0, DrawArm())
        learner = IncreasingRateOMD(LogBarrier(simplex(3)), rounds, 1.0, eta0=0.1)
        assert np.isfinite(played.play(learner, rng).regret()).all()
    finite = DistortedBandit(losses, epsilons, Freezing(), vertices, 1.0, DrawArm())
    finite.play(OptimisticEXP2(vertices, 10_000, 1.0, 0.5), rng)


# --- drawing z_hat ------------------------------------------------------------------------------------------


class UniformAt:
    def __init__(self, value):
        self.value = value

    def random(self, size=None):
        return self.value if size is None else np.full(size, self.value)


def test_drawn_arms_have_mean_z():
    z = np.array([0.25, 0.0, 0.5, 0.25])
    grid = (np.arange(4000) + 0.5) / 4000
    mean = np.mean([DrawArm().draw(z, UniformAt(u)) for u in grid], axis=0)
    np.testing.assert_allclose(mean, z, atol=1e-12)


def test_arms_of_probability_zero_are_never_drawn():
    z = np.array([0.3, 0.7 - 1e-10, 0.0])  # sums to one only up to rounding
    assert DrawArm().draw(z, UniformAt(1 - 2**-53))[1] == 1.0
    assert DrawArm().draw(np.array([0.0, 1.0, 0.0]), UniformAt(0.0))[1] == 1.0


@pytest.mark.parametrize("z", [np.array([0.5, 0.6]), np.array([-0.1, 1.1]), np.array([np.nan, 1.0])])
def test_arms_need_a_distribution(rng, z):
    with pytest.raises(RuleViolation, match="not a distribution"):
        DrawArm().draw(z, rng)


@pytest.mark.parametrize(
    "body", [simplex(3), box(np.zeros(2), np.ones(2)), random_polygon(6, np.random.default_rng(1))]
)
def test_chord_ends_lie_on_the_boundary_with_mean_z(rng, body):
    barrier = LogBarrier(body)
    z = barrier.dikin(barrier.analytic_center()).sample(rng)
    draws = np.array([RandomChord(body).draw(z, rng) for _ in range(4000)])
    assert all(abs(body.slacks(draw).min()) < 1e-9 for draw in draws[:100])
    assert all(body.contains(draw, 1e-9) for draw in draws[:100])
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - z) <= 4 * error)


def test_chord_through_a_vertex_stays_there(rng):
    vertex = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(RandomChord(simplex(3)).draw(vertex, rng), vertex, atol=1e-12)


def test_chord_needs_a_point_inside(rng):
    with pytest.raises(RuleViolation, match="outside the body"):
        RandomChord(simplex(3)).draw(np.array([1.5, -0.5, 0.0]), rng)
    with pytest.raises(RuleViolation, match="outside the body"):
        RandomChord(simplex(3)).draw(np.array([np.nan, 0.5, 0.5]), rng)


# --- what is recorded ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision_set", [simplex(3), np.eye(3)])
def test_history(rng, decision_set):
    learner = uniform_puppet() if not isinstance(decision_set, np.ndarray) else Puppet(np.eye(3)[1], [])
    history = game(TowardsWorstVertex(np.eye(3)), rounds=4, decision_set=decision_set).play(learner, rng)
    y = learner.y
    z = moved_towards(view(y, epsilon=0.1), np.eye(3)[2])
    np.testing.assert_allclose(history.y, np.tile(y, (4, 1)))
    np.testing.assert_allclose(history.z, np.tile(z, (4, 1)))
    np.testing.assert_allclose(history.z_hat, history.z)
    np.testing.assert_allclose(history.values, LOSS @ z)
    np.testing.assert_allclose(history.bias, LOSS @ (z - y))
    np.testing.assert_allclose(history.comparator, [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(history.regret(), (LOSS @ z - 0.2) * np.arange(1, 5), atol=1e-9)
    np.testing.assert_allclose(history.budget_spent(), 0.01 * np.arange(1, 5))
    assert [told[0] for told in learner.told] == pytest.approx([LOSS @ z] * 4)


def test_games_are_reproducible():
    def play():
        learner = IncreasingRateOMD(LogBarrier(simplex(3)), 50, 1.0, eta0=0.1)
        return game(RandomMove(np.eye(3)), rounds=50, sampler=DrawArm()).play(
            learner, np.random.default_rng(3)
        )

    first, second = play(), play()
    np.testing.assert_array_equal(first.z, second.z)
    np.testing.assert_array_equal(first.values, second.values)


def test_beta_is_the_largest_perturbation():
    assert game(epsilon=0.25).beta == 0.25


@pytest.mark.parametrize(
    "z", [[0.0, 0.25, 0.75, 0.0], [-1e-10, 0.5, 0.5 - 1e-10, 0.0], [1 - 1e-10, 0.0, 0.0, 0.0]]
)
@pytest.mark.parametrize("uniform", [0.0, 0.25, 0.5, 1 - 1e-16])
def test_one_point_draws_the_arm_that_one_seed_draws(z, uniform):
    z = np.array(z)
    one, many = DrawArm().draw(z, UniformAt(uniform)), DrawArm().draw(z[None], UniformAt(uniform))
    np.testing.assert_array_equal(one, many[0])
    assert one.sum() == 1
    assert z[one == 1] > 0
