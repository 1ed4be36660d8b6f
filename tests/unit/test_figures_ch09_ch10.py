"""What chapters 9 and 10 claim, and the mathematics behind their pictures: balls, shadows, half-widths."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.optimize import linprog

import aggbandit as ab
from aggbandit.figures.chapters import ch09, ch10


def within(q, p, radius):
    return np.abs(q - p).sum(axis=-1) <= radius + 1e-12


@pytest.mark.parametrize("radius", [0.05, 0.3, 0.9, 1.7, 2.5])
def test_the_ball_on_the_triangle_is_the_ball(radius):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3))
    corners = ch09.ball_corners(p, radius)
    assert np.allclose(corners.sum(axis=1), 1)
    assert corners.min() > -1e-12
    assert within(corners, p, radius).all()
    # Every linear function has its largest value over the ball at one of the corners.
    grid = rng.dirichlet(np.ones(3), size=4000)
    inside = grid[within(grid, p, radius)]
    for direction in rng.standard_normal((20, 3)):
        assert (inside @ direction).max(initial=-np.inf) <= (corners @ direction).max() + 1e-12


def least_by_linear_programming(p, radius, value):
    """min q·value over distributions with |q - p|_1 <= radius, with auxiliaries t >= |q - p|."""
    size = len(p)
    eye = np.eye(size)
    A_ub = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, size)), np.ones((1, size))]])
    b_ub = np.concatenate([p, -p, [radius]])
    A_eq = np.concatenate([np.ones(size), np.zeros(size)])[None]
    cost = np.concatenate([value, np.zeros(size)])
    return linprog(cost, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=[1.0], bounds=(0, None)).fun


def test_the_luckiest_row_is_the_solution_of_its_linear_program():
    rng = np.random.default_rng(1)
    for _ in range(40):
        p, value = rng.dirichlet(np.ones(4)), rng.random(4)
        radius = rng.choice([0.1, 0.5, 1.3, 2.5])
        row = ch10._luckiest_row(p, radius, value)
        assert row.sum() == pytest.approx(1)
        assert row.min() > -1e-12
        assert within(row, p, radius)
        assert row @ value == pytest.approx(least_by_linear_programming(p, radius, value), abs=1e-9)


def plausible(rng, visits):
    mdp = ab.random_mdp(2, 2, 2, rng)
    drives = [mdp.rollout(ab.uniform_policy(mdp), rng).indicator() for _ in range(visits)]
    counts = np.sum(drives, axis=0).astype(int)
    book = ab.TightConfidence()
    return mdp, ab.OccupancySet(ab.empirical_dynamics(counts), book.radius(counts, visits))


def test_the_outline_encloses_every_policy_of_the_true_city():
    rng = np.random.default_rng(2)
    mdp, body = plausible(rng, 200)
    tables = rng.random((2, *mdp.shape))
    outline = ch10.outline(body, tables, directions=24)
    assert np.array_equal(outline[0], outline[-1])
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        policy, least = mdp.best_policy(np.tensordot(direction, tables, axes=1))
        assert (outline @ direction).min() <= least + 1e-12
        x = mdp.occupancy(policy)
        assert body.contains(x)


def test_the_outline_of_a_thin_set_is_that_of_the_city():
    rng = np.random.default_rng(3)
    mdp = ab.random_mdp(2, 2, 2, rng)
    tables = rng.random((2, *mdp.shape))
    thin = ab.OccupancySet(mdp.transitions, np.full((2, 2, 2), 1e-9))
    for angle in np.linspace(0, 2 * np.pi, 12, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        _, least = mdp.best_policy(np.tensordot(direction, tables, axes=1))
        shadow = ch10.outline(thin, tables, directions=12) @ direction
        assert shadow.min() == pytest.approx(least, abs=1e-6)


def test_the_half_width_of_the_ellipse_is_the_dual_norm():
    rng = np.random.default_rng(4)
    mdp, body = plausible(rng, 200)
    tables = rng.random((2, *mdp.shape))
    barrier = ab.OccupancyBarrier(body)
    x = barrier.analytic_center()
    center, edge = ch10.ellipse(barrier, x, tables)
    assert center == pytest.approx([(x * table).sum() for table in tables])
    for i, table in enumerate(tables):
        width = barrier.dikin(x).dual_norm(table)
        # 73 points of the edge miss the extreme by at most 1 - cos(2.5 degrees).
        assert (edge[:, i] - center[i]).max() == pytest.approx(width, rel=1e-3)
    # Nothing drawn from the ellipsoid leaves its shadow: in every direction of the plane.
    samples = np.array(
        [[(y * table).sum() for table in tables] for y in (barrier.dikin(x).sample(rng) for _ in range(50))]
    )
    for direction in rng.standard_normal((10, 2)):
        half = barrier.dikin(x).dual_norm(np.tensordot(direction, tables, axes=1))
        assert np.abs((samples - center) @ direction).max() <= half + 1e-12


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_the_distance_of_two_cities_is_attained_and_twice_the_printed_one(horizon):
    """Leg 1 is uncertain, then everybody stays: ||z - y|| = H 2w, where Hw was printed."""
    radius, cities = 0.4, []
    for shift in (radius / 2, -radius / 2):
        rows = np.tile(np.eye(2)[:, None], (horizon, 1, 1, 1))
        rows[0, 0, 0] = [0.5 + shift, 0.5 - shift]
        cities.append(ab.FiniteHorizonMDP(rows))
    y, z = (city.occupancy(ab.uniform_policy(city)) for city in cities)
    radii = np.zeros((horizon, 2, 1))
    radii[0, 0, 0] = radius
    epsilon = ab.theory.epsilon(radii)[..., None]
    apart = np.abs(y - z).sum()
    assert apart == pytest.approx((epsilon * z).sum())
    assert apart == pytest.approx((epsilon * y).sum())
    assert apart == pytest.approx(2 * horizon * radius)


@pytest.mark.parametrize(("n_states", "n_actions", "horizon"), [(2, 2, 2), (3, 2, 3), (4, 3, 5)])
@pytest.mark.parametrize("episodes", [10, 10**4, 10**9])
def test_the_bound_of_an_epoch_is_at_most_the_one_written_out(n_states, n_actions, horizon, episodes):
    n = (n_states * n_actions - 1) + (horizon - 1) * (n_states**2 * n_actions - n_states)
    theta = (3 * n_states + 1) * (n_actions + (horizon - 1) * n_states * n_actions)
    log = np.log(horizon * episodes)
    budget = ab.theory.B(n_states, n_actions, horizon, episodes, 1 / (horizon * episodes))
    written = 3 * n * horizon * np.sqrt(theta * log * episodes) + 4 * n * horizon * theta * log + 2
    written += (4 * n * theta * log + 2 * n + 1) * np.sqrt(budget * episodes)
    assert ab.theory.increasing_rates_bound(n, theta, horizon, episodes, budget) <= written


def test_labels_at_the_ends_keep_their_order_and_a_gap():
    heights = [0.86, 0.87, 0.79, 0.43]
    placed = ch10._apart(heights, 0.08)
    assert np.array_equal(np.argsort(placed), np.argsort(heights))
    assert np.diff(np.sort(placed)).min() >= 0.08 - 1e-12
    assert placed[3] == 0.43


def test_a_time_lapse_opens_on_a_night_of_the_run_and_keeps_its_numbers():
    world, rng = ab.night_driver(), np.random.default_rng(0)
    learner = ab.AggregateFeedbackLearner(
        *(3, 2, 3, 20), rates=ab.tuned_rates(), confidence=ab.TightConfidence()
    )
    moments = {}
    for night in (10, 20):
        ab.simulate(learner, world, ab.losses.fixed(world.loss, 10), rng)
        moments[night] = ch10.Moment(learner.epoch.body, learner.state.center, 0.5 * night)
    rain = world.other_losses["rain"]
    drawn = ch10.time_lapse(world, moments, rain, night=10)
    data, center = drawn["data"], moments[10].x
    assert drawn["start"] == {"night": 10}
    assert drawn["alt"].startswith("After night 10: the plan expects ")
    assert data["nights"] == [10, 20]
    assert data["plan"][0] == pytest.approx([(center * world.loss).sum(), (center * rain).sum()])
    assert data["regret"] == pytest.approx([0.5, 0.5])
    assert data["cells"] == 14
    edge = ch10.ellipse(ab.OccupancyBarrier(moments[10].body), center, (world.loss, rain))[1]
    assert np.ptp(edge[:, 0]) / 2 == pytest.approx(np.sqrt(data["covariance"][0][0]), rel=1e-2)
    lens = drawn["still"].axes[1]
    assert lens.get_xlim()[0] < edge[:, 0].min() < edge[:, 0].max() < lens.get_xlim()[1]
    plt.close(drawn["still"])


def test_a_small_ball_is_magnified_and_a_large_one_is_not():
    """Where the radius is a few pixels of the triangle, an inset shows the ball, and the truth beside it."""
    P_hat, truth, names = np.array([0.1, 0.5, 0.4]), np.array([0.11, 0.5, 0.39]), ["a", "b", "c"]
    small = ch09.ball_and_radius(P_hat, truth, 4096, 3.2, names)
    large = ch09.ball_and_radius(P_hat, truth, 16, 3.2, names)
    (inset,) = small.axes[0].child_axes
    assert not large.axes[0].child_axes
    corners = inset.patches[0].get_xy()
    (left, right), (low, high) = inset.get_xlim(), inset.get_ylim()
    assert left < corners[:, 0].min()
    assert corners[:, 0].max() < right
    assert low < corners[:, 1].min()
    assert corners[:, 1].max() < high
    assert np.ptp(corners[:, 0]) > 0.5 * (right - left)  # large whatever the radius
    for figure in (small, large):
        plt.close(figure)


def test_the_arrows_of_the_proof_join_the_edges_of_boxes():
    figure = ch10.proof_map()
    (ax,) = figure.axes
    edges = [(box.get_y(), box.get_y() + box.get_height()) for box in ax.patches if hasattr(box, "get_y")]
    arrows = [words for words in ax.texts if getattr(words, "arrow_patch", None)]
    assert len(arrows) == 7 - 1
    for arrow in arrows:
        (_, end), (_, start) = arrow.xy, arrow.get_position()
        assert any(start == pytest.approx(low) for low, _ in edges)
        assert any(end == pytest.approx(high) for _, high in edges)
    plt.close(figure)
