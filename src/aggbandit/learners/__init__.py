"""Learners: one file an algorithm, each the paper's lines in the paper's order."""
