"""Online Markov decision processes with aggregate bandit feedback."""
