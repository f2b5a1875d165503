"""The metrics room with a Prometheus whose answers are cached for half a second, so that a test can poll often.

The collector is replaced in its declaration, only in the processes of the test.
"""

import msgspec

from pentad.rooms.metrics.collectors.prometheus import Prometheus
from pentad.rooms.metrics.models import Info
from pentad.rooms.metrics.room import ROOM

__all__ = ["ROOM"]

_described = Prometheus.info


def _info(self: Prometheus) -> Info:
    return msgspec.structs.replace(_described(self), ttl=0.5)


Prometheus.info = _info
