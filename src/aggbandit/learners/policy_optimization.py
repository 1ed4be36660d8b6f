r"""Policy optimization: exponential weights in every state, on losses-to-come or on whole totals.

Outside the paper: later work. The performance difference lemma writes the regret as a sum over states of
regrets of experts, one expert an action::

    V^pi - V^pi* = sum_h E_{s ~ q*_h} < pi_h(.|s) - pi*_h(.|s), Q_h(s, .) >.

With the whole loss function at hand, Q can be computed (`PolicyOptimization`). From totals it can be replaced
by the U-function (`UFunctionLearner`): what the *whole* episode costs on average if it passes (s, a) at h::

    U_h(s, a) = E[ sum_{h'=1..H} l_h' | s_h = s, a_h = a ] = W_h(s) + Q_h(s, a).

What came before, W, is the same for all actions, so it drops out of the differences; and one total is already
an unbiased observation of U at all H steps it passed.

Source:
    Lancewicki and Mansour (2025), for U and the dilated bonus. Luo, Wei and Lee (2021), Lemma 3.1, for the
    dilated bonus itself. The constants are re-derived here; `theory.u_function_bound` has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aggbandit import theory
from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_at_least_zero,
    check_finite,
    check_has,
    check_kind,
    check_number,
    check_positive,
    check_rng,
    check_shape,
    integer_array,
    real_array,
)
from aggbandit.feedback import AggregateFeedback, FullFeedback
from aggbandit.learners.fits import check_aggregate, check_world
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.visits import EmpiricalDynamics, KnownDynamics, Visits
from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = [
    "PolicyOptimization",
    "PolicyRates",
    "UFunctionLearner",
    "dilated_bonus",
    "novelty",
    "q_function",
    "u_function",
]


# --- functions of a policy ----------------------------------------------------------------------------------


def q_function(mdp: FiniteHorizonMDP, policy: ArrayLike, loss: ArrayLike) -> FloatArray:
    """The loss to come: `Q_h(s,a) = E[ sum_{h' >= h} l_h' | s_h = s, a_h = a ]`, backwards.

    Args:
        mdp: the world.
        policy: (H, S, A) probabilities.
        loss: (H, S, A, S), or a table that `losses.spread` takes.

    Returns:
        (H, S, A) Q.

    Raises:
        ValueError: for a policy or a loss that is none.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> q = q_function(world.mdp, ab.uniform_policy(world.mdp), world.loss)
        >>> q[0, 0].round(3), round(float(q[0, 0].mean()), 3)  # the mean is the value
        (array([1.702, 1.581]), 1.642)
    """
    pi, table = mdp.check_policy(policy), mdp.check_loss(loss)
    q = np.zeros(mdp.shape[:3])
    value = np.zeros(mdp.n_states)
    for h in reversed(range(mdp.horizon)):
        q[h] = np.einsum("sat,sat->sa", mdp.transitions[h], table[h] + value)
        value = (pi[h] * q[h]).sum(axis=1)
    return q


def u_function(mdp: FiniteHorizonMDP, policy: ArrayLike, loss: ArrayLike) -> FloatArray:
    """What a whole episode costs on average if it passes (s, a) at step h: `U = W + Q`.

    W is found forwards: `W_{h+1}(s') q_{h+1}(s') = sum_{s,a} q_h(s) pi(a|s) P(s'|s,a) (W_h(s) + l(s,a,s'))`.

    Args:
        mdp: the world.
        policy: (H, S, A) probabilities.
        loss: (H, S, A, S), or a table that `losses.spread` takes.

    Returns:
        (H, S, A) U; where the policy does not come, W counts as 0.

    Raises:
        ValueError: for a policy or a loss that is none.

    Source:
        Lancewicki and Mansour (2025).

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> policy = ab.uniform_policy(world.mdp)
        >>> difference = u_function(world.mdp, policy, world.loss) - q_function(world.mdp, policy, world.loss)
        >>> bool((abs(difference[..., 0] - difference[..., 1]) < 1e-12).all())  # W: the same for all actions
        True
    """
    x, table = mdp.occupancy(policy), mdp.check_loss(loss)
    u = q_function(mdp, policy, table)
    before = np.zeros(mdp.n_states)
    for h in range(mdp.horizon - 1):
        arriving = x[h].sum(axis=(0, 1))
        paid = np.einsum("sat,sat->t", x[h], before[:, None, None] + table[h])
        before = np.divide(paid, arriving, out=np.zeros_like(paid), where=arriving > 0)
        u[h + 1] += before[:, None]
    return u


def u_estimate(
    trajectory: Trajectory, paid: float | FloatArray, upper: FloatArray, policy: FloatArray, gamma: float
) -> FloatArray:
    """One total, at all the steps it passed: `U_hat_h(s,a) = I_h(s,a) L / (u_h(s) pi(a|s) + gamma)`.

    With gamma = 0 and the exact chances its mean is U on everything the policy can meet; a positive gamma
    makes it smaller and tamer.

    Args:
        trajectory: of the episode.
        paid: L, the total, less a baseline if there is one; (H,) if that differs from step to step.
        upper: (H, S) u, the chances of meeting a state, from above.
        policy: (H, S, A) that was played.
        gamma: nonnegative.

    Returns:
        (H, S, A) U_hat, zero except at H entries.

    Source:
        Lancewicki and Mansour (2025).
    """
    estimate = np.zeros(policy.shape)
    steps, states, actions, _ = trajectory.cells
    cells = (steps, states, actions)
    estimate[cells] = paid / (upper[steps, states] * policy[cells] + gamma)
    return estimate


def dilated_bonus(
    largest: Callable[[int, FloatArray], FloatArray], policy: FloatArray, bonus: FloatArray
) -> FloatArray:
    """The bonus to come, where each step further away counts `1 + 1/H` times as much.

    That is `B_h(s,a) = b_h(s) + (1 + 1/H) max_P sum_s' P(s'|s,a,h) sum_a' pi(a'|s') B_{h+1}(s',a')`.

    Args:
        largest: of a step and an (S,) value of the next state: the (S, A) largest plausible means.
        policy: (H, S, A) the policy.
        bonus: (H, S) b.

    Returns:
        (H, S, A) B.

    Source:
        Luo, Wei and Lee (2021), Eq. (5).
    """
    horizon = len(policy)
    dilated = np.repeat(bonus[:, :, None], policy.shape[2], axis=2)
    for h in reversed(range(horizon - 1)):
        dilated[h] += (1 + 1 / horizon) * largest(h, (policy[h + 1] * dilated[h + 1]).sum(axis=1))
    return dilated


def novelty(largest: Callable[[int, FloatArray], FloatArray], visited: IntArray) -> FloatArray:
    """How much that is new an episode can still meet if it passes (s, a) at h and goes after it.

    A cell that has been visited N times is `1/(1 + N)` new, and the most novel way on is taken:
    `B_h(s,a) = 1/(1 + N_h(s,a)) + max_P sum_s' P(s'|s,a,h) max_a' B_{h+1}(s',a')`.

    Args:
        largest: of a step and an (S,) value of the next state: the (S, A) largest plausible means.
        visited: (H, S, A) N.

    Returns:
        (H, S, A) B.

    Example:
        Two steps, two states that stay as they are; all is new but (0, 0) at the first step:

        >>> novelty(lambda h, value: np.stack([value, value], axis=1), np.array([[[9, 0], [0, 0]]] * 2))
        array([[[1.1, 2. ],
                [2. , 2. ]],
        <BLANKLINE>
               [[0.1, 1. ],
                [1. , 1. ]]])
    """
    new = 1.0 / (1.0 + visited)
    for h in reversed(range(len(new) - 1)):
        new[h] += largest(h, new[h + 1].max(axis=1))
    return np.asarray(new)


def exponential_weights(theta: FloatArray) -> FloatArray:
    """The policy of the sums of estimates: `pi_h(a|s)` in proportion to `exp(-theta_h(s,a))`.

    Args:
        theta: (H, S, A) the sums, times the learning rate.

    Returns:
        (H, S, A) the policy.
    """
    weights = np.exp(theta.min(axis=-1, keepdims=True) - theta)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)


# --- rates --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PolicyRates:
    """What a `UFunctionLearner` is run with. Three presets, never mixed: `theorem`, `practical`, `curious`.

    Args:
        eta: the learning rate, positive.
        gamma: what is added to every chance in the estimate, nonnegative.
        bonus: the dilated bonus, as a multiple of the theorem's, nonnegative.
        uniform: the share of uniform play, in [0, 1).
        running_mean: whether the mean of all totals so far is subtracted from the next one.
        state_means: whether what an episode teaches at a state is its total less the mean total of the
            episodes that passed the state before.
        curiosity: how much more likely, in the exponent, an action becomes by what is new behind it (see
            `novelty`); nonnegative.

    Raises:
        TypeError: for what is no number.
        ValueError: for values out of range.
    """

    eta: float
    gamma: float
    bonus: float
    uniform: float
    running_mean: bool
    state_means: bool = False
    curiosity: float = 0.0

    def __post_init__(self) -> None:
        check_positive("eta", self.eta)
        check_at_least_zero("gamma", self.gamma)
        check_at_least_zero("bonus", self.bonus)
        if not 0 <= check_number("uniform", self.uniform) < 1:
            raise ValueError(f"uniform is {self.uniform}; a share of uniform play lies in [0, 1)")
        check_kind("running_mean", self.running_mean, bool, "True or False")
        check_kind("state_means", self.state_means, bool, "True or False")
        check_at_least_zero("curiosity", self.curiosity)

    @classmethod
    def theorem(cls, n_states: int, n_actions: int, horizon: int, episodes: int) -> PolicyRates:
        """With which `theory.u_function_bound` holds, for known dynamics.

        Args:
            n_states: S.
            n_actions: A.
            horizon: H.
            episodes: K.

        Returns:
            The rates `eta = theory.u_function_eta(...)`, `gamma = 2 eta H`, bonus 1.

        Raises:
            ValueError: for sizes that are not positive integers.
        """
        eta = theory.u_function_eta(n_states, n_actions, horizon, episodes)
        gamma = 2 * eta * horizon
        return cls(eta=eta, gamma=gamma, bonus=1.0, uniform=0.0, running_mean=False)

    @classmethod
    def practical(cls, eta: float = 0.01) -> PolicyRates:
        """What one would use: `gamma = 2 eta`, no bonus, one step in a hundred uniform, a running mean.

        No theorem goes with it.

        Args:
            eta: the learning rate.

        Returns:
            The rates.

        Raises:
            ValueError: for a rate that is not positive.
        """
        return cls(eta=eta, gamma=2 * eta, bonus=0.0, uniform=0.01, running_mean=True)

    @classmethod
    def curious(cls, eta: float = 0.003) -> PolicyRates:
        """For long runs and rewards hard to meet: as `practical`, with means of states and curiosity.

        No theorem goes with it. The page on long runs says what it reaches and how the numbers were chosen.

        Args:
            eta: the learning rate.

        Returns:
            The rates.

        Raises:
            ValueError: for a rate that is not positive.
        """
        return replace(cls.practical(eta), state_means=True, curiosity=1.0)


# --- learners -----------------------------------------------------------------------------------------------


class UFunctionLearner:
    """Exponential weights in every state, fed with totals: `theta_h(s,a) += eta (U_hat_h(s,a) - B_h(s,a))`.

    It sees trajectories and totals. What it knows of the dynamics is `visits`; by default it counts, and
    takes its counts for the truth.

    With `rates.state_means`, the mean total of the episodes that passed a state before is subtracted there.
    It is the same for all actions, so that their differences keep their means, and vary less. With
    `rates.curiosity`, actions behind which there is something new are preferred as long as it is new; what
    that is (see `novelty`) is looked at again whenever a count has become a power of two.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        rates: `PolicyRates.practical()` (the default), `.curious()` or `.theorem(S, A, H, K)`.
        visits: `EmpiricalDynamics` (the default), `KnownDynamics(mdp)` or `PlausibleDynamics(...)`.
        initial_state: s_1.

    Raises:
        ValueError: for sizes that are not positive integers, a state out of range, or knowledge of a world of
            other sizes.
        TypeError: for an argument of another kind, saying what to write instead.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Lancewicki and Mansour (2025): the update, gamma and the bonus. The means, the share of uniform
        play, the curiosity and the empirical chances are ours.

    Example:
        A thousand nights, from totals alone:

        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> learner = ab.UFunctionLearner(n_states=3, n_actions=2, horizon=3)
        >>> losses = ab.losses.fixed(world.loss, 1000)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0), engine="reference")
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 499, 999]]]  # the best: 1.01
        [1.64, 1.19, 1.07]
    """

    feedback: ClassVar[type[AggregateFeedback]] = AggregateFeedback

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        *,
        rates: PolicyRates | None = None,
        visits: Visits | None = None,
        initial_state: int = 0,
    ) -> None:
        beginning = EmpiricalDynamics(n_states, n_actions, horizon, initial_state)
        rates = PolicyRates.practical() if rates is None else rates
        check_kind("rates", rates, PolicyRates, "PolicyRates.practical() or PolicyRates.theorem(S, A, H, K)")
        if visits is not None:
            check_has("visits", visits, ("bracket", "largest", "observe"), "ab.learners.KnownDynamics(mdp)")
            if visits.shape != beginning.shape or visits.initial_state != beginning.initial_state:
                raise ValueError(
                    f"visits are of a world of shape {visits.shape} from state {visits.initial_state}; the "
                    f"learner is of {beginning.shape} from {beginning.initial_state}"
                )
        self.shape, self.initial_state = beginning.shape, beginning.initial_state
        self.rates = rates
        self.visits: Visits = beginning if visits is None else visits
        self.theta: FloatArray = np.zeros(self.shape[:3])
        self.visited: IntArray = np.zeros(self.shape[:3], dtype=np.int64)
        self.totals: FloatArray = np.zeros(self.shape[:2])  # sums, over the episodes that passed a state
        self.novelty: FloatArray = np.zeros(self.shape[:3])
        self.episode = 0  # how many have been played

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """`pi_h(a|s) = (1 - share) exp(-theta_h(s,a) + curiosity B_h(s,a)) / sum + share/A`, B the novelty.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self._policy()

    def _policy(self) -> FloatArray:
        share = self.rates.uniform
        weights = exponential_weights(self.theta - self.rates.curiosity * self.novelty)
        return (1 - share) * weights + share / self.shape[2]

    @alone
    def observe(self, feedback: AggregateFeedback) -> None:
        """One total is an observation of U at all H steps it passed.

        Args:
            feedback: the trajectory and its total loss.

        Raises:
            TypeError: unless it is an `AggregateFeedback`.
            ValueError: before anything changes, for a total outside [0, H], or a trajectory of another shape
                or from another state than s_1.
        """
        check_aggregate(feedback, self.shape, self.initial_state)
        trajectory, total = feedback.trajectory, feedback.total
        policy = self._policy()
        lower, upper = self.visits.bracket(policy)
        steps, states, actions, _ = trajectory.cells
        paid = total - self.baseline(steps, states)
        self.theta += self.rates.eta * u_estimate(trajectory, paid, upper, policy, self.rates.gamma)
        if self.rates.bonus > 0:
            self.theta -= self.rates.eta * dilated_bonus(
                self.visits.largest, policy, self._bonus(policy, lower, upper)
            )
        self.visits.observe(trajectory)
        self.totals[steps, states] += total
        self.visited[steps, states, actions] += 1
        self.episode += 1
        counts = self.visited[steps, states, actions]
        if self.rates.curiosity > 0 and (counts & (counts - 1) == 0).any():
            self.novelty = novelty(self.visits.largest, self.visited)

    def _bonus(self, policy: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """`b_h(s) = sum_a pi (3 gamma H + H (u - l) pi) / (u pi + gamma)`, (H, S)."""
        horizon, gamma = self.shape[0], self.rates.gamma
        chance = upper[:, :, None] * policy
        unsure = (upper - lower)[:, :, None] * policy
        cost = horizon * (3 * gamma + unsure) / (chance + gamma)
        return np.asarray(self.rates.bonus * (policy * cost).sum(axis=2))

    def baseline(self, steps: IntArray, states: IntArray) -> FloatArray:
        """What will be subtracted at states from the total of an episode that passes them.

        Args:
            steps: (n,) h, from 0.
            states: (n,) s.

        Returns:
            (n,) the mean of all totals, before the first one H/2; with `rates.state_means`, of the
            totals that passed the state where there are any; zeros without either.
        """
        if not (self.rates.running_mean or self.rates.state_means):
            return np.zeros(len(steps))
        start = self.totals[0, self.initial_state]
        mean = start / self.episode if self.episode else self.shape[0] / 2
        if not self.rates.state_means:
            return np.full(len(steps), mean)
        passed = self.visited[steps, states].sum(axis=-1)
        means = np.full(len(steps), mean)
        return np.asarray(np.divide(self.totals[steps, states], passed, out=means, where=passed > 0))

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.shape, self.initial_state)

    # Writing the state down.

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        knowledge = type(self.visits).__name__
        if isinstance(self.visits, KnownDynamics):
            knowledge = described(self.visits)
        return (f"shape={self.shape}", f"rates={described(self.rates)}", f"visits={knowledge}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse.

        Returns:
            Copies: nothing is shared with the learner.
        """
        return {
            "arguments": np.array(self.arguments),
            "theta": self.theta.copy(),
            "novelty": self.novelty.copy(),
            "totals": self.totals.copy(),
            "visited": self.visited.copy(),
            **self.visits.snapshot(),
        }

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments; it is only read.

        Raises:
            ValueError: before anything changes, if it is of a learner made with other arguments, if something
                is missing, or if it cannot be the state of any run.
        """
        missing = {"arguments", "theta", "novelty", "totals", "visited"} - snapshot.keys()
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        theirs = tuple(str(text) for text in np.ravel(snapshot["arguments"]))
        if theirs != self.arguments:
            raise ValueError(f"the state is of a learner with {theirs}; this one has {self.arguments}")
        theta = self._finite("theta", snapshot, self.shape[:3], "(H, S, A)")
        news = self._finite("novelty", snapshot, self.shape[:3], "(H, S, A)")
        totals = self._finite("totals", snapshot, self.shape[:2], "(H, S)")
        visited = np.array(integer_array("visited", snapshot["visited"]), dtype=np.int64)
        check_shape("visited", visited, self.shape[:3], "(H, S, A)")
        passed = visited.sum(axis=2)
        episodes = int(passed[0, self.initial_state])
        if (visited < 0).any() or (passed.sum(axis=1) != episodes).any():
            raise ValueError(f"visited is not of {episodes} episodes at every step; that cannot be")
        if not (totals >= -1e-9).all() or not (totals <= self.shape[0] * passed * (1 + 1e-9)).all():
            raise ValueError("totals holds a mean outside [0, H]; that cannot be")
        self.visits.restore(snapshot)
        self.theta, self.novelty, self.totals, self.visited = theta, news, totals, visited
        self.episode = episodes

    @staticmethod
    def _finite(
        name: str, snapshot: dict[str, NDArray[Any]], shape: tuple[int, ...], axes: str
    ) -> FloatArray:
        array = np.array(real_array(name, snapshot[name]))
        check_shape(name, array, shape, axes)
        check_finite(name, array)
        return array


class PolicyOptimization:
    """Exponential weights in every state on the exact loss to come: `theta_h(s,a) += eta Q_h(s,a)`.

    It knows the world and sees the whole loss function: the easiest case, to compare with.

    Args:
        mdp: the world, its dynamics known to the learner.
        eta: the learning rate; `theory.policy_optimization_eta(A, H, K)` is the theorem's.

    Raises:
        TypeError: for another kind of argument.
        ValueError: for a rate that is not positive.

    Source:
        Even-Dar, Kakade and Mansour (2009); `theory.policy_optimization_bound`.
    """

    feedback: ClassVar[type[FullFeedback]] = FullFeedback

    def __init__(self, mdp: FiniteHorizonMDP, eta: float) -> None:
        check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
        self.mdp, self.eta = mdp, check_positive("eta", eta)
        self.theta: FloatArray = np.zeros(mdp.shape[:3])

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """`pi_h(a|s)` in proportion to `exp(-theta_h(s,a))`.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.
        """
        return exponential_weights(self.theta)

    def observe(self, feedback: FullFeedback) -> None:
        """Add eta Q of the policy played.

        Args:
            feedback: whose `loss` is used.

        Raises:
            TypeError: unless it is a `FullFeedback`.
            ValueError: if it does not fit the world.
        """
        check_kind("feedback", feedback, FullFeedback, "ab.FullFeedback.observe(trajectory, loss)")
        policy = exponential_weights(self.theta)
        self.theta = self.theta + self.eta * q_function(self.mdp, policy, feedback.loss)
