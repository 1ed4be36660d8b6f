"""The doors: what counts as an array, as probabilities, as a source of randomness, as enough memory."""

import copy
import pickle
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from scipy.sparse import csr_array

import aggbandit as ab
from aggbandit import _arrays
from aggbandit._arrays import (
    check_memory,
    check_rng,
    check_rows,
    check_unit_interval,
    integer_array,
    probability_rows,
    read_only,
    real_array,
    reduce_frozen,
)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(2) * 1j, "x has entries of type complex128; they must be real numbers"),
        (["0.5", "0.5"], "x has entries of type <U3; they must be real numbers"),
        ([b"1"], r"x has entries of type \|S1; they must be real numbers"),
        (np.array(["2020"], dtype="datetime64[Y]"), "x has entries of type datetime64"),
        ([0.5, None], "x has entries of type NoneType; they must be real numbers"),
        ({0: 0.5}, "x has entries of type dict; they must be real numbers"),
        ([[1.0, 2.0], [3.0]], "x is no array: .* inhomogeneous"),
        pytest.param(10**400, "x has an entry beyond float64", id="huge"),
        (csr_array(np.eye(2)), r"x is a sparse matrix; write x\.toarray\(\)"),
        (np.ma.array([0.5, 0.5], mask=[False, True]), "x has masked entries"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        real_array("x", values)


@pytest.mark.parametrize(
    "values", [[True, False], [1, 0], np.array([1, 0], np.float16), [Fraction(1), Fraction(0)], (1.0, 0.0)]
)
def test_what_is_an_array_of_real_numbers(values):
    array = real_array("x", values)
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, [1.0, 0.0])


WORLD = ab.night_driver()
POLICY = ab.uniform_policy(WORLD.mdp)
WIDE = np.full(POLICY.shape, 0.3)
TRIANGLE = ab.LogBarrier(ab.simplex(3))
MIDDLE = np.full(3, 1 / 3)
PLAUSIBLE = ab.OccupancySet(WORLD.mdp.transitions, WIDE)
DOORS = {
    "transitions": (WORLD.mdp.transitions, ab.FiniteHorizonMDP),
    "policy": (POLICY, WORLD.mdp.occupancy),
    "loss": (WORLD.loss, WORLD.mdp.best_policy),
    "tables": (WORLD.loss[None], lambda v: ab.LossSequence(v, [0])),
    "x": (WORLD.mdp.occupancy(POLICY), ab.check_occupancy),
    "A": (TRIANGLE.body.A, lambda v: ab.Polytope(v, TRIANGLE.body.b, TRIANGLE.body.C, TRIANGLE.body.d)),
    "b": (TRIANGLE.body.b, lambda v: ab.Polytope(TRIANGLE.body.A, v, TRIANGLE.body.C, TRIANGLE.body.d)),
    "low": (np.zeros(2), lambda v: ab.geometry.box(v, [1.0, 1.0])),
    "a point": (MIDDLE, TRIANGLE.value),
    "a center": (MIDDLE, TRIANGLE.dikin),
    "linear": (MIDDLE, lambda v: TRIANGLE.minimize(v, MIDDLE)),
    "start": (MIDDLE, lambda v: TRIANGLE.minimize(MIDDLE, v)),
    "P_hat": (WORLD.mdp.transitions, lambda v: ab.OccupancySet(v, WIDE)),
    "radius": (WIDE, lambda v: ab.OccupancySet(WORLD.mdp.transitions, v)),
    "a table": (WORLD.mdp.occupancy(POLICY), PLAUSIBLE.check),
    "points": (np.eye(3), ab.learners.g_optimal_design),
    "losses": (np.eye(3), lambda v: ab.mirror_descent(TRIANGLE, v, np.ones(3))),
    "rates": (np.ones(3), lambda v: ab.mirror_descent(TRIANGLE, np.eye(3), v)),
    "counts": (WORLD.mdp.transitions, lambda v: ab.theory.confidence_radius(v, 10, 0.1)),
}


@pytest.mark.parametrize("odd", ["complex", "str", "datetime64[s]", "object"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_is_no_number(door, odd):
    """NumPy reads the text "0.5" as a number, a date as its seconds, None as NaN."""
    good, use = DOORS[door]
    use(good)
    bad = np.full(good.shape, None) if odd == "object" else good.astype(int).astype(odd)
    with pytest.raises(ValueError, match=r"has entries of type .*; they must be real numbers"):
        use(bad)


def test_integers():
    assert integer_array("x", np.array([1, 2], np.uint8)).dtype == np.uint8
    assert integer_array("x", []).dtype == np.int64
    with pytest.raises(ValueError, match="x has entries of type float64; they must be integers"):
        integer_array("x", [1.0])
    with pytest.raises(ValueError, match="x has entries of type bool; they must be integers"):
        integer_array("x", [True])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_coarse_rows_are_as_good_as_they_can_be(dtype, rng):
    rows = rng.dirichlet(np.ones(40), size=(7, 3)).astype(dtype)
    assert np.abs(rows.astype(np.float64).sum(axis=-1) - 1).max() > 1e-9
    fine = probability_rows("p", rows)
    np.testing.assert_allclose(fine.sum(axis=-1), 1.0, atol=1e-15)
    np.testing.assert_allclose(fine, rows, rtol=20 * float(np.finfo(dtype).eps))
    with pytest.raises(ValueError, match=r"p\[0, 0\] sums to 1\.[01].*; each row must sum to one"):
        probability_rows("p", rows * dtype(1.1))
    # As float64 they are rows of which nobody knows where the error comes from.
    with pytest.raises(ValueError, match=r"beyond the tolerance 1e-09; rows rounded to single precision"):
        probability_rows("p", rng.dirichlet(np.ones(4), size=50).astype(np.float32).astype(np.float64))


def test_repeated_rows_are_summed_as_often_as_they_stand_there():
    check_rows("p", np.broadcast_to(0.25, (3, 4)))
    with pytest.raises(ValueError, match=r"p\[0\] sums to 1\.25"):
        check_rows("p", np.broadcast_to(0.25, (3, 5)))
    with pytest.raises(ValueError, match="p is a single number; expected rows of probabilities"):
        probability_rows("p", 1.0)
    thirds = probability_rows("p", np.broadcast_to(np.float32(1 / 3), (7, 3)))
    np.testing.assert_array_equal(thirds, np.full((7, 3), 1 / 3))


def test_repetitions_are_neither_copied_out_nor_checked_one_by_one():
    """A hundred terabytes that are one number."""
    table = np.broadcast_to(np.array([0.5], dtype=np.float32)[:, None], (10**7, 10**7))
    kept = read_only(table)
    assert kept.shape == table.shape
    assert kept.strides == (0, 0)
    check_unit_interval("x", kept)


def test_a_loss_beyond_one_by_rounding_is_shown_as_such():
    with pytest.raises(ValueError, match=r"x\[0\] is 1 \+ 2\.2e-16; losses must lie in \[0, 1\]"):
        check_unit_interval("x", np.array([np.nextafter(1.0, 2.0)]))


@pytest.mark.parametrize(
    ("rng", "message"),
    [
        (0, r"rng is 0; it must be a numpy Generator: rng=np\.random\.default_rng\(0\)"),
        (np.int64(3), r"rng is 3; .*default_rng\(3\)"),
        (None, r"rng is None; .*default_rng\(seed\)"),
        (np.random, "rng is a module; it must be"),
        (np.random.RandomState(0), "rng is a RandomState; it must be"),
        (np.random.Generator, "rng is a type; it must be"),
    ],
)
def test_randomness_is_passed_in(rng, message):
    with pytest.raises(TypeError, match=message):
        check_rng(rng)
    check_rng(np.random.default_rng(0))


def test_too_much_memory_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(_arrays, "available_memory", lambda: 3e9)
    check_memory("a table", 2.9e9)
    with pytest.raises(MemoryError, match=r"a table needs 8\.0 GB; 3\.0 GB is available"):
        check_memory("a table", 8e9)
    monkeypatch.setattr(_arrays, "available_memory", lambda: None)
    check_memory("a table", 8e30)


def test_a_container_counts(monkeypatch):
    files = {
        "/proc/meminfo": ["MemTotal: 9000000 kB", "MemAvailable: 8000000 kB"],
        "/sys/fs/cgroup/memory.max": ["4000000000"],
        "/sys/fs/cgroup/memory.current": ["3000000000"],
        "/sys/fs/cgroup/memory.stat": ["anon 1000000000", "file 2000000000"],
    }
    monkeypatch.setattr(_arrays, "_lines", lambda path: files.get(path, []))
    assert _arrays.available_memory() == 3e9
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert _arrays.available_memory() == 8_192_000_000
    files.clear()
    assert (_arrays.available_memory() or 1e9) > 1e8


@dataclass(frozen=True, eq=False)
class Holder:
    table: np.ndarray
    many: tuple[np.ndarray, ...]
    named: MappingProxyType[str, np.ndarray]
    scratch: np.ndarray
    __reduce__ = reduce_frozen


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_was_read_only_and_compact_stays_so(protocol):
    wide = np.broadcast_to(read_only([1.0, 2.0]), (100_000, 2))
    holder = Holder(wide, (wide, wide), MappingProxyType({"again": wide}), np.zeros(3))
    sent = pickle.dumps(holder, protocol)
    assert len(sent) < 5000
    for other in (pickle.loads(sent), copy.copy(holder), copy.deepcopy(holder)):
        for table in (other.table, *other.many, other.named["again"]):
            np.testing.assert_array_equal(table, wide)
            assert not table.flags.writeable
            assert table.strides[0] == 0
        assert other.scratch.flags.writeable
        with pytest.raises(TypeError):
            other.named["more"] = wide
    assert copy.deepcopy(holder).scratch is not holder.scratch


def test_entries_whose_squares_overflow_are_finite():
    _arrays.check_finite("x", np.full(3, 1e200))
    with pytest.raises(ValueError, match=r"x\[1\] is -inf"):
        _arrays.check_finite("x", np.array([1e200, -np.inf]))
