"""Reads locators as models write them: a plain address, `github` as a type, `url` for `urls`, a map of types."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from pentad.kernel.problems import fold
from pentad.rooms.directory.oasf.objects import objects

_SOURCE, _CONTAINER, _PACKAGE, _URL, _HELM, _BINARY = "source", "container", "package", "url", "helm", "binary"

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    _SOURCE: ("source_code", "source-code"),
    _CONTAINER: ("container_image", "docker_image", "docker-image"),
    _PACKAGE: ("package", "python_package", "python-package"),
    _URL: ("url", "unspecified"),
    _HELM: ("helm_chart", "helm-chart"),
    _BINARY: ("binary",),
}
"""The name of each kind in the OASF versions."""

_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("github", "git", "gitlab", "bitbucket", "codeberg", "repo", "repository", "gitrepo", "gitrepository",
         "githubrepo", "githubrepository", "source", "sourcecode", "sourcerepository", "code"), _SOURCE
    ),
    **dict.fromkeys(
        ("docker", "dockerimage", "dockerhub", "container", "containerimage", "image", "oci", "ociimage", "ghcr"),
        _CONTAINER,
    ),
    **dict.fromkeys(("pypi", "pip", "pythonpackage", "package"), _PACKAGE),
    **dict.fromkeys(
        ("url", "http", "https", "web", "website", "webpage", "homepage", "endpoint", "api", "apiendpoint", "rest",
         "docs", "documentation"), _URL
    ),
    **dict.fromkeys(("helm", "helmchart", "chart"), _HELM),
    **dict.fromkeys(("binary", "executable", "download"), _BINARY),
}  # fmt: skip
_FOREIGN_PACKAGES: Final = frozenset({"npm", "npmpackage", "nodepackage", "cargo", "crate", "nuget", "gem"})
"""Packages that exist only in versions with a general `package`."""

_HOSTS: Final[Mapping[str, str]] = {
    "github.com": _SOURCE,
    "gitlab.com": _SOURCE,
    "bitbucket.org": _SOURCE,
    "codeberg.org": _SOURCE,
    "ghcr.io": _CONTAINER,
    "docker.io": _CONTAINER,
    "hub.docker.com": _CONTAINER,
    "quay.io": _CONTAINER,
    "pypi.org": _PACKAGE,
}
_ADDRESS_KEYS: Final = (
    "url",
    "urls",
    "uri",
    "href",
    "link",
    "address",
    "location",
    "value",
    "image",
    "source",
    "repository",
    "repo",
)

LOCATOR_KEYS: Final[Mapping[str, str]] = {
    name: _KINDS[name]
    for name in (
        "repository", "repo", "github", "git", "sourcecode", "sourcerepository", "homepage", "website", "url",
        "endpoint", "docker", "dockerimage", "containerimage", "pypi",
    )
}  # fmt: skip
"""Attributes of a draft that are really locators, normalized, and the kind each means."""


class LocatorItems:
    """The locators of one OASF version."""

    def __init__(self, version: str) -> None:
        attributes = objects(version).object("locator").attributes
        self._types = attributes["type"].values
        self._many = "urls" in attributes

    def coerced(self, given: Any, loose: Iterable[tuple[str, Any]] = ()) -> list[Any] | None:
        """The locators, including addresses from other attributes; None if there are none."""
        items = self._items(given)
        for kind, value in loose:
            inner = cast("dict[str, Any]", value).get("url") if isinstance(value, dict) else value
            items += [self._item({"type": kind, "url": one}) for one in _listed(inner)]
        return items or (None if given is None else given)

    def _items(self, given: Any) -> list[Any]:
        if isinstance(given, dict):
            fields = cast("dict[str, Any]", given)
            if "type" in fields or any(key in fields for key in _ADDRESS_KEYS):
                return [self._item(fields)]
            if all(isinstance(value, str | list) for value in fields.values()):
                return [self._item({"type": key, "url": value}) for key, value in fields.items()]
            return []
        return [self._item(one) for one in _listed(given)]

    def _item(self, given: Any) -> Any:
        if isinstance(given, str):
            return self._item({"url": given})
        if not isinstance(given, dict):
            return given
        fields = dict(cast("dict[str, Any]", given))
        key = next((key for key in _ADDRESS_KEYS if key in fields), None)
        if key is not None:
            self._put_address(fields, fields.pop(key))
        if "type" not in fields and isinstance(fields.get("kind"), str):
            fields["type"] = fields.pop("kind")
        kind = fields.get("type")
        if isinstance(kind, str) or (kind is None and key is not None):
            fields["type"] = self._type(kind, _first_address(fields)) or kind
        return {name: value for name, value in fields.items() if name != "type" or value is not None}

    def _put_address(self, fields: dict[str, Any], value: Any) -> None:
        addresses = _listed(value)
        if self._many:
            fields["urls"] = addresses
        elif len(addresses) == 1:
            fields["url"] = addresses[0]
        else:
            fields["urls"] = value

    def _type(self, given: str | None, address: str) -> str | None:
        if given in self._types:
            return given
        name = fold(given or "")
        kind = _KINDS.get(name, name if name in _NAMES else None)
        if name in _FOREIGN_PACKAGES:
            return "package" if "package" in self._types else None
        if given is None:
            kind = _HOSTS.get(_host(address), _URL if address.startswith(("http://", "https://")) else None)
        return next((known for known in _NAMES.get(kind or "", ()) if known in self._types), None)


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(cast("list[Any]", value)) if isinstance(value, list) else [value]


def _first_address(fields: Mapping[str, Any]) -> str:
    addresses = _listed(fields.get("urls", fields.get("url")))
    return addresses[0] if addresses and isinstance(addresses[0], str) else ""


def _host(address: str) -> str:
    text = address if "://" in address else f"https://{address}"
    try:
        return (urlsplit(text[:2000]).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
