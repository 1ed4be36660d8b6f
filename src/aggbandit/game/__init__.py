"""The distorted linear bandit: the protocol, who moves the hand, and games played with many seeds at once."""
