"""A sweep: the same whatever the workers, whatever interrupts it, and whatever became of its files."""

import csv
import dataclasses
import logging
import pickle
import signal

import numpy as np
import pytest

import aggbandit as ab

WORLD = ab.night_driver()


def fixed(world, rng):
    return ab.losses.fixed(world.loss, 12)


def coins(world, rng):
    return ab.losses.bernoulli(world.loss, 12, rng, n_tables=4)


LEARNERS = {
    "uniform": lambda mdp, episodes: ab.FixedPolicy(ab.uniform_policy(mdp)),
    "U": lambda mdp, episodes: ab.UFunctionLearner(3, 2, 3),
}
LOSSES = {"fixed": fixed, "coins": coins}


def swept(**changes):
    arguments = {"learners": LEARNERS, "worlds": {"night": WORLD}, "losses": LOSSES, "seeds": 3}
    return ab.sweep(**(arguments | {"engine": "reference"} | changes))


@pytest.fixture(scope="module")
def straight():
    return swept()


def same(one, other):
    np.testing.assert_array_equal(one.regret, other.regret)
    np.testing.assert_array_equal(one.expected_loss, other.expected_loss)


def test_a_cell_is_the_run_of_its_seed(straight):
    draw, play = (np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(3)[1].spawn(2))
    history = ab.simulate(ab.UFunctionLearner(3, 2, 3), WORLD, coins(WORLD, draw), play, "reference")
    np.testing.assert_array_equal(straight["U", "night", "coins"][1], history.regret())
    assert straight.at[-1] == 12


def test_what_else_is_swept_changes_nothing(straight):
    alone = swept(learners={"U": LEARNERS["U"]}, losses={"coins": coins}, seeds=2)
    np.testing.assert_array_equal(alone["U", "night", "coins"], straight["U", "night", "coins"][:2])


def test_two_workers_find_what_one_finds(straight, tmp_path):
    same(swept(workers=2, folder=tmp_path), straight)
    same(swept(folder=tmp_path), straight)  # and one reads what two wrote


def test_what_is_on_disk_is_not_played_again(straight, tmp_path):
    same(swept(folder=tmp_path), straight)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(made) == 12
    same(swept(folder=tmp_path), straight)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made


@pytest.mark.parametrize("pressed_in", [1, 29])
def test_interrupted_it_goes_on(straight, tmp_path, pressed_in, monkeypatch):
    """In the first run of a learner that can be resumed, or in a later one."""
    observe, count = ab.UFunctionLearner.observe, [0]

    def pressing(self, feedback):
        count[0] += 1
        if count[0] == pressed_in:
            signal.raise_signal(signal.SIGINT)
        return observe(self, feedback)

    with monkeypatch.context() as patch:
        patch.setattr(ab.UFunctionLearner, "observe", pressing)
        with pytest.raises(KeyboardInterrupt, match="was stopped after"):
            swept(folder=tmp_path)
    assert 6 < len(list(tmp_path.iterdir())) < 12
    same(swept(folder=tmp_path), straight)


def test_a_learner_that_cannot_go_on_begins_anew(tmp_path, monkeypatch):
    arguments = {"learners": {"leader": lambda mdp, episodes: ab.FollowTheLeader(mdp)}, "seeds": 1}
    observe, count = ab.FollowTheLeader.observe, [0]

    def pressing(self, feedback):
        count[0] += 1
        if count[0] == 5:
            signal.raise_signal(signal.SIGINT)
        observe(self, feedback)

    with monkeypatch.context() as patch:
        patch.setattr(ab.FollowTheLeader, "observe", pressing)
        with pytest.raises(KeyboardInterrupt, match="was stopped after 5 episodes"):
            swept(**arguments, folder=tmp_path)
    same(swept(**arguments, folder=tmp_path), swept(**arguments))


@pytest.mark.parametrize("damage", ["cut", "a byte", "empty", "another run"])
def test_a_damaged_file_is_refused_and_played_again(straight, tmp_path, damage, caplog):
    swept(folder=tmp_path)
    path = sorted(tmp_path.iterdir())[0]
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "another run":
        ab.simulate(
            ab.UFunctionLearner(3, 2, 3), WORLD, ab.losses.fixed(WORLD.loss, 5), np.random.default_rng(0)
        ).save(path)
    else:
        path.write_bytes(
            {
                "cut": content[:middle],
                "a byte": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "empty": b"",
            }[damage]
        )
    with caplog.at_level(logging.WARNING, "aggbandit"):
        same(swept(folder=tmp_path), straight)
    assert "is played again" in caplog.text
    caplog.clear()
    same(swept(folder=tmp_path), straight)
    assert not caplog.text


@pytest.mark.parametrize(
    "changes",
    [
        {
            "learners": {
                "U": lambda mdp, episodes: ab.UFunctionLearner(3, 2, 3, rates=ab.PolicyRates.practical(0.1))
            }
        },
        {"worlds": {"night": dataclasses.replace(WORLD, loss=1 - WORLD.loss)}},
        {"entropy": 1},
        {"every": 3},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_determines_a_run_is_in_its_key(tmp_path, changes):
    arguments = {"learners": {"U": LEARNERS["U"]}, "losses": {"coins": coins}, "seeds": 1, "folder": tmp_path}
    swept(**arguments)
    swept(**(arguments | changes))
    assert len(list(tmp_path.iterdir())) == 2


def test_what_cannot_be_told_from_another_is_not_kept(tmp_path):
    class Nameless(ab.FollowTheLeader):
        pass

    with pytest.raises(ValueError, match="nameless in night against fixed, seed 0: the learner holds"):
        swept(learners={"nameless": lambda mdp, episodes: Nameless(mdp)}, folder=tmp_path)
    assert not list(tmp_path.iterdir())
    swept(learners={"nameless": lambda mdp, episodes: Nameless(mdp)}, seeds=1)


def test_means_quantiles_and_the_table(straight, tmp_path):
    np.testing.assert_allclose(straight.mean(), straight.regret.mean(axis=3))
    np.testing.assert_array_equal(straight.quantile(1.0), straight.regret.max(axis=3))
    straight.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == straight.regret.size
    mine = [line for line in lines if (line["learner"], line["losses"], line["seed"]) == ("U", "coins", "2")]
    assert [float(line["regret"]) for line in mine] == straight["U", "night", "coins"][2].tolist()
    assert [int(line["episode"]) for line in mine] == list(range(1, 13))
    same(pickle.loads(pickle.dumps(straight)), straight)
    with pytest.raises(KeyError, match="'V' is none of the learners: 'uniform', 'U'"):
        straight["V", "night", "coins"]
    with pytest.raises(ValueError, match="q is 2"):
        straight.quantile(2)


def test_what_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="worlds is empty"):
        swept(worlds={})
    with pytest.raises(ValueError, match="seeds"):
        swept(seeds=0)
    with pytest.raises(TypeError, match="learners"):
        swept(learners=[LEARNERS["U"]])
    with pytest.raises(TypeError, match="U is"):
        swept(learners={"U": ab.UFunctionLearner(3, 2, 3)})
    with pytest.raises(ValueError, match=r"has 5 episodes, .* 12; all losses must be of the same number"):
        swept(losses={"fixed": fixed, "short": lambda world, rng: ab.losses.fixed(world.loss, 5)}, seeds=1)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="joblib"):
        swept(workers=2)
    with pytest.raises(ImportError, match="tqdm"):
        swept(progress=True)


def test_a_bar_shows_the_runs(straight, capsys):
    same(swept(progress=True), straight)
    assert "12/12" in capsys.readouterr().err
