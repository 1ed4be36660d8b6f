"""The compiled engine is the reference, only faster: same random numbers, same trajectories, same
iterates."""

import ast
import importlib.util
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from engine_worlds import deterministic, dirichlet, mixed, sparse

import aggbandit as ab
from aggbandit.engine import bridge, first_call, flow_kernels, kernels, u_kernels
from aggbandit.geometry import _newton, occupancy_barrier
from aggbandit.learners.rates import Rate, TunedRates

OUTSIDE = {"rates": ab.tuned_rates(3.0), "between_epochs": ab.epochs.carry, "baseline": ab.RunningMean()}
PAPER = {"rates": ab.tuned_rates()}
ENGINES = ("auto", "reference")


CASES = {
    "running example": (dirichlet(3, 3, 2), 500, mixed, OUTSIDE),
    "as in the paper": (dirichlet(2, 2, 2), 500, mixed, PAPER),
    "the theorem's rates": (dirichlet(3, 3, 2), 300, mixed, {"rates": ab.theorem_rates(), "baseline": 1.5}),
    "tight radii, many walls": (
        dirichlet(2, 3, 2),
        500,
        mixed,
        OUTSIDE | {"confidence": ab.TightConfidence()},
    ),
    "a constant rate": (dirichlet(3, 2, 2), 300, mixed, {"rates": ab.tuned_rates(1.0, ab.ConstantRate(2.0))}),
    "one state": (dirichlet(3, 1, 3), 300, mixed, OUTSIDE),
    "one action": (dirichlet(3, 3, 1), 300, mixed, OUTSIDE),
    "one step": (dirichlet(1, 4, 3), 300, mixed, OUTSIDE),
    "nothing to choose": (dirichlet(2, 1, 1), 50, mixed, OUTSIDE),
    "one episode": (dirichlet(3, 3, 2), 1, mixed, OUTSIDE),
    "deterministic dynamics": (deterministic(3, 3, 2), 500, mixed, OUTSIDE),
    "impossible transitions": (sparse(3, 4, 2), 300, mixed, OUTSIDE),
    "no loss": (dirichlet(2, 2, 2), 300, lambda shape, K: ab.losses.fixed(np.zeros(shape), K), OUTSIDE),
    "all loss": (dirichlet(2, 2, 2), 300, lambda shape, K: ab.losses.fixed(np.ones(shape), K), PAPER),
    "a longer horizon": (dirichlet(6, 3, 3), 100, mixed, OUTSIDE),
}


@pytest.mark.parametrize("name", CASES)
def test_both_engines_tell_the_same_story(name):
    mdp, K, make_losses, choices = CASES[name]
    losses = make_losses(mdp.shape, K)
    H, S, A, _ = mdp.shape
    agents, histories, generators = [], [], []
    for engine in ("reference", "compiled"):
        agents.append(ab.AggregateFeedbackLearner(S, A, H, K, initial_state=mdp.initial_state, **choices))
        generators.append(np.random.default_rng(5))
        histories.append(ab.simulate(agents[-1], mdp, losses, generators[-1], engine=engine))
    one, two = histories
    # The same uniforms led to the same trajectories, and the same normals were drawn.
    np.testing.assert_allclose(one.total_loss, two.total_loss, atol=1e-12)
    assert generators[0].bit_generator.state == generators[1].bit_generator.state
    np.testing.assert_allclose(one.expected_loss, two.expected_loss, atol=1e-9)
    for left, right in zip(one.epochs, two.epochs, strict=True):
        assert (left.index, left.first_episode, left.episodes) == (
            right.index,
            right.first_episode,
            right.episodes,
        )
        assert (left.clipped, left.damped, left.newton_steps) == (
            right.clipped,
            right.damped,
            right.newton_steps,
        )
    left, right = agents[0], agents[1]
    np.testing.assert_array_equal(left.in_epoch, right.in_epoch)
    np.testing.assert_allclose(left.state.dual, right.state.dual, rtol=1e-9, atol=1e-9)
    assert left.state.eta == pytest.approx(right.state.eta, rel=1e-12)
    if left.state.center is not None:
        np.testing.assert_allclose(left.state.center, right.state.center, rtol=1e-9, atol=1e-12)


def test_the_engines_can_take_turns(rng):
    """What the compiled engine leaves, the reference goes on with, and the other way round."""
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 40)
    turns, straight = (ab.AggregateFeedbackLearner(2, 2, 2, 120, **OUTSIDE) for _ in range(2))
    one, two = np.random.default_rng(2), np.random.default_rng(2)
    for engine in ("compiled", "reference", "compiled"):
        left = ab.simulate(turns, mdp, losses, one, engine=engine)
        right = ab.simulate(straight, mdp, losses, two, engine="reference")
        np.testing.assert_allclose(left.expected_loss, right.expected_loss, atol=1e-9)
    assert [e.episodes for e in turns.epochs] == [e.episodes for e in straight.epochs]


def test_a_short_soak_stays_inside_and_finite():
    """The first tenth of a hundred thousand episodes: no NaN, every iterate checked to be strictly inside as
    it is made. `make soak` plays them all, and millions."""
    mdp = dirichlet(2, 2, 2)
    K = 100_000
    loss = np.random.default_rng(3).random(mdp.shape)
    agent = ab.AggregateFeedbackLearner(2, 2, 2, K, **OUTSIDE)
    losses = ab.losses.fixed(loss, K // 10)
    history = ab.simulate(agent, mdp, losses, np.random.default_rng(4), engine="compiled")
    assert np.isfinite(history.expected_loss).all()
    agent.epoch.body.check(agent.state.center, tolerance=1e-13)
    assert (agent.state.center[agent.epoch.body.cells] > 0).all()
    assert sum(summary.damped for summary in history.epochs) == 0


def test_no_world_makes_it_compile_twice():
    """Tables that are broadcast or writable, and a state that was restored, are brought to one type first."""
    rows = np.random.default_rng(1).dirichlet(np.ones(2), size=(2, 2))
    stationary = np.broadcast_to(rows, (3, 2, 2, 2))
    losses = ab.LossSequence(np.broadcast_to(0.5, (1, 3, 2, 2, 2)), np.zeros(4, dtype=np.int64))
    for transitions in (stationary, stationary.copy()):
        agent = ab.AggregateFeedbackLearner(2, 2, 3, 8, **OUTSIDE)
        mdp = ab.FiniteHorizonMDP(transitions)
        ab.simulate(agent, mdp, losses, np.random.default_rng(0), engine="compiled")
        again = ab.AggregateFeedbackLearner(2, 2, 3, 8, **OUTSIDE)
        again.restore(agent.snapshot())
        ab.simulate(again, mdp, losses, np.random.default_rng(0), engine="compiled")
    assert len(kernels.play.signatures) == 1


def test_what_the_engine_cannot_play_is_said():
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 5)
    rng = np.random.default_rng(0)
    fixed = ab.FixedPolicy(ab.uniform_policy(mdp))
    with pytest.raises(ValueError, match="the compiled engine cannot play FixedPolicy"):
        ab.simulate(fixed, mdp, losses, rng, engine="compiled")
    assert ab.simulate(fixed, mdp, losses, rng).engine == "reference"
    with pytest.raises(ValueError, match=r"the learner expects \(H, S, A, S\) = \(2, 3, 2, 3\)"):
        ab.simulate(ab.AggregateFeedbackLearner(3, 2, 2, 5, **PAPER), mdp, losses, rng)
    with pytest.raises(RuntimeError, match="5 more episodes after 0; the learner was made for 4 in all"):
        ab.simulate(ab.AggregateFeedbackLearner(2, 2, 2, 4, **PAPER), mdp, losses, rng, engine="compiled")


def test_without_numba_the_reference_plays(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "numba" else find_spec(name)
    )
    assert not ab.simulation.can_compile()
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 3)
    agent = ab.AggregateFeedbackLearner(2, 2, 2, 6, **PAPER)
    assert ab.simulate(agent, mdp, losses, np.random.default_rng(0)).engine == "reference"
    with pytest.raises(ImportError, match=r"engine needs Numba: pip install 'aggbandit\[fast\]'"):
        ab.simulate(agent, mdp, losses, np.random.default_rng(0), engine="compiled")


@pytest.mark.parametrize(
    "confidence", [ab.CorrectedConfidence(), ab.TightConfidence()], ids=["corrected", "tight"]
)
@pytest.mark.parametrize("make", [dirichlet, deterministic])
def test_the_largest_rates_allowed_do_no_harm(make, confidence):
    """At the cap, far outside the theorem, iterates run into the walls: steps are damped, counted, and never
    fail."""
    mdp, K = make(2, 2, 2), 20_000
    loss = (np.random.default_rng(6).random(mdp.shape) < 0.5).astype(float)
    agent = ab.AggregateFeedbackLearner(
        2,
        2,
        2,
        K,
        rates=ab.tuned_rates(1e6),
        between_epochs=ab.epochs.carry,
        confidence=confidence,
        initial_state=mdp.initial_state,
    )
    history = ab.simulate(agent, mdp, ab.losses.fixed(loss, K), np.random.default_rng(7))
    assert history.complete
    assert np.isfinite(history.expected_loss).all()
    assert all(summary.eta0_capped for summary in history.epochs)
    assert make is deterministic or sum(summary.damped for summary in history.epochs) > 0
    agent.epoch.body.check(agent.state.center, tolerance=1e-13)


def test_the_reference_does_without_numba():
    """Neither importing the package nor playing the reference imports Numba."""
    program = (
        "import sys, numpy as np, aggbandit as ab\n"
        "agent = ab.AggregateFeedbackLearner(2, 2, 1, 3, rates=ab.tuned_rates())\n"
        "mdp = ab.random_mdp(2, 2, 1, np.random.default_rng(0))\n"
        "losses = ab.losses.fixed(np.ones(mdp.shape), 3)\n"
        "ab.simulate(agent, mdp, losses, np.random.default_rng(0), engine='reference')\n"
        "assert 'numba' not in sys.modules, 'numba was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class Uniform(ab.AggregateFeedbackLearner):
    """A change of one's own: it always plays the uniform policy."""

    def policy(self, rng):
        super().policy(rng)
        return np.full(self.shape[:3], 1 / self.shape[2])


class Halved:
    """A schedule of one's own."""

    def next_rate(self, previous, eta0, dimension, z_hat_epsilon):
        return Rate(eta0 / 2, clipped=False)


def test_what_the_engine_does_not_know_is_played_by_the_reference():
    """Otherwise it would play the learner as it was before the change, and say nothing."""
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 30)
    changed = (
        lambda: Uniform(2, 2, 2, 30, **PAPER),
        lambda: ab.AggregateFeedbackLearner(2, 2, 2, 30, rates=TunedRates(1.0, Halved())),
    )
    for make in changed:
        one, two = (ab.simulate(make(), mdp, losses, np.random.default_rng(0), engine=e) for e in ENGINES)
        assert one.engine == two.engine == "reference"
        np.testing.assert_array_equal(one.expected_loss, two.expected_loss)
        with pytest.raises(ValueError, match="it plays Algorithm 3 as it stands"):
            ab.simulate(make(), mdp, losses, np.random.default_rng(0), engine="compiled")
    uniform = ab.simulate(Uniform(2, 2, 2, 30, **PAPER), mdp, losses, np.random.default_rng(0))
    np.testing.assert_allclose(uniform.expected_loss, losses.expected_losses(mdp, ab.uniform_policy(mdp)))


def test_a_step_that_fails_leaves_the_learner_where_it_was():
    """Estimates too large for double precision: an error that names the episode, and nothing stored."""
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 9)
    table = np.random.default_rng(0).random(mdp.shape)
    for engine in ("reference", "compiled"):
        agent, one_episode = (
            ab.AggregateFeedbackLearner(
                2, 2, 2, 9, rates=ab.tuned_rates(), between_epochs=lambda dual: 1e200 * table
            )
            for _ in range(2)
        )
        ab.simulate(one_episode, mdp, mixed(mdp.shape, 1), np.random.default_rng(0), engine=engine)
        with pytest.raises(ab.geometry.NoMinimizer, match=r"close to a wall|step was not found"):
            ab.simulate(agent, mdp, losses, np.random.default_rng(0), engine=engine)
        before = one_episode.snapshot()
        assert (agent.episode, agent.epoch.index) == (1, 2)
        for name, value in agent.snapshot().items():
            np.testing.assert_array_equal(value, before[name])


def test_a_nan_is_never_a_decrement_of_zero():
    """A dual with a NaN in it has no minimizer; a decrement of max(0, NaN) would say that x already is."""
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 9)
    agent = ab.AggregateFeedbackLearner(2, 2, 2, 9, **PAPER)
    run = bridge.CompiledRun(agent, mdp, losses)
    object.__setattr__(agent.state, "dual", np.full(mdp.shape, np.nan))  # no `OMDState` can be made with it
    with pytest.raises(ab.geometry.NoMinimizer, match="episode 0: the mirror step was not found"):
        run.play(0, 9, np.random.default_rng(0))


TOLERANCES = {
    "full steps": (0.005, [(_newton, "FULL_STEP")]),
    "chords": (0.0, [(occupancy_barrier, "CHORD_LIMIT"), (occupancy_barrier._Objective, "chord_limit")]),
}


@pytest.mark.parametrize("name", TOLERANCES)
def test_both_engines_follow_the_same_tolerances(monkeypatch, name):
    """They come in when a run begins: the cache of compiled code notices changes of its own file alone."""
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 200)

    def steps(engine):
        agent = ab.AggregateFeedbackLearner(2, 2, 2, 200, **OUTSIDE)
        epochs = ab.simulate(agent, mdp, losses, np.random.default_rng(7), engine=engine).epochs
        return [(epoch.damped, epoch.newton_steps) for epoch in epochs]

    before = steps("compiled")
    value, places = TOLERANCES[name]
    for owner, attribute in places:
        monkeypatch.setattr(owner, attribute, value)
    assert steps("compiled") == steps("reference") != before


# --- the first call -----------------------------------------------------------------------------------------

TINY = """
from aggbandit.engine import kernels

def twice(x):
    return 2 * x

twice = kernels._compiled(twice)
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Makes a compiled function as a new process would: from the cache if there is one."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "tiny.py"
    path.write_text(TINY)
    os.utime(path, (1, 1))

    def load():
        spec = importlib.util.spec_from_file_location("tiny", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return load


def test_compiling_is_said_once(tiny, caplog):
    function = tiny()
    assert first_call.call(function, 3) == first_call.call(function, 3) == 6
    assert [record.message[:27] for record in caplog.records] == ["compiling the engine, once;"]
    caplog.clear()
    assert first_call.call(tiny(), 3) == 6
    assert not caplog.records


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 10, -10])
def test_a_damaged_cache_is_repaired(tiny, caplog, ending, length):
    first_call.call(tiny(), 3)
    function = tiny()
    (damaged,) = Path(function.stats.cache_path).glob(f"*.{ending}")
    damaged.write_bytes(damaged.read_bytes()[:length])
    with pytest.raises((EOFError, pickle.UnpicklingError)):
        tiny()(3)
    assert first_call.call(function, 3) == 6
    assert "was damaged, and was removed" in caplog.text
    caplog.clear()
    assert first_call.call(tiny(), 3) == 6
    assert not caplog.records


def test_a_damaged_cache_that_cannot_be_repaired_is_named(tiny, monkeypatch):
    first_call.call(tiny(), 3)
    function = tiny()
    for file in Path(function.stats.cache_path).glob("*.nbi"):
        file.write_bytes(b"")

    def locked(self):
        raise PermissionError("read only")

    monkeypatch.setattr(Path, "unlink", locked)
    with pytest.raises(RuntimeError, match=rf"is damaged: delete {function.stats.cache_path}"):
        first_call.call(function, 3)


def test_errors_of_the_function_itself_are_not_taken_for_the_cache(tiny, caplog):
    first_call.call(tiny(), 3)
    with pytest.raises(TypeError, match="too many arguments"):
        first_call.call(tiny(), "x", "y")
    assert "damaged" not in caplog.text


def test_a_cache_that_cannot_be_written_is_said(tiny, monkeypatch, caplog):
    njit = numba.njit

    def nowhere(**options):
        if options.pop("cache", False):
            return lambda function: (_ for _ in ()).throw(RuntimeError("no locator available"))
        return njit(**options)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert first_call.call(tiny(), 3) == 6
    assert "no cache can be written: set NUMBA_CACHE_DIR" in caplog.text


def test_a_full_disk_does_not_stop_a_run(tiny, monkeypatch, caplog):
    def full(*arguments, **options):
        raise OSError("no space left on device")

    function = tiny()
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert first_call.call(function, 3) == 6
    assert "could not be kept in Numba's cache: no space left on device" in caplog.text


@pytest.mark.parametrize("rng", [None, 3, np.random.RandomState(3)])
def test_randomness_is_a_generator(rng):
    mdp, losses = dirichlet(2, 2, 2), mixed((2, 2, 2, 2), 3)
    for engine in ENGINES:
        with pytest.raises(TypeError, match=r"rng is .*; it must be a numpy Generator"):
            ab.simulate(ab.AggregateFeedbackLearner(2, 2, 2, 3, **PAPER), mdp, losses, rng, engine=engine)


def code_of(function):
    """The code without its docstring."""
    (tree,) = ast.parse(inspect.getsource(function)).body
    return ast.unparse(tree.body[1:]) if isinstance(tree.body[0], ast.Expr) else ast.unparse(tree.body)


@pytest.mark.parametrize("name", ["_compiled", "_inner", "_inlined"])
def test_the_files_of_kernels_compile_alike(name):
    """Numba's cache asks for each file to stand on its own, so that what compiles it is written in each."""
    files = [module for module in (kernels, flow_kernels, u_kernels) if hasattr(module, name)]
    assert len(files) >= 2
    assert len({code_of(getattr(module, name)) for module in files}) == 1
