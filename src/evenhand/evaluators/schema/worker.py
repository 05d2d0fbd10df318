"""The process in which a schema is applied that might never come to an end.

Reads ``{"schema", "value", "seconds"}`` from standard input and writes lines to standard output: ``{"valid": false}``
as soon as that is known, and at the end ``{"errors"}`` or ``{"problem"}``. It ends itself when its time is up: the
clock starts when Python has, which on a busy machine takes longer than any honest check. The watchdog needs nothing
from the interpreter, which the validator does not release.
"""

from __future__ import annotations

import faulthandler
import json
import sys

from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.evaluators.schema.compiled import compile_schema


def main() -> None:
    """Check one value."""
    request = json.load(sys.stdin)
    compile_schema("true")  # so that loading the library is not on the clock
    faulthandler.dump_traceback_later(request["seconds"], exit=True)
    try:
        errors = compile_schema(request["schema"]).errors_at_any_price(
            request["value"], once_invalid=lambda: _write({"valid": False})
        )
    except EvenhandError as error:
        _write({"problem": error.problem if isinstance(error, ConfigError) else str(error)})
    else:
        _write({"errors": errors})
    faulthandler.cancel_dump_traceback_later()


def _write(message: object) -> None:
    print(json.dumps(message), flush=True)  # noqa: T201 - its standard output is what it is read by


if __name__ == "__main__":
    main()
