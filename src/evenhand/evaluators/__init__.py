"""Deciding: evaluators as step generators, the reading of replies, the prompts."""
