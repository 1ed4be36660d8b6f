"""Files that are nearly histories: whatever is in them, a named error comes out, or a history."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import aggbandit as ab

WORLD = ab.night_driver()
LEFT_OUT = object()
# What JSON can say where a number, a text or a table is expected.
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 200),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(-3, 9), st.text(max_size=3)), max_size=4),
    st.dictionaries(
        st.sampled_from(["array", "dtype", "bit_generator", "state", "world"]), st.integers(), max_size=3
    ),
)
ARRAY = arrays.arrays(
    dtype=st.one_of(
        arrays.floating_dtypes(endianness="?"),
        arrays.integer_dtypes(endianness="?"),
        arrays.boolean_dtypes(),
        arrays.complex_number_dtypes(),
        arrays.unicode_string_dtypes(max_len=4),
        arrays.byte_string_dtypes(max_len=4),
        arrays.datetime64_dtypes(),
    ),
    shape=arrays.array_shapes(min_dims=0, min_side=0, max_side=3),
)


class Saved:
    """What `load` can be handed in parts; its numbers are not printed when a test fails."""

    def __init__(self, path, header, content):
        self.path, self.header, self.content = path, header, content


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The header and the arrays of an interrupted run, and a place to write others."""
    path = tmp_path_factory.mktemp("histories") / "run.npz"
    losses = ab.losses.fixed(WORLD.loss, 9)
    learner = ab.AggregateFeedbackLearner(3, 2, 3, 9, rates=ab.tuned_rates())
    whole = ab.simulate(learner, WORLD, losses, np.random.Generator(np.random.MT19937(0)), "reference")
    kept = {name: getattr(whole, name)[:6] for name in ("expected_loss", "total_loss", "comparator_loss")}
    checkpoint = ab.history.Checkpoint(learner.snapshot(), np.random.MT19937(0).state, "world", "losses")
    replace(whole, episodes=6, checkpoint=checkpoint, **kept).save(path)
    with np.load(path) as archive:
        content = dict(archive)
    return Saved(path, json.loads(str(content.pop("header"))), content)


def load(path: Path) -> None:
    """A history, or a named error; a history that was read can be written and is the same."""
    try:
        history = ab.History.load(path)
    except ValueError as error:
        assert error.args[0].startswith(str(path))  # noqa: PT017
        return
    history.save(path)
    again = ab.History.load(path)
    np.testing.assert_array_equal(again.total_loss, history.total_loss)
    assert (again.episodes, again.planned, again.every) == (history.episodes, history.planned, history.every)


def places(value, where=()):
    """Every place in a header, as a path of keys; of a long list the first entries."""
    yield where
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield from places(entry, (*where, key))


def changed(value, where, new):
    """The header with another entry at a place, or, where `new` is `LEFT_OUT`, without it."""
    if not where:
        return new
    copy = value.copy()
    if len(where) == 1 and new is LEFT_OUT:
        del copy[where[0]]
    else:
        copy[where[0]] = changed(value[where[0]], where[1:], new)
    return copy


@given(data=st.data())
def test_any_header_gives_a_history_or_a_named_error(saved, data):
    path, header, content = saved.path, saved.header, saved.content
    where = data.draw(st.sampled_from(list(places(header))))
    new = data.draw(st.one_of(ODD, st.just(LEFT_OUT)) if where else ODD)
    np.savez(path, header=np.array(json.dumps(changed(header, where, new))), **content)
    load(path)


@given(data=st.data())
def test_any_arrays_give_a_history_or_a_named_error(saved, data):
    path, header, content = saved.path, saved.header, saved.content
    name = data.draw(st.sampled_from([*content, "header", "learner.of mine", "epoch.more", "more"]))
    np.savez(path, **({"header": np.array(json.dumps(header)), **content} | {name: data.draw(ARRAY)}))
    load(path)


@given(name=st.sampled_from(["expected_loss", "header"]), entry=st.binary(max_size=200), data=st.data())
def test_any_bytes_in_an_entry_give_a_history_or_a_named_error(saved, name, entry, data):
    """An array is text that NumPy reads, and bytes: either may be anything."""
    path, header, content = saved.path, saved.header, saved.content
    np.savez(path, header=np.array(json.dumps(header)), **content)
    with zipfile.ZipFile(path) as archive:
        entries = {item: archive.read(item) for item in archive.namelist()}
    whole = entries[f"{name}.npy"]
    start = data.draw(st.integers(0, min(len(whole), 150)))
    entries[f"{name}.npy"] = whole[:start] + entry + whole[start + len(entry) :]
    with zipfile.ZipFile(path, "w") as archive:
        for item, value in entries.items():
            archive.writestr(item, value)
    load(path)
