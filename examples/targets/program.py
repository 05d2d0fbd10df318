"""The help desk as a program: the case comes on standard input as JSON, the answer goes to standard output."""

import json
import sys

from faq import answer

case = json.load(sys.stdin)
print(answer(case["question"]))
