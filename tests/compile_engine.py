"""Compile the engine before the tests begin, so that no two of them do it at the same time."""

import numpy as np

import aggbandit as ab

H, S, A, K = 2, 2, 2, 3
mdp = ab.random_mdp(S, A, H, np.random.default_rng(0))
losses = ab.losses.fixed(np.full(mdp.shape, 0.5), K)
for learner in (
    ab.AggregateFeedbackLearner(S, A, H, K, rates=ab.tuned_rates()),
    ab.UFunctionLearner(S, A, H),
    ab.learners.OREPS(mdp, 0.1),
    ab.learners.FTRL(mdp, ab.learners.Regularizer(1.0, 1.0)),
    ab.learners.scrible_on_occupancies(mdp, K),
):
    ab.simulate(learner, mdp, losses, np.random.default_rng(1), engine="compiled")
