"""A sweep on a Dask cluster of two workers: the same results, also when one of them dies on the way."""

import os
import signal

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster

import aggbandit as ab

WORLD = ab.night_driver()


@pytest.fixture(scope="module")
def client():
    """Of two workers on this machine, each a process that is started again if it dies."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def coins(world, rng):
    return ab.losses.bernoulli(world.loss, 12, rng, n_tables=4)


def learner(mdp, episodes):
    return ab.UFunctionLearner(3, 2, 3)


def swept(make=learner, **changes):
    arguments = {"worlds": {"night": WORLD}, "losses": {"coins": coins}, "seeds": 4, "engine": "reference"}
    return ab.sweep({"U": make}, **(arguments | changes))


def same(one, other):
    np.testing.assert_array_equal(one.regret, other.regret)
    np.testing.assert_array_equal(one.expected_loss, other.expected_loss)


def test_a_cluster_finds_what_one_process_finds(client, tmp_path):
    runs, processes = tmp_path / "runs", tmp_path / "processes"
    processes.mkdir()

    def signed(mdp, episodes):
        (processes / str(os.getpid())).touch()
        return learner(mdp, episodes)

    with joblib.parallel_config(backend="dask"):
        same(swept(signed, workers=2, folder=runs), swept())
    assert len(list(runs.iterdir())) == 4
    assert {int(path.name) for path in processes.iterdir()} <= set(client.run(os.getpid).values())
    same(swept(folder=runs), swept())  # and one process reads what the cluster wrote


def test_a_worker_that_dies_changes_nothing(client, tmp_path):
    """It is killed while it makes a learner; its run is played by another."""
    died, here = tmp_path / "died", os.getpid()

    def deadly(mdp, episodes):
        if os.getpid() != here and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return learner(mdp, episodes)

    with joblib.parallel_config(backend="dask"):
        found = swept(deadly, workers=2)
    assert died.exists()
    same(found, swept())
