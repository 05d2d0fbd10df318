"""Ranking profiles: in groups, round by round, and from all of that one order with its uncertainty (SPEC-K2, K3)."""
