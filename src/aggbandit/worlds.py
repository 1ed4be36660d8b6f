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

from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    check_memory,
    check_positive_int,
    check_rng,
    check_rows,
    check_unit_interval,
    probability_rows,
    read_only,
    real_array,
    reduce_frozen,
    spread_table,
)
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


_NUMBER = (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class RewardScale:
    """How rewards in [low, high] became losses in [0, 1]: `loss = (high - reward) / (high - low)`.

    Args:
        low: the least reward.
        high: the greatest reward.

    Raises:
        ValueError: unless low < high, both finite.

    Example:
        >>> import aggbandit as ab
        >>> scale = ab.worlds.RewardScale(low=-1.0, high=1.0)
        >>> scale.loss([-1.0, 0.0, 1.0])
        array([1. , 0.5, 0. ])
        >>> scale.total_reward(total_loss=2.5, horizon=3)
        -2.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        numbers = isinstance(self.low, _NUMBER) and isinstance(self.high, _NUMBER)
        if not numbers or not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low is {self.low} and high is {self.high}; low must be smaller, both finite")

    def loss(self, reward: ArrayLike) -> FloatArray:
        """The loss of a reward.

        Args:
            reward: a number or an array of any shape.

        Returns:
            The losses, in [0, 1] where the rewards are in [low, high].

        Raises:
            ValueError: if the rewards are no real numbers.
        """
        return np.asarray((self.high - real_array("reward", reward)) / (self.high - self.low))

    def total_reward(self, total_loss: float, horizon: int) -> float:
        """The sum of the rewards of an episode, from that of its losses.

        Args:
            total_loss: the sum of the losses.
            horizon: the number of steps.

        Returns:
            The sum of the rewards.
        """
        return horizon * self.high - (self.high - self.low) * total_loss


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """An MDP with names and losses.

    Args:
        name: for people.
        description: for people.
        mdp: the dynamics.
        loss: (H, S, A, S) in [0, 1], the losses of an ordinary episode; or a table that `losses.spread`
            takes.
        state_names: S names.
        action_names: A names.
        other_losses: further tables by name.
        reward_scale: how rewards became losses, where the world came with rewards.

    Raises:
        ValueError: naming the entry, if a table is not (H, S, A, S) in [0, 1] or the names do not fit.
    """

    name: str
    description: str
    mdp: FiniteHorizonMDP
    loss: FloatArray
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    other_losses: Mapping[str, FloatArray] = field(default_factory=dict)
    reward_scale: RewardScale | None = None
    __reduce__ = reduce_frozen

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
            object.__setattr__(self, what, tuple(names))

    def _table(self, name: str, table: ArrayLike) -> FloatArray:
        array = spread_table(name, table, self.mdp.shape)
        check_unit_interval(name, array)
        return read_only(array)

    def __repr__(self) -> str:
        return f"World({self.name!r}, {self.mdp!r})"


def night_driver() -> World:
    """The running example: a driver crosses a small city by night and reads only the total on the meter.

    The crossing has three legs. States: riverside (the start), old town, ring road. Actions: keep to the
    road, or turn off it; neither is sure to lead where it should. The loss of a leg is what the road costs
    plus what is waiting where the leg ends: `loss[h,s,a,s'] = road[h,s,a] + arrival[h,s']`.

    On a dry night (`loss`) the cheap first choice, keep, is a trap: riverside is expensive on the second
    leg. The best policy pays 1.014, choosing the cheapest leg each time 1.277, tossing a coin 1.642 and the
    worst 2.143 (rounded), of at most 3. On a rainy night (`other_losses["rain"]`) the same policy
    pays 2.327 and the best one 0.958.

    Returns:
        A world with H = 3, S = 3, A = 2; every number has one decimal.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> world
        World('night driver', FiniteHorizonMDP(horizon=3, n_states=3, n_actions=2, initial_state=0))
        >>> best, value = world.mdp.best_policy(world.loss)
        >>> round(value, 3), round(world.mdp.expected_loss(best, world.other_losses["rain"]), 3)
        (1.014, 2.327)
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
    """`loss[h,s,a,s'] = road[h,s,a] + arrival[h,s']`, rounded to the one decimal it has on paper."""
    table = np.asarray(road)[:, :, :, None] + np.asarray(arrival)[:, None, None, :]
    return np.asarray(np.round(table, 1), dtype=np.float64)


def random_mdp(n_states: int, n_actions: int, horizon: int, rng: np.random.Generator) -> FiniteHorizonMDP:
    """A world without structure: every row of transitions is uniform on the simplex, Dirichlet(1, ..., 1).

    Args:
        n_states: S; the initial state is 0.
        n_actions: A.
        horizon: H.
        rng: the source of randomness.

    Returns:
        The world.

    Raises:
        ValueError: if one of the three is below 1.
        TypeError: if `rng` is no generator.
        MemoryError: if the world does not fit.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> mdp = ab.random_mdp(n_states=3, n_actions=2, horizon=4, rng=np.random.default_rng(0))
        >>> mdp
        FiniteHorizonMDP(horizon=4, n_states=3, n_actions=2, initial_state=0)
        >>> mdp.transitions[0, 0, 0].round(2)
        array([0.4 , 0.59, 0.01])
    """
    for name, value in (("n_states", n_states), ("n_actions", n_actions), ("horizon", horizon)):
        check_positive_int(name, value)
    check_rng(rng)
    shape = (horizon, n_states, n_actions, n_states)
    # The table, and what it takes to look whether each entry is a probability.
    check_memory(f"a random world of shape {shape}", 10.0 * np.prod(shape, dtype=float))
    rows = rng.dirichlet(np.ones(n_states), size=shape[:3])
    rows.setflags(write=False)
    return FiniteHorizonMDP(rows)


def layered_grid(rows: int, columns: int, slip: float = 0.1) -> World:
    """A grid crossed from left to right, one column a step: up, level or down.

    The state is the row, the step is the column: H = columns, S = rows, A = 3. An action moves one row up,
    stays level or moves one row down (at the edge it stays); with probability `slip` one of the three moves
    is made at random instead. The start is the middle row. The ground is hilly, and the loss of a step is
    the height of where it arrives: between 0 and 1, known to two decimals.

    Args:
        rows: S.
        columns: H.
        slip: a probability.

    Returns:
        The world.

    Raises:
        ValueError: if S or H is below 1 or slip not in [0, 1].
        MemoryError: if the world does not fit.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.layered_grid(rows=4, columns=6)
        >>> world.mdp
        FiniteHorizonMDP(horizon=6, n_states=4, n_actions=3, initial_state=2)
        >>> round(world.mdp.best_policy(world.loss)[1], 2)
        0.48
    """
    check_positive_int("rows", rows)
    check_positive_int("columns", columns)
    _check_probability("slip", slip)
    _check_step(rows, 3)
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

    Args:
        length: S.
        horizon: H.

    Returns:
        The world, with A = 2.

    Raises:
        ValueError: if one of them is below 1.
        MemoryError: if the world does not fit.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.worlds.chain(length=4, horizon=20)
        >>> round(world.mdp.best_policy(world.loss)[1], 2)  # staying would cost 16
        7.49
    """
    check_positive_int("length", length)
    check_positive_int("horizon", horizon)
    _check_step(length, 2)
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

    - Rewards in [low, high] become losses `(high - reward) / (high - low)`, see `World.reward_scale`; the
      range is that of the table and 0. Where several outcomes share (s, a, s') the loss is that of their
      mean reward.
    - A state in which an episode ends absorbs, and so does one without actions: it is never left, at reward
      0. So the expected total loss is a decreasing affine function of the expected return within the horizon,
      and the best policy is the same.
    - An environment that starts at random gets one more state, "start" (the last one), and one more step, the
      first, in which every action deals the initial state at reward 0: H = horizon + 1.
    - Wrappers that only watch (a time limit, a recorder, another view of the state) are taken off.

    Args:
        env_or_id: an environment, or the name of one for `gymnasium.make`.
        horizon: the number of steps played.
        **make_kwargs: passed on to `gymnasium.make`, which needs a name.

    Returns:
        The world.

    Raises:
        ImportError: if a name is given and Gymnasium is missing.
        TypeError: if the environment has no transition table.
        ValueError: if the horizon is below 1, keywords come without a name, a wrapper may change what the
            table says, the table is broken (named: the entry), states have different actions, or a state
            that ends the episode can also be passed through.
        MemoryError: if the world does not fit.

    Example:
        >>> import aggbandit as ab
        >>> lake = ab.from_gymnasium("FrozenLake-v1", horizon=20, is_slippery=False)
        >>> lake.mdp
        FiniteHorizonMDP(horizon=20, n_states=16, n_actions=4, initial_state=0)
        >>> policy, total_loss = lake.mdp.best_policy(lake.loss)
        >>> lake.reward_scale.total_reward(total_loss, horizon=20)  # the goal is reached
        1.0
    """
    check_positive_int("horizon", horizon)
    env, name = _open(env_or_id, make_kwargs)
    given = getattr(env, "P", None)
    if given is None:
        raise TypeError(f"{name} has no transition table P; only toy-text environments have one")
    table = _read_table(given, name)
    n_states = len(table.probability)
    start = np.asarray(getattr(env, "initial_state_distrib", ()))
    if start.shape != (n_states,):
        raise TypeError(f"{name} has no initial_state_distrib over its {n_states} states")
    start = probability_rows(f"{name}.initial_state_distrib", start)

    final = table.stuck | _final_states(start, table, name)
    probability, rewarded = table.probability, table.rewarded
    probability[final] = 0.0
    probability[final, :, final] = 1.0
    rewarded[final] = 0.0
    scale = table.scale

    state_names = tuple(str(s) for s in range(n_states))
    steps, initial_state = horizon, int(np.argmax(start))
    if np.count_nonzero(start) > 1:
        steps, initial_state = horizon + 1, n_states
        probability, rewarded = _with_start(probability, rewarded, start)
        state_names = (*state_names, "start")
    return World(
        name=name,
        description=f"{name} out of Gymnasium, {horizon} steps.",
        mdp=FiniteHorizonMDP(_repeated(probability, steps), initial_state),
        loss=_repeated(scale.loss(rewarded), steps),
        state_names=state_names,
        action_names=tuple(str(a) for a in range(probability.shape[1])),
        reward_scale=scale,
    )


# Wrappers, of Gymnasium, that leave rewards and transitions as they are; so do all observation wrappers.
_WATCHING = {
    "Autoreset",
    "HumanRendering",
    "ObservationWrapper",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "TimeLimit",
}


def _open(env_or_id: Any, make_kwargs: dict[str, Any]) -> tuple[Any, str]:
    """The environment without its wrappers, and its name."""
    env: Any
    if isinstance(env_or_id, str):
        try:
            import gymnasium
        except ImportError as error:
            raise ImportError(
                "from_gymnasium needs Gymnasium to make an environment by name: pip install gymnasium"
            ) from error
        env, name = gymnasium.make(env_or_id, **make_kwargs), env_or_id
    else:
        if make_kwargs:
            raise ValueError(f"{', '.join(make_kwargs)}: keywords are for gymnasium.make and need a name")
        env = env_or_id
        if not hasattr(env, "unwrapped"):
            raise TypeError(f"{type(env).__name__} is no environment; pass one, or a name for gymnasium.make")
        spec = getattr(env.unwrapped, "spec", None)
        name = spec.id if spec else type(env.unwrapped).__name__
    bare = env.unwrapped
    while env is not bare:
        if not _WATCHING & {kind.__name__ for kind in type(env).__mro__}:
            raise ValueError(
                f"{type(env).__name__} may change rewards or transitions, which the table of {name} does not "
                "show; to leave it out, pass env.unwrapped"
            )
        env = env.env
    return bare, name


@dataclass(frozen=True, eq=False)
class _Table:
    """An environment's table as arrays over (s, a, s').

    Attributes:
        probability: (S, A, S) rows, zero for states without actions.
        rewarded: (S, A, S) mean rewards.
        endings: (S, A, S) booleans, does an episode end with this step?
        passings: (S, A, S) booleans, does one go on after it?
        stuck: (S,) booleans, is there nothing to do in this state?
        scale: of the rewards in the table.
    """

    probability: FloatArray
    rewarded: FloatArray
    endings: BoolArray
    passings: BoolArray
    stuck: BoolArray
    scale: RewardScale


def _read_table(given: Any, name: str) -> _Table:
    """The table of the environment called `name`; ValueError naming the entry that is broken."""
    by_state = [
        _numbered(f"{name}.P[{s}]", actions) for s, actions in enumerate(_numbered(f"{name}.P", given))
    ]
    acting = [s for s, actions in enumerate(by_state) if any(len(outcomes) for outcomes in actions)]
    if not acting:
        raise ValueError(f"{name}.P has no actions in any state")
    n_states, n_actions = len(by_state), len(by_state[acting[0]])
    _check_step(n_states, n_actions)
    probability = np.zeros((n_states, n_actions, n_states))
    reward_mass = np.zeros_like(probability)
    endings = np.zeros(probability.shape, dtype=np.bool_)
    passings = np.zeros_like(endings)
    rewards = [0.0]
    for s in acting:
        if len(by_state[s]) != n_actions:
            raise ValueError(
                f"{name}.P[{s}] has {len(by_state[s])} actions and {name}.P[{acting[0]}] has {n_actions}; "
                "every state needs the same ones"
            )
        for a, outcomes in enumerate(by_state[s]):
            for i, outcome in enumerate(outcomes):
                p, next_state, reward, terminated = _outcome(f"{name}.P[{s}][{a}][{i}]", outcome, n_states)
                if p > 0:
                    probability[s, a, next_state] += p
                    reward_mass[s, a, next_state] += p * reward
                    (endings if terminated else passings)[s, a, next_state] = True
                    rewards.append(reward)
    stuck = np.ones(n_states, dtype=np.bool_)
    stuck[acting] = False
    # The states without actions absorb; they are given their rows later.
    check_rows(f"{name}.P", np.where(stuck[:, None, None], 1.0 / n_states, probability))
    low, high = min(rewards), max(rewards)
    scale = RewardScale(low, high) if low < high else RewardScale(low, low + 1.0)
    mean = np.divide(reward_mass, probability, out=reward_mass, where=probability > 0)
    # A mean of rewards may leave their range by rounding.
    return _Table(probability, np.clip(mean, low, high), endings, passings, stuck, scale)


def _numbered(what: str, entries: Any) -> list[Any]:
    """The entries 0, 1, ... of a list, or of a dictionary with these keys."""
    if isinstance(entries, Mapping):
        if set(entries) != set(range(len(entries))):
            raise ValueError(f"{what} has the keys {list(entries)}; expected 0..{len(entries) - 1}")
        return [entries[i] for i in range(len(entries))]
    if isinstance(entries, (list, tuple)):
        return list(entries)
    raise ValueError(f"{what} is a {type(entries).__name__}; expected a dictionary or a list")


def _outcome(where: str, outcome: Any, n_states: int) -> tuple[float, int, float, bool]:
    """One entry (probability, next state, reward, terminated) of a table; ValueError if it is broken."""
    if not isinstance(outcome, (list, tuple)) or len(outcome) != 4:
        raise ValueError(f"{where} is {outcome!r}; expected (probability, next state, reward, terminated)")
    p, next_state, reward, terminated = outcome
    if not isinstance(p, _NUMBER) or not 0.0 <= p < np.inf:
        raise ValueError(f"{where} has the probability {p!r}; it must be a nonnegative number")
    if not isinstance(next_state, (int, np.integer)) or not 0 <= next_state < n_states:
        raise ValueError(f"{where} has the next state {next_state!r}; it must be a state 0..{n_states - 1}")
    if not isinstance(reward, _NUMBER) or not np.isfinite(reward):
        raise ValueError(f"{where} has the reward {reward!r}; it must be a finite number")
    return float(p), int(next_state), float(reward), bool(terminated)


def _final_states(start: FloatArray, table: _Table, name: str) -> BoolArray:
    """(S,) booleans: the states in which an episode ends; ValueError if it may also go on from one."""
    endings, passings = np.asarray(table.endings.any(axis=1)), np.asarray(table.passings.any(axis=1))
    met: BoolArray = start > 0
    for _ in range(len(start)):
        met = met | np.asarray(passings[met].any(axis=0))
    final: BoolArray = np.asarray(endings[met].any(axis=0))
    torn = met & final & ~table.stuck
    if torn.any():
        s = int(np.argmax(torn))
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
    return np.broadcast_to(read_only(table), (steps, *table.shape))


def _check_step(n_states: int, n_actions: int) -> None:
    """Raise MemoryError if a world that moves alike at every step does not fit while it is being made."""
    shape = (n_states, n_actions, n_states)
    check_memory(f"a world whose steps have shape {shape}", 56.0 * np.prod(shape, dtype=float))


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is {value!r}; it must lie in [0, 1]")
