"""A run that is interrupted, saved, loaded, resumed or thinned."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import aggbandit as ab

K = 150
MDP = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
LOSSES = ab.losses.bernoulli(np.full(MDP.shape, 0.4), K, np.random.default_rng(1), n_tables=5)


def agent(**choices):
    return ab.AggregateFeedbackLearner(
        2, 2, 2, K, rates=ab.tuned_rates(), between_epochs=ab.epochs.carry, **choices
    )


@pytest.fixture(autouse=True)
def ctrl_c_is_listened_to():
    """A job that a shell started in the background inherits an ignored Ctrl-C; these tests press it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupting:
    """A learner at whose `stop`-th episode somebody presses Ctrl-C."""

    feedback = ab.AggregateFeedback

    def __init__(self, inner, stop):
        self.inner, self.stop, self.played = inner, stop, 0
        self.snapshot, self.restore = inner.snapshot, inner.restore

    def policy(self, rng):
        self.played += 1
        if self.played == self.stop:
            os.kill(os.getpid(), signal.SIGINT)
        return self.inner.policy(rng)

    def observe(self, feedback):
        return self.inner.observe(feedback)


def interrupted(stop=60, seed=7, every=1):
    return ab.simulate(
        Interrupting(agent(), stop), MDP, LOSSES, np.random.default_rng(seed), engine="reference", every=every
    )


def test_ctrl_c_returns_what_was_played_so_far():
    before = signal.getsignal(signal.SIGINT)
    part = interrupted()
    assert (len(part), part.planned, part.complete) == (60, K, False)
    assert repr(part).startswith("History(episodes=60 of 150, interrupted")
    whole = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference")
    assert whole.complete
    np.testing.assert_array_equal(part.expected_loss, whole.expected_loss[:60])
    np.testing.assert_array_equal(part.regret(), whole.regret()[:60])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(tmp_path):
    whole = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference")
    path = tmp_path / "run.npz"
    interrupted().save(path)
    resumed = ab.resume(ab.History.load(path), agent(), MDP, LOSSES)
    for name in ("expected_loss", "total_loss", "comparator_loss", "best_policy"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert resumed.epochs == whole.epochs
    assert resumed.complete
    assert resumed.checkpoint is None


def test_the_compiled_engine_resumes_bit_for_bit_too(tmp_path, monkeypatch):
    """Chunks end at the same episodes in every run, so stopping after one changes nothing."""
    from aggbandit.engine import bridge

    monkeypatch.setattr(bridge, "CHUNK_ENTRIES", 64 * 12)  # 64 episodes a chunk
    whole = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="compiled")
    play = bridge.CompiledRun.play

    def press(self, first, last, rng):
        if first == 64:
            os.kill(os.getpid(), signal.SIGINT)
        return play(self, first, last, rng)

    monkeypatch.setattr(bridge.CompiledRun, "play", press)
    part = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="compiled")
    assert (len(part), part.complete, part.engine) == (128, False, "compiled")
    part.save(tmp_path / "run.npz")
    resumed = ab.resume(ab.History.load(tmp_path / "run.npz"), agent(), MDP, LOSSES)
    np.testing.assert_array_equal(resumed.expected_loss, whole.expected_loss)
    assert resumed.epochs == whole.epochs


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_of_numpy_can_be_resumed(tmp_path, kind):
    def generator():
        return np.random.Generator(getattr(np.random, kind)(3))

    whole = ab.simulate(agent(), MDP, LOSSES, generator(), engine="reference")
    part = ab.simulate(Interrupting(agent(), 130), MDP, LOSSES, generator(), engine="reference")
    part.save(tmp_path / "run.npz")
    resumed = ab.resume(ab.History.load(tmp_path / "run.npz"), agent(), MDP, LOSSES)
    np.testing.assert_array_equal(resumed.total_loss, whole.total_loss)


def test_saving_and_loading_keeps_everything(tmp_path):
    history = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), every=7)
    path = tmp_path / "run.npz"
    history.save(path)
    history.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    loaded = ab.History.load(path)
    for name in ("expected_loss", "total_loss", "comparator_loss", "best_policy"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(history, name))
    for name in ("best_value", "episodes", "planned", "every", "epochs", "engine", "checkpoint"):
        assert getattr(loaded, name) == getattr(history, name)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    history = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7))
    path = tmp_path / "run.npz"
    history.save(path)
    before = path.read_bytes()

    def fail(*arguments, **named):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        history.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_truncated_and_foreign_files_are_refused_by_name(tmp_path):
    path = tmp_path / "run.npz"
    interrupted().save(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:10], b"", b"not a history", whole[:-300]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"run\.npz is truncated or is not a saved history"):
            ab.History.load(path)
    np.savez(path, a=np.ones(3))
    with pytest.raises(ValueError, match=r"run\.npz is truncated or is not a saved history"):
        ab.History.load(path)
    np.savez(path, header=np.array('{"format": "other"}'))
    with pytest.raises(ValueError, match=r"run\.npz is not a saved history"):
        ab.History.load(path)
    np.savez(path, header=np.array('{"format": "aggbandit history", "version": 99}'))
    with pytest.raises(ValueError, match=r"run\.npz has version 99 of the format; this is version 1"):
        ab.History.load(path)
    with pytest.raises(FileNotFoundError):
        ab.History.load(tmp_path / "nowhere.npz")


def test_a_history_is_resumed_only_with_what_it_was_played_with():
    part = interrupted()
    complete = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7))
    with pytest.raises(ValueError, match="the history has no checkpoint"):
        ab.resume(complete, agent(), MDP, LOSSES)
    with pytest.raises(ValueError, match="FixedPolicy cannot be resumed"):
        ab.resume(part, ab.FixedPolicy(ab.uniform_policy(MDP)), MDP, LOSSES)
    with pytest.raises(ValueError, match="the state is of a learner with"):
        ab.resume(part, agent(baseline=1.0), MDP, LOSSES)
    with pytest.raises(ValueError, match=r"these are 10 episodes .* the history is of 150 episodes"):
        ab.resume(part, agent(), MDP, ab.losses.fixed(np.zeros(MDP.shape), 10))
    # The same city with the actions' names exchanged: the best value is the same, the best policy is not.
    renamed = ab.FiniteHorizonMDP(MDP.transitions[:, :, ::-1])
    exchanged = ab.LossSequence(LOSSES.tables[:, :, :, ::-1], LOSSES.schedule)
    with pytest.raises(ValueError, match="the best policy of these losses in this world is not that"):
        ab.resume(part, agent(), renamed, exchanged)


@pytest.mark.parametrize("every", [7, 150, 1000])
def test_a_thinned_history_has_exact_sums(every):
    whole = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference")
    thin = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference", every=every)
    assert len(thin) == K
    np.testing.assert_array_equal(thin.at, np.minimum(np.arange(every, K + every, every), K))
    np.testing.assert_allclose(thin.regret(), whole.regret()[thin.at - 1], atol=1e-10)
    np.testing.assert_allclose(
        np.cumsum(thin.total_loss), np.cumsum(whole.total_loss)[thin.at - 1], rtol=1e-12
    )
    part = interrupted(every=every)
    assert part.at[-1] == 60
    resumed = ab.resume(part, agent(), MDP, LOSSES)
    np.testing.assert_array_equal(resumed.expected_loss, thin.expected_loss)


def test_a_bar_counts_episodes(capsys):
    ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), progress=True)
    assert "150/150" in capsys.readouterr().err


def test_a_damaged_file_is_refused_or_read_as_it_was(tmp_path):
    """Bytes overwritten at random: a named error, or, where they do not matter, the same history."""
    history = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(3), engine="reference")
    path = tmp_path / "run.npz"
    history.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(4)
    said = []
    for _ in range(300):
        damaged = bytearray(whole)
        for k in rng.integers(len(whole), size=rng.integers(1, 12)):
            damaged[k] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            loaded = ab.History.load(path)
        except ValueError as error:
            said.append(str(error))
        else:
            np.testing.assert_array_equal(loaded.expected_loss, history.expected_loss)
            np.testing.assert_array_equal(loaded.best_policy, history.best_policy)
            assert loaded.epochs == history.epochs
    assert len(said) > 200
    assert all("run.npz" in message for message in said)


def test_what_is_missing_in_a_file_is_said(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, header=np.array('{"format": "aggbandit history", "version": 1}'))
    with pytest.raises(ValueError, match=r"run\.npz is not a saved history: something is missing"):
        ab.History.load(path)


def test_arrays_of_another_length_are_refused(tmp_path):
    history = ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(3), engine="reference", every=7)
    path = tmp_path / "run.npz"
    replace(history, total_loss=history.total_loss[:-1]).save(path)
    with pytest.raises(ValueError, match=r"run\.npz: total_loss has shape \(21,\); expected \(22,\)"):
        ab.History.load(path)


def test_a_state_with_something_missing_changes_nothing():
    part, fresh = interrupted(), agent()
    del part.checkpoint["learner"]["counters"]
    with pytest.raises(ValueError, match="the state lacks counters"):
        ab.resume(part, fresh, MDP, LOSSES)
    assert fresh.episode == 0


@pytest.mark.parametrize("handler", [None, signal.SIG_IGN], ids=["not Python's", "ignored"])
def test_a_handler_that_is_not_ours_to_replace_stays(monkeypatch, handler):
    """Python says None for a handler that came from C, and cannot put it back."""

    def refuse(number, action):
        raise AssertionError("the handler was replaced")

    monkeypatch.setattr(signal, "getsignal", lambda number: handler)
    monkeypatch.setattr(signal, "signal", refuse)
    assert ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference").complete
