"""The command, in a process that notes how much CPU time it had taken when its last commit returned.

It loads nothing that the command does not load: ``python -m bench.marked_command MARK run suite.yaml``.
"""

import os
import sys
import time

from evenhand.cli.main import main
from evenhand.store.store import Store

commit = Store.commit
seconds = 0.0


def marked(store, batch):  # type: ignore[no-untyped-def]
    global seconds  # noqa: PLW0603
    commit(store, batch)
    seconds = time.process_time()


Store.commit = marked  # type: ignore[method-assign]
_, mark, *sys.argv[1:] = sys.argv
sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - progress, which nobody watches here
try:
    main()
finally:
    with open(mark, "w", encoding="utf-8") as file:  # noqa: PTH123 - as above, nothing more is loaded
        file.write(str(seconds))
