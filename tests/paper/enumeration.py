"""Instances, and expectations over one round by exact enumeration, for both algorithms."""

import copy
import itertools
from types import SimpleNamespace

import numpy as np

from aggbandit import DistortedBandit, LogBarrier, random_polygon, simplex
from aggbandit.game import AgainstEstimator, Freezing, TowardsWorstVertex, Undistorted, View, moved_towards
from aggbandit.geometry import box
from aggbandit.learners.optimistic import OptimisticEXP2
from aggbandit.theory import OptimisticRates


class UniformAt(np.random.Generator):
    """A generator whose next uniform is known."""

    def __init__(self, value):
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self):
        return self.value


# --- Algorithm 1: a finite set, so that all of E_t is a sum -----------------------------------------


def finite_set(rng, kind, loss_bound):
    """Points with nonnegative coordinates and ||y||_1 = H; the kinds differ in the rank of their span."""
    if kind == "vertices":
        return loss_bound * np.eye(int(rng.integers(2, 6)))
    n_points, d = int(rng.integers(4, 12)), int(rng.integers(2, 5))
    points = rng.dirichlet(np.full(d, 0.5), size=n_points)
    if kind == "flat":  # each coordinate twice, and one that never has mass: rank d in dimension 2d + 1
        points = np.hstack([points / 2, points / 2, np.zeros((n_points, 1))])
    return loss_bound * points


KINDS = ("vertices", "spanning", "flat")


def warmed_learner(rng, points, loss_bound, epsilon_bound, gamma=None):
    """Algorithm 1 after a few rounds, so that its weights are not uniform."""
    gamma = float(rng.uniform(0.05, 0.5)) if gamma is None else gamma
    learner = OptimisticEXP2(points, 100, loss_bound, epsilon_bound, OptimisticRates(0.05, gamma))
    for _ in range(5):
        learner.predict(rng)
        learner.update(
            rng.uniform(0, loss_bound), points[0], rng.uniform(0, epsilon_bound, size=points.shape[1])
        )
    return learner


def one_round(learner, loss, epsilon, move):
    """Every way one round of Algorithm 1 can go: (probability, y, z, the learner's record), with z_hat = z.

    ``move(y)`` is the adversary's target; the estimates are linear in z_hat, so z_hat = z gives their mean.
    """
    cumulated = np.concatenate([[0.0], np.cumsum(learner.probabilities)])
    for start, stop in itertools.pairwise(cumulated):
        clone = copy.deepcopy(learner)
        y = clone.predict(UniformAt((start + stop) / 2))
        view = View(clone.round, y, loss, epsilon, clone.loss_bound, clone)
        z = moved_towards(view, move(y))
        value = float(np.clip(loss @ z, 0, clone.loss_bound))
        yield stop - start, y, z, clone.update(value, z, epsilon)


def lying_about(learner, loss, target, points):
    """The adversary who makes the estimate at ``target`` as wrong as it can be."""
    moment = points.T @ (learner.probabilities[:, None] * points)
    weight = points @ np.linalg.pinv(moment) @ target
    values = points @ loss
    by_point = {y.tobytes(): w for y, w in zip(points, weight, strict=True)}
    return lambda y: points[np.argmin(values) if by_point[y.tobytes()] < 0 else np.argmax(values)]


# --- Algorithm 2: directions u with E u = 0 and E uu' = I/n, exactly ---------------------------------


def bodies(rng):
    """Sets with and without equations, each with the vertices an adversary aims at and its H."""
    polygon = random_polygon(7, rng)
    return {
        "interval": (box(np.zeros(1), np.ones(1)), np.array([[0.0], [1.0]]), 1.0),
        "two arms": (simplex(2), np.eye(2), 1.0),
        "four arms": (simplex(4), np.eye(4), 1.0),
        "square": (
            box(np.zeros(2), np.full(2, 0.5)),
            np.array([[0, 0], [0, 0.5], [0.5, 0], [0.5, 0.5]]),
            1.0,
        ),
        "polygon": (polygon, polygon.vertices(), float(np.abs(polygon.vertices()).sum(axis=1).max())),
    }


def interior_point(rng, body, vertices, depth):
    """A point of the set; the smaller ``depth``, the nearer to a wall."""
    wall = rng.dirichlet(np.full(len(vertices), 0.3)) @ vertices
    return (1 - depth) * wall + depth * LogBarrier(body).analytic_center()


def directions(rng, n):
    """Unit vectors with mean zero and second moment I/n: a turned cross, and for n = 2 many of them."""
    if n == 2:
        angle = rng.uniform(0, 2 * np.pi) + np.arange(360) * (2 * np.pi / 360)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return np.vstack([turn, -turn])


def sampled(rng, ellipsoid):
    """Points y on the surface of the ellipsoid, each as likely as any, whose mean is x exactly."""
    axes = ellipsoid.axes()
    return ellipsoid.center + directions(rng, len(axes)) @ axes


def moves(ellipsoid, loss, epsilon, ys, adversary, loss_bound):
    """z for every y."""
    learner = SimpleNamespace(center=ellipsoid.center, ellipsoid=ellipsoid)
    rng = np.random.default_rng(0)
    return np.array([adversary.move(View(1, y, loss, epsilon, loss_bound, learner), rng) for y in ys])


def adversaries(comparator, vertices):
    return {
        "nobody": Undistorted(),
        "worst vertex": TowardsWorstVertex(vertices),
        "freezing": Freezing(),
        "against the estimator": AgainstEstimator(comparator, vertices),
    }


def constant_game(adversary, body, loss, epsilon, rounds, loss_bound, sampler):
    return DistortedBandit(
        np.broadcast_to(loss, (rounds, len(loss))),
        np.broadcast_to(epsilon, (rounds, len(loss))),
        adversary,
        body,
        loss_bound,
        sampler,
    )
