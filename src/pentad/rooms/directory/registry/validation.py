"""Validates a `server.json` before publication: against the schema of 2025-12-11, and for what hosts need."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.json_values import as_list, as_object, text_or_none
from pentad.rooms.directory.registry.server_files import (
    LATEST,
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_VERSION,
    SHORTEST_NAME,
    has_address,
    is_name,
)

_RANGE: Final = re.compile(r"[\^~<>=]|\|\||\s-\s|(?:^|[.v])[xX*](?:$|[.-])|^\*$")
_REMOTES: Final = ("streamable-http", "sse")
_LONGEST_TITLE: Final = 100
_LONGEST_ADDRESS: Final = 255
_IMAGES: Final = ("image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp")
_THEMES: Final = ("light", "dark")
_SIZE: Final = re.compile(r"[0-9]+x[0-9]+|any")
_URL: Final = re.compile(r"https?://[^\s/]")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Issue:
    """A problem and its path (`packages[0].identifier`)."""

    path: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def as_json(self) -> dict[str, str]:
        kind = "schema" if self.severity == "error" else "linter"
        return {"type": kind, "path": self.path, "message": self.message, "severity": self.severity}


def issues_of(server: dict[str, Any]) -> list[Issue]:
    """Every problem in a server.json."""
    return [*_head(server), *_ways(server)]


def _head(server: dict[str, Any]) -> Iterator[Issue]:
    name = text_or_none(server.get("name"))
    if name is None or not is_name(name):
        yield Issue(
            "name",
            f"a name is a namespace, one slash and a name, such as org.example/weather: "
            f"{SHORTEST_NAME} to {LONGEST_NAME} characters",
        )
    description = text_or_none(server.get("description"))
    if description is None or len(description) > LONGEST_DESCRIPTION:
        yield Issue("description", f"a description has 1 to {LONGEST_DESCRIPTION} characters")
    yield from _version(server.get("version"), "version", required=True)
    if "title" in server and not 0 < len(text_or_none(server["title"]) or "") <= _LONGEST_TITLE:
        yield Issue("title", f"a title has 1 to {_LONGEST_TITLE} characters")
    repository = server.get("repository")
    if repository is not None:
        for key in ("url", "source"):
            if text_or_none(as_object(repository).get(key)) is None:
                yield Issue(f"repository.{key}", "a repository has a url and a source, such as github")
    if not isinstance(server.get("_meta", {}), dict):
        yield Issue("_meta", "_meta is an object")
    if "websiteUrl" in server and not _URL.match(text_or_none(server["websiteUrl"]) or ""):
        yield Issue("websiteUrl", "a website is an address, such as https://example.org")
    for index, one in enumerate(as_list(server.get("icons"))):
        yield from _icon(as_object(one), f"icons[{index}]")


def _icon(icon: dict[str, Any], path: str) -> Iterator[Issue]:
    source = text_or_none(icon.get("src")) or ""
    if not source.startswith("https://") or len(source) > _LONGEST_ADDRESS:
        yield Issue(f"{path}.src", f"an icon is an https address of at most {_LONGEST_ADDRESS} characters")
    if icon.get("mimeType", _IMAGES[0]) not in _IMAGES:
        yield Issue(f"{path}.mimeType", f"an icon is one of {', '.join(_IMAGES)}")
    if icon.get("theme", _THEMES[0]) not in _THEMES:
        yield Issue(f"{path}.theme", f"a theme is {' or '.join(_THEMES)}")
    sizes = icon.get("sizes", [])
    if not isinstance(sizes, list) or not all(_SIZE.fullmatch(text_or_none(one) or "") for one in as_list(sizes)):
        yield Issue(f"{path}.sizes", "sizes is a list of sizes such as 48x48, or any")


def _version(version: Any, path: str, *, required: bool) -> Iterator[Issue]:
    if version is None and not required:
        return
    text = text_or_none(version)
    if text is None or len(text) > LONGEST_VERSION or "\0" in text:
        yield Issue(path, f"a version has 1 to {LONGEST_VERSION} characters")
    elif text == LATEST or _RANGE.search(text):
        yield Issue(path, "a version names one release: neither latest nor a range")


def _ways(server: dict[str, Any]) -> Iterator[Issue]:
    for key in ("packages", "remotes"):
        if not isinstance(server.get(key, []), list):
            yield Issue(key, f"{key} is a list")
    packages, remotes = as_list(server.get("packages")), as_list(server.get("remotes"))
    if not packages and not remotes:
        yield Issue("packages", "a server has at least one package or remote")
    for index, one in enumerate(packages):
        path, package = f"packages[{index}]", as_object(one)
        for key in ("registryType", "identifier"):
            if text_or_none(package.get(key)) is None:
                yield Issue(f"{path}.{key}", f"a package needs a {key}")
        yield from _version(package.get("version"), f"{path}.version", required=False)
        digest = package.get("fileSha256")
        if digest is not None and not _SHA256.fullmatch(text_or_none(digest) or ""):
            yield Issue(f"{path}.fileSha256", "a SHA-256 has 64 digits of 0 to 9 and a to f")
        for key in ("runtimeArguments", "packageArguments"):
            for place, argument in enumerate(as_list(package.get(key))):
                yield from _argument(as_object(argument), f"{path}.{key}[{place}]")
        yield from _named(package, "environmentVariables", path)
        yield from _transport(package.get("transport"), f"{path}.transport", ("stdio", *_REMOTES))
    for index, one in enumerate(remotes):
        yield from _transport(one, f"remotes[{index}]", _REMOTES)


def _transport(value: Any, path: str, kinds: tuple[str, ...]) -> Iterator[Issue]:
    transport = as_object(value)
    kind = transport.get("type")
    if kind not in kinds:
        yield Issue(f"{path}.type", f"a transport is one of {', '.join(kinds)}")
    elif kind != "stdio" and not has_address(transport):
        yield Issue(f"{path}.url", "a transport over HTTP has a url that begins with http://, https:// or a {variable}")
    yield from _variables(transport, path)
    yield from _named(transport, "headers", path)


def _argument(argument: dict[str, Any], path: str) -> Iterator[Issue]:
    kind = argument.get("type")
    if kind not in ("positional", "named"):
        yield Issue(f"{path}.type", "an argument is positional or named")
    elif kind == "named" and text_or_none(argument.get("name")) is None:
        yield Issue(f"{path}.name", "a named argument has a name")
    elif kind == "positional" and not (text_or_none(argument.get("value")) or text_or_none(argument.get("valueHint"))):
        yield Issue(f"{path}.value", "a positional argument has a value or a valueHint")
    yield from _variables(argument, path)


def _named(holder: dict[str, Any], key: str, path: str) -> Iterator[Issue]:
    """Headers and variables of the environment."""
    for index, one in enumerate(as_list(holder.get(key))):
        item = as_object(one)
        if text_or_none(item.get("name")) is None:
            yield Issue(f"{path}.{key}[{index}].name", "a header or variable has a name")
        yield from _variables(item, f"{path}.{key}[{index}]")


def _variables(holder: dict[str, Any], path: str) -> Iterator[Issue]:
    variables = holder.get("variables")
    if variables is None:
        return
    if not isinstance(variables, dict):
        yield Issue(f"{path}.variables", "variables is an object, by the names in curly brackets")
        return
    for name, one in as_object(variables).items():
        if not isinstance(one, dict):
            yield Issue(f"{path}.variables.{name[:100]}", "a variable is an object")
