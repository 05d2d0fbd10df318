"""The bare aiohttp client, in a process that does nothing else: ``python -m bench.bare_client PORT REQUESTS``."""

from __future__ import annotations

import asyncio
import gc
import sys

from bench.judging import last_body, request_all
from evenhand.cli.main import COLLECT_AFTER

if __name__ == "__main__":
    gc.set_threshold(COLLECT_AFTER)  # as the command does
    port, requests = map(int, sys.argv[1:])
    asyncio.run(request_all(port, last_body(port), range(requests)))
