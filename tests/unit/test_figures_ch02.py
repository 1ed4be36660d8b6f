"""The drawings of chapter 2 are to scale: widths are masses, and the marked corner is the best one."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex

import aggbandit as ab
from aggbandit.figures import style
from aggbandit.figures.chapters import ch02

WORLD = ab.night_driver()
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def plans():
    """The 128 deterministic policies that differ somewhere a drive can go, as actions (H, S)."""
    places = WORLD.mdp.reachable.nonzero()
    for actions in np.ndindex((2,) * len(places[0])):
        plan = np.zeros(WORLD.mdp.shape[:2], dtype=int)
        plan[places] = actions
        yield plan


def some_policy(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(2), size=(3, 3))


@pytest.mark.parametrize("seed", range(3))
def test_bars_and_bands_are_as_wide_as_their_mass(seed):
    x = WORLD.mdp.occupancy(some_policy(seed))
    drawing = ElementTree.fromstring(ch02.flow(WORLD, x))
    full = ch02._MASS

    bars = [
        float(bar.get("height")) for bar in drawing.iter(f"{SVG}rect") if bar.get("fill") == "currentColor"
    ]
    shares = np.concatenate(
        [x[0].sum(axis=(1, 2))[:1], x[1:].sum(axis=(2, 3)).ravel(), x[-1].sum(axis=(0, 1))]
    )
    np.testing.assert_allclose(bars, full * shares, atol=0.051)  # coordinates have one decimal

    widths = []
    for path in drawing.iter(f"{SVG}path"):
        numbers = [float(number) for number in NUMBER.findall(path.get("d"))]
        widths.append((numbers[1], numbers[-1]))  # the upper and the lower edge on the left
    np.testing.assert_allclose([low - high for high, low in widths], full * x[x > 0], atol=0.11)


def test_a_flow_says_what_it_is_told():
    drawing = ch02.flow(
        WORLD, WORLD.mdp.occupancy(ab.uniform_policy(WORLD.mdp)), title="so much <total>", dials={(1, 1): "q"}
    )
    words = [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]
    assert {"so much <total>", "q", "“keep”", "“turn”", "leg 3", "riverside", "1.00", "0.40"} <= set(words)


@pytest.mark.parametrize("angle", [0, 40, 130, 300])
def test_the_shadow_marks_the_best_corner(angle):
    tables = WORLD.loss, WORLD.other_losses["rain"]
    pay = np.array(
        [[(WORLD.mdp.occupancy(np.eye(2)[plan]) * table).sum() for table in tables] for plan in plans()]
    )
    theta = np.deg2rad(angle)
    mixed = np.cos(theta) * tables[0] + np.sin(theta) * tables[1]
    policy, value = WORLD.mdp.best_policy(mixed)
    drawing = ElementTree.fromstring(ch02.shadow(WORLD, pay, angle=angle, actions=policy.argmax(axis=-1)))

    (dot,) = drawing.iter(f"{SVG}circle")
    dry = ch02._LOW + (float(dot.get("cx")) - ch02._PLANE_LEFT) / ch02._UNIT
    rain = ch02._LOW + (ch02._PLANE_FOOT - float(dot.get("cy"))) / ch02._UNIT
    assert np.cos(theta) * dry + np.sin(theta) * rain == pytest.approx(value, abs=1e-3)

    words = [text.text for text in drawing.iter(f"{SVG}text")]
    turns = int(policy.argmax(axis=-1)[WORLD.mdp.reachable].sum())
    assert (words.count("turn"), words.count("keep")) == (turns, 7 - turns)


def test_averages_of_occupancies_and_of_policies_end_alike_and_part_in_the_middle():
    """The numbers the chapter speaks of: 1.562 for the average list, 1.642 for the average policy."""
    mdp, loss = WORLD.mdp, WORLD.loss
    keep, turn = np.eye(2)[np.zeros((3, 3), dtype=int)], np.eye(2)[np.ones((3, 3), dtype=int)]
    half = (mdp.occupancy(keep) + mdp.occupancy(turn)) / 2
    assert (half * loss).sum() == pytest.approx(1.56165, abs=1e-12)
    assert mdp.expected_loss((keep + turn) / 2, loss) == pytest.approx(1.641725, abs=1e-12)
    assert ab.policy_of(half)[1, 0, 1] == pytest.approx(1 / 8, abs=1e-12)


def test_the_loss_passes_seven_corners_from_dry_to_rain_and_changes_one_decision_at_a_time():
    dry, rain = WORLD.loss, WORLD.other_losses["rain"]
    seen = []
    for degrees in np.linspace(0, 90, 1801):
        theta = np.deg2rad(degrees)
        policy, _ = WORLD.mdp.best_policy(np.cos(theta) * dry + np.sin(theta) * rain)
        actions = policy.argmax(axis=-1)[WORLD.mdp.reachable]
        if not seen or (actions != seen[-1]).any():
            seen.append(actions)
    assert len(seen) == 7
    assert all((a != b).sum() == 1 for a, b in pairwise(seen))


def test_the_picture_of_mixing_names_its_ends():
    corners = np.random.default_rng(0).random((9, 2)) + 1
    line = np.linspace(corners[0], corners[1], 5)
    figure = ch02.mixing(corners, line, line, ("one", "two"))
    assert {"one", "two"} <= {text.get_text() for text in figure.axes[0].texts}


def test_the_lake_shows_its_numbers_and_gets_stronger_with_them():
    drawing = ElementTree.fromstring(
        ch02.lake(
            ("SF", "HG"),
            {"left": np.array([1.0, 0.0, 0.2, 0.4])},
            {"left": ["a", "b", "c", "d\ne"]},
            arrows={"left": np.array([0, 1, 2, 3])},
            title="after 3 steps",
        )
    )
    words = {text.text for text in drawing.iter(f"{SVG}text")}
    # No arrow where the walk is over.
    assert words == {"a", "b", "c", "d", "e", "S", "H", "G", "←", "↓", "left", "after 3 steps"}
    ramp = [style.css(to_hex(color).upper()) for color in style.MASS_CMAP.colors]
    squares = [box.get("fill") for box in drawing.iter(f"{SVG}rect") if box.get("fill") != "none"]
    start, empty, hole, goal = map(ramp.index, squares)
    assert empty == 0 < hole < goal < start == len(ramp) - 1
