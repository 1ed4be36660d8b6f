"""What an episode costs, as ratios and exponents measured in one run, written to `book/bench.md`.

`make bench` runs this file with the processor time of one core as the clock, so that other work on the
machine disturbs it little. The learner is in its steady state: rates tuned for a million episodes, `carry`
between epochs, and as many counts beforehand that most L1 constraints are active.
"""

from __future__ import annotations

import datetime
import math
import os
import subprocess
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import cho_factor, null_space

import aggbandit as ab
from aggbandit.engine import bridge, kernels
from aggbandit.learners.oreps import KnownIterate

TABLE = Path(__file__).resolve().parents[2] / "book" / "bench.md"
SMALL, MEDIUM = [(2, 2, 2), (3, 3, 2)], [(5, 5, 3), (5, 10, 3), (10, 10, 4)]
GROWTH_S = [(10, S, 4) for S in (10, 20, 40)]
GROWTH_A = [(5, 5, A) for A in (2, 8)]
GROWTH_H = [(H, 5, 3) for H in (5, 20)]
SHAPES = sorted({*SMALL, *MEDIUM, *GROWTH_S, *GROWTH_A, *GROWTH_H})
DECREMENTS = (1e-8, 1e-4)
VISITS = 4000

seconds: dict[tuple[object, ...], float] = {}
work: dict[tuple[object, ...], tuple[float, float, int, int]] = {}


def steady_state(shape, decrement):
    """A learner that has counted a lot and has left the center, ready to play."""
    H, S, A = shape
    K = 10**6
    rng = np.random.default_rng(0)
    mdp = ab.random_mdp(S, A, H, rng)
    agent = ab.AggregateFeedbackLearner(
        S, A, H, K, rates=ab.tuned_rates(), between_epochs=ab.epochs.carry, baseline=ab.RunningMean()
    )
    agent.in_epoch = rng.multinomial(np.full((H, S, A), VISITS), mdp.transitions).astype(np.int64)
    agent.end_epoch()
    losses = ab.losses.fixed(rng.random(mdp.shape), K)
    return bridge.CompiledRun(agent, mdp, losses, tolerance=decrement)


@pytest.mark.parametrize("decrement", DECREMENTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_episode_of_the_compiled_engine(benchmark, shape, decrement):
    run = steady_state(shape, decrement)
    rng = np.random.default_rng(1)
    H, S, A = shape
    episodes = max(4, min(3000, 3_000_000 // (H * S**2 * A * S)))
    run.play(0, min(episodes, VISITS // 2), rng)
    begin = run._load()
    # The epoch goes on for as long as is measured.
    run.room.visits[kernels.BEFORE] = 10**9
    expected_loss, total_loss = np.empty(episodes), np.empty(episodes)

    def play(begin=kernels.ON_THE_WAY):
        ended, status = kernels.play(
            run.world,
            run.room,
            run.rules,
            run.tolerances,
            expected_loss,
            total_loss,
            begin,
            0,
            episodes,
            rng,
        )
        assert (ended, status) == (episodes, kernels.DONE)

    play(begin)
    before = run.room.counters.copy()
    benchmark.pedantic(play, rounds=5, warmup_rounds=1)
    played = 6 * episodes
    seconds["episode", shape, decrement] = benchmark.stats.stats.median / episodes
    steps, factorizations = (run.room.counters - before)[
        [kernels.NEWTON_STEPS, kernels.FACTORIZATIONS]
    ] / played
    constrained = run.room.constrained
    work[shape, decrement] = steps, factorizations, int(constrained.sum()), len(constrained)
    assert (run.room.entries[kernels.X] > 0).all()


def flow_equations(barrier, n_cells, n_states):
    columns = [barrier._flow(unit.reshape(n_cells, n_states)) for unit in np.eye(n_cells * n_states)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_a_mirror_step_by_cvxpy_and_clarabel(benchmark, shape):
    """The same minimization over the same set, its problem compiled once and solved again with new
    numbers."""
    body = steady_state(shape, 1e-8).learner.epoch.body
    barrier = ab.OccupancyBarrier(body)
    cells = body.cells
    n_cells, S = len(cells[0]), shape[1]
    x, t = cp.Variable(n_cells * S), cp.Variable(n_cells * S)
    linear = cp.Parameter(n_cells * S)
    sums = np.kron(np.eye(n_cells), np.ones((1, S)))
    r = x - cp.multiply(body.P_hat[cells].ravel(), sums.T @ (sums @ x))
    walls = np.repeat(body.constrained[cells], S)
    objective = (
        linear @ x - cp.sum(cp.log(x)) - cp.sum(cp.log((t - r)[walls])) - cp.sum(cp.log((t + r)[walls]))
    )
    slack = cp.multiply(np.minimum(body.radius[cells], 2.0), sums @ x) - sums @ t
    objective -= cp.sum(cp.log(slack[body.constrained[cells]]))
    C = flow_equations(barrier, n_cells, S)
    problem = cp.Problem(cp.Minimize(objective), [C @ x == np.eye(len(C))[0]])
    rng = np.random.default_rng(2)

    def step():
        linear.value = rng.standard_normal(n_cells * S)
        problem.solve(solver=cp.CLARABEL)

    benchmark.pedantic(step, rounds=15, warmup_rounds=3)
    seconds["cvxpy", shape] = benchmark.stats.stats.median
    ours = barrier.minimize(barrier._table(linear.value.reshape(n_cells, S)), body.interior_point())
    np.testing.assert_allclose(x.value, ours.x[cells].ravel(), atol=2e-3)


@pytest.mark.parametrize("shape", MEDIUM[1:], ids=str)
def test_one_factorization_of_the_reduced_hessian_in_dense_numpy(benchmark, shape):
    """W'HW and its Cholesky factor, W an orthonormal basis of the slice: what every Newton step costs without
    structure."""
    body = steady_state(shape, 1e-8).learner.epoch.body
    barrier = ab.OccupancyBarrier(body)
    n_cells, S = len(body.cells[0]), shape[1]
    W = null_space(flow_equations(barrier, n_cells, S))
    dikin = barrier.dikin(body.interior_point())
    H = np.zeros((n_cells * S, n_cells * S))
    for j in range(S):  # block by block: H times the j-th unit vector of every cell
        unit = np.zeros((n_cells, S))
        unit[:, j] = 1
        column = dikin._hessian_times(unit)
        for c in range(n_cells):
            H[c * S : (c + 1) * S, c * S + j] = column[c]
    benchmark.pedantic(lambda: cho_factor(W.T @ H @ W), rounds=3)
    seconds["dense", shape] = benchmark.stats.stats.median


GRID = ab.layered_grid(10, 10).mdp
ON_THE_GRID = {
    "O-REPS, full information": lambda: ab.learners.OREPS(GRID, 0.05),
    "O-REPS, losses of the steps": lambda: ab.learners.SemiBanditOREPS(GRID, 0.01),
    "SCRiBLe": lambda: ab.learners.scrible_on_occupancies(GRID, 10**6, eta0=0.05, baseline=5.0),
    "U functions, dynamics known": lambda: ab.UFunctionLearner(
        *(GRID.n_states, GRID.n_actions, GRID.horizon),
        visits=ab.learners.KnownDynamics(GRID),
        initial_state=GRID.initial_state,
    ),
}


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("name", ON_THE_GRID)
def test_an_episode_on_the_grid(benchmark, name, engine):
    """Of learners that know a layered grid, 10 x 10, with a new table of losses every time."""
    episodes, rng = 1_000 if engine == "compiled" else 4, np.random.default_rng(3)
    losses = ab.LossSequence(rng.random((episodes, *GRID.shape)), np.arange(episodes))
    learner = ON_THE_GRID[name]()
    ab.simulate(learner, GRID, ab.losses.fixed(losses[0], 3), rng, engine)
    run = bridge.run_of(learner, GRID, losses) if engine == "compiled" else None

    def play():
        if run is not None:
            run.play(0, episodes, rng)
        else:
            ab.simulate(learner, GRID, losses, rng, engine)

    benchmark.pedantic(play, rounds=5, warmup_rounds=1)
    seconds[name, engine] = benchmark.stats.stats.median / episodes


def test_a_step_of_o_reps_by_cvxpy_and_clarabel(benchmark):
    """The same projection, its problem compiled once and solved again with new numbers."""
    mdp, rng = GRID, np.random.default_rng(3)
    iterate = KnownIterate(mdp)
    ways, cells = ab.known_occupancy_polytope(mdp), tuple(ab.occupancy_coordinates(mdp).cells.T)
    q, linear = cp.Variable(len(cells[0])), cp.Parameter(len(cells[0]))
    problem = cp.Problem(cp.Minimize(linear @ q - cp.sum(cp.entr(q))), [ways.C @ q == ways.d])
    loss = 0.05 * rng.random(mdp.shape[:3])

    def step():
        linear.value = (loss - np.log(np.where(iterate.occupancy > 0, iterate.occupancy, 1)))[cells] - 1
        problem.solve(solver=cp.CLARABEL)

    benchmark.pedantic(step, rounds=15, warmup_rounds=3)
    seconds["o-reps by cvxpy",] = benchmark.stats.stats.median
    iterate.step(loss)
    np.testing.assert_allclose(q.value, iterate.occupancy[cells], atol=5e-5)


def test_the_first_calls(tmp_path):
    """New processes that play one episode: the first compiles the engine, the second finds it compiled."""
    program = (
        "import numpy as np, aggbandit as ab\n"
        "rng = np.random.default_rng(0)\n"
        "mdp = ab.random_mdp(3, 2, 3, rng)\n"
        "agent = ab.AggregateFeedbackLearner(3, 2, 3, 1, rates=ab.tuned_rates())\n"
        "ab.simulate(agent, mdp, ab.losses.fixed(np.zeros(mdp.shape), 1), rng, engine='compiled')\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for which in ("cold", "warm"):
        before = os.times()
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
        after = os.times()
        seconds[which,] = (
            after.children_user + after.children_system - before.children_user - before.children_system
        )


def exponent(shapes, axis, decrement=1e-8):
    low, high = shapes[0], shapes[-1]
    ratio = seconds["episode", high, decrement] / seconds["episode", low, decrement]
    return math.log(ratio) / math.log(high[axis] / low[axis])


def duration(value):
    """Seconds with three digits and a fitting unit."""
    unit, scale = ("µs", 1e6) if value < 1e-3 else ("ms", 1e3)
    digits = max(0, 2 - math.floor(math.log10(value * scale)))
    return unbroken(f"{value * scale:.{digits}f} {unit}")


def unbroken(thing):
    """What it is in words, kept on one line of a narrow table."""
    return str(thing).replace(" ", "\u00a0")


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unnamed processor"


def test_the_figures_of_merit():
    """The table, and the bounds that the project sets itself."""
    episode = {shape: [seconds["episode", shape, d] for d in DECREMENTS] for shape in SHAPES}
    lines = [
        f"Measured on {datetime.date.today().isoformat()} on one core of {processor()}, by `make bench`. "
        "An episode ends with a Newton decrement of at most 1e-8, or 1e-4.",
        "",
        "| (H, S, A) | episode, to 1e-8 | to 1e-4 | Newton steps | factorizations "
        "| cvxpy / ours | dense / ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        steps, factorizations, _, _ = work[shape, 1e-8]
        against = [
            f"{seconds[kind, shape] / episode[shape][0]:.0f} ×" if (kind, shape) in seconds else ""
            for kind in ("cvxpy", "dense")
        ]
        lines.append(
            f"| {unbroken(shape)} | {duration(episode[shape][0])} | {duration(episode[shape][1])} "
            f"| {steps:.2f} | {factorizations:.2f} | {' | '.join(against)} |"
        )
    walls, n_cells = (sum(work[shape, 1e-8][i] for shape in SHAPES) for i in (2, 3))
    in_S, in_A, in_H = exponent(GROWTH_S, 1), exponent(GROWTH_A, 2), exponent(GROWTH_H, 0)
    lines += [
        "",
        f"Of all rows of all shapes, {walls} of {n_cells} are held by their L1 ball. "
        f"An episode grows with S to the power {in_S:.2f} (S = 10 to 40, H = 10, A = 4), with A to the power "
        f"{in_A:.2f} (A = 2 to 8, H = S = 5), with H to the power {in_H:.2f} (H = 5 to 20, S = 5, A = 3). "
        f"A new process has played its first episode after {seconds['warm',]:.1f} s of processor time, and "
        f"after {seconds['cold',]:.0f} s if it has to compile the engine first. "
        "",
        "Learners that know the dynamics, on a layered grid, 10 x 10, with three actions:",
        "",
        "| learner | episode | reference / compiled |",
        "|---|---|---|",
    ]
    for name in ON_THE_GRID:
        compiled, reference = seconds[name, "compiled"], seconds[name, "reference"]
        lines.append(f"| {name} | {duration(compiled)} | {reference / compiled:.0f} × |")
    o_reps = seconds["O-REPS, full information", "compiled"]
    lines += [
        "",
        f"What takes O-REPS an episode takes cvxpy {seconds['o-reps by cvxpy',] / o_reps:.0f} times as long, "
        "for the projection alone.",
        "",
    ]
    print("\nEpisodes as `aggbandit.cost` estimates them, over what was measured:")
    for shape in SHAPES:
        estimate = ab.cost.of_reduction(*shape).seconds_compiled
        print(f"  {shape}: {duration(estimate)}, {estimate / episode[shape][0]:.2f} of it")
    TABLE.write_text("\n".join(lines), encoding="utf-8")
    print("\n" + "\n".join(lines))
    for shape in SMALL:
        assert seconds["cvxpy", shape] / episode[shape][0] >= 400
    assert seconds["dense", (5, 10, 3)] / episode[5, 10, 3][0] >= 500
    assert seconds["dense", (10, 10, 4)] / episode[10, 10, 4][0] >= 4000
    assert in_S <= 2.4
