"""A request to the fake platform, and the exception that refuses it."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote


class Refused(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class PlatformRequest:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(unquote(part) for part in self.path.strip("/").split("/"))

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refused(400) from None
