"""Dragged figures, in the browser that draws them: they follow mouse, finger and keys, and are right.

What a reader sees is computed twice. Here the JavaScript of each module is compared with Python at many
points; the rest needs no page of the book, only the module and a place to draw.
"""

from __future__ import annotations

import functools
import html
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page
from scipy.spatial import ConvexHull, HalfspaceIntersection

import aggbandit as ab
from aggbandit import figures
from aggbandit.figures.chapters import ch01, ch02, ch03, ch04, ch05, ch07, ch09, ch10, ch11, index
from aggbandit.figures.shapes import TRIANGLE

draggable_module = importlib.import_module("aggbandit.figures.draggable")  # the name means the function

WORLD = ab.night_driver()
TABLES = WORLD.loss, WORLD.other_losses["rain"]
DIALS = (0, 0), (1, 1)
LOAD = """async (source) => {
    window.figure = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
}"""
DRAW = """([data, start]) => {
    window.data = data;
    const state = {data, start};
    const model = {get: (name) => state[name], set() {}, save_changes() {}, on() {}, off() {}};
    figure.default.render({model, el: document.getElementById("here")});
}"""
BLANK = """<!doctype html><html lang="en"><title>one figure</title><style>%s</style>
    <body style="margin: 0; height: 3000px"><div id="here"></div></html>"""

MISFITS = """() => {
    const frame = document.querySelector(".ab-drag-picture svg").getBoundingClientRect();
    return [...document.querySelectorAll(".ab-drag-picture text")].filter((words) => {
        const { left, top, right, bottom } = words.getBoundingClientRect();
        const { a, b } = words.getScreenCTM();
        const small = parseFloat(getComputedStyle(words).fontSize) * Math.hypot(a, b) < 12;
        const across = left > frame.left - 1 && right < frame.right + 1;
        const inside = across && top > frame.top - 1 && bottom < frame.bottom + 1;
        return small || !inside;
    }).map((words) => words.textContent);
}"""


@dataclass(frozen=True)
class Shown:
    """A figure that is drawn on a page of its own."""

    page: Page
    figure: figures.Draggable

    @property
    def handle(self) -> Locator:
        return self.page.get_by_role("slider").first

    def picture(self) -> str:
        return self.page.locator(".ab-drag-picture").inner_html()

    def words(self) -> str | None:
        return self.page.locator(".ab-drag-picture").get_attribute("aria-label")

    def maths(self, call: str, points: list[Any]) -> list[Any]:
        """What `maths.call(...point)` gives at each of the points; `data` is the figure's."""
        ask = "(points) => points.map((point) => { const m = figure.maths; return %s; })"
        return self.page.evaluate(ask % call, points)


def plans() -> np.ndarray:
    places = WORLD.mdp.reachable.nonzero()
    found = np.zeros((2 ** len(places[0]), *WORLD.mdp.shape[:2]), dtype=int)
    for plan, actions in zip(found, np.ndindex((2,) * len(places[0])), strict=True):
        plan[places] = actions
    return found


def mixed(theta: float) -> np.ndarray:
    angle = np.deg2rad(theta)
    return np.cos(angle) * TABLES[0] + np.sin(angle) * TABLES[1]


def direction() -> figures.Draggable:
    occupancies = np.array([WORLD.mdp.occupancy(np.eye(2)[plan]) for plan in plans()])
    pay = np.stack([(occupancies * table).sum(axis=(1, 2, 3, 4)) for table in TABLES], axis=-1)
    return figures.draggable("direction", **ch02.direction(WORLD, pay, plans(), theta=50), caption="Turn.")


def dials() -> figures.Draggable:
    best, _ = WORLD.mdp.best_policy(WORLD.loss)
    return figures.draggable("dials", **ch02.dials(WORLD, best, DIALS, p=0.5, q=0.5), caption="Turn.")


def prices() -> figures.Draggable:
    evidence = index.gather(WORLD, nights=150, rng=np.random.default_rng(1))
    return figures.draggable(
        "prices", **index.prices(evidence, nights=(1, 5, 150), opening=1), caption="Pull."
    )


FIELD = ab.Polytope([[-1, 0], [0, -1], [1, 3], [-1, 2]], [0, 0, 6, 2])
GOALS = {"sharp corner": np.array([6.0, 0.0]), "blunt corner": np.array([1.2, 1.6])}


def ruler() -> figures.Draggable:
    return figures.draggable("ruler", **ch03.ruler(FIELD, GOALS, share=0.8), caption="Pull.")


def thales() -> figures.Draggable:
    return figures.draggable("thales", **ch04.guessing(np.array([0.9, 0.4]), 75), caption="Turn.")


@functools.cache
def moments() -> dict[int, ch10.Moment]:
    """A short run of the whole algorithm, looked at after 53 of its 200 nights."""
    mdp, rng = WORLD.mdp, np.random.default_rng(0)
    learner = ab.AggregateFeedbackLearner(
        *(3, 2, 3, 200),
        rates=ab.tuned_rates(),
        confidence=ab.TightConfidence(),
        between_epochs=ab.epochs.carry,
    )
    kept, spent, played = {}, 0.0, 0
    for night in [*range(10, 60), 100, 150, 200]:
        dry = ab.losses.fixed(WORLD.loss, night - played)
        spent += ab.simulate(learner, mdp, dry, rng, every=len(dry)).expected_loss[0]
        regret = spent - night * mdp.best_policy(WORLD.loss)[1]
        kept[night] = ch10.Moment(learner.epoch.body, learner.state.center, regret)
        played = night
    return kept


def time_lapse() -> figures.Draggable:
    drawn = ch10.time_lapse(WORLD, moments(), TABLES[1], night=100)
    return figures.draggable("time_lapse", **drawn, caption="Drag the night.")


LOSSES = np.repeat([[0.9, 0.5, 0.1], [0.0, 0.9, 0.6]], [30, 50], axis=0)


def both_paths(rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Mirror descent behind a barrier, by the package; exponential weights at a third of the rate."""
    run = ab.mirror_descent(ab.LogBarrier(ab.simplex(3)), LOSSES, np.full(len(LOSSES), rate))
    weights = np.exp(-rate / 3 * np.vstack([np.zeros(3), LOSSES.cumsum(axis=0)]))
    return run.iterates, weights / weights.sum(axis=1, keepdims=True)


def two_paths() -> figures.Draggable:
    drawn = ch05.two_paths(*both_paths(0.8), LOSSES, rate=0.8, shown=31, change=30)
    return figures.draggable("two_paths", **drawn, caption="Drag the rate.")


def lifted() -> figures.Draggable:
    return figures.draggable("lifted", **ch11.lifted(r=0.5, t=0.54), caption="Drag the point.")


SPOT = np.array([2.5, 0.12])


def long_step() -> figures.Draggable:
    return figures.draggable("long_step", **ch05.long_step(FIELD, SPOT, angle=90, z=0.9), caption="Drag.")


def meter() -> figures.Draggable:
    return figures.draggable("meter", **ch01.meter(2.3), caption="Turn the meter.")


def multiplications() -> figures.Draggable:
    return figures.draggable("multiplications", **ch11.costs(10, 20, 4), caption="Drag the city.")


HABITS = np.array(
    [
        [0.80, 0.10, 0.10],
        [0.50, 0.45, 0.05],
        [0.10, 0.75, 0.15],
        [0.05, 0.45, 0.50],
        [0.15, 0.10, 0.75],
        [0.50, 0.05, 0.45],
    ]
)
STREETS, TENTH = np.array([0.0, 0.5, 1.0]), np.full(3, 0.1)
ODD_HABITS = np.array([1, 0, 1, 0, 1, 0]) / 3


def concave() -> figures.Draggable:
    opposite = (HABITS[3] + HABITS[4]) / 2
    drawn = ch07.concave(HABITS, ODD_HABITS, 0.02, STREETS, TENTH, to=opposite)
    return figures.draggable("concave", **drawn, caption="Drag the line.")


COUNTED = np.array([0.3, 0.4, 0.3])


def two_rows() -> figures.Draggable:
    rows = np.array([0.1, 0.6, 0.3]), np.array([0.25, 0.5, 0.25])
    drawn = ch09.two_rows(COUNTED, *rows, w=0.4, names=WORLD.state_names)
    return figures.draggable("two_rows", **drawn, caption="Drag a row.")


EXAMPLES: dict[str, Callable[[], figures.Draggable]] = {
    "concave": concave,
    "dials": dials,
    "direction": direction,
    "lifted": lifted,
    "long_step": long_step,
    "meter": meter,
    "multiplications": multiplications,
    "prices": prices,
    "ruler": ruler,
    "thales": thales,
    "time_lapse": time_lapse,
    "two_paths": two_paths,
    "two_rows": two_rows,
}
"""One figure of each module, as its chapter makes it."""


@functools.cache
def made(module: str) -> figures.Draggable:
    return EXAMPLES[module]()


@pytest.fixture(scope="module")
def draw(browser: Browser) -> Iterator[Callable[..., Shown]]:
    """Draws a figure on an empty page, on a screen that can be touched."""
    context = browser.new_context(viewport={"width": 700, "height": 800}, has_touch=True)
    complaints: list[str] = []

    def show(module: str, width: int = 700) -> Shown:
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_viewport_size({"width": width, "height": 800})
        drawing = made(module).drawing
        page.set_content(BLANK % drawing._css)
        page.evaluate(LOAD, drawing._esm)
        page.evaluate(DRAW, [drawing.data, drawing.start])
        return Shown(page, made(module))

    yield show
    assert not complaints
    context.close()


def pull(page: Page, handle: Locator, across: float, down: float) -> None:
    """Drag with the mouse."""
    box = handle.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y + down / 2)
    page.mouse.move(x + across, y + down)
    page.mouse.up()


# ------------------------------------------------------------------------------------------- every figure


def test_every_module_has_an_example() -> None:
    found = {path.name.removesuffix(".js") for path in draggable_module._MODULES.iterdir()}
    drawn = {name for name in found if "." not in name and "export default" in draggable_module._read(name)}
    assert drawn == set(EXAMPLES)


@pytest.mark.parametrize("module", EXAMPLES)
def test_it_opens_on_what_the_still_shows_and_says(draw: Callable[..., Shown], module: str) -> None:
    shown = draw(module)
    assert f'="{html.escape(shown.words() or "")}"' in shown.figure.drawing.still


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_mouse_drags_it_and_the_picture_follows(draw: Callable[..., Shown], module: str) -> None:
    shown = draw(module)
    picture, value = shown.picture(), shown.handle.get_attribute("aria-valuetext")
    pull(shown.page, shown.handle, -40, 25)
    assert shown.picture() != picture
    assert shown.handle.get_attribute("aria-valuetext") != value
    shown.page.mouse.move(10, 10)  # let go: it no longer follows
    still = shown.picture()
    shown.page.mouse.move(200, 200)
    assert shown.picture() == still


@pytest.mark.parametrize("module", EXAMPLES)
def test_arrow_keys_move_each_handle_and_home_returns(draw: Callable[..., Shown], module: str) -> None:
    shown = draw(module)
    opening = shown.picture()
    for handle in shown.page.get_by_role("slider").all():
        handle.focus()
        values = {handle.get_attribute("aria-valuetext")}
        for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
            shown.page.keyboard.press(key)
            values.add(handle.get_attribute("aria-valuetext"))
        assert len(values) > 1
        assert shown.page.evaluate("scrollY") == 0
        shown.page.keyboard.press("Home")
        assert shown.picture() == opening
    shown.page.keyboard.press("ArrowLeft")
    shown.page.get_by_role("button", name="reset").click()
    assert shown.picture() == opening


@pytest.mark.parametrize("module", EXAMPLES)
def test_what_is_seen_is_said(draw: Callable[..., Shown], module: str) -> None:
    shown = draw(module)
    for handle in shown.page.get_by_role("slider").all():
        assert handle.get_attribute("aria-label")
        number, low, high = (
            float(handle.get_attribute(f"aria-value{which}") or "nan") for which in ("now", "min", "max")
        )
        assert low <= number <= high
    shown.handle.focus()
    shown.page.keyboard.press("ArrowLeft")
    region = shown.page.locator("[aria-live=polite]")
    words = shown.words()
    assert words
    shown.page.wait_for_function("said => said.textContent", arg=region.element_handle())
    assert region.text_content() == words


@pytest.mark.parametrize("module", EXAMPLES)
def test_a_finger_drags_the_handle_and_scrolls_beside_it(draw: Callable[..., Shown], module: str) -> None:
    shown = draw(module, width=390)
    wire = shown.page.context.new_cdp_session(shown.page)

    def swipe(x: float, y: float, across: float, down: float) -> None:
        wire.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for part in np.linspace(0, 1, 9)[1:]:
            at = [{"x": x + part * across, "y": y + part * down}]
            wire.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": at})
        wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    opening, box = shown.picture(), shown.handle.bounding_box()
    assert box
    # Upward: a page at its top would follow a finger that goes this way.
    swipe(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, -40, -60)
    assert shown.picture() != opening
    assert shown.page.evaluate("scrollY") == 0

    moved = shown.picture()
    corner = shown.page.locator(".ab-drag-stage").bounding_box()
    assert corner
    swipe(corner["x"] + 5, corner["y"] + 200, 0, -120)
    shown.page.wait_for_function("scrollY > 50")
    assert shown.picture() == moved


@pytest.mark.parametrize("width", [320, 390, 700])
@pytest.mark.parametrize("module", EXAMPLES)
def test_all_words_are_large_enough_and_inside(draw: Callable[..., Shown], module: str, width: int) -> None:
    page = draw(module, width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(MISFITS) == []


@pytest.mark.parametrize(("width", "name"), [(640, "wide"), (367, "narrow")])
@pytest.mark.parametrize("module", EXAMPLES)
def test_it_takes_up_the_room_that_is_kept_for_it(
    draw: Callable[..., Shown], module: str, width: int, name: str
) -> None:
    shown = draw(module, width)
    kept = re.search(rf"--{name}: (\d+)px", shown.figure.drawing.still)
    assert kept
    high = shown.page.locator(".ab-drag").bounding_box()
    assert high
    assert abs(high["height"] - int(kept[1])) <= 30  # fonts differ, and a line may break elsewhere


# --------------------------------------------------------------------------------- JavaScript and Python


def test_direction_finds_the_best_corner_and_how_long_it_stays(draw: Callable[..., Shown]) -> None:
    angles = [*np.linspace(0, 359, 60), 55.9]
    shown = draw("direction")
    values = shown.maths("m.value(data.corners, data.edge, point)", angles)
    exact = [WORLD.mdp.best_policy(mixed(theta))[1] for theta in angles]
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-9)

    corners = np.array(shown.figure.drawing.data["corners"])
    best = shown.maths("m.best(data.corners, data.edge, point)", angles)
    reigns = shown.maths("m.reign(data.corners, data.edge, point)", best)
    for theta, corner, ends in zip(angles, best, reigns, strict=True):
        assert ends[0] <= theta + 360 * (theta < ends[0]) <= ends[1]
        for end in ends:  # where it ends, another corner is as good, by Python's account of it
            heading = np.array([np.cos(np.deg2rad(end)), np.sin(np.deg2rad(end))])
            pay = np.delete(corners, corner, axis=0) @ heading
            assert pay.min() == pytest.approx(corners[corner] @ heading, abs=1e-9)


def test_the_edge_is_a_convex_polygon_around_all_corners() -> None:
    data = direction().drawing.data
    corners = np.array(data["corners"])
    assert ConvexHull(corners[data["edge"]]).volume == pytest.approx(ConvexHull(corners).volume, abs=1e-12)


def test_dials_pour_the_occupancy_measure_and_sum_its_total(draw: Callable[..., Shown]) -> None:
    rng = np.random.default_rng(0)
    points = rng.random((60, 2)).tolist()
    shown = draw("dials")
    best, _ = WORLD.mdp.best_policy(WORLD.loss)

    def occupancy(p: float, q: float) -> np.ndarray:
        policy = best.copy()
        policy[DIALS[0]], policy[DIALS[1]] = (1 - p, p), (1 - q, q)
        return WORLD.mdp.occupancy(policy)

    exact = np.array([occupancy(p, q) for p, q in points])
    state = "{p: point[0], q: point[1]}"
    np.testing.assert_allclose(shown.maths(f"m.flow(data, {state})", points), exact, rtol=0, atol=1e-9)
    totals = (exact * WORLD.loss).sum(axis=(1, 2, 3, 4))
    np.testing.assert_allclose(shown.maths(f"m.cost(data, {state})", points), totals, rtol=0, atol=1e-9)

    (line,) = shown.maths("m.levelLine(m.coefficients(data), point)", [1.25])
    on = [(occupancy(p, q) * WORLD.loss).sum() for p, q in line if 0 <= q <= 1]
    assert len(on) > 30
    np.testing.assert_allclose(on, 1.25, rtol=0, atol=1e-9)


@pytest.mark.parametrize("nights", [5, 150])
def test_prices_that_are_pulled_explain_the_totals_and_judge_as_they_say(
    draw: Callable[..., Shown], nights: int
) -> None:
    evidence = index.gather(WORLD, nights=150, rng=np.random.default_rng(1))
    shown = draw("prices")
    data = shown.figure.drawing.data
    at = data["nights"].index(nights)
    choices = [tuple(choice) for choice in data["choices"]]
    rng = np.random.default_rng(0)
    table = index.explain(evidence, nights, "the last leg")  # all prices, and by the book's own code
    shares = data["lists"][at][1][1]
    transitions = WORLD.mdp.transitions
    extreme = functools.cache(index.extreme)
    for _ in range(50):
        k, wanted = int(rng.choice([1, 4, 9, 12])), float(rng.uniform(-0.2, 1.2))
        now = (transitions * table).sum(axis=-1)[choices[k]]
        goal = extreme(evidence, nights, choices[k], 1 if wanted < now else -1)
        gap = (transitions * goal).sum(axis=-1)[choices[k]] - now
        table = table + np.clip((wanted - now) / gap if abs(gap) > 1e-9 else 0, 0, 1) * (goal - table)
        (shares,) = shown.maths(
            f"m.pull(point[0], point[1], point[2], data.least[{at}], data.most[{at}])", [[shares, k, wanted]]
        )
        exact = np.array([(transitions * table).sum(axis=-1)[choice] for choice in choices])
        np.testing.assert_allclose(shares, exact, rtol=0, atol=1e-7)  # the lists are sent with nine decimals
        (said,) = shown.maths("m.said(data.weights, point)", [exact.tolist()])
        np.testing.assert_allclose(said, index.judge(evidence, table)[0], rtol=0, atol=1e-9)
        seen = [trajectory.total(table) for trajectory in evidence.trajectories[:nights]]
        np.testing.assert_allclose(seen, evidence.totals[:nights], rtol=0, atol=1e-9)
    assert shown.maths("m.leastOf(point)", [[0.3, 0.1, 0.1 + 1e-12, 0.2]]) == [1]


def test_the_ruler_measures_as_the_packages_barrier(draw: Callable[..., Shown]) -> None:
    rng = np.random.default_rng(0)
    barrier, shown = ab.LogBarrier(FIELD), draw("ruler")
    shares = 1 - 10 ** rng.uniform(-4, 0, size=60)
    states = [{"angle": a, "share": s} for a, s in zip(rng.uniform(-np.pi, np.pi, 60), shares, strict=True)]
    points = np.array(shown.maths("m.point(data, point)", states))
    back = shown.maths("m.locate(data, m.point(data, point))", states)
    np.testing.assert_allclose(
        [[s["angle"], s["share"]] for s in back],
        [[s["angle"], s["share"]] for s in states],
        rtol=0,
        atol=1e-9,
    )
    center = barrier.analytic_center()
    for x, state in zip(points, states, strict=True):
        slacks, start = FIELD.slacks(x), FIELD.slacks(center)
        lost = ((start - slacks) / start).max()  # the wall that is met first has lost this share
        assert lost == pytest.approx(state["share"], abs=1e-9)

    lengths = [sorted(np.linalg.norm(barrier.dikin(x).axes(), axis=1), reverse=True) for x in points]
    np.testing.assert_allclose(
        shown.maths("m.halfAxes(data.walls, point)", points.tolist()), lengths, rtol=1e-9
    )

    ways = rng.normal(size=(60, 2))
    ends = shown.maths("m.edges(data.walls, point[0], point[1])", np.stack([points, ways], axis=1).tolist())
    for x, way, local in zip(points, ways, ends, strict=True):
        unit = way / barrier.dikin(x).norm(way)
        for distance in local:
            assert FIELD.slacks(x + distance * unit).min() == pytest.approx(0, abs=1e-9)

    for level in shown.figure.drawing.data["levels"]:
        sets = shown.maths(f"m.levelSet(data.walls, point, {level}, 12)", points.tolist())
        values = [[barrier.bregman(y, x) for y in outline] for x, outline in zip(points, sets, strict=True)]
        np.testing.assert_allclose(values, level, rtol=0, atol=1e-9)


def test_thales_guesses_and_is_right_on_average(draw: Callable[..., Shown]) -> None:
    rng = np.random.default_rng(0)
    shown = draw("thales")
    disc = ab.LogBarrier(ab.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.full(4, np.sqrt(2)))).dikin(
        [0, 0]
    )
    np.testing.assert_allclose(disc.boundary()[:, 0] ** 2 + disc.boundary()[:, 1] ** 2, 1)
    for loss in rng.uniform(-0.7, 0.7, size=(3, 2)):
        angles = rng.uniform(0, 360) + 360 * np.arange(20) / 20
        states = [{"angle": angle, "loss": loss.tolist()} for angle in angles]
        guesses = np.array(shown.maths("m.guess(point)", states))
        directions = np.column_stack([np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))])
        exact = [2 * (loss @ u) * disc.apply(u) for u in directions]  # the estimator, in a round ellipsoid
        np.testing.assert_allclose(guesses, exact, rtol=0, atol=1e-9)
        np.testing.assert_allclose(guesses.mean(axis=0), loss, rtol=0, atol=1e-9)
        np.testing.assert_allclose(2 * np.array(shown.maths("m.foot(point)", states)), exact, atol=1e-9)
        np.testing.assert_allclose(shown.maths("m.off(point)", states), np.linalg.norm(loss), atol=1e-9)


def test_a_point_that_is_pulled_out_of_the_field_stops_at_its_edge_and_says_so(
    draw: Callable[..., Shown],
) -> None:
    shown = draw("ruler")
    pull(shown.page, shown.handle, -200, 120)
    assert "no ellipse" in (shown.words() or "")
    shown.handle.focus()
    shown.page.keyboard.press("ArrowUp")
    assert "Its ellipse has half axes" in (shown.words() or "")
    shown.page.get_by_role("button", name="sharp corner").click()
    assert "99.00 % of the way" in (shown.words() or "")


def test_a_run_is_after_each_night_what_the_learner_was(draw: Callable[..., Shown]) -> None:
    shown = draw("time_lapse")
    seen = shown.maths("m.moment(data, point)", list(moments()))
    rings = shown.maths("m.ellipse(point.plan, point.covariance)", seen)
    for (night, kept), now, ring in zip(moments().items(), seen, rings, strict=True):
        barrier = ab.OccupancyBarrier(kept.body)
        plan, edge = ch10.ellipse(barrier, kept.x, TABLES)
        drives = WORLD.mdp.occupancy(ab.policy_of(kept.x))
        np.testing.assert_allclose(now["plan"], plan, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ring, edge, rtol=0, atol=1e-9)
        pays = [(drives * table).sum() for table in TABLES]
        np.testing.assert_allclose(now["drive"], pays, rtol=0, atol=1e-9)
        assert now["regret"] == pytest.approx(kept.regret / night, abs=1e-9)
        assert now["rows"] == kept.body.constrained[kept.body.cells].sum()
        set_ = ConvexHull(now["set"])
        assert (set_.equations @ [*plan, 1] < 0).all()
        assert set_.volume == pytest.approx(ConvexHull(ch10.outline(kept.body, TABLES, 32)).volume, abs=1e-3)


def test_between_two_nights_a_run_is_interpolated_on_the_scale_of_the_picture(
    draw: Callable[..., Shown],
) -> None:
    shown = draw("time_lapse")
    data, nights = shown.figure.drawing.data, np.geomspace(10, 200, 61).tolist()
    seen = shown.maths("m.moment(data, point)", nights)
    for name in ("plan", "drive", "covariance", "set", "regret"):
        kept = np.array(data[name]).reshape(len(data["nights"]), -1)
        exact = [np.interp(np.log(nights), np.log(data["nights"]), column) for column in kept.T]
        found = np.array([now[name] for now in seen]).reshape(len(nights), -1)
        np.testing.assert_allclose(found, np.transpose(exact), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.8, 2.0])
def test_both_paths_are_those_of_mirror_descent(draw: Callable[..., Shown], rate: float) -> None:
    (seen,) = draw("two_paths").maths("m.paths(data.losses, point)", [rate])
    behind, steep = (np.array(path) for path in seen["paths"])
    stepped, weighted = both_paths(rate)
    np.testing.assert_allclose(steep, weighted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(behind, stepped, rtol=0, atol=1e-8)  # 80 steps, each as exact as Newton's stop

    # Where the slopes -1/x of the barrier and the sum of the losses cancel along the simplex.
    slopes = rate * np.vstack([np.zeros(3), LOSSES.cumsum(axis=0)]) - 1 / behind
    np.testing.assert_allclose(behind.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(slopes - slopes[:, :1], 0, rtol=0, atol=1e-9)
    paid = [(path[:-1] * LOSSES).sum() for path in (behind, steep)]
    np.testing.assert_allclose(seen["paid"], paid, rtol=0, atol=1e-9)


def test_a_long_step_is_the_packages_and_so_is_its_fee(draw: Callable[..., Shown]) -> None:
    rng = np.random.default_rng(0)
    shown, barrier = draw("long_step"), ab.LogBarrier(FIELD)
    states = [
        {"angle": a, "z": z} for a, z in zip(rng.uniform(0, 360, 60), rng.uniform(0.05, 2, 60), strict=True)
    ]
    straight = np.array(shown.maths("m.straight(data, point)", states))
    landed = shown.maths("m.mirrored(data, point)", states)
    fees = shown.maths("m.fee(data, m.mirrored(data, point))", states)
    families = shown.maths("m.family(data, point.angle)", states[:5])
    ellipse = barrier.dikin(SPOT)
    for state, step, end, fee in zip(states, straight, landed, fees, strict=True):
        assert ellipse.norm(step) == pytest.approx(state["z"], abs=1e-9)
        loss = -barrier.hessian(SPOT) @ step
        assert ellipse.dual_norm(loss) == pytest.approx(state["z"], abs=1e-9)
        np.testing.assert_allclose(ellipse.newton_step(loss), step, rtol=0, atol=1e-9)
        np.testing.assert_allclose(barrier.mirror_step(SPOT, loss).x, end, rtol=0, atol=1e-7)
        exact = barrier.minimize(loss - barrier.gradient(SPOT), SPOT, tolerance=1e-12).x
        np.testing.assert_allclose(end, exact, rtol=0, atol=1e-9)
        assert fee == pytest.approx(barrier.bregman(SPOT, exact), abs=1e-9)
        if state["z"] < 1:
            star = ab.theory.rho_conjugate(state["z"])
            assert shown.maths("m.rhoStar(point)", [state["z"]]) == pytest.approx([star], abs=1e-12)
            assert fee <= star
    for state, family in zip(states, families, strict=False):
        for one in family[::10]:  # on the way they are computed from one to the next
            here = [{"angle": state["angle"], "z": one["z"]}]
            np.testing.assert_allclose(
                shown.maths("m.mirrored(data, point)", here), [one["landed"]], rtol=0, atol=1e-9
            )
        assert family[-1]["z"] == 2


def test_the_end_of_a_step_that_is_dragged_is_where_it_was_dragged(draw: Callable[..., Shown]) -> None:
    shown = draw("long_step")
    places = np.random.default_rng(0).uniform(-1.4, 1.4, size=(60, 2))
    for place, found in zip(places, shown.maths("m.locate(point, [0, 1])", places.tolist()), strict=True):
        angle = np.deg2rad(found["angle"])
        np.testing.assert_allclose(found["z"] * np.array([np.cos(angle), np.sin(angle)]), place, atol=1e-9)
    (middle, far) = shown.maths("m.locate(point, [0, -1])", [[0, 0], [3, 0]])
    assert (middle["angle"], middle["z"], far["z"]) == (270, 0.05, 2)

    pull(shown.page, shown.handle, 0, 200)  # down, through the fence
    assert "the longest shown" in (shown.words() or "")
    assert "leaves the field" in (shown.words() or "")
    shown.handle.focus()
    for _ in range(45):  # and up again, through the middle
        shown.page.keyboard.press("ArrowUp")
    assert "direction 90°" in (shown.words() or "")


def test_two_rows_stay_in_the_ball_and_are_as_far_apart_as_numpy_says(draw: Callable[..., Shown]) -> None:
    rng, shown = np.random.default_rng(0), draw("two_rows")
    middles = rng.dirichlet([2, 2, 2], size=60)
    radii = np.r_[rng.uniform(0.05, 1.2, 40), rng.uniform(1.2, 2, 20)]
    rows = rng.dirichlet([1, 1, 1], size=60)
    places = rng.uniform(-0.5, 1.5, size=(60, 2))
    corners = np.array([[0, 0], [0.5, np.sqrt(0.75)], [1, 0]])
    sent = [
        [*map(np.ndarray.tolist, (middle, row, place)), w]
        for middle, row, place, w in zip(middles, rows, places, radii, strict=True)
    ]
    balls = shown.maths("m.ball(point[0], point[3])", sent)
    gaps = shown.maths("m.apart(point[0], point[1])", sent)
    pulled = shown.maths("m.pulled(point[0], point[3], point[1])", sent)
    dragged = shown.maths("m.nearest(point[0], point[3], point[2])", sent)
    far = shown.maths("m.farthest(point[0], point[3], m.pulled(point[0], point[3], point[1]))", sent)
    np.testing.assert_allclose(gaps, np.abs(middles - rows).sum(axis=1), rtol=0, atol=1e-12)
    for k, (middle, row, place, w) in enumerate(zip(middles, rows, places, radii, strict=True)):
        edge = ch09.ball_corners(middle, w)
        np.testing.assert_allclose(balls[k], edge, rtol=0, atol=1e-9)
        for p in (pulled[k], dragged[k], far[k]):
            assert sum(p) == pytest.approx(1, abs=1e-12)
            assert min(p) >= -1e-12
            assert np.abs(p - middle).sum() <= w + 1e-12
        share = min(1, w / gaps[k])
        np.testing.assert_allclose(pulled[k], middle + share * (row - middle), rtol=0, atol=1e-12)
        candidates = np.vstack(
            [np.linspace(p, q, 400) for p, q in zip(edge, np.roll(edge, -1, 0), strict=True)]
        )
        distance = np.linalg.norm(candidates @ corners - place, axis=1).min()
        assert np.linalg.norm(dragged[k] @ corners - place) <= distance + 1e-9
        gap = np.abs(np.array(far[k]) - pulled[k]).sum()
        assert gap == pytest.approx(np.abs(candidates - pulled[k]).sum(axis=1).max(), abs=1e-9)
        assert gap <= min(2, 2 * w) + 1e-12


def test_a_smaller_ball_takes_both_rows_with_it(draw: Callable[..., Shown]) -> None:
    shown = draw("two_rows")
    shown.page.get_by_role("button", name="farthest truth").click()
    assert "They are 0.80 apart, more than w; two rows of a ball can be 0.80" in (shown.words() or "")
    radius = shown.page.get_by_role("slider", name="radius")
    pull(shown.page, radius, -600, 0)
    words = shown.words() or ""
    assert words.startswith("Radius w = 0.20, ")
    assert words.count("on the edge of the ball") == 2
    assert "They are 0.40 apart, more than w; two rows of a ball can be 0.40" in words
    pull(shown.page, radius, 600, 0)
    shown.page.get_by_role("button", name="farthest truth").click()
    assert "on the edge of the triangle" in (shown.words() or "")
    assert "two rows of a ball can be 2.00" in (shown.words() or "")


def test_the_estimate_lies_below_the_loss_by_the_optimistic_term(draw: Callable[..., Shown]) -> None:
    rng, shown = np.random.default_rng(0), draw("concave")
    ends = rng.dirichlet(np.ones(6), size=(60, 2)) @ HABITS
    gammas = 10 ** rng.uniform(-3, 0, size=60)
    states = [
        {"gamma": gamma, "settled": bool(k % 2), "from": a.tolist(), "to": b.tolist()}
        for k, (gamma, (a, b)) in enumerate(zip(gammas, ends @ TRIANGLE, strict=True))
    ]
    played = np.array(shown.maths("m.played(point, data)", states))
    sections = shown.maths("m.section(point, m.measured(point, data), data)", states)
    levels = shown.maths("m.ring(m.measured(point, data), 3)", states)
    for state, q, (a, b), seen, ring in zip(states, played, ends, sections, levels, strict=True):
        p = np.eye(6)[0] if state["settled"] else np.full(6, 1 / 6)
        np.testing.assert_allclose(q, (1 - state["gamma"]) * p + state["gamma"] * ODD_HABITS, atol=1e-12)
        moment = HABITS.T @ (q[:, None] * HABITS)
        along = np.linspace(a, b, 61)
        np.testing.assert_allclose(seen["losses"], along @ STREETS, rtol=0, atol=1e-9)
        values = along @ STREETS - ch07.width(along, moment, TENTH)
        np.testing.assert_allclose(seen["values"], values, rtol=0, atol=1e-9)
        assert (values >= np.linspace(values[0], values[-1], 61) - 1e-12).all()
        if ring:
            x, y = np.transpose(ring)
            third = y / np.sqrt(0.75)
            around = np.column_stack([1 - x - third / 2, x - third / 2, third])
            np.testing.assert_allclose(ch07.width(around, moment, TENTH), 3, rtol=0, atol=1e-9)
    assert sum(map(bool, levels)) >= 50


def test_without_exploration_there_is_no_surface(draw: Callable[..., Shown]) -> None:
    shown = draw("concave")
    pull(shown.page, shown.handle, -400, 0)
    assert "M has rank 1" in (shown.words() or "")
    shown.page.keyboard.press("ArrowUp")
    assert "gamma = 0.001" in (shown.words() or "")
    shown.page.keyboard.press("ArrowDown")
    assert "M has rank 1" in (shown.words() or "")
    shown.page.get_by_role("button", name="undecided").click()
    assert "undecided between the six habits, gamma = 0.000" in (shown.words() or "")
    assert "above its chord" in (shown.words() or "")


def test_a_meter_leaves_the_slice_that_python_says(draw: Callable[..., Shown]) -> None:
    totals = [*np.linspace(0, 3, 61), *np.random.default_rng(0).uniform(0, 3, 40)]
    shown = draw("meter")
    slices, ranges = shown.maths("m.slice(point)", totals), shown.maths("m.range(point)", totals)
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    for total, seen, ends in zip(totals, slices, ranges, strict=True):
        exact, corners = ch01.plane_in_cube(total), np.array(seen)
        ordered = (points[np.lexsort(np.round(points, 9).T)] for points in (corners, exact))
        np.testing.assert_allclose(*ordered, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ends, [exact.min(), exact.max()], rtol=0, atol=1e-9)
        if len(corners) > 1:  # in order around: the area of the polygon is that of its hull
            x, y = basis @ corners.T
            area = (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2
            assert area == pytest.approx(ConvexHull(np.transpose([x, y])).volume, abs=1e-9)


def test_multiplications_and_their_slopes_are_as_python_counts_them(draw: Callable[..., Shown]) -> None:
    cities = np.random.default_rng(0).integers([2, 2, 1], [31, 41, 11], size=(60, 3)).tolist()
    seen = draw("multiplications").maths("m.counts({ H: point[0], S: point[1], A: point[2] })", cities)
    for (H, S, A), ways in zip(cities, seen, strict=True):
        counted = ch11.multiplications(H, S, A)
        assert list(ways) == list(counted)
        for name, count in counted.items():
            assert ways[name]["value"] == pytest.approx(count, rel=1e-12)
            # The counts are polynomials of degree six or less: seven values give the derivative.
            grid = S + np.arange(-3, 4)
            values = [ch11.multiplications(H, s, A)[name] / count for s in grid.tolist()]
            derivative = np.polynomial.Polynomial.fit(grid - S, values, 6).deriv()(0)
            assert ways[name]["slope"] == pytest.approx(S * derivative, abs=1e-9)


def triangle(rng: np.random.Generator, rho: float) -> Iterator[list[float]]:
    """Points of the lifted wall, from its middle to a thousandth from a wall."""
    corners = np.array([[0, 0], [rho, rho], [-rho, rho]])
    for _ in range(60):
        shares = rng.dirichlet(np.full(3, 0.3)) + 1e-3
        r, t = shares / shares.sum() @ corners
        yield [r, t, rho]


@pytest.mark.parametrize("rho", [1.0, 2.5])
def test_a_lifted_wall_is_cut_and_throws_shadows_as_the_packages_barrier(
    draw: Callable[..., Shown], rho: float
) -> None:
    shown = draw("lifted")
    points = list(triangle(np.random.default_rng(0), rho))
    barrier = ab.LogBarrier(ab.Polytope([[1, -1], [-1, -1], [0, 1]], [0, 0, rho]))
    lowest = shown.maths("m.lowest(point[0], point[2])", points)
    np.testing.assert_allclose(lowest, [ch11.lowest(r, rho) for r, *_ in points], rtol=0, atol=1e-9)

    seen = shown.maths("m.widths(...point)", points)
    alone = shown.maths("m.minimized(point[0], point[2])", points)
    for (r, t, _), low, widths, interval in zip(points, lowest, seen, alone, strict=True):
        assert barrier.gradient([r, low])[1] == pytest.approx(0, abs=1e-9 / (rho - low))
        hessian = ch11.lifted_hessian(r, t, rho)
        np.testing.assert_allclose(barrier.hessian([r, t]), hessian, rtol=1e-9)
        inverse = np.linalg.inv(hessian)
        assert widths["shadow"] == pytest.approx(np.sqrt(inverse[0, 0]), abs=1e-9)
        assert widths["section"] == pytest.approx(1 / np.sqrt(hessian[0, 0]), abs=1e-9)
        assert widths["rise"] == pytest.approx(inverse[0, 1] / np.sqrt(inverse[0, 0]), abs=1e-9)
        assert barrier.dikin([r, t]).norm([widths["shadow"], widths["rise"]]) == pytest.approx(1, abs=1e-6)
        least = np.linalg.inv(ch11.lifted_hessian(r, low, rho))[0, 0]
        assert interval == pytest.approx(np.sqrt(least), abs=1e-9)
        assert widths["section"] <= widths["shadow"] + 1e-12
        assert max(widths["shadow"], interval) < rho - abs(r)
    assert shown.maths("m.isInside({ r: point[0], t: point[1] }, point[2])", points[:5]) == [True] * 5


def test_a_point_that_is_pulled_out_of_the_triangle_stops_at_the_nearest_wall_and_says_so(
    draw: Callable[..., Shown],
) -> None:
    shown = draw("lifted")
    outside = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
    walls = ab.Polytope([[1, -1], [-1, -1], [0, 1]], [0, 0, 1])
    edge = np.linspace(0, 1, 2001)
    around = np.vstack(
        [np.column_stack(side) for side in ((edge, edge), (-edge, edge), (2 * edge - 1, 0 * edge + 1))]
    )
    for place, found in zip(outside, shown.maths("m.nearest(point, 1)", outside.tolist()), strict=True):
        if walls.contains(place):
            np.testing.assert_allclose([found["r"], found["t"]], place, rtol=0, atol=1e-12)
        else:
            distance = np.linalg.norm(around - place, axis=1).min()
            assert np.hypot(found["r"] - place[0], found["t"] - place[1]) <= distance + 1e-12
            assert walls.slacks([found["r"], found["t"]]).min() == pytest.approx(0, abs=1e-12)

    pull(shown.page, shown.handle, 60, 60)
    assert "there is no ellipse" in (shown.words() or "")
    shown.page.get_by_role("button", name="t to its best").click()
    assert "All three stay" in (shown.words() or "")
    numbers = re.findall(r"±([\d.]+) ρ", shown.words() or "")
    assert numbers[0] == numbers[2]


# ------------------------------------------------------------------------------------------ what they share


@pytest.fixture
def shared(draw: Callable[..., Shown]) -> Callable[[str], Callable[[str, list[Any]], list[Any]]]:
    """Loads a module that others import, and calls its functions."""
    page = draw("direction").page

    def load(module: str) -> Callable[[str, list[Any]], list[Any]]:
        needed = [*draggable_module._needed(module), module]
        closed = [draggable_module._closed(name, draggable_module._read(name)) for name in needed]
        page.evaluate(LOAD, "".join(closed) + f"export const maths = {module};")
        ask = "(points) => points.map((point) => {{ const m = figure.maths; return {}; }})"
        return lambda call, points: page.evaluate(ask.format(call), points)

    return load


def test_the_barrier_is_the_packages(shared: Callable[..., Any]) -> None:
    A = np.array([[-1.0, 0.2], [0.3, -1.0], [1.0, 1.0], [-0.4, 1.0]])
    b = np.array([0.1, 0.2, 1.5, 0.9])
    barrier = ab.LogBarrier(ab.Polytope(A, b))
    center = barrier.analytic_center()
    rng = np.random.default_rng(0)
    points = []
    for _ in range(60):  # from the middle to a thousandth from the edge
        way = rng.normal(size=2)
        far = min(s / g for s, g in zip(b - A @ center, A @ way, strict=True) if g > 0)
        points.append(center + (1 - 10 ** rng.uniform(-3, 0)) * far * way)
    sent = [
        {"walls": {"A": A.tolist(), "b": b.tolist()}, "x": x.tolist(), "y": points[i - 1].tolist()}
        for i, x in enumerate(points)
    ]
    ask = shared("barrier")

    def agree(call: str, exact: Callable[[int, Any], Any]) -> None:
        wanted = [exact(i, x) for i, x in enumerate(points)]
        np.testing.assert_allclose(ask(call, sent), wanted, rtol=1e-9, atol=1e-9)

    agree("m.value(point.walls, point.x)", lambda _, x: barrier.value(x))
    agree("m.gradient(point.walls, point.x)", lambda _, x: barrier.gradient(x))
    agree("m.hessian(point.walls, point.x)", lambda _, x: barrier.hessian(x))
    agree("m.bregman(point.walls, point.y, point.x)", lambda i, x: barrier.bregman(points[i - 1], x))
    agree(
        "m.norm(m.hessian(point.walls, point.x), point.y)",
        lambda i, x: barrier.dikin(x).norm(points[i - 1]),
    )
    agree(
        "m.minimize(point.walls, m.gradient(point.walls, point.x).map((g) => -g), [0.4, 0.4])",
        lambda _, x: x,
    )
    ring = np.array(ask("m.ellipse([0, 0], m.hessian(point.walls, point.x), 0.7, 12)", sent))
    norms = [[barrier.dikin(x).norm(v) for v in edge] for x, edge in zip(points, ring, strict=True)]
    np.testing.assert_allclose(norms, 0.7, rtol=1e-9)
    reach = ask("m.reach(point.walls, point.x, [1, 0.5])", sent)
    nearest = [(b - A @ (x + far * np.array([1, 0.5]))).min() for x, far in zip(points, reach, strict=True)]
    np.testing.assert_allclose(nearest, 0, atol=1e-9)


def test_a_polygon_is_met_where_scipy_says(shared: Callable[..., Any]) -> None:
    rng, ask = np.random.default_rng(0), shared("convex")
    for _ in range(10):
        first, second = (hull.points[hull.vertices] for hull in map(ConvexHull, rng.random((2, 9, 2))))
        (common,) = ask("m.overlap(point[0], point[1])", [[first.tolist(), second.tolist()]])
        walls = np.vstack([ConvexHull(first).equations, ConvexHull(second).equations])
        middle = np.mean(common, axis=0)
        exact = HalfspaceIntersection(walls, middle).intersections
        assert ConvexHull(common).volume == pytest.approx(ConvexHull(exact).volume, abs=1e-9)
        assert np.abs(walls[:, :2] @ np.transpose(common) + walls[:, 2:]).min(axis=0).max() < 1e-9
        places = rng.uniform(-0.5, 1.5, size=(9, 2)).tolist()
        edge = np.vstack([np.linspace(p, q, 400) for p, q in zip(first, np.roll(first, -1, 0), strict=True)])
        for place, found in zip(
            places, ask("m.nearestIn(point[0], point[1])", [[first.tolist(), p] for p in places]), strict=True
        ):
            inside = (ConvexHull(first).equations @ [*place, 1] <= 0).all()
            distance = 0 if inside else np.linalg.norm(edge - place, axis=1).min()
            assert np.hypot(*np.subtract(found, place)) <= distance + 1e-12
            assert (ConvexHull(first).equations @ [*found, 1] <= 1e-9).all()


def test_the_flow_is_the_packages(shared: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.ones(2), size=(50, 3, 3))
    known = {"P": WORLD.mdp.transitions.tolist(), "loss": WORLD.loss.tolist()}
    sent = [{**known, "pi": pi.tolist()} for pi in policies]
    ask = shared("city")
    x = np.array([WORLD.mdp.occupancy(pi) for pi in policies])
    np.testing.assert_allclose(ask("m.occupancy(point.P, point.pi)", sent), x, rtol=0, atol=1e-12)
    totals = ask("m.total(m.occupancy(point.P, point.pi), point.loss)", sent)
    np.testing.assert_allclose(totals, (x * WORLD.loss).sum(axis=(1, 2, 3, 4)), rtol=0, atol=1e-9)
    for h in range(4):
        crowd = ask(f"m.crowd(m.occupancy(point.P, point.pi), {h})", sent)
        exact = x[:, h].sum(axis=(2, 3)) if h < 3 else x[:, -1].sum(axis=(1, 2))
        np.testing.assert_allclose(crowd, exact, rtol=0, atol=1e-12)
