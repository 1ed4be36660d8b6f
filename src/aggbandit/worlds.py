"""Example worlds: the one running example of the book, and makers of small, long, wide and borrowed ones.

A world is an MDP together with names for its states and actions and with losses worth playing for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import FloatArray, check_positive_int, check_shape, check_unit_interval, read_only
from aggbandit.mdp import FiniteHorizonMDP

__all__ = [
    "RewardScale",
    "World",
    "chain",
    "from_gymnasium",
    "layered_grid",
    "night_driver",
    "random_mdp",
]


@dataclass(frozen=True)
class RewardScale:
    """How rewards in [low, high] became losses in [0, 1]: loss = (high - reward) / (high - low).

    low, high: the range of the rewards. Raises ValueError unless low < high, both finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low is {self.low} and high is {self.high}; low must be smaller, both finite")

    def loss(self, reward: ArrayLike) -> FloatArray:
        """The loss of a reward (an array of any shape)."""
        return np.asarray((self.high - np.asarray(reward, dtype=np.float64)) / (self.high - self.low))

    def total_reward(self, total_loss: float, horizon: int) -> float:
        """The sum of the rewards of `horizon` steps whose losses sum to `total_loss`."""
        return horizon * self.high - (self.high - self.low) * total_loss


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """An MDP with names and losses.

    name, description: for people
    mdp:               the dynamics
    loss:              (H, S, A, S) in [0, 1], the losses of an ordinary episode
    state_names:       S names
    action_names:      A names
    other_losses:      further tables (H, S, A, S) by name
    reward_scale:      how rewards became losses, where the world came with rewards

    Raises ValueError, naming the entry, if a table is not (H, S, A, S) in [0, 1] or the names do not fit.
    """

    name: str
    description: str
    mdp: FiniteHorizonMDP
    loss: FloatArray
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    other_losses: Mapping[str, FloatArray] = field(default_factory=dict)
    reward_scale: RewardScale | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", self._table("loss", self.loss))
        others = {
            name: self._table(f"other_losses[{name!r}]", table) for name, table in self.other_losses.items()
        }
        object.__setattr__(self, "other_losses", MappingProxyType(others))
        for what, names, count in (
            ("state_names", self.state_names, self.mdp.n_states),
            ("action_names", self.action_names, self.mdp.n_actions),
        ):
            if len(names) != count:
                raise ValueError(f"{what} has {len(names)} names; the world has {count}")

    def _table(self, name: str, table: FloatArray) -> FloatArray:
        array = read_only(table)
        check_shape(name, array, self.mdp.shape, "(H, S, A, S)")
        check_unit_interval(name, array)
        return array

    def __repr__(self) -> str:
        return f"World({self.name!r}, {self.mdp!r})"


def night_driver() -> World:
    """The running example: a driver crosses a small city by night and reads only the total on the meter.

    The crossing has three legs. States: riverside (the start), old town, ring road. Actions: keep to the
    road, or turn off it; neither is sure to lead where it should. The loss of a leg is what the road costs
    plus what is waiting where the leg ends: loss[h,s,a,s'] = road[h,s,a] + arrival[h,s'].

    On a dry night (`loss`) the cheap first choice, keep, is a trap: riverside is expensive on the second
    leg. The best policy pays 1.014, choosing the cheapest leg each time 1.277, tossing a coin 1.642 and the
    worst 2.143 (rounded), of at most 3. On a rainy night (`other_losses["rain"]`) the same policy
    pays 2.327 and the best one 0.958.

    Returns a `World` with H = 3, S = 3, A = 2; every number has one decimal.
    """
    transitions = [
        [  # first leg: only riverside, the start, is ever met
            [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]],
            [[0.2, 0.6, 0.2], [0.4, 0.1, 0.5]],
            [[0.1, 0.1, 0.8], [0.3, 0.6, 0.1]],
        ],
        [  # second leg
            [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]],
            [[0.1, 0.7, 0.2], [0.6, 0.1, 0.3]],
            [[0.1, 0.2, 0.7], [0.2, 0.4, 0.4]],
        ],
        [  # third leg
            [[0.8, 0.1, 0.1], [0.1, 0.4, 0.5]],
            [[0.3, 0.5, 0.2], [0.4, 0.2, 0.4]],
            [[0.1, 0.3, 0.6], [0.5, 0.4, 0.1]],
        ],
    ]
    dry = _road_and_arrival(
        road=[
            [[0.3, 0.4], [0.5, 0.4], [0.2, 0.6]],
            [[0.7, 0.8], [0.7, 0.1], [0.2, 0.7]],
            [[0.6, 0.1], [0.4, 0.8], [0.6, 0.2]],
        ],
        arrival=[[0.1, 0.1, 0.0], [0.0, 0.2, 0.1], [0.1, 0.0, 0.2]],
    )
    rain = _road_and_arrival(
        road=[
            [[0.3, 0.5], [0.6, 0.3], [0.7, 0.4]],
            [[0.1, 0.5], [0.4, 0.8], [0.9, 0.6]],
            [[0.2, 0.7], [0.8, 0.3], [0.4, 0.8]],
        ],
        arrival=[[0.0, 0.2, 0.1], [0.0, 0.1, 0.1], [0.0, 0.1, 0.2]],
    )
    return World(
        name="night driver",
        description="A driver crosses a small city by night and reads only the total on the meter.",
        mdp=FiniteHorizonMDP(np.array(transitions), initial_state=0),
        loss=dry,
        state_names=("riverside", "old town", "ring road"),
        action_names=("keep", "turn"),
        other_losses={"rain": rain},
    )


def _road_and_arrival(road: ArrayLike, arrival: ArrayLike) -> FloatArray:
    """loss[h,s,a,s'] = road[h,s,a] + arrival[h,s'], rounded to the one decimal it has on paper."""
    table = np.asarray(road)[:, :, :, None] + np.asarray(arrival)[:, None, None, :]
    return np.asarray(np.round(table, 1), dtype=np.float64)


def random_mdp(n_states: int, n_actions: int, horizon: int, rng: np.random.Generator) -> FiniteHorizonMDP:
    """A world without structure: every row of transitions is uniform on the simplex, Dirichlet(1, ..., 1).

    n_states, n_actions, horizon: S, A, H; rng: the source of randomness. The initial state is 0.
    Raises ValueError if one of them is below 1.
    """
    for name, value in (("n_states", n_states), ("n_actions", n_actions), ("horizon", horizon)):
        check_positive_int(name, value)
    rows = rng.dirichlet(np.ones(n_states), size=(horizon, n_states, n_actions))
    return FiniteHorizonMDP(rows)


def layered_grid(rows: int, columns: int, slip: float = 0.1) -> World:
    """A grid crossed from left to right, one column a step: up, level or down.

    The state is the row, the step is the column: H = columns, S = rows, A = 3. An action moves one row up,
    stays level or moves one row down (at the edge it stays); with probability `slip` one of the three moves
    is made at random instead. The start is the middle row. The ground is hilly, and the loss of a step is
    the height of where it arrives: between 0 and 1, known to two decimals.

    rows: S; columns: H; slip: a probability. Raises ValueError if S or H is below 1 or slip not in [0, 1].
    """
    check_positive_int("rows", rows)
    check_positive_int("columns", columns)
    _check_probability("slip", slip)
    state = np.arange(rows)
    moves = np.zeros((rows, 3, rows))
    for a, move in enumerate((-1, 0, 1)):
        moves[state, a, np.clip(state + move, 0, rows - 1)] = 1.0
    step = (1.0 - slip) * moves + slip * moves.mean(axis=1, keepdims=True)
    # Two waves that do not share a period: hills and valleys that no straight line avoids.
    height = 0.5 + 0.5 * np.sin(1.3 * state[None, :] + 0.9 * np.arange(1, columns + 1)[:, None])
    shape = (columns, rows, 3, rows)
    return World(
        name=f"layered grid {rows} x {columns}",
        description="A walker crosses hilly ground from left to right, one column a step.",
        mdp=FiniteHorizonMDP(_repeated(step, columns), initial_state=rows // 2),
        loss=np.broadcast_to(np.round(height, 2)[:, None, None, :], shape),
        state_names=tuple(f"row {r}" for r in range(rows)),
        action_names=("up", "level", "down"),
    )


def chain(length: int, horizon: int) -> World:
    """A long chain with its reward at the far end: who does not persist never sees it.

    States 0..length-1, the start is 0. "forward" moves one state on with probability 0.9 and falls back to
    the start otherwise; at the last state it stays there. "back" returns to the start. Every step costs 1,
    except that staying at the start by "back" costs 0.8 (the temptation) and "forward" at the last state
    costs 0.

    length: S; horizon: H; A = 2. Raises ValueError if one of them is below 1.
    """
    check_positive_int("length", length)
    check_positive_int("horizon", horizon)
    state = np.arange(length)
    step = np.zeros((length, 2, length))
    step[state, 0, np.minimum(state + 1, length - 1)] += 0.9
    step[state, 0, 0] += 0.1
    step[:, 1, 0] = 1.0
    cost = np.ones((length, 2, length))
    cost[0, 1, :] = 0.8
    cost[length - 1, 0, :] = 0.0
    return World(
        name=f"chain of {length}",
        description="A chain of states with a temptation at the start and a free place at the end.",
        mdp=FiniteHorizonMDP(_repeated(step, horizon)),
        loss=_repeated(cost, horizon),
        state_names=tuple(f"link {i}" for i in range(length)),
        action_names=("forward", "back"),
    )


def from_gymnasium(env_or_id: Any, horizon: int, **make_kwargs: Any) -> World:
    """A Gymnasium toy-text environment (FrozenLake, Taxi, CliffWalking) as a world with losses in [0, 1].

    The table `env.unwrapped.P[s][a] = [(probability, next state, reward, terminated), ...]` becomes
    transitions and losses. States keep their numbers.

    - Rewards in [low, high] become losses (high - reward) / (high - low), see `World.reward_scale`; the
      range is that of the table and 0. Where several outcomes share (s, a, s') the loss is that of their
      mean reward.
    - A state in which an episode ends absorbs: it is never left, at reward 0. So the expected total loss is a
      decreasing affine function of the expected return within the horizon, and the best policy is the same.
    - An environment that starts at random gets one more state, "start" (the last one), and one more step, the
      first, in which every action deals the initial state at reward 0: H = horizon + 1.

    env_or_id: an environment, or the name of one for `gymnasium.make`; horizon: the number of steps played;
    make_kwargs: passed on to `gymnasium.make`, which needs a name.
    Raises ImportError if a name is given and Gymnasium is missing, TypeError if the environment has no
    transition table, ValueError if the horizon is below 1, keywords come without a name, or a state that
    ends the episode can also be passed through.
    """
    check_positive_int("horizon", horizon)
    env, name = _open(env_or_id, make_kwargs)
    table = getattr(env, "P", None)
    if table is None:
        raise TypeError(f"{name} has no transition table P; only toy-text environments have one")
    start = np.asarray(getattr(env, "initial_state_distrib", ()), dtype=np.float64)
    n_states, n_actions = len(table), len(table[0])
    if start.shape != (n_states,):
        raise TypeError(f"{name} has no initial_state_distrib over its {n_states} states")

    probability = np.zeros((n_states, n_actions, n_states))
    reward_mass = np.zeros_like(probability)
    endings = np.zeros_like(probability, dtype=np.bool_)
    passings = np.zeros_like(endings)
    rewards = [0.0]
    for s in range(n_states):
        for a in range(n_actions):
            for p, next_state, reward, terminated in table[s][a]:
                if p > 0:
                    probability[s, a, next_state] += p
                    reward_mass[s, a, next_state] += p * reward
                    (endings if terminated else passings)[s, a, next_state] = True
                    rewards.append(float(reward))
    final = _final_states(start, endings.any(axis=1), passings.any(axis=1), name)
    rewarded = np.divide(reward_mass, probability, out=np.zeros_like(probability), where=probability > 0)
    probability[final] = 0.0
    probability[final, :, final] = 1.0
    rewarded[final] = 0.0
    low, high = min(rewards), max(rewards)
    scale = RewardScale(low, high) if low < high else RewardScale(low, low + 1.0)

    state_names = tuple(str(s) for s in range(n_states))
    steps, initial_state = horizon, int(np.argmax(start))
    if start[initial_state] < 1.0:
        steps, initial_state = horizon + 1, n_states
        probability, rewarded = _with_start(probability, rewarded, start)
        state_names = (*state_names, "start")
    return World(
        name=name,
        description=f"{name} out of Gymnasium, {horizon} steps.",
        mdp=FiniteHorizonMDP(_repeated(probability, steps), initial_state),
        loss=_repeated(scale.loss(rewarded), steps),
        state_names=state_names,
        action_names=tuple(str(a) for a in range(n_actions)),
        reward_scale=scale,
    )


def _open(env_or_id: Any, make_kwargs: dict[str, Any]) -> tuple[Any, str]:
    """The environment without its wrappers, and its name."""
    if not isinstance(env_or_id, str):
        if make_kwargs:
            raise ValueError(f"{', '.join(make_kwargs)}: keywords are for gymnasium.make and need a name")
        env = env_or_id.unwrapped
        spec = getattr(env, "spec", None)
        return env, spec.id if spec else type(env).__name__
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError(
            "from_gymnasium needs Gymnasium to make an environment by name: pip install -e '.[book]'"
        ) from error
    return gymnasium.make(env_or_id, **make_kwargs).unwrapped, env_or_id


def _final_states(start: FloatArray, endings: Any, passings: Any, name: str) -> Any:
    """(S,) booleans: the states in which an episode ends; ValueError if it may also go on from one."""
    met = start > 0
    for _ in range(len(start)):
        met = met | passings[met].any(axis=0)
    final = endings[met].any(axis=0)
    if (met & final).any():
        s = int(np.argmax(met & final))
        raise ValueError(f"{name} may both end and go on in state {s}; such a state cannot absorb")
    return final


def _with_start(
    probability: FloatArray, rewarded: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """One more state, the last, from which every action deals the initial state at reward zero."""
    n_states, n_actions, _ = probability.shape
    bigger = np.zeros((n_states + 1, n_actions, n_states + 1))
    bigger[:n_states, :, :n_states] = probability
    bigger[n_states, :, :n_states] = start
    rewards = np.zeros_like(bigger)
    rewards[:n_states, :, :n_states] = rewarded
    return bigger, rewards


def _repeated(table: FloatArray, steps: int) -> FloatArray:
    """The same table at every step, in the memory of one: a read-only view."""
    array = np.array(table, dtype=np.float64)
    return np.broadcast_to(array, (steps, *array.shape))


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is {value!r}; it must lie in [0, 1]")
