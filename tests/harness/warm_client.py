"""The command `evenhand` for shells that tests start: has the warm process run it, and ends as that did.

Loads hardly anything, as loading is what it saves.
"""

import array
import json
import os
import signal
import socket
import sys

PLACE = "{socket}"


def main() -> None:
    """Send the command line and the standard files; pass signals on; end with the same exit status."""
    request = {
        "arguments": sys.argv[1:],
        "program": sys.argv[0],
        "first_place": os.path.dirname(sys.argv[0]),  # noqa: PTH120 - pathlib takes longer to load than the rest
        "folder": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(PLACE)
        files = array.array("i", [0, 1, 2])
        text = json.dumps(request).encode() + b"\n"
        sent = server.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        server.sendall(text[sent:])
        answer = server.makefile("rb")
        pid = int(answer.readline())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda given, _: os.kill(pid, given))
        code = int(answer.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


main()
