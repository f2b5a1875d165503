"""What a worker process inherits from its supervisor, as seen from inside the worker.

Two file descriptors come with the environment: the shared listening socket, and a link. Over the link the worker says
once that it takes connections; when the supervisor is gone, however it went, the link ends and so does the worker.
Nothing here starts processes.
"""

import asyncio
import os
import signal
import socket
from typing import Final

LISTENER_VARIABLE: Final = "PENTAD_WORKER_LISTENER"
LINK_VARIABLE: Final = "PENTAD_WORKER_LINK"
NUMBER_VARIABLE: Final = "PENTAD_WORKER_NUMBER"
READY: Final = b"ready"


class WorkerLink:
    """The worker's end. Give `listener` and `announce` to `net.server.serve`."""

    def __init__(self, listener: socket.socket, link: socket.socket, number: int) -> None:
        self.listener = listener
        self.number = number
        self._link = link
        self._loop: asyncio.AbstractEventLoop | None = None

    def announce(self, port: int) -> None:
        """Tell the supervisor that connections are taken, and end with it from now on. For `serve(ready=...)`."""
        self._link.send(READY)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._link, self._heard)

    def close(self) -> None:
        """Part from the supervisor; the worker is ending anyway."""
        if self._loop is not None:
            self._loop.remove_reader(self._link)
            self._loop = None
        self._link.close()

    def _heard(self) -> None:
        """The supervisor never speaks, so anything readable is the end of it: stop as on SIGTERM."""
        self.close()
        os.kill(os.getpid(), signal.SIGTERM)


def inherited() -> WorkerLink | None:
    """The link of this process, if a supervisor started it. Takes the variables away: children are no workers."""
    listener = os.environ.pop(LISTENER_VARIABLE, None)
    link = os.environ.pop(LINK_VARIABLE, None)
    number = os.environ.pop(NUMBER_VARIABLE, "0")
    if listener is None or link is None:
        return None
    sockets = socket.socket(fileno=int(listener)), socket.socket(fileno=int(link))
    for inherited_socket in sockets:
        inherited_socket.set_inheritable(False)
        inherited_socket.setblocking(False)
    return WorkerLink(*sockets, int(number))
