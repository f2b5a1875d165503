"""Sources of every format, and strategies for made-up ones."""

import io
import tarfile
import zipfile
from typing import Any, Final, Literal

from hypothesis import strategies as st

SKILL: Final = """---
name: pdf-forms
description: "Fills forms in PDF files: reads the fields, asks for values."
license: Apache-2.0
compatibility: Needs Python 3.11, and poppler
allowed-tools: Read Bash(pdftk:*) Bash(git add:*) Bash(git commit:*)
metadata:
  author: Paper Team
  version: "2.1"
  created_at: 2026-02-03
---
# Filling forms

Text with --- in it.
"""

CARD: Final[dict[str, Any]] = {
    "name": "Route planner",
    "description": "Plans delivery routes for a city.",
    "version": "3.0.1",
    "url": "https://routes.example.org/a2a",
    "provider": {"organization": "Example Logistics", "url": "https://example.org"},
    "capabilities": {"streaming": True},
    "skills": [{"id": "plan", "name": "Plan a route", "description": "Finds the shortest route.", "tags": ["maps"]}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["application/json"],
}

SERVER: Final[dict[str, Any]] = {
    "$schema": "https://static.example.org/server.schema.json",
    "name": "io.github.vendor/files",
    "description": "Reads and writes files below one directory.",
    "version": "1.4.0",
    "repository": {"url": "https://github.com/vendor/files", "source": "github"},
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@vendor/files",
            "version": "1.4.0",
            "runtimeHint": "npx",
            "runtimeArguments": [
                {"type": "positional", "value": "-y"},
                {"type": "named", "name": "--registry", "value": "https://npm.example.org"},
            ],
            "packageArguments": [{"type": "positional", "value": "/data"}],
            "environmentVariables": [
                {"name": "FILES_TOKEN", "description": "Access.", "isRequired": True, "isSecret": True},
                {"name": "FILES_MODE", "default": "read"},
            ],
            "transport": {"type": "stdio"},
        }
    ],
    "remotes": [
        {
            "type": "sse",
            "url": "https://files.example.org/sse",
            "headers": [
                {"name": "Authorization", "description": "A token.", "isSecret": True},
                {"name": "X-Api-Version", "value": "2"},
                {"name": "X-Empty"},
            ],
        },
        {"url": "https://files.example.org/mcp"},
    ],
    "_meta": {"io.modelcontextprotocol.registry/official": {"publishedAt": "2026-01-05T10:00:00.25+02:00"}},
}

CONFIG: Final[dict[str, Any]] = {
    "servers": {
        "tickets": {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "TICKET_USER", "-e", "TICKET_KIND", "example/tickets:2"],
            "env": {"TICKET_USER": "${input:TICKET_USER}", "TICKET_KIND": "bug"},
        },
        "search": {
            "type": "http",
            "url": "https://search.example.org/mcp",
            "headers": {"Authorization": "Bearer ${input:search_token}"},
        },
    },
    "inputs": [
        {"id": "TICKET_USER", "type": "promptString", "description": "Your name", "password": False},
        {
            "id": "search_token",
            "type": "promptString",
            "description": "Secret value for search_token",
            "password": True,
        },
    ],
}

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
words = st.text("abcdefXYZ-_./:@ #'\"\\\n\té{}$", min_size=1, max_size=12)
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


def perhaps(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object that has some of the fields, and once in a while one of the wrong kind."""
    return st.fixed_dictionaries({}, optional={name: value | anything for name, value in fields.items()})


def objects(**fields: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.fixed_dictionaries({}, optional=fields), max_size=3)


arguments = objects(
    type=st.sampled_from(["named", "positional"]), name=words, value=words, default=words, valueHint=words
)
variables = objects(
    name=words, description=words, value=words, default=words, isRequired=st.booleans(), isSecret=st.booleans()
)
headers = objects(name=words, description=words, value=words)
transports = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["stdio", "sse", "streamable-http", "odd"]), "url": words, "headers": headers}
)
packages = objects(
    registryType=st.sampled_from(["npm", "pypi", "oci", "nuget", "mcpb", "odd"]),
    identifier=words,
    version=words,
    runtimeHint=words,
    runtimeArguments=arguments,
    packageArguments=arguments,
    environmentVariables=variables,
    transport=transports,
)
remotes = objects(type=st.sampled_from(["sse", "streamable-http", "stdio"]), url=words, headers=headers)
servers = perhaps(
    name=words, description=words, version=words, repository=perhaps(url=words), packages=packages, remotes=remotes,
    **{"$schema": words},
)  # fmt: skip
cards = perhaps(name=words, description=words, version=words, provider=perhaps(organization=words), skills=anything)
host_servers = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["stdio", "http", "sse", "odd"]),
        "command": words,
        "args": st.lists(words, max_size=4),
        "env": st.dictionaries(words, words | st.just("${input:a}"), max_size=2),
        "url": words,
        "headers": st.dictionaries(words, words | st.just("Bearer ${input:a}"), max_size=2),
    },
)
configs = st.builds(
    lambda root, servers, more: {root: servers, **more},
    st.sampled_from(["servers", "mcpServers"]),
    st.dictionaries(words, host_servers, min_size=1, max_size=3),
    st.just({}) | st.just({"inputs": [{"id": "a", "type": "promptString"}]}),
)


def zipped(files: dict[str, bytes | str], **changes: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for field, value in changes.items():
                setattr(entry, field, value)
            archive.writestr(entry, content)
    return out.getvalue()


def tarred(
    files: dict[str, bytes | str],
    mode: Literal["w:", "w:gz", "w:bz2", "w:xz"] = "w:gz",
    *,
    kind: bytes = tarfile.REGTYPE,
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.linkname = "/etc/passwd" if kind != tarfile.REGTYPE else ""
            entry.size = len(data) if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()
