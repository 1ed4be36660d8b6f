"""Chapter 1: what it claims about totals and regret, and its pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

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


SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def said(drawing: str) -> list[str | None]:
    return [text.text for text in parsed(drawing).iter(f"{SVG}text")]


def runs(drawing: str, color: str) -> list[np.ndarray]:
    """The lines of one color: (points, 2) each."""
    lines = [
        line for line in parsed(drawing).iter(f"{SVG}polyline") if line.get("stroke") == style.css(color)
    ]
    return [np.array([pair.split(",") for pair in line.get("points", "").split()], float) for line in lines]


@pytest.mark.parametrize("nights", [1, 2, 9])
def test_the_ledgers_show_every_leg_of_tonight_and_the_averages_of_all_nights(nights: int) -> None:
    world = ab.night_driver()
    rng = np.random.default_rng(nights)
    coin = ab.uniform_policy(world.mdp)
    driven = {name: [world.mdp.rollout(coin, rng) for _ in range(nights)] for name in ("one", "two")}
    totals = {name: [night.total(world.loss) for night in ledger] for name, ledger in driven.items()}
    tonight = {name: ledger[-1] for name, ledger in driven.items()}
    drawing = ch01.ledgers(world, tonight, totals, last_night=9)

    legs = [line for line in parsed(drawing).iter(f"{SVG}polyline") if line.get("stroke-width") == "4"]
    turned = [a for trajectory in tonight.values() for a in trajectory.actions]
    assert [line.get("stroke-dasharray") is not None for line in legs] == [bool(a) for a in turned]
    heights = [run[:, 1] for run in runs(drawing, style.INK)]
    for trajectory, drawn in zip(tonight.values(), (heights[:3], heights[3:]), strict=True):
        places = [ch01._height(int(s)) for s in trajectory.states]
        assert [*(leg[0] for leg in drawn), drawn[-1][1]] == places

    words = said(drawing)
    for name, values in totals.items():
        assert {name, f"{values[-1]:.1f}", f"{name} {np.mean(values):.2f}"} <= set(words)
    left, right, top, foot = ch01._PLOT
    for run, values in zip(runs(drawing, style.LEARNER), totals.values(), strict=nights > 1):
        low, high = ch01._RANGE
        averages = np.cumsum(values) / np.arange(1, nights + 1)
        np.testing.assert_allclose(
            run[:, 1], foot - (foot - top) * (averages - low) / (high - low), atol=0.06
        )
        np.testing.assert_allclose(run[:, 0], left + (right - left) * np.arange(1, nights + 1) / 9, atol=0.06)


@pytest.mark.parametrize(
    ("total", "alone"), [(0.0, "0.00"), (0.4, "0.00 to 0.40"), (1.5, "0.00 to 1.00"), (2.6, "0.60 to 1.00")]
)
def test_a_reading_of_the_meter_shows_its_slice_and_the_range_of_each_loss(total: float, alone: str) -> None:
    drawing = ch01.meter(total)["still"]
    assert said(drawing).count(alone) == 3
    assert f"L = {total:.2f}" in said(drawing)
    slices = [len(p.get("points", "").split()) for p in parsed(drawing).iter(f"{SVG}polygon")]
    assert slices == ([] if total == 0 else [len(ch01.plane_in_cube(total))])


def test_the_table_of_the_city_has_every_number_of_it() -> None:
    world = ab.night_driver()
    rows = [row.strip("|").split("|") for row in ch01.city_table(world).splitlines()[2:]]
    assert len(rows) == 14
    numbers = {}
    for choice, *cells in rows:
        leg, at, does = choice.strip().split(", ")
        h, s, a = int(leg) - 1, world.state_names.index(at), world.action_names.index(does)
        numbers[h, s, a] = [[float(n) for n in cell.replace("*", "").split()] for cell in cells]
    for (h, s, a), cells in numbers.items():
        tables = world.mdp.transitions, world.loss, world.other_losses["rain"]
        np.testing.assert_allclose(cells, np.transpose([table[h, s, a] for table in tables]), atol=1e-12)


@pytest.mark.parametrize("total", [0.0, 0.4, 1.0, 1.5, 2.0, 2.6, 3.0])
def test_the_plane_cuts_the_cube_in_a_point_a_triangle_or_a_hexagon(total: float) -> None:
    corners = ch01.plane_in_cube(total)
    assert np.allclose(corners.sum(axis=1), total)
    assert corners.min() >= 0
    assert corners.max() <= 1
    assert len(corners) == (1 if total in (0, 3) else 6 if 1 < total < 2 else 3)


def test_the_cube_of_losses_is_refused_where_there_are_not_three_steps() -> None:
    rest = {"first_total": 1.5, "polygon": ch01.plane_in_cube(1.5), "truth": np.full(3, 0.5)}
    with pytest.raises(ValueError, match="the world has 4 steps; the cube of losses is drawn for three"):
        ch01.consistent_picture(world=a_world(2, 4), nights=1, ranges={}, equations=1, **rest)


def test_the_corners_go_around() -> None:
    """Neighbors in the list share a face of the cube, so that the polygon does not cross itself."""
    corners = ch01.plane_in_cube(1.5)
    for p, q in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        assert ((p == q) & np.isin(p, (0.0, 1.0))).any()


def test_pictures_have_the_width_of_the_house() -> None:
    world = ab.night_driver()
    coin = ab.uniform_policy(world.mdp)
    rng = np.random.default_rng(0)
    night = world.mdp.rollout(coin, rng)
    history = ab.simulate(ab.FixedPolicy(coin), world.mdp, ab.losses.fixed(world.loss, 5), rng)
    pictures = [
        ch01.two_choices(world),
        ch01.policy_strip(np.array([1.1, 1.2]), {"coin": 1.6}, 1.01),
        ch01.consistent_picture(
            world=world,
            nights=1,
            first_total=1.5,
            polygon=ch01.plane_in_cube(1.5),
            truth=night.losses(world.loss),
            ranges={"coin": (0.0, 3.0)},
            equations=1,
        ),
        ch01.regret_curves({"coin": (history.regret(), style.INK)}),
        ch01.hindsight_fan(np.linspace(0, 1, 5), np.ones((2, 5))),
    ]
    for figure in pictures:
        assert figure.get_figwidth() == style.WIDTH
