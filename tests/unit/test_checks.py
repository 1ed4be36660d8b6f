"""Checks: right answers pass, wrong ones fail with the law that they break, and a blank is a blank."""

import re

import numpy as np
import pytest
from answers import RIGHT, WRONG

import aggbandit as ab
from aggbandit import checks
from aggbandit.checks.instances import inside, small_body, small_world
from aggbandit.checks.report import Candidate, Fault, check, close

# What only the problem sets ask for is tried with them.
TASKS = [name for name, made in checks.ALL.items() if not made.examine.__module__.endswith(".assignments")]
WRONG_ANSWERS = [
    pytest.param(task, function, said, id=f"{task}-{number}")
    for task, answers in WRONG.items()
    for number, (function, said) in enumerate(answers)
]


# --- every task ---------------------------------------------------------------------------------------------


def test_every_task_has_a_right_answer_and_five_wrong_ones():
    assert set(RIGHT) == set(WRONG) == set(TASKS)
    assert {task: len(answers) for task, answers in WRONG.items() if len(answers) < 5} == {}
    assert set(TASKS) <= set(checks.__all__)
    assert {name: made.name for name, made in checks.ALL.items()} == {name: name for name in checks.ALL}


@pytest.mark.parametrize("task", TASKS)
def test_the_right_answer_passes(task):
    assert repr(checks.ALL[task](RIGHT[task], seed=1, instances=40)) == f"{task}: right, on 40 instances."


@pytest.mark.parametrize(("task", "function", "said"), WRONG_ANSWERS)
def test_a_wrong_answer_is_told_what_it_breaks(task, function, said):
    report = checks.ALL[task](function)
    assert report.verdict == "wrong", report
    assert said.lower() in repr(report).lower()


@pytest.mark.parametrize(("task", "function", "said"), WRONG_ANSWERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_seed_lets_a_wrong_answer_pass(task, function, said, seed):
    assert checks.ALL[task](function, seed=seed).verdict == "wrong"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("constant", [-1e9, -1.0, 0.0, 0.5, 1.0, 2.0, 1e9])
def test_no_constant_passes(task, constant):
    class Constant(Candidate):
        def __call__(self, *arguments, shape, finite=True):
            return np.full(shape, constant)

    stubborn = Constant(lambda: None)
    streams = np.random.SeedSequence(0).spawn(checks.report.INSTANCES)
    found = [list(checks.ALL[task].examine(stubborn, np.random.default_rng(stream))) for stream in streams]
    assert any(found)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "mangle", [lambda x: x[None], lambda x: x * np.nan, lambda x: str(x), lambda x: x.astype(complex)]
)
def test_what_is_no_array_of_numbers_of_this_shape_is_wrong(task, mangle):
    report = checks.ALL[task](lambda *given: mangle(np.asarray(RIGHT[task](*given))))
    assert report.verdict == "wrong"


@pytest.mark.parametrize("task", TASKS)
def test_a_blank_and_an_error(task):
    def blank(*given):
        raise NotImplementedError

    def crash(*given):
        raise ZeroDivisionError("division by zero")

    for empty in (blank, lambda *given: None):
        report = checks.ALL[task](empty)
        assert report.verdict == "not answered"
        assert repr(report).startswith(f"{task}: not answered yet. Wanted: a function of ")
    report = checks.ALL[task](crash)
    assert (report.verdict, report.passed) == ("crashed", False)
    assert "ZeroDivisionError: division by zero" in repr(report)


def test_a_name_that_a_cell_above_would_define():
    def in_a_hurry(*given):
        return numpy_as_the_chapter_calls_it.zeros(3)  # noqa: F821  (the cells above were not run)

    def of_its_own(*given):
        if not given:
            late = 0.0
        return late

    assert "run the cells above first" in repr(checks.occupancy(in_a_hurry))
    assert "run the cells above" not in repr(checks.occupancy(of_its_own))


@pytest.mark.parametrize("task", TASKS)
def test_an_answer_that_spoils_its_arguments_harms_nobody(task):
    def spoiling(*given):
        result = np.copy(RIGHT[task](*given))
        for value in given:
            if isinstance(value, np.ndarray):
                value[...] = 0
        return result

    assert checks.ALL[task](spoiling).passed


@pytest.mark.parametrize("task", TASKS)
def test_only_numbers_cross(task):
    """In marking the function runs in another process: arrays and numbers go in, one array comes out."""

    def recording(*given):
        for value in given:
            assert isinstance(value, (int, float, np.integer, np.floating, np.ndarray)), type(value)
            assert not isinstance(value, np.ndarray) or value.dtype.kind in "biuf"
        return RIGHT[task](*given)

    assert checks.ALL[task](recording).passed


def test_an_instance_depends_on_the_seed_alone():
    seen = []

    def recording(policy, transitions, initial_state):
        seen.append(policy)
        return RIGHT["occupancy"](policy, transitions, initial_state)

    for seed in (5, 5, 6):
        checks.occupancy(recording, seed=seed, instances=2)
    first, again, other = seen[:2], seen[2:4], seen[4:]
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], first[1])


def test_the_rate_s_report_does_not_write_its_formula():
    report = checks.increasing_rate(lambda eta, n, y, z, eps: 1 / (1 / eta - n * abs(z @ eps)))
    assert "2 n" not in repr(report)
    assert re.search(r"Yours lowers it by (\S+), \1 too little\.", repr(report))


# --- the package's own functions ----------------------------------------------------------------------------


def test_the_package_passes_its_own_checks():
    def mdp(transitions, initial_state):
        return ab.FiniteHorizonMDP(transitions, initial_state)

    def barrier(A, b, x, C=None):
        return ab.LogBarrier(ab.Polytope(A, b, C, None if C is None else C @ x))

    own = {
        "occupancy": lambda pi, P, s: mdp(P, s).occupancy(pi),
        "policy_of_occupancy": ab.policy_of,
        "induced_occupancy": lambda y, P, s: mdp(P, s).occupancy(ab.policy_of(y)),
        "expected_total": lambda pi, P, loss, s: mdp(P, s).expected_loss(pi, loss),
        "best_policy": lambda P, loss, s: mdp(P, s).best_policy(loss)[0],
        "barrier_gradient": lambda A, b, x: barrier(A, b, x).gradient(x),
        "barrier_hessian": lambda A, b, x: barrier(A, b, x).hessian(x),
        "bregman": lambda A, b, y, x: barrier(A, b, x).bregman(y, x),
        "mirror_step": lambda A, b, C, x, g: barrier(A, b, x, C).mirror_step(x, g).x,
        "distorted_play": lambda y, target, eps: ab.game.rules.moved_towards(
            ab.game.View(1, y, np.zeros(y.shape), eps, 1.0, None), target
        ),
        "increasing_rate": lambda eta, n, y, z, eps: (
            ab.IncreasingRate().next_rate(eta, 10 * eta, n, abs(z @ eps)).eta
        ),
        "confidence_radius": lambda N, K, delta: ab.TightConfidence(delta).radius(N, K),
    }
    assert {name: repr(checks.ALL[name](function)) for name, function in own.items()} == {
        name: f"{name}: right, on 8 instances." for name in own
    }


# --- the frame ----------------------------------------------------------------------------------------------


@check("a function of p that returns the chances (2,) of heads and tails")
def coin(answer, rng):
    p = rng.random()
    chances = answer(p, shape=(2,))
    yield from close("the chances sum to one", chances.sum(), 1.0)
    yield from close("heads has the chance p", chances[:1], p, "side")


def test_a_report_reads_as_text():
    assert repr(coin(lambda p: [p, 1 - p])) == "coin: right, on 8 instances."
    assert repr(coin(lambda p: None)) == (
        "coin: not answered yet. Wanted: a function of p that returns the chances (2,) of heads and tails."
    )
    assert repr(coin(lambda p: [p, 1.25 - p])) == (
        "coin: not right yet, on instance 1.\n  - the chances sum to one. Off by 0.25."
    )
    assert repr(coin(lambda p: [p + 0.5, 1 - p - 0.5])) == (
        "coin: not right yet, on instance 1.\n  - heads has the chance p. At side = 0: off by 0.5."
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ([1.0], "the result has shape (2,). Yours has shape (1,)."),
        (1.0, "the result has shape (2,). Yours has shape ()."),
        ([np.nan, 1.0], "every entry is a finite number. At [0]: 1 of 2 entries are not, the first is nan."),
        ("heads", "the result is an array of real numbers. Yours is a str; its entries are of type <U5."),
        ([1j, 0], "Yours is a list; its entries are of type complex128."),
        ([[1], [1, 2]], "the result is an array of real numbers. Yours is a list; "),
        ([10**400, 0], "the result is an array of real numbers. Yours is a list; "),
        ({"p": 1}, "Yours is a dict; its entries are of type object."),
    ],
)
def test_a_result_of_another_kind(result, said):
    report = coin(lambda p: result)
    assert report.verdict == "wrong"
    assert said in repr(report)


def test_a_single_number():
    @check("a function of p that returns p")
    def itself(answer, rng):
        p = rng.random()
        yield from close("the result is p", answer(p, shape=()), p)

    assert itself(lambda p: p).passed
    assert itself(lambda p: np.float32(p)).verdict == "wrong"  # single precision is not enough
    assert "the result is a single number. Yours has shape (1,)." in repr(itself(lambda p: [p]))
    assert "the result is a finite number. Yours is inf." in repr(itself(lambda p: np.inf))
    assert "the result is a single number. Yours is a str" in repr(itself(lambda p: "p"))


def test_an_error_says_in_which_line_of_its_cell():
    source = "def chances(p):\n    half = 1 / 2\n    return [half, 1 / (p - p)]\n"
    cell = {}
    exec(compile(source, "<cell>", "exec"), cell)
    assert repr(coin(cell["chances"])) == (
        "coin: stopped with an error, on instance 1.\n"
        "  - your function raised an error. At line 3 of its cell: ZeroDivisionError: float division by zero."
    )


def test_an_interrupt_is_the_reader_s():
    def stopped(p):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coin(stopped)


@pytest.mark.parametrize("instances", [0, -1, 2.5])
def test_nothing_is_right_on_no_instance(instances):
    with pytest.raises(ValueError, match=r"instances is .*; it must be an integer of at least 1"):
        coin(lambda p: None, instances=instances)


def test_a_result_in_place_of_the_function():
    with pytest.raises(TypeError, match="it must be the function itself, not what it returns"):
        checks.occupancy(np.zeros((2, 2, 2, 2)))


def test_a_fault_without_place_or_amount():
    assert str(Fault("mass is one")) == "mass is one."
    assert str(Fault("mass is one", "h = 1")) == "mass is one. At h = 1."


def test_the_largest_difference_is_the_one_that_is_shown():
    fault = next(close("equal", np.array([1.0, 2.5, 3.1]), np.array([1.0, 2.0, 3.0]), "i"))
    assert fault == Fault("equal", "i = 1", "off by 0.5")
    assert list(close("equal", np.array([1e6]), np.array([1e6 + 1e-4]), "i")) == []


# --- instances ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_instances_are_lopsided_and_inside(seed):
    rng = np.random.default_rng(seed)
    world, body = small_world(rng), small_body(rng)
    assert np.abs(world.transitions - world.transitions.swapaxes(1, 3)).max() > 1e-3
    assert body.slacks.max() > 3 * body.slacks.min() > 0
    assert 1 <= body.dimension < body.x.size
    barrier = ab.LogBarrier(ab.Polytope(body.A, body.b, body.C, body.C @ body.x))
    assert barrier.dimension == body.dimension
    np.testing.assert_allclose(barrier.hessian(body.x), body.hessian)
    np.testing.assert_allclose(barrier.gradient(body.x), body.gradient(body.x))
    assert barrier.body.contains(y := inside(body, rng))
    assert barrier.bregman(y, body.x) == pytest.approx(body.bregman(y, body.x))


def test_at_the_center_the_printed_sampler_would_pass():
    """Why instances are skewed: at the center of a symmetric set, cutting and projecting are the same."""
    C, center, u = np.ones((1, 4)), np.full(4, 0.25), np.array([0.6, 0.8, 0.0])
    H = np.diag(center**-2.0)
    from answers import dikin_as_printed, dikin_point

    v = dikin_as_printed(H, C, center, u) - center
    assert v @ H @ v == pytest.approx(1)
    w = dikin_point(H, C, center, u) - center
    assert w @ H @ w == pytest.approx(1)
