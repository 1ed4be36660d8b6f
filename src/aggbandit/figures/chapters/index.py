"""The figure on the landing page: many price tables explain the totals, and they agree on how to drive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import linprog

from aggbandit._arrays import reduce_frozen
from aggbandit.figures.style import BASELINE, BEST, INK, LEARNER, LOSS, LOSS_CMAP, PAPER, WIDTH
from aggbandit.mdp import FiniteHorizonMDP, Trajectory, uniform_policy
from aggbandit.worlds import World

FloatArray = NDArray[np.float64]

__all__ = [
    "BLAME",
    "Evidence",
    "describe",
    "draw_explanation",
    "explain",
    "extreme",
    "gather",
    "judge",
    "prices",
]

BLAME = {"the first leg": 0, "the last leg": -1}


@dataclass(frozen=True, eq=False)
class Evidence:
    """Nights that were driven and the totals on the meter, under prices that never change.

    world: where; trajectories: one a night; totals: (nights,) the meter's readings
    policies: (N, H, S, A, S) the occupancy of every deterministic policy, up to states never met
    """

    world: World
    trajectories: tuple[Trajectory, ...]
    totals: FloatArray
    policies: FloatArray
    __reduce__ = reduce_frozen


def gather(world: World, nights: int, rng: np.random.Generator) -> Evidence:
    """Drive by coins, at fixed prices, and write down the totals.

    Args:
        world: Where.
        nights: How many.
        rng: For the coins and the city.

    Returns:
        What was seen.
    """
    mdp = world.mdp
    trajectories = tuple(mdp.rollout(uniform_policy(mdp), rng) for _ in range(nights))
    totals = np.array([trajectory.total(world.loss) for trajectory in trajectories])
    return Evidence(world, trajectories, totals, _deterministic_occupancies(mdp))


def explain(evidence: Evidence, nights: int, blame: str) -> FloatArray:
    """A price table in [0, 1] that gives the totals exactly and puts the blame on one leg.

    A linear program: among all tables that fit, the one with the highest prices on one leg and the lowest
    elsewhere.

    Args:
        evidence: The nights that were driven.
        nights: How many of them count.
        blame: A key of `BLAME`.

    Returns:
        (H, S, A, S) the table.

    Raises:
        RuntimeError: if no table fits.
    """
    shape = evidence.world.loss.shape
    wish = np.ones(shape)
    wish[BLAME[blame]] = -1.0
    wish *= 1 + 0.01 * np.linspace(0, 1, wish.size).reshape(shape)  # so that the optimum is unique
    return _least(wish.ravel(), *_ways(evidence, nights), 1.0).reshape(shape)


def extreme(evidence: Evidence, nights: int, choice: tuple[int, int, int], sign: int) -> FloatArray:
    """A price table in [0, 1] that explains the totals and has one price as low or high as any such table.

    Two linear programs: how far the price can go, and among the tables that go there, the one that is
    closest to 1/2 everywhere else (summed distances, weighted a little so that it is unique).

    Args:
        evidence: The nights that were driven.
        nights: How many of them count.
        choice: (h, s, a); its price is averaged over where it leads.
        sign: 1 for the lowest price, -1 for the highest.

    Returns:
        (H, S, A, S) the table.

    Raises:
        RuntimeError: if no table fits.
    """
    shape = evidence.world.loss.shape
    seen, totals = _ways(evidence, nights)
    price = np.zeros(shape)
    price[choice] = evidence.world.mdp.transitions[choice]
    far = price.ravel() @ _least(sign * price.ravel(), seen, totals, 1.0)
    rows, wanted = np.vstack([seen, price.ravel()]), np.append(totals, far)
    weights = np.tile(1 + 0.01 * np.linspace(0, 1, price.size), 2)
    # Over what is added to 1/2, and what is taken from it.
    added, taken = np.split(_least(weights, np.hstack([rows, -rows]), wanted - rows.sum(axis=1) / 2, 0.5), 2)
    return (0.5 + added - taken).reshape(shape)


def _ways(evidence: Evidence, nights: int) -> tuple[FloatArray, FloatArray]:
    """The different ways that were driven, and what each cost: the prices never change, nor does that."""
    seen = np.array([t.indicator().ravel() for t in evidence.trajectories[:nights]])
    ways, first = np.unique(seen, axis=0, return_index=True)
    return ways, evidence.totals[first]


def _least(cost: FloatArray, rows: FloatArray, wanted: FloatArray, top: float) -> FloatArray:
    """The x between 0 and top with rows @ x = wanted whose cost is least."""
    fit = linprog(cost, A_eq=rows, b_eq=wanted, bounds=(0, top), method="highs")
    if not fit.success:
        raise RuntimeError(f"no table explains the totals: {fit.message}")
    return np.asarray(fit.x, dtype=np.float64)


def prices(evidence: Evidence, *, nights: tuple[int, ...], opening: int) -> dict[str, Any]:
    """The dragged figure of prices that explain every total, all but its caption (`prices.js`).

    Args:
        evidence: The nights that were driven.
        nights: How many may be driven, increasing.
        opening: Which of these it opens on.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    mdp = evidence.world.mdp
    choices = [(h, s, a) for h, s in np.argwhere(mdp.reachable) for a in range(mdp.n_actions)]
    index = tuple(np.transpose(choices))

    def seen(table: FloatArray) -> FloatArray:
        """The prices of the choices, averaged over where they lead; the last bits differ between machines."""
        means: FloatArray = (mdp.transitions * table).sum(axis=-1)
        return np.asarray(means[index].round(9) + 0.0)

    def bounds(sign: int) -> list[list[FloatArray]]:
        return [[seen(extreme(evidence, count, choice, sign)) for choice in choices] for count in nights]

    lists = [[(f"blame {leg}", seen(explain(evidence, count, leg))) for leg in BLAME] for count in nights]
    first = next(iter(BLAME))
    return {
        "data": {
            "choices": choices,
            "weights": evidence.policies.sum(axis=-1)[:, *index],
            "true": judge(evidence, evidence.world.loss)[1],
            "totals": evidence.totals,
            "nights": nights,
            "least": bounds(1),
            "most": bounds(-1),
            "lists": lists,
            "names": {"states": evidence.world.state_names, "actions": evidence.world.action_names},
        },
        "start": {"nights": opening, "prices": lists[opening][0][1]},
        "still": draw_explanation(evidence, nights[opening], first),
        "alt": describe(evidence, nights[opening], first),
    }


def draw_explanation(evidence: Evidence, nights: int, blame: str) -> Figure:
    """The first `nights` totals of the `evidence`, the table that explains them by `blame`, all policies."""
    table = explain(evidence, nights, blame)
    fig = plt.figure(figsize=(WIDTH, 4.5))
    meter, prices, policies = _panels(fig)
    _draw_meter(meter, evidence, nights)
    _draw_prices(prices, evidence.world, table)
    _draw_policies(policies, evidence, table)
    return fig


def describe(evidence: Evidence, nights: int, blame: str) -> str:
    """The picture of `draw_explanation(evidence, nights, blame)` in words."""
    said, true = judge(evidence, explain(evidence, nights, blame))
    driven = "the total of one night" if nights == 1 else f"the totals of {nights} nights"
    chosen = true[np.argmin(said.round(9))]
    return (
        f"Prices that explain {driven}. They misjudge a policy by at most "
        f"{_hundredths(abs(said - true).max())}. The policy that is best by them costs "
        f"{_hundredths(chosen)} a night; the best one costs {_hundredths(true.min())}."
    )


def _hundredths(value: float) -> str:
    """Two decimals, ties upwards."""
    return f"{value + 1e-9:.2f}"


def judge(evidence: Evidence, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected totals of every policy of the `evidence`, as `table` has it and in truth; shape (N,) each."""
    flat = evidence.policies.reshape(len(evidence.policies), -1)
    return flat @ table.ravel(), flat @ evidence.world.loss.ravel()


def _deterministic_occupancies(mdp: FiniteHorizonMDP) -> FloatArray:
    """Occupancies of all deterministic policies, counting once those that differ only where nobody comes."""
    cells = [tuple(cell) for cell in np.argwhere(mdp.reachable)]
    occupancies = []
    for actions in product(range(mdp.n_actions), repeat=len(cells)):
        policy = np.zeros((mdp.horizon, mdp.n_states, mdp.n_actions))
        policy[..., 0] = 1.0
        for (h, s), action in zip(cells, actions, strict=True):
            policy[h, s] = np.eye(mdp.n_actions)[action]
        occupancies.append(mdp.occupancy(policy))
    return np.array(occupancies)


def _panels(fig: Figure) -> tuple[Axes, Axes, Axes]:
    grid = fig.add_gridspec(2, 2, height_ratios=(1, 4.4), width_ratios=(1.05, 1))
    return fig.add_subplot(grid[0, :]), fig.add_subplot(grid[1, 0]), fig.add_subplot(grid[1, 1])


def _draw_meter(ax: Axes, evidence: Evidence, nights: int) -> None:
    horizon, count = evidence.world.mdp.horizon, len(evidence.totals)
    ax.bar(np.arange(1, nights + 1), evidence.totals[:nights], width=0.75, color=LOSS)
    ax.set(xlim=(0, count + 1), ylim=(0, horizon), yticks=(0, horizon), xticks=())
    ax.set_title("The meter, " + ("one night" if nights == 1 else f"{nights} nights"))


def _draw_prices(ax: Axes, world: World, table: FloatArray) -> None:
    mdp = world.mdp
    mean = (mdp.transitions * table).sum(axis=-1)  # a choice's price, averaged over where it leads
    mean[~mdp.reachable] = np.nan
    cells = mean.transpose(1, 2, 0).reshape(-1, mdp.horizon)  # a row for each state and action
    ax.imshow(np.nan_to_num(cells), cmap=LOSS_CMAP, vmin=0, vmax=1.2, aspect="auto")
    for (row, leg), price in np.ndenumerate(cells):
        if not np.isnan(price):
            shade = PAPER if price > 0.8 else INK
            ax.text(leg, row, f"{abs(price):.2f}", ha="center", va="center", fontsize=10.5, color=shade)
    names = [f"{state}, {action}" for state in world.state_names for action in world.action_names]
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks(range(mdp.horizon), [f"leg {h + 1}" for h in range(mdp.horizon)])
    for boundary in range(mdp.n_actions, len(names), mdp.n_actions):
        ax.axhline(boundary - 0.5, color=PAPER, linewidth=4)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("Prices that explain it")


def _draw_policies(ax: Axes, evidence: Evidence, table: FloatArray) -> None:
    said, true = judge(evidence, table)
    best, chosen = int(np.argmin(true)), int(np.argmin(said.round(9)))
    span = (0.0, 2.5)
    ax.plot(span, span, color=BASELINE, linewidth=1, zorder=1)
    ax.plot(true, said, "o", color=INK, markersize=3, markeredgewidth=0, zorder=2)
    ax.plot(true[best], said[best], "D", color=BEST, markersize=8, label="the best one", zorder=3)
    ax.plot(
        true[chosen],
        said[chosen],
        "o",
        color=LEARNER,
        markersize=14,
        fillstyle="none",
        markeredgewidth=2.2,
        label="best by these prices",
        zorder=4,
    )
    ax.set(xlim=(0.8, 2.3), ylim=span, xlabel="what it costs", ylabel="what these prices say")
    ax.legend(loc="lower right", handletextpad=0.3, borderaxespad=0.1)
    ax.set_title(f"All {len(true)} policies")
