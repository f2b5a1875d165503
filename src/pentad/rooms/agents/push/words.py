"""What push notifications say of an event, in the dialect that asked for them.

A2A 1.0 gets the same objects as its streams, 0.3 the task as it is, AgentVault the event as its streams name it. The
turns of the user are told to nobody.
"""

from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec

from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec
from pentad.rooms.agents.codecs.base import Codec
from pentad.rooms.agents.models import Event, Task
from pentad.rooms.agents.push.deliveries import Deliveries

_encode: Final = msgspec.json.Encoder().encode


def register_codecs(deliveries: Deliveries, site: str) -> None:
    """Teach the deliveries every dialect; `site` is where files are served."""

    def in_agentvault(task: Task, event: Event) -> bytes | None:
        files = f"{site}/agents/{task.agent}/tasks"
        codec = AgentVaultCodec(lambda one, holder, number: f"{files}/{one}/files/{quote(holder, safe='')}/{number}")
        return _encoded(codec, task, event)

    deliveries.register("1.0", partial(_encoded, V10))
    deliveries.register("0.3", partial(_encoded, V03))
    deliveries.register("agentvault", in_agentvault)


def _encoded(codec: Codec, task: Task, event: Event) -> bytes | None:
    body = codec.encode_notification(task, event)
    return None if body is None else _encode(body)
