"""Judges whether an answer is brief: reads a case as JSON, writes a score as JSON."""

import json
import sys

case = json.load(sys.stdin)
most = case["config"]["most"]
words = len(case["candidate_answer"].split())
finding = f"{words} words, of {most} allowed"

if words <= most:
    json.dump({"score": 1.0, "hits": [finding], "reasoning": finding}, sys.stdout)
else:
    json.dump({"score": 0.0, "misses": [finding], "reasoning": finding}, sys.stdout)
