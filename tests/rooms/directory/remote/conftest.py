"""The served directory that the client talks to."""

from tests.rooms.directory.interface.grpc.conftest import site

__all__ = ["site"]
