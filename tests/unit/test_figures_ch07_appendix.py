"""What the pictures of chapter 7 and of the appendix compute before they draw."""

import numpy as np
import pytest
from labels import crossed

from aggbandit import OptimisticEXP2, theory
from aggbandit.figures.chapters import appendix, ch07
from aggbandit.figures.style import house_style


@pytest.fixture
def habits():
    return np.random.default_rng(0).dirichlet(np.ones(3), size=6)


def test_width_is_the_term_the_learner_takes_off(habits):
    learner = OptimisticEXP2(habits, 100, 1.0, 0.5, theory.OptimisticRates(0.05, 0.3))
    epsilon = np.array([0.1, 0.5, 0.2])
    learner.predict(np.random.default_rng(1))
    record = learner.update(0.4, habits[0], epsilon)
    term = habits @ record.estimate - record.values
    assert np.allclose(ch07.width(habits, record.second_moment, epsilon), term)


def test_width_in_a_set_that_does_not_span(habits):
    doubled = np.hstack([habits, habits, np.zeros((6, 1))])
    q, epsilon = np.full(6, 1 / 6), np.array([0.1, 0.5, 0.2])
    lifted = np.concatenate([epsilon, np.zeros(4)])
    thin = ch07.width(doubled, doubled.T @ (q[:, None] * doubled), lifted)
    assert np.allclose(thin, ch07.width(habits, habits.T @ (q[:, None] * habits), epsilon))


def test_the_estimate_is_under_the_loss_and_over_its_chord(habits):
    loss, epsilon, mu = np.array([0.0, 0.5, 1.0]), np.full(3, 0.1), np.full(6, 1 / 6)
    drawn = ch07.concave(habits, mu, 0.5, loss, epsilon, to=habits[3])
    plane, curve, chord = drawn["still"].axes[1].lines
    assert np.all(curve.get_ydata() < plane.get_ydata())
    assert np.all(curve.get_ydata()[1:-1] > np.interp(curve.get_xdata()[1:-1].ravel(), *chord.get_data()))


def test_the_hidden_street_marks_where_the_budget_is_gone():
    curves = {"plain": np.linspace(0, 1, 1000), "optimistic": np.linspace(1, 0, 1000)}
    gone = {"plain": 700, "optimistic": 30}
    for ax in ch07.hidden_street(curves, curves, 10, gone).axes:
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        for dot, (name, curve) in zip(dots, curves.items(), strict=True):
            assert dot.get_xydata().tolist() == [[gone[name] + 1, curve[gone[name]]]]
        assert [text.get_text() for text in ax.texts] == list(curves)


def test_the_hidden_streets_names_are_beside_their_curves():
    rounds = np.linspace(0, 1, 2000)
    chances = {
        "plain": 0.05 + 0.9 * (rounds > 0.7) * np.minimum(1, 20 * (rounds - 0.7)),
        "optimistic": np.clip(20 * (rounds - 0.06), 0.02, 0.95),
    }
    rising = np.maximum(-10_000 * rounds, 5_650 * (rounds - 0.12))
    regrets = {"plain": np.minimum(rising, 3_700), "optimistic": np.minimum(rising, 350 * rounds)}
    with house_style():
        drawn = ch07.hidden_street(chances, regrets, 120, {"plain": 1160, "optimistic": 240})
        assert crossed(drawn) == []


def test_each_corner_of_the_density_is_named():
    streets = np.eye(3)
    texts = ch07.where_weights_go(streets, streets / 3, np.ones(3) / 2, 0.0, 60.0).axes[0].texts
    assert [text.get_text() for text in texts] == [rf"$\mathbf{{{k}}}$: 1.00" for k in (1, 2, 3)]


@pytest.mark.parametrize("size", [0.0, 0.01, 0.03, 0.1])
def test_at_a_peak_the_estimate_rises_on_all_ways_into_the_polygon(size):
    habits = np.array(
        [[0.8, 0.1, 0.1], [0.6, 0.4, 0], [0, 1, 0], [0, 0.5, 0.5], [0.2, 0, 0.8], [0.5, 0.1, 0.4]]
    )
    moment, loss, epsilon = habits.T @ habits / 6, np.array([0.48, 0.5, 0.52]), np.full(3, size)
    mixes = np.random.default_rng(0).dirichlet(np.full(6, 0.3), size=2000) @ habits

    def estimate(points):
        return points @ loss - ch07.width(points, moment, epsilon)

    for corner, peak in zip(habits, ch07.peaks(habits, moment, loss, epsilon), strict=True):
        rise = estimate(corner + 1e-5 * (mixes - corner)) - estimate(corner[None])
        assert (rise.min() >= -1e-12) == peak
    drawn = ch07.where_weights_go(habits, moment, loss, size, 60.0).axes[0].lines[-1]
    assert len(drawn.get_xdata()) == ch07.peaks(habits, moment, loss, epsilon).sum()


@pytest.mark.parametrize("norm", appendix.NORMS)
def test_dual_norms_are_attained_on_the_ball(norm):
    ball = appendix.dual_pair(norm, 30).axes[0].patches[0].get_xy()  # the same for every loss
    rng = np.random.default_rng(2)
    for loss in rng.normal(size=(20, 2)):
        size, step = appendix.norm_and_dual(norm, loss)
        assert size == pytest.approx(loss @ step)
        assert (ball @ loss).max() == pytest.approx(size, rel=2e-4)


def test_shadow_is_longer_than_section():
    lines = appendix.shadow_and_section(np.array([[1.4, 0.9], [0.9, 1.1]])).axes[0].lines
    section, shadow = (np.ptp(line.get_xdata()) / 2 for line in (lines[1], lines[2]))
    inverse = np.linalg.inv(np.array([[1.4, 0.9], [0.9, 1.1]]))
    assert section == pytest.approx(1 / np.sqrt(1.4))
    assert shadow == pytest.approx(np.sqrt(inverse[0, 0]))
