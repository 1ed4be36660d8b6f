"""A run that is interrupted, saved, loaded, resumed or thinned."""

import copy
import os
import pickle
import signal
import stat
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.history import EpochRow

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

    @property
    def epochs(self):
        return self.inner.epochs

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
        with pytest.raises(ValueError, match=r"run\.npz is no saved history, or is damaged: "):
            ab.History.load(path)
    for header, words in (
        (None, "header is missing"),
        ("[]", "its header is no table of names and values"),
        ('{"format": "other"}', "format is 'other'; it must be 'aggbandit history'"),
        ('{"format": "aggbandit history", "version": 99}', "version 99 of the format; this is version 2"),
        ('{"format": "aggbandit history", "version": 2}', "best_value is missing"),
    ):
        np.savez(path, **({"a": np.ones(3)} if header is None else {"header": np.array(header)}))
        with pytest.raises(ValueError, match=rf"run\.npz is no saved history, or is damaged: .*{words}"):
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
    with pytest.raises(ValueError, match=r"losses are of 10 episodes; the history is of 150 episodes"):
        ab.resume(part, agent(), MDP, ab.losses.fixed(np.zeros(MDP.shape), 10))
    # The same city with the actions' names exchanged, the same losses in another order: what is best in
    # hindsight does not change, the run does.
    renamed = ab.FiniteHorizonMDP(MDP.transitions[:, :, ::-1])
    with pytest.raises(ValueError, match="the world is not that of the history"):
        ab.resume(part, agent(), renamed, LOSSES)
    backwards = ab.LossSequence(LOSSES.tables, LOSSES.schedule[::-1])
    with pytest.raises(ValueError, match="the losses are not those of the history"):
        ab.resume(part, agent(), MDP, backwards)


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


def test_a_state_with_something_missing_changes_nothing():
    part, fresh = interrupted(), agent()
    state = dict(part.checkpoint.learner)
    del state["counters"]
    part = replace(part, checkpoint=replace(part.checkpoint, learner=state))
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


# --- any learner, also one of the user's --------------------------------------------------------------------


@dataclass(frozen=True)
class Season:
    """An epoch as a learner of one's own tells of it."""

    name: str
    episodes: int
    mean: float
    warm: bool


class Seasonal:
    """A learner of one's own: it knows nothing of this package but the names of the methods."""

    feedback = ab.AggregateFeedback

    def __init__(self, stop=None, length=20):
        self.stop, self.length = stop, length
        self.totals = np.zeros(0)

    def policy(self, rng):
        return rng.dirichlet([1.0, 1.0], size=(2, 2))

    def observe(self, feedback):
        self.totals = np.append(self.totals, feedback.total)
        if len(self.totals) == self.stop:
            signal.raise_signal(signal.SIGINT)

    @property
    def epochs(self):
        seasons = np.split(self.totals, range(self.length, len(self.totals), self.length))
        return tuple(
            Season(f"season {i}", len(totals), totals.mean() if len(totals) else np.nan, np.bool_(i % 2))
            for i, totals in enumerate(seasons)
        )

    def snapshot(self):
        return {"totals": self.totals}

    def restore(self, snapshot):
        self.totals = snapshot["totals"]


def test_a_learner_of_ones_own_is_interrupted_saved_and_resumed(tmp_path):
    whole = ab.simulate(Seasonal(), MDP, LOSSES, np.random.default_rng(7))
    part = ab.simulate(Seasonal(stop=50), MDP, LOSSES, np.random.default_rng(7))
    assert (len(part), part.epochs[2].name, part.epochs[2].episodes) == (50, "season 2", 10)
    part.save(tmp_path / "run.npz")
    loaded = ab.History.load(tmp_path / "run.npz")
    assert loaded.epochs == part.epochs
    resumed = ab.resume(loaded, Seasonal(), MDP, LOSSES)
    np.testing.assert_array_equal(resumed.total_loss, whole.total_loss)
    assert resumed.epochs == whole.epochs
    row = resumed.epochs[1]
    assert [type(value) for value in vars(row).values()] == [str, int, float, bool]
    assert row.warm is True
    assert repr(row).startswith("EpochRow(name='season 1', episodes=20, mean=")
    with pytest.raises(AttributeError, match="episodes cannot be set"):
        row.episodes = 3
    assert pickle.loads(pickle.dumps(row)) == row == copy.deepcopy(row)


def test_what_was_played_stays_as_it_was():
    """A learner that shares its arrays, and writes to those it is given, cannot change the history."""

    class Sharing(Seasonal):
        def __init__(self, stop=None):
            super().__init__(stop)
            self.sum = np.zeros(1)

        def observe(self, feedback):
            super().observe(feedback)
            self.sum += feedback.total

        def snapshot(self):
            return {"totals": self.totals, "sum": self.sum}

        def restore(self, snapshot):
            self.totals, self.sum = snapshot["totals"], snapshot["sum"]

    learner = Sharing(50)
    part = ab.simulate(learner, MDP, LOSSES, np.random.default_rng(7))
    learner.sum += 1.0
    first, second = Sharing(), Sharing()
    one, two = (ab.resume(part, learner, MDP, LOSSES) for learner in (first, second))
    np.testing.assert_array_equal(one.total_loss, two.total_loss)
    assert first.sum == second.sum == one.total_loss.sum()
    for array in (part.total_loss, part.best_policy, part.checkpoint.learner["sum"]):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"epochs": ({"episodes": 3},)},
            r"an epoch is \{'episodes': 3\}; it must be an instance of a dataclass",
        ),
        (
            {"epochs": (Season("dry", 3, [1.0], True),)},
            r"Season\.mean is a list; an epoch is told in numbers",
        ),
        ({"snapshot": lambda: {"of mine": np.zeros(2)}}, "an array called 'of mine'; names are words"),
        ({"snapshot": lambda: {"mine": [None]}}, "the learner's mine has no numbers, bools or text"),
    ],
)
def test_what_cannot_be_written_down_is_refused_before_the_run(changes, words):
    learner = type(
        "Odd", (Seasonal,), {name: staticmethod(it) if callable(it) else it for name, it in changes.items()}
    )
    rng = np.random.default_rng(7)
    before = rng.bit_generator.state
    with pytest.raises((TypeError, ValueError), match=words):
        ab.simulate(learner(), MDP, LOSSES, rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        ((EpochRow(n=1), EpochRow(n="two")), "epochs: n is now int, now str; one kind of value is written"),
        ((EpochRow(n=1), EpochRow(n=2, m=3)), r"epochs\[1\] has the fields n, m; the first has n"),
        ((EpochRow(n=1 << 70),), "epochs: n is beyond 64 bits"),
    ],
)
def test_epochs_that_have_no_columns_are_not_saved(tmp_path, epochs, words):
    history = replace(interrupted(), epochs=epochs)
    with pytest.raises(ValueError, match=words):
        history.save(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


# --- a state that contradicts its history -------------------------------------------------------------------


def altered(part, **changes):
    """The same history with another state of the learner in it."""
    state = {name: value.copy() for name, value in part.checkpoint.learner.items()}
    for name, change in changes.items():
        change(state[name])
    return replace(part, checkpoint=replace(part.checkpoint, learner=state))


def test_a_state_that_contradicts_the_history_changes_nothing():
    part = interrupted()
    fresh = agent()
    ab.simulate(fresh, MDP, ab.losses.fixed(np.zeros(MDP.shape), 5), np.random.default_rng(1), "reference")
    before = fresh.snapshot()

    def one_more_step(counters):
        counters[3] += 1

    shorter = replace(
        part,
        episodes=50,
        epochs=part.epochs,
        **{name: getattr(part, name)[:50] for name in ("expected_loss", "total_loss", "comparator_loss")},
    )
    for history, error, words in (
        (
            altered(part, counters=one_more_step),
            ValueError,
            "the state of the learner contradicts the history",
        ),
        (
            replace(part, epochs=part.epochs[:-1]),
            ValueError,
            "the state of the learner contradicts the history",
        ),
        (shorter, RuntimeError, "100 more episodes after 60"),
    ):
        with pytest.raises(error, match=words):
            ab.resume(history, fresh, MDP, LOSSES)
        for name, value in fresh.snapshot().items():
            np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"episodes": 151}, r"episodes is 151; it must be an integer 0\.\.150"),
        ({"episodes": 60.0}, r"episodes is 60\.0; it must be an integer 0\.\.150"),
        ({"planned": 0}, "planned is 0; it must be an integer of at least 1"),
        ({"every": 0}, "every is 0; it must be an integer of at least 1"),
        ({"every": None}, "every is None; it must be an integer of at least 1"),
        ({"every": 7}, r"expected_loss has shape \(60,\); expected one entry a block of episodes = \(9,\)"),
        ({"total_loss": np.full(60, np.nan)}, r"total_loss\[0\] is nan; every entry must be finite"),
        ({"total_loss": np.arange(60.0)}, r"total_loss\[3\] is 3; it must lie in \[0, 2\]"),
        ({"expected_loss": np.full(60, -1.0)}, r"expected_loss\[0\] is -1; it must lie in \[0, 2\]"),
        ({"comparator_loss": np.array(["a"] * 60)}, "entries of type <U1; they must be real numbers"),
        ({"best_policy": np.ones((2, 2, 2))}, r"best_policy\[0, 0\] sums to 2; each row must sum to one"),
        ({"best_policy": np.ones(1)}, r"best_policy has shape \(1,\); expected \(H, S, A\)"),
        ({"best_value": np.nan}, r"best_value is nan; it must lie in \[0, 300\]"),
        ({"best_value": "7"}, "best_value is '7'; it must be a number"),
        ({"engine": "fast"}, "engine is 'fast'; it must be one of 'reference', 'compiled'"),
        ({"epochs": (1,)}, r"epochs\[0\] is 1; it must be an EpochRow"),
        ({"planned": 60, "best_value": 1.0}, "a complete history has no checkpoint"),
    ],
)
def test_numbers_that_no_run_has_left_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        replace(interrupted(), **changes)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"bit_generator": "MyOwn"}, "the random numbers are of 'MyOwn'; it must be one of PCG64"),
        ({"bit_generator": ["PCG64"]}, "the random numbers are of "),
        ([1], "the random numbers are of None"),
        (
            {"bit_generator": "PCG64", "state": {"state": "x", "inc": 1}},
            "the state of the random numbers is none of",
        ),
        ({"bit_generator": "MT19937"}, "the state of the random numbers is none of MT19937"),
    ],
)
def test_a_state_of_no_generator_is_named(state, words):
    with pytest.raises(ValueError, match=words):
        replace(interrupted().checkpoint, generator=state)


# --- the file -----------------------------------------------------------------------------------------------


def history_to_save():
    return ab.simulate(agent(), MDP, LOSSES, np.random.default_rng(7), engine="reference", every=50)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "run.npz", tmp_path / "latest.npz"
    history = history_to_save()
    link.symlink_to(target)
    history.save(link)  # also where there is nothing yet
    target.write_bytes(b"old")
    history.save(link)
    assert link.is_symlink()
    assert len(ab.History.load(target)) == K
    assert [path.name for path in target.parent.iterdir()] == ["run.npz"]


def test_permissions_stay(tmp_path):
    path, history = tmp_path / "run.npz", history_to_save()
    before = os.umask(0o027)
    try:
        history.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640  # as any new file
    finally:
        os.umask(before)
    path.chmod(0o600)
    history.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_protected_file_stays(tmp_path, monkeypatch):
    path, history = tmp_path / "run.npz", history_to_save()
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    with pytest.raises(PermissionError, match=r"run\.npz is write-protected"):
        history.save(path)
    assert path.read_bytes() == b"old"


def test_nothing_but_a_file_is_replaced(tmp_path):
    history, pipe, loop = history_to_save(), tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (pipe, tmp_path):  # a pipe stands for the devices, which a broken test would destroy
        with pytest.raises(ValueError, match=f"{path} is no regular file; nothing else is replaced"):
            history.save(path)
        with pytest.raises(ValueError, match=f"{path} is no saved history: it is no regular file"):
            ab.History.load(path)
    with pytest.raises(OSError, match="symbolic links"):
        history.save(loop)
    with pytest.raises(FileNotFoundError, match=r"run\.npz cannot be written; there is no folder .*nowhere"):
        history.save(tmp_path / "nowhere" / "run.npz")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop", "pipe"]


def test_threads_save_to_one_path_without_colliding(tmp_path):
    history, path = history_to_save(), tmp_path / "run.npz"
    with ThreadPoolExecutor(8) as pool:
        for save in [pool.submit(history.save, path) for _ in range(40)]:
            save.result()
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    np.testing.assert_array_equal(ab.History.load(path).total_loss, history.total_loss)


def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path):
    old, new, other = (
        tmp_path / name
        for name in (f".aggbandit-{'0' * 16}.tmp", f".aggbandit-{'1' * 16}.tmp", ".aggbandit-mine.tmp")
    )
    for path, age in ((old, 90_000), (new, 3_600), (other, 90_000)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    history_to_save().save(tmp_path / "run.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((new.name, other.name, "run.npz"))


def test_a_long_name_can_be_saved(tmp_path):
    path = tmp_path / ("x" * 250 + ".npz")
    history_to_save().save(path)
    assert len(ab.History.load(path)) == K


def test_nothing_is_expanded_before_its_size_is_right(tmp_path, monkeypatch):
    """A small file can say that it is large; what its header promises is compared first."""
    path = tmp_path / "run.npz"
    history_to_save().save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez_compressed(path, **(arrays | {"total_loss": np.zeros(3_000_000)}))
    assert path.stat().st_size < 30_000
    read = []
    monkeypatch.setattr(
        zipfile.ZipExtFile,
        "read",
        lambda self, n=-1, inner=zipfile.ZipExtFile.read: (read.append(n), inner(self, n))[1],
    )
    with pytest.raises(ValueError, match=r"total_loss has 24000128 bytes; \(3,\) numbers have 24"):
        ab.History.load(path)
    assert max(read) < 100_000
    header = arrays["header"]
    np.savez_compressed(path, **(arrays | {"header": np.array(str(header) + " " * 1_100_000)}))
    with pytest.raises(ValueError, match=r"its header has 44.* bytes; at most 4194304 may be"):
        ab.History.load(path)


def test_a_history_that_is_sent_elsewhere_is_the_same_and_read_only():
    part = interrupted()
    for sent in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert sent.epochs == part.epochs
        for name in ("expected_loss", "best_policy"):
            np.testing.assert_array_equal(getattr(sent, name), getattr(part, name))
            assert not getattr(sent, name).flags.writeable
        assert not sent.checkpoint.learner["dual"].flags.writeable
        assert ab.resume(sent, agent(), MDP, LOSSES).complete
