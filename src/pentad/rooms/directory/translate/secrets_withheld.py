"""Takes secrets out of a host's configuration before it becomes a record, which anybody may read.

People keep tokens in their mcp.json. A value under a name that sounds like a secret is replaced by a question for it,
and reported as lost.
"""

import re
from typing import Any, Final

from pentad.kernel.secrets import is_secret_name
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.shapes import items_of, mapping_of

_FLAG: Final = re.compile(r"(--?[A-Za-z][\w-]*)=(.+)", re.DOTALL)
_REFERENCE: Final = re.compile(r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|\{[A-Za-z_][\w-]*\}")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_URL_PASSWORD: Final = re.compile(r"(?<=://)([^/@\s:]+):([^/@\s]+)@")
REASON: Final = "it looks like a secret, and a record is there to be read; it has to be supplied anew"


def withheld(server: dict[str, Any], path: str) -> tuple[dict[str, Any], list[Loss]]:
    """The server without literal secrets in its variables, headers, arguments and address."""
    losses: list[Loss] = []
    clean = dict(server)
    for key in ("env", "headers"):
        if isinstance(server.get(key), dict):
            clean[key] = {
                name: _asked(name, value, f"{path}.{key}.{name}", losses)
                for name, value in mapping_of(server[key]).items()
            }
    if isinstance(server.get("args"), list):
        clean["args"] = _arguments(items_of(server["args"]), path, losses)
    url = server.get("url")
    if isinstance(url, str) and _URL_PASSWORD.search(url):
        clean["url"] = _URL_PASSWORD.sub(r"\1:${input:password}@", url)
        losses.append(Loss(f"{path}.url", REASON))
    return clean, losses


def _asked(name: str, value: Any, path: str, losses: list[Loss]) -> Any:
    if not isinstance(value, str) or not _is_secret(name, value):
        return value
    losses.append(Loss(path, REASON))
    scheme = _SCHEME.match(value)
    return f"{scheme[0] if scheme else ''}${{input:{name}}}"


def _is_secret(name: str, value: str) -> bool:
    bare = _SCHEME.sub("", value)
    named = is_secret_name(name.strip("-"), "variable") or _URL_PASSWORD.search(value) is not None
    return named and bool(bare.strip()) and _REFERENCE.search(bare) is None


def _arguments(args: list[Any], path: str, losses: list[Loss]) -> list[Any]:
    clean: list[Any] = []
    flag = ""
    for index, argument in enumerate(args):
        kept = argument
        if isinstance(argument, str):
            joined = _FLAG.fullmatch(argument)
            name, equals, value = argument.partition("=")
            if joined and _is_secret(joined[1], joined[2]):
                kept = f"{joined[1]}=${{input:{joined[1].lstrip('-')}}}"
            elif equals and flag in ("-e", "--env") and _is_secret(name, value):
                kept = f"{name}=${{input:{name}}}"
            elif flag not in ("-e", "--env") and not argument.startswith("-") and flag and _is_secret(flag, argument):
                kept = f"${{input:{flag.lstrip('-')}}}"
            elif _URL_PASSWORD.search(argument) and not _REFERENCE.search(argument):
                kept = _URL_PASSWORD.sub(r"\1:${input:password}@", argument)
            flag = argument if argument.startswith("-") and not equals else ""
        if kept != argument:
            losses.append(Loss(f"{path}.args[{index}]", REASON))
        clean.append(kept)
    return clean
