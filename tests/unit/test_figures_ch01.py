"""Chapter 1: what it claims about totals and regret, and its pictures."""

from __future__ import annotations

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.figures import style
from aggbandit.figures.chapters import ch01


@pytest.mark.parametrize(("n_states", "n_actions", "horizon"), [(3, 2, 3), (2, 2, 4), (4, 2, 2), (2, 3, 1)])
def test_totals_leave_exactly_the_potentials_open(n_states: int, n_actions: int, horizon: int) -> None:
    """The rank of all trajectories is the number of cells minus (H - 1) S, and potentials fill the gap."""
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(n_states, n_actions, horizon, rng)
    walks = ab.enumerate_trajectories(mdp, ab.uniform_policy(mdp))
    z_hats = np.array([walk.indicator().ravel() for walk, _ in walks])
    cells = n_states * n_actions + (horizon - 1) * n_states**2 * n_actions
    assert z_hats.any(axis=0).sum() == cells
    assert np.linalg.matrix_rank(z_hats) == cells - (horizon - 1) * n_states

    phi = rng.normal(size=(horizon + 1, n_states))
    phi[[0, -1]] = 0.0
    change = np.zeros(mdp.shape)
    change += phi[1:, None, None, :] - phi[:-1, :, None, None]
    assert np.abs(z_hats @ change.ravel()).max() < 1e-12
    assert np.abs(change).max() > 0.1 or horizon == 1


def test_totals_count_by_places_where_moves_are_missing() -> None:
    grid = ab.layered_grid(5, 4, slip=0.0).mdp
    walks = ab.enumerate_trajectories(grid, ab.uniform_policy(grid))
    z_hats = np.array([walk.indicator().ravel() for walk, _ in walks])
    places = grid.reachable[1:].sum()
    assert np.linalg.matrix_rank(z_hats) == z_hats.any(axis=0).sum() - places


def a_world(n_states: int, horizon: int) -> ab.World:
    mdp = ab.random_mdp(n_states, 2, horizon, np.random.default_rng(3))
    names = tuple(f"place {s}" for s in range(n_states))
    return ab.World("any", "any", mdp, np.full(mdp.shape, 0.5), names, ("keep", "turn"))


@pytest.mark.parametrize(
    "world",
    [ab.night_driver(), ab.layered_grid(5, 4, slip=0.0), a_world(2, 4)],
    ids=["driver", "grid", "any"],
)
def test_the_number_of_independent_totals_is_a_rank(world: ab.World) -> None:
    walks = ab.enumerate_trajectories(world.mdp, ab.uniform_policy(world.mdp))
    z_hats = np.array([walk.indicator().ravel() for walk, _ in walks])
    assert ch01.independent_totals(world) == np.linalg.matrix_rank(z_hats)


@pytest.mark.parametrize(("n_states", "horizon"), [(2, 4), (5, 2)])
def test_the_ledger_has_a_line_for_each_place_and_a_dot_for_each_step(n_states: int, horizon: int) -> None:
    world = a_world(n_states, horizon)
    nights = [world.mdp.rollout(ab.uniform_policy(world.mdp), np.random.default_rng(k)) for k in range(2)]
    top = ch01.ledger(world, nights, np.full(2, horizon / 2), last_night=10).axes[0]
    assert [label.get_text() for label in top.get_yticklabels()] == [*world.state_names, "the meter"]
    dots = [line for line in top.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [horizon + 1] * 2
    assert max(dots[0].get_xdata()) < min(dots[1].get_xdata())
    low, high = top.get_ylim()
    assert all(low < tick < high for tick in top.get_yticks())


def test_the_cube_of_losses_is_refused_where_there_are_not_three_steps() -> None:
    world = a_world(2, 4)
    trajectory = world.mdp.rollout(ab.uniform_policy(world.mdp), np.random.default_rng(0))
    with pytest.raises(ValueError, match="the world has 4 steps; the cube of losses is drawn for three"):
        ch01.feedback_picture(world, trajectory, world.loss, seen="the total")


@pytest.mark.parametrize("total", [0.0, 0.4, 1.0, 1.5, 2.0, 2.6, 3.0])
def test_the_plane_cuts_the_cube_in_a_point_a_triangle_or_a_hexagon(total: float) -> None:
    corners = ch01.plane_in_cube(total)
    assert np.allclose(corners.sum(axis=1), total)
    assert corners.min() >= 0
    assert corners.max() <= 1
    assert len(corners) == (1 if total in (0, 3) else 6 if 1 < total < 2 else 3)


def test_the_corners_go_around() -> None:
    """Neighbors in the list share a face of the cube, so that the polygon does not cross itself."""
    corners = ch01.plane_in_cube(1.5)
    for p, q in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        assert ((p == q) & np.isin(p, (0.0, 1.0))).any()


def test_pictures_have_the_width_of_the_house() -> None:
    world = ab.night_driver()
    coin = ab.uniform_policy(world.mdp)
    rng = np.random.default_rng(0)
    nights = [world.mdp.rollout(coin, rng) for _ in range(3)]
    totals = np.array([night.total(world.loss) for night in nights])
    history = ab.simulate(ab.FixedPolicy(coin), world.mdp, ab.losses.fixed(world.loss, 5), rng)
    pictures = [
        ch01.two_choices(world),
        ch01.ledger(world, nights, totals, last_night=10),
        ch01.ledger(world, nights[:1], totals[:1], last_night=10),
        ch01.policy_strip(np.array([1.1, 1.2]), {"coin": 1.6}, 1.01),
        *(
            ch01.feedback_picture(world, nights[0], world.loss, seen=seen)
            for seen in ("the total", "each leg", "the whole table")
        ),
        ch01.consistent_picture(
            world=world,
            nights=1,
            first_total=1.5,
            polygon=ch01.plane_in_cube(1.5),
            truth=nights[0].losses(world.loss),
            ranges={"coin": (0.0, 3.0)},
            equations=1,
        ),
        ch01.regret_curves({"coin": (history.regret(), style.INK)}),
        ch01.two_standards({"coin": (history, style.INK)}),
        ch01.hindsight_fan(np.linspace(0, 1, 5), np.ones((2, 5))),
    ]
    for figure in pictures:
        assert figure.get_figwidth() == style.WIDTH
