"""The listening socket, bound once before the application starts.

A taken port or a wrong host is then one clear error instead of a failure inside the server, and several worker
processes can share the socket.
"""

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Final

from pentad.kernel.errors import Misconfigured

SOCKET_FILE_MODE: Final = 0o660


def bind(host: str, port: int, uds: str | None = None, *, option: str = "--port") -> socket.socket:
    """A bound socket, not yet listening; port 0 picks a free one. `uds` is the path of a Unix socket instead.

    `option` is the command-line option that errors tell the operator to change.
    """
    return _bind_path(Path(uds)) if uds is not None else _bind_address(host, port, option)


def bound_port(listener: socket.socket) -> int:
    """The port in use, or 0 for a Unix socket."""
    return 0 if listener.family == socket.AF_UNIX else int(listener.getsockname()[1])


def remove_path(uds: str) -> None:
    """Remove the file of a Unix socket that is no longer served."""
    Path(uds).unlink(missing_ok=True)


def _bind_address(host: str, port: int, option: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise Misconfigured(f"{host!r} is not an address of this machine.", hint="Use --host 127.0.0.1.") from None
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise _cannot_bind(f"{host}:{port}", error, option) from None
    listener.setblocking(False)
    return listener


def _bind_path(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        listener.bind(str(path))
        path.chmod(SOCKET_FILE_MODE)
    except OSError as error:
        listener.close()
        raise _cannot_bind(str(path), error) from None
    listener.setblocking(False)
    return listener


def _remove_stale(path: Path) -> None:
    """Remove a socket file that a dead process left behind, recognised by the fact that nothing answers on it."""
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


def _cannot_bind(where: str, error: OSError, option: str = "--port") -> Misconfigured:
    if error.errno == errno.EADDRINUSE:
        return Misconfigured(f"{where} is already in use.", hint=f"Stop the other process, or choose another {option}.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Misconfigured(f"{where} may not be opened by this user.", hint=f"Choose a {option} of 1024 or above.")
    return Misconfigured(f"{where} cannot be opened: {error.strerror}.", hint=f"Check --host and {option}.")
