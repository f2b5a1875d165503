"""Checks a `server.json` before it is published: what the registry's schema demands, and what hosts need."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.rooms.directory.registry.server_files import LATEST, LONGEST_DESCRIPTION, LONGEST_VERSION, is_name
from pentad.rooms.directory.translate.untrusted_json import items_of, mapping_of, text_of

_RANGE: Final = re.compile(r"[\^~<>=]|\|\||\s-\s|(?:^|[.v])[xX*](?:$|[.-])|^\*$")
_REMOTES: Final = ("streamable-http", "sse")
_LONGEST_TITLE: Final = 100


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong, and where (`packages[0].identifier`)."""

    path: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def as_json(self) -> dict[str, str]:
        kind = "schema" if self.severity == "error" else "linter"
        return {"type": kind, "path": self.path, "message": self.message, "severity": self.severity}


def issues_of(server: dict[str, Any]) -> list[Issue]:
    """Everything that is wrong with a server.json."""
    return [*_head(server), *_ways(server)]


def _head(server: dict[str, Any]) -> Iterator[Issue]:
    name = text_of(server.get("name"))
    if name is None or not is_name(name):
        yield Issue("name", "a name is a namespace, one slash and a name, such as org.example/weather")
    description = text_of(server.get("description"))
    if description is None or len(description) > LONGEST_DESCRIPTION:
        yield Issue("description", f"a description has 1 to {LONGEST_DESCRIPTION} characters")
    yield from _version(server.get("version"), "version", required=True)
    if "title" in server and not 0 < len(text_of(server["title"]) or "") <= _LONGEST_TITLE:
        yield Issue("title", f"a title has 1 to {_LONGEST_TITLE} characters")
    repository = server.get("repository")
    if repository is not None:
        for key in ("url", "source"):
            if text_of(mapping_of(repository).get(key)) is None:
                yield Issue(f"repository.{key}", "a repository has a url and a source, such as github")
    if not isinstance(server.get("_meta", {}), dict):
        yield Issue("_meta", "_meta is an object")


def _version(version: Any, path: str, *, required: bool) -> Iterator[Issue]:
    if version is None and not required:
        return
    text = text_of(version)
    if text is None or len(text) > LONGEST_VERSION or "\0" in text:
        yield Issue(path, f"a version has 1 to {LONGEST_VERSION} characters")
    elif text == LATEST or _RANGE.search(text):
        yield Issue(path, "a version names one release: neither latest nor a range")


def _ways(server: dict[str, Any]) -> Iterator[Issue]:
    for key in ("packages", "remotes"):
        if not isinstance(server.get(key, []), list):
            yield Issue(key, f"{key} is a list")
    packages, remotes = items_of(server.get("packages")), items_of(server.get("remotes"))
    if not packages and not remotes:
        yield Issue("packages", "a server has at least one package or remote")
    for index, one in enumerate(packages):
        path, package = f"packages[{index}]", mapping_of(one)
        for key in ("registryType", "identifier"):
            if text_of(package.get(key)) is None:
                yield Issue(f"{path}.{key}", f"a package has a {key}")
        yield from _version(package.get("version"), f"{path}.version", required=False)
        yield from _transport(package.get("transport"), f"{path}.transport", ("stdio", *_REMOTES))
    for index, one in enumerate(remotes):
        yield from _transport(one, f"remotes[{index}]", _REMOTES)


def _transport(value: Any, path: str, kinds: tuple[str, ...]) -> Iterator[Issue]:
    transport = mapping_of(value)
    kind = transport.get("type")
    if kind not in kinds:
        yield Issue(f"{path}.type", f"a transport is one of {', '.join(kinds)}")
    elif kind != "stdio" and text_of(transport.get("url")) is None:
        yield Issue(f"{path}.url", "a transport over HTTP has a url")
