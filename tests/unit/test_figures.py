"""Figures: frames, links and words of a moving one; the house's colors; the same bytes every time."""

from __future__ import annotations

import asyncio
import base64
import importlib
import io
import itertools
import subprocess
import sys
import types

import ipywidgets as widgets
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib import colors as mpl_colors
from matplotlib import pyplot as plt
from PIL import Image

from aggbandit import figures

explorable_module = importlib.import_module("aggbandit.figures.explorable")  # the name means the function

QUANTITIES = ("INK", "LEARNER", "BEST", "LOSS", "ESTIMATE", "REGION", "WALL", "BASELINE", "BOUND")
CAPTION, ALT = "A bar of height $p$.", "One bar of height {p}."


def bar(p):
    fig, ax = figures.axes(height=1.5)
    ax.bar(["p"], [p], color=figures.LEARNER)
    ax.set(ylim=(0, 1))
    return fig


def words(**parameters):
    return f"<p>{parameters}</p>"


def pixels(result):
    """The still picture behind a figure."""
    with Image.open(io.BytesIO(base64.b64decode(result._repr_mimebundle_()[0]["image/png"]))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def links(result):
    """The links that the browser will follow, of this figure alone."""
    controls = [control.model_id for control in result.controls.values()]
    every = [w for w in widgets.widget._instances.values() if isinstance(w, widgets.widget_link.Link)]
    return [link for link in every if link.source[0].model_id in controls]


def visible(result):
    stack = result.widget.children[0]
    while isinstance(stack, widgets.Stack):
        stack = stack.children[stack.selected_index]
    return stack


@pytest.fixture(autouse=True)
def draws_everything(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "all")


# ------------------------------------------------------------------------------------------- moving figures


def test_frames_carry_their_values_last_parameter_fastest():
    result = figures.explorable(words, a=[1, 2], b=["x", "y", "z"], caption=CAPTION, alt="{a}{b}")
    expected = [{"a": a, "b": b} for a, b in itertools.product([1, 2], "xyz")]
    assert len(result.frames) == 6
    for point, frame in zip(expected, result.frames, strict=True):
        assert f"<p>{point}</p>" in frame.value


@pytest.mark.parametrize(
    "values", [{"p": [0, 0.5, 1]}, {"p": [0, 1], "k": [1, 10, 100]}, {"rule": ["a", "b"], "p": [0, 1]}]
)
def test_the_browsers_links_lead_to_the_right_frame(values):
    result = figures.explorable(words, caption=CAPTION, alt="words", **values)
    for position, indices in enumerate(itertools.product(*(range(len(v)) for v in values.values()))):
        for control, index in zip(result.controls.values(), indices, strict=True):
            control.index = index
        for link in links(result):  # what the browser does
            (source, name), (target, target_name) = link.source, link.target
            setattr(target, target_name, getattr(source, name))
        assert visible(result) is result.frames[position]


def test_opens_where_it_is_told_to():
    result = figures.explorable(bar, p=[0, 0.5, 1], start={"p": 0.5}, caption=CAPTION, alt=ALT)
    assert visible(result) is result.frames[1]
    assert result.controls["p"].label == "0.5"


def test_numbers_get_a_slider_and_words_or_two_values_get_buttons():
    result = figures.explorable(words, p=[0, 1, 2], rule=["full", "total"], caption=CAPTION, alt="words")
    assert isinstance(result.controls["p"], widgets.SelectionSlider)
    assert isinstance(result.controls["rule"], widgets.ToggleButtons)
    two = figures.explorable(words, p=[0, 1], caption=CAPTION, alt="words")
    assert isinstance(two.controls["p"], widgets.ToggleButtons)
    named = figures.explorable(words, p={0: "none", 1: "all"}, caption=CAPTION, alt="words")
    assert named.controls["p"].options == (("none", 0), ("all", 1))


def test_alternative_text_comes_from_the_values():
    def tell(p):
        return f'a "bar" of {p:.0%}'

    formatted = figures.explorable(bar, p=[0.25, 1], caption=CAPTION, alt=ALT)
    told = figures.explorable(bar, p=[0.25, 1], caption=CAPTION, alt=tell)
    assert 'aria-label="One bar of height 0.25."' in formatted.frames[0].value
    assert 'aria-label="a &quot;bar&quot; of 25%"' in told.frames[0].value


def test_same_call_same_bytes():
    first, second = (figures.explorable(bar, p=[0.2, 0.7], caption=CAPTION, alt=ALT) for _ in range(2))
    assert [frame.value for frame in first.frames] == [frame.value for frame in second.frames]


def test_text_output_is_the_caption_and_nothing_else():
    result = figures.explorable(bar, p=[0, 1], caption="A <b>bar</b>  of height $p$.", alt=ALT)
    bundle, _ = result._repr_mimebundle_()
    assert bundle["text/plain"] == repr(result) == "Explorable: A bar of height $p$."
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == result.widget.model_id


def test_leaves_no_figure_open():
    figures.explorable(bar, p=[0, 1], caption=CAPTION, alt=ALT)
    assert plt.get_fignums() == []


def test_step_and_reset_buttons_stay_in_range():
    result = figures.explorable(bar, p=[0, 0.5, 1], start={"p": 0.5}, caption=CAPTION, alt=ALT)
    control = result.controls["p"]
    _, back, forward, reset = result.widget.children[1].children[0].children
    path = []
    for button in (forward, forward, reset, back, back):
        button.click()
        path.append(control.index)
    assert path == [2, 2, 1, 0, 0]


def test_time_plays_from_where_its_slider_stands():
    result = figures.explorable(
        words, t=[0, 1, 2], rule=["a", "b"], start={"t": 1}, play="t", caption=CAPTION, alt="words"
    )
    timed, untimed = (row.children for row in result.widget.children[1].children)
    control, player, *_ = timed
    assert not [one for one in untimed if isinstance(one, widgets.Play)]
    assert (player.value, player.min, player.max, player.tooltip) == (1, 0, 2, "play: t")
    every = [one for one in widgets.widget._instances.values() if isinstance(one, widgets.widget_link.Link)]
    (link,) = (one for one in every if one.source[0] is player)
    assert link.source[1] == "value"
    assert link.target == (control, "index")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": [0, 1, 2], "play": "q"}, r"play='q' has no slider; it must be one of \['p'\]"),
        ({"p": [0, 1], "play": "p"}, r"play='p' has no slider; it must be one of \[\]"),
        ({"p": []}, "p has no values"),
        ({"p": list(range(41))}, "41 = 41 frames; at most 40"),
        ({"p": [0, 1], "q": list(range(21))}, "2 x 21 = 42 frames"),
        ({"p": [1], "q": [1], "r": [1]}, r"3 parameters given \(p, q, r\)"),
        ({"p": 3}, "p=3 is not a list of values"),
        ({"p": [0, 1], "start": {"p": 2}}, "start has p=2, which is not among its values"),
        ({"p": [0, 1], "start": {"q": 2}}, "start names q, which is not a parameter"),
        ({"p": [0, 1], "caption": " "}, "caption is empty"),
        ({"p": [0, 1], "alt": lambda p: ""}, "alt is empty"),
        (
            {"p": [0, 1], "alt": "the set {x}"},
            r"alt has \{x\}, which is not a parameter \(p\); write \{\{x\}\}",
        ),
        ({"p": [0, 1], "alt": "half {p"}, "alt has an open brace"),
        ({"p": [0, 1, 1.0]}, "p=0?1 is given 2 times"),
        ({"p": {0: "none", 1: "none"}}, "2 values of p are written 'none'"),
    ],
)
def test_bad_calls_name_the_rule(change, message):
    with pytest.raises(ValueError, match=message):
        figures.explorable(**({"draw": words, "caption": CAPTION, "alt": "words"} | change))


def test_heavy_frames_are_refused_with_their_weight(monkeypatch):
    monkeypatch.setattr(explorable_module, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"2 frames of .* kB weigh .* kB; at most 1 kB"):
        figures.explorable(bar, p=[0, 1], caption=CAPTION, alt=ALT)


def test_frames_of_different_sizes_are_refused():
    def grow(p):
        return figures.axes(height=1 + p)[0]

    with pytest.raises(ValueError, match=r"frame {'p': 1} has 640x213 pixels, the first 640x107"):
        figures.explorable(grow, p=[0, 1], caption=CAPTION, alt=ALT)


def test_a_drawing_must_be_a_picture():
    with pytest.raises(TypeError, match="draw returned int"):
        figures.explorable(lambda p: p, p=[0, 1], caption=CAPTION, alt=ALT)


def test_numbers_are_written_so_that_they_can_be_told_apart():
    result = figures.explorable(words, p=[1000000, 1000001], caption=CAPTION, alt=ALT)
    assert [label for label, _ in result.controls["p"].options] == ["1000000", "1000001"]
    plain = figures.explorable(words, p=[0, 0.1 + 0.2], caption=CAPTION, alt=ALT)
    assert [label for label, _ in plain.controls["p"].options] == ["0", "0.3"]


def test_the_start_is_found_where_rounding_has_put_it():
    values = np.linspace(0, 1, 11)
    assert 0.3 not in values
    result = figures.explorable(words, p=values, start={"p": 0.3}, caption=CAPTION, alt=ALT)
    assert result.controls["p"].index == 3
    with pytest.raises(ValueError, match=r"start has p=0.301"):
        figures.explorable(words, p=values, start={"p": 0.301}, caption=CAPTION, alt=ALT)


def test_braces_are_doubled_and_formats_work():
    result = figures.explorable(words, p=[0.5], caption=CAPTION, alt="the set {{x}} at {p:.0%}")
    assert result.still_metadata == {}
    drawn = figures.explorable(bar, p=[0.5], caption=CAPTION, alt="the set {{x}} at {p:.0%}")
    assert 'aria-label="the set {x} at 50%"' in drawn.frames[0].value


# ------------------------------------------------------------------- a still picture behind a moving figure


def test_the_opening_frame_stands_behind_the_figure_as_a_picture():
    result = figures.explorable(bar, p=[0, 0.5, 1], start={"p": 0.5}, caption=CAPTION, alt=ALT)
    data, metadata = result._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    half, whole = pixels(result), pixels(figures.explorable(bar, p=[1], caption=CAPTION, alt=ALT))
    assert half.shape == whole.shape == (195, 780, 3)
    blue = np.round(255 * np.array(mpl_colors.to_rgb(figures.LEARNER))).astype(int)
    areas = [(picture == blue).all(axis=-1).mean() for picture in (half, whole)]
    assert areas[0] == pytest.approx(areas[1] / 2, rel=0.05)
    assert metadata["image/png"]["alt"] == "One bar of height 0.5."
    assert (metadata["image/png"]["width"], metadata["image/png"]["height"]) == (640, 160)


def test_a_string_stands_behind_its_figure_as_what_it_is():
    svg = figures.explorable(lambda p: f"<svg>{p}</svg>", p=[0, 1], caption=CAPTION, alt=ALT)
    assert svg._repr_mimebundle_()[0]["image/svg+xml"] == "<svg>0</svg>"
    text = figures.explorable(words, p=[0, 1], start={"p": 1}, caption=CAPTION, alt=ALT)
    assert "<p>{'p': 1}</p>" in text._repr_mimebundle_()[0]["text/html"]


def test_ipython_hands_the_still_on_with_its_words():
    result = figures.explorable(bar, p=[0, 1], caption=CAPTION, alt=ALT)
    data, metadata = DisplayFormatter().format(result)
    assert {"image/png", "text/plain"} <= set(data)
    assert metadata["image/png"]["alt"] == "One bar of height 0."


# --------------------------------------------------------------------------------------- in a live notebook


def test_live_draws_the_opening_frame_and_others_when_shown(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    asked = []

    def draw(p, k):
        asked.append((p, k))
        return f"<p>{p} {k}</p>"

    result = figures.explorable(draw, p=[0, 1], k=[1, 2, 3], start={"k": 2}, caption=CAPTION, alt="words")
    assert asked == [(0, 2)]
    result.controls["p"].index = 1
    result.controls["k"].index = 0
    result.controls["p"].index = 0
    result.controls["p"].index = 1
    assert asked == [(0, 2), (1, 2), (1, 1), (0, 1)]
    assert "<p>1 1</p>" in result.frames[3].value
    assert 'aria-busy="true"' in result.frames[5].value


def test_live_fills_the_rest_when_idle_and_ends_the_same(monkeypatch):
    whole = figures.explorable(bar, p=[0, 0.5, 1], caption=CAPTION, alt=ALT)
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")

    async def notebook():
        result = figures.explorable(bar, p=[0, 0.5, 1], caption=CAPTION, alt=ALT)
        await asyncio.gather(*explorable_module._tasks)
        return result

    filled = asyncio.run(notebook())
    assert [frame.value for frame in filled.frames] == [frame.value for frame in whole.frames]


FIRST_CELL = """
import functools

unit, words = 1, "so many: "

def times(p):
    return p * unit

@functools.cache
def shown(p):
    return f"<svg viewBox='0 0 9 9'><text>{times(p)}</text></svg>"

def told(p):
    return words + str(times(p))

figure = figures.explorable(lambda p: shown(p), p=[0, 1, 2], caption="Once.", alt=told)
"""
LATER_CELL = """
unit, later = 100, "bound first here"
times = None
del words
"""


def test_a_frame_is_drawn_late_as_it_would_have_been_at_once(monkeypatch):
    """Whatever a later cell binds anew, or lets go; and that cell's names are as it left them."""
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    notebook = types.ModuleType("__main__")
    notebook.figures = figures
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    exec(FIRST_CELL, vars(notebook))
    exec(LATER_CELL, vars(notebook))
    left = dict(vars(notebook))
    notebook.figure.controls["p"].index = 2
    assert ">2</text>" in notebook.figure.frames[2].value
    assert "so many: 2" in notebook.figure.frames[2].value
    assert dict(vars(notebook)) == left


def test_a_frame_that_fails_leaves_the_notebook_as_it_was(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    notebook = types.ModuleType("__main__")
    notebook.figures = figures
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    exec(
        "n = 1\nfigure = figures.explorable(lambda p: f'<p>{n / p}</p>', p=[1, 0], caption='x', alt='x')",
        vars(notebook),
    )
    notebook.n = 2
    with pytest.raises(ZeroDivisionError):
        notebook.figure.controls["p"].index = 1
    assert notebook.n == 2


def test_live_is_guessed_from_where_the_kernel_runs(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not explorable_module._is_live()
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    assert explorable_module._is_live()
    monkeypatch.setenv("AGGBANDIT_FRAMES", "some")
    with pytest.raises(ValueError, match="AGGBANDIT_FRAMES=some"):
        explorable_module._is_live()


def test_live_there_may_be_many_frames(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    result = figures.explorable(words, p=list(range(60)), caption=CAPTION, alt=ALT)
    assert len(result.frames) == 60


def test_live_a_frame_that_is_not_drawn_yet_shows_the_last_one_faintly(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    seen = []

    def draw(p):
        seen.extend(frame.value for frame in result[0].frames[p : p + 1]) if result else None
        return f"<p>frame {p}</p>"

    result = []
    result.append(figures.explorable(draw, p=[0, 1, 2], caption=CAPTION, alt=ALT))
    assert all("<p>frame 0</p>" in frame.value for frame in result[0].frames)
    assert "opacity" in result[0].frames[1].value
    result[0].controls["p"].index = 1
    result[0].controls["p"].index = 2
    assert "frame 0" in seen[0]
    assert "frame 1" in seen[1]
    assert "opacity" in seen[1]
    assert "frame 2" in result[0].frames[2].value
    assert "opacity" not in result[0].frames[2].value


@pytest.mark.parametrize("values", [{"p": [0, 1, 2]}, {"p": [0, 1], "k": [1, 10, 100]}])
def test_live_the_kernel_follows_where_the_front_end_does_not(monkeypatch, values):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    monkeypatch.setattr(explorable_module, "PATIENCE", 0.01)

    async def notebook():
        result = figures.explorable(words, caption=CAPTION, alt="words", **values)
        for position, indices in enumerate(itertools.product(*(range(len(v)) for v in values.values()))):
            for control, index in zip(result.controls.values(), indices, strict=True):
                control.index = index
            await asyncio.sleep(0.05)
            assert visible(result) is result.frames[position]
        await asyncio.gather(*explorable_module._tasks)

    asyncio.run(notebook())


def test_live_the_kernel_plays_where_the_front_end_does_not(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")
    monkeypatch.setattr(explorable_module, "PATIENCE", 0.01)

    async def notebook():
        result = figures.explorable(words, t=[0, 1, 2], play="t", caption=CAPTION, alt="words")
        _, player, *_ = result.widget.children[1].children[0].children
        player.value = 2
        await asyncio.sleep(0.1)
        assert visible(result) is result.frames[2]
        await asyncio.gather(*explorable_module._tasks)

    asyncio.run(notebook())


def test_live_the_front_end_is_given_time_to_move_the_figure_itself(monkeypatch):
    monkeypatch.setenv("AGGBANDIT_FRAMES", "live")

    async def notebook():
        result = figures.explorable(words, p=[0, 1, 2], caption=CAPTION, alt=ALT)
        result.controls["p"].index = 2
        await asyncio.sleep(0)
        assert visible(result) is result.frames[0]
        await asyncio.gather(*explorable_module._tasks)

    asyncio.run(notebook())


def test_without_the_libraries_the_extra_is_named():
    program = (
        "import sys; sys.modules['matplotlib'] = sys.modules['ipywidgets'] = None\n"
        "import aggbandit\n"
        "try:\n    import aggbandit.figures.chapters.ch01\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "aggbandit.figures needs matplotlib, ipywidgets: pip install 'aggbandit[figures]'"
    )


# ------------------------------------------------------------------------------------------- still pictures


def test_a_picture_has_its_words_and_closes_its_figure():
    shown = figures.picture(bar(0.5), caption="Half, $p=1/2$.", alt="A bar <half> full.")
    assert 'aria-label="A bar &lt;half&gt; full."' in shown.html
    assert r"Half, \(p=1/2\).</figcaption>" in shown.html
    assert repr(shown) == shown._repr_mimebundle_()["text/plain"] == "Picture: Half, $p=1/2$."
    assert plt.get_fignums() == []


def test_svg_gets_its_words_as_a_label():
    shown = figures.picture("<svg></svg>", caption="Nothing.", alt="An empty drawing.")
    assert 'role="img" class="ab-frame" aria-label="An empty drawing."' in shown.html


@pytest.mark.parametrize("missing", ["caption", "alt"])
def test_a_picture_without_words_is_refused(missing):
    with pytest.raises(ValueError, match=f"{missing} is empty"):
        figures.picture("<svg></svg>", **({"caption": "c", "alt": "a"} | {missing: ""}))


# -------------------------------------------------------------------------------------------- house colors


def luminance(color):
    channels = np.array(mpl_colors.to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", [*QUANTITIES, "FAINT", "PAPER"])
def test_house_colors_survive_rounding(name):
    channels = 255 * np.array(mpl_colors.to_rgb(getattr(figures, name)))
    assert np.all(np.round(channels).astype(int) % 17 == 0)


@pytest.mark.parametrize("name", ["MASS_CMAP", "LOSS_CMAP"])
def test_a_ramp_gets_darker_in_one_hue_also_where_frames_are_rounded(name):
    ramp = getattr(figures, name)
    steps = np.rint(255 * ramp(np.arange(ramp.N))[:, :3])
    assert not (steps % 17).any()
    assert (np.diff([luminance(step / 255) for step in steps]) < 0).all()
    hues = mpl_colors.rgb_to_hsv(steps[1:] / 255)[:, 0]
    assert np.ptp(hues) < 16 / 360


def test_style_is_put_back():
    before = plt.rcParams["font.size"]
    with figures.house_style():
        assert plt.rcParams["font.size"] == figures.STYLE["font.size"]
    assert plt.rcParams["font.size"] == before


def test_a_start_that_is_no_table_of_values_is_answered_with_one():
    with pytest.raises(TypeError, match=r"start is 0.5; .* start=\{'p': 0.5\}"):
        figures.explorable(
            lambda p: "<svg/>", p=[0, 0.5], start=0.5, caption="A bar.", alt="A bar, {p} long."
        )
