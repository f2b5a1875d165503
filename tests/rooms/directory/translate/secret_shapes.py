"""Where people keep secrets in what they import. All of them are made up."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tests.rooms.directory.translate.sources import CARD, SERVER, SKILL

GITHUB: Final = "ghp_" + "FaKe0tOkEn" * 4
OPENAI: Final = "sk-proj-" + "FaKeFaKe0123" * 3
ANTHROPIC: Final = "sk-ant-api03-" + "FaKeFaKe0123" * 3
AWS_ID: Final = "AKIA" + "FAKEFAKEFAKE0123"
AWS_SECRET: Final = "wJalrFAKE/K7MDENG/bPxRfiCYFAKEFAKEKEY012"
SLACK: Final = "xoxb-" + "0123456789-fakefakefake"
GOOGLE: Final = "AIza" + "SyFaKe0123456789FaKe0123456789FaKe0"
STRIPE: Final = "sk_live_" + "fake0123456789fake"
JWT: Final = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiJmYWtlIn0", "fakefakefakefakefake"))
HEX: Final = "0f1e2d3c4b5a6978" + "8796a5b4c3d2e1f0"
UUID: Final = "0f8fad5b-d9cb-469f-a165-70867728950e"
MIXED: Final = "Zk3q9TxW7vB2nLp8" + "RsYdC4hJ6mKfG1aQ" + "eUoI5tXwVz"
WORD: Final = "fake-hunter2"
PLAIN: Final = "fakehunter"
ADDRESS: Final = "https://mcp.example.org"
CODED: Final = "eyJhcGlLZXkiOiJmYWtlLWh1bnRlcjIifQ"
"""A configuration with a key in it, in base64."""
PEM: Final = "-----BEGIN " + "PRIVATE KEY-----\nZmFrZWZha2VmYWtl\nZmFrZWZha2VmYWtl\n-----END " + "PRIVATE KEY-----"
BASIC: Final = "ZmFrZTpmYWtlLWh1bnRlcjI="

Source = dict[str, Any] | str


@dataclass(frozen=True)
class Shape:
    """A source with secrets in it. One that is not certain is refused until the caller decides."""

    id: str
    form: str
    source: Source
    secrets: tuple[str, ...]
    certain: bool = True
    paths: tuple[str, ...] = field(default=())
    """Where the answer has to say that something was withheld, where that is worth a test."""


def host(server: dict[str, Any], root: str = "mcpServers", **more: Any) -> dict[str, Any]:
    return {root: {"notes": {"description": "Summarizes notes.", **server}}, **more}


def started(*args: str, command: str = "npx", **env: Any) -> dict[str, Any]:
    return host({"command": command, "args": list(args), **({"env": env} if env else {})})


def reached(url: str, **headers: Any) -> dict[str, Any]:
    return host({"url": url, **({"headers": headers} if headers else {})})


def package(**changes: Any) -> dict[str, Any]:
    return {**SERVER, "packages": [{**SERVER["packages"][0], **changes}]}


def remote(**changes: Any) -> dict[str, Any]:
    return {**SERVER, "remotes": [{"type": "streamable-http", "url": "https://files.example.org/mcp", **changes}]}


def skill(body: str) -> str:
    return SKILL + body


_E: Final = "mcpServers.notes"

SHAPES: Final = (
    # Variables of the environment
    Shape(
        "env-token",
        "claude",
        started("-y", "x", GITHUB_PERSONAL_ACCESS_TOKEN=GITHUB),
        (GITHUB,),
        paths=(f"{_E}.env.GITHUB_PERSONAL_ACCESS_TOKEN",),
    ),
    Shape("env-password-of-a-word", "claude", started("x", DB_PASSWORD=WORD), (WORD,)),
    Shape("env-password-with-spaces", "claude", started("x", PGPASSWORD="fake horse battery"), ("fake horse battery",)),
    Shape("env-token-under-a-harmless-name", "claude", started("x", GREETING=GITHUB), (GITHUB,)),
    Shape("env-entropy-under-a-harmless-name", "cursor", started("x", CONTEXT=MIXED), (MIXED,), certain=False),
    Shape("env-dollar-at-the-start", "claude", started("x", PASSWORD="$ecretfake"), ("$ecretfake", "ecretfake")),
    Shape("env-dollars-in-the-middle", "claude", started("x", DB_PASS="pa$$wordfake"), ("pa$$wordfake", "wordfake")),
    Shape("env-reference-with-a-default", "claude", started("x", API_KEY="${API_KEY:-fakes3cret9}"), ("fakes3cret9",)),
    Shape("env-reference-and-a-literal", "claude", started("x", API_KEY="${PREFIX}-fakes3cret9"), ("fakes3cret9",)),
    Shape("env-database-url", "claude", started("x", DATABASE_URL=f"postgres://app:{WORD}@db.example.org/x"), (WORD,)),
    Shape("env-number", "claude", started("x", PASSWORD=90817263), ("90817263",)),
    Shape(
        "env-private-key", "vscode", {"servers": started("x", IDENTITY=PEM)["mcpServers"]}, (PEM, "ZmFrZWZha2VmYWtl")
    ),
    Shape(
        "env-aws-pair",
        "claude",
        started("x", AWS_ACCESS_KEY_ID=AWS_ID, AWS_SECRET_ACCESS_KEY=AWS_SECRET),
        (AWS_ID, AWS_SECRET),
    ),
    Shape(
        "env-header-line",
        "claude",
        started("mcp-remote", "--header", "Authorization:${AUTH_HEADER}", AUTH_HEADER=f"Bearer {HEX}"),
        (HEX,),
    ),
    Shape(
        "env-json",
        "claude",
        started("x", OPENAPI_MCP_HEADERS=json.dumps({"Authorization": f"Bearer {WORD}9"})),
        (WORD,),
    ),
    # Addresses
    Shape("url-key", "cursor", reached(f"https://mcp.example.org/mcp?key={HEX}"), (HEX,), paths=(f"{_E}.url",)),
    Shape("url-api-key", "cursor", reached(f"https://mcp.example.org/mcp?v=2&api_key={WORD}"), (WORD,)),
    Shape("url-token", "claude", reached(f"https://mcp.example.org/sse?token={HEX}&x=1"), (HEX,)),
    Shape("url-exa-api-key", "claude", reached(f"https://mcp.exa.example/mcp?exaApiKey={UUID}"), (UUID,)),
    Shape("url-encoded-parameter", "claude", reached(f"https://mcp.example.org/mcp?api%5Fkey={HEX}"), (HEX,)),
    Shape("url-token-in-a-harmless-parameter", "claude", reached(f"https://mcp.example.org/mcp?x={OPENAI}"), (OPENAI,)),
    Shape("url-path", "claude", reached(f"https://mcp.example.org/api/mcp/s/{MIXED}/mcp"), (MIXED,), certain=False),
    Shape("url-path-token", "claude", reached(f"https://mcp.example.org/{STRIPE}/sse"), (STRIPE,)),
    Shape("url-login", "claude", reached(f"https://app:{WORD}@mcp.example.org/sse"), (WORD,)),
    Shape("url-token-as-login", "claude", reached(f"https://{GITHUB}@mcp.example.org/sse"), (GITHUB,)),
    Shape("url-fragment", "claude", reached(f"https://mcp.example.org/sse#access_token={HEX}"), (HEX,)),
    Shape("url-of-windsurf", "claude", host({"serverUrl": f"https://mcp.example.org/sse?token={HEX}"}), (HEX,)),
    Shape("url-of-gemini", "claude", host({"httpUrl": f"https://mcp.example.org/mcp?key={GOOGLE}"}), (GOOGLE,)),
    # Headers
    Shape("header-bearer", "cursor", reached("https://mcp.example.org", Authorization=f"Bearer {WORD}"), (WORD,)),
    Shape("header-basic", "cursor", reached("https://mcp.example.org", Authorization=f"Basic {BASIC}"), (BASIC,)),
    Shape("header-bare", "cursor", reached("https://mcp.example.org", Authorization=WORD), (WORD,)),
    Shape(
        "header-api-key",
        "vscode",
        {"servers": reached("https://mcp.example.org", **{"X-API-Key": HEX})["mcpServers"]},
        (HEX,),
    ),
    Shape("header-cookie", "claude", reached("https://mcp.example.org", Cookie=f"session={HEX}; theme=dark"), (HEX,)),
    Shape(
        "header-token-under-a-harmless-name",
        "claude",
        reached("https://mcp.example.org", **{"X-Team": SLACK}),
        (SLACK,),
    ),
    # Command lines
    Shape(
        "args-header",
        "claude",
        started("mcp-remote", "https://mcp.example.org", "--header", f"Authorization: Bearer {HEX}"),
        (HEX,),
    ),
    Shape(
        "args-header-joined",
        "claude",
        started("mcp-remote", "https://x.example.org", f"--header=X-Api-Key: {WORD}"),
        (WORD,),
    ),
    Shape(
        "args-curl-header",
        "claude",
        started("-H", f"X-Auth-Token: {WORD}", "https://x.example.org", command="curl"),
        (WORD,),
    ),
    Shape("args-flag", "claude", started("x", "--api-key", WORD), (WORD,), paths=(f"{_E}.args[2]",)),
    Shape("args-flag-joined", "claude", started("x", f"--token={WORD}"), (WORD,)),
    Shape("args-flag-in-camel-case", "claude", started("x", "--figmaApiKey", WORD), (WORD,)),
    Shape(
        "args-access-token",
        "claude",
        started("@supabase/mcp-server", "--access-token", "sbp_" + HEX),
        ("sbp_" + HEX, HEX),
    ),
    Shape("args-variable", "claude", started("run", "-e", f"DB_PASSWORD={WORD}", "img", command="docker"), (WORD,)),
    Shape("args-variable-long", "claude", started("run", f"--env=API_KEY={WORD}", "img", command="docker"), (WORD,)),
    Shape("args-variable-glued", "claude", started("run", f"-eAPI_KEY={WORD}", "img", command="docker"), (WORD,)),
    Shape(
        "args-variable-under-a-harmless-name",
        "claude",
        started("run", "-e", f"NOTE={GITHUB}", "img", command="docker"),
        (GITHUB,),
    ),
    Shape("args-env-program", "claude", started(f"API_KEY={WORD}", "npx", "x", command="env"), (WORD,)),
    Shape("args-position", "claude", started("server.js", GITHUB, command="node"), (GITHUB,)),
    Shape("args-position-entropy", "claude", started("server.js", MIXED, command="node"), (MIXED,), certain=False),
    Shape("args-database-url", "claude", started("x", f"postgresql://app:{WORD}@db.example.org:5432/x"), (WORD,)),
    Shape("args-url", "claude", started("mcp-remote", f"https://mcp.example.org/sse?token={HEX}"), (HEX,)),
    Shape("args-shell", "claude", started("-c", f"API_KEY={WORD} npx x", command="bash"), (WORD,)),
    Shape("args-shell-export", "claude", started("-lc", f"export TOKEN='{WORD}'; node x.js", command="sh"), (WORD,)),
    Shape("args-cmd", "claude", started("/c", f"set API_KEY={WORD}&& npx x", command="cmd"), (WORD,)),
    Shape("args-shell-flag", "claude", started("-c", f'npx x --api-key "{WORD}"', command="bash"), (WORD,)),
    Shape("args-json", "claude", started("x", "--config", json.dumps({"apiKey": WORD, "mode": "fast"})), (WORD,)),
    Shape("args-json-escaped", "claude", started("x", "--config", json.dumps(json.dumps({"apiKey": WORD}))), (WORD,)),
    Shape("args-powershell", "claude", started("-Command", f"$env:API_KEY='{PLAIN}'; npx x", command="pwsh"), (PLAIN,)),
    Shape("args-of-letters", "claude", started("x", "--api-key", PLAIN), (PLAIN,)),
    Shape("args-in-one", "claude", host({"command": "x", "args": f"-y --api-key {PLAIN}"}), (PLAIN,)),
    Shape("args-without-a-command", "claude", host({"url": ADDRESS, "args": ["--token", PLAIN]}), (PLAIN,)),
    Shape("command-as-a-list", "claude", host({"url": ADDRESS, "command": ["x", "--token", PLAIN]}), (PLAIN,)),
    Shape("env-as-a-list", "claude", host({"command": "x", "env": [f"API_KEY={PLAIN}"]}), (PLAIN,)),
    Shape("headers-as-a-list", "claude", host({"url": ADDRESS, "headers": [f"X-Api-Key: {PLAIN}"]}), (PLAIN,)),
    Shape("url-config", "claude", reached(f"https://mcp.example.org/mcp?config={CODED}"), (CODED,), certain=False),
    Shape("command-line-in-one", "claude", host({"command": f"npx -y x --api-key {WORD}"}), (WORD,)),
    # Elsewhere in a configuration
    Shape(
        "input-default",
        "vscode",
        {
            "servers": started("x", A="${input:a}")["mcpServers"],
            "inputs": [{"id": "a", "type": "promptString", "password": True, "default": WORD}],
        },
        (WORD,),
    ),
    Shape(
        "client-secret",
        "cursor",
        host({"url": "https://x.example.org", "auth": {"CLIENT_ID": "a", "CLIENT_SECRET": WORD}}),
        (WORD,),
    ),
    Shape(
        "oauth",
        "claude",
        host({"url": "https://x.example.org", "oauth": {"clientId": "a", "clientSecret": WORD}}),
        (WORD,),
    ),
    Shape("other-settings", "claude", {**started("x"), "apiKey": WORD, "primaryApiKey": WORD}, (WORD,)),
    Shape("other-projects", "claude", {**started("x"), "projects": {"/home/a": started("y", API_TOKEN=WORD)}}, (WORD,)),
    Shape("nested-settings", "ghcopilot", {"mcp": {"servers": started("x", API_TOKEN=WORD)["mcpServers"]}}, (WORD,)),
    Shape(
        "name-of-a-server", "claude", {"mcpServers": {"notes": {"command": "x"}, GITHUB: {"command": "x"}}}, (GITHUB,)
    ),
    Shape("description", "claude", host({"command": "x", "description": f"Notes, use {GITHUB}"}), (GITHUB,)),
    # server.json
    Shape(
        "package-variable",
        "mcp",
        package(environmentVariables=[{"name": "API_KEY", "value": WORD}]),
        (WORD,),
        paths=("packages[0].environmentVariables[0].value",),
    ),
    Shape(
        "package-variable-default", "mcp", package(environmentVariables=[{"name": "API_KEY", "default": WORD}]), (WORD,)
    ),
    Shape(
        "package-variable-said-to-be-secret",
        "mcp",
        package(environmentVariables=[{"name": "X", "default": WORD, "isSecret": True}]),
        (WORD,),
    ),
    Shape(
        "package-argument",
        "mcp",
        package(packageArguments=[{"type": "named", "name": "--api-key", "value": WORD}]),
        (WORD,),
    ),
    Shape(
        "package-argument-position",
        "mcp",
        package(packageArguments=[{"type": "positional", "value": OPENAI}]),
        (OPENAI,),
    ),
    Shape(
        "runtime-argument",
        "mcp",
        package(runtimeArguments=[{"type": "named", "name": "-e", "value": f"TOKEN={WORD}"}]),
        (WORD,),
    ),
    Shape(
        "runtime-argument-apart",
        "mcp",
        package(
            runtimeArguments=[{"type": "positional", "value": "-e"}, {"type": "positional", "value": f"TOKEN={WORD}"}]
        ),
        (WORD,),
    ),
    Shape(
        "runtime-argument-flag-apart",
        "mcp",
        package(runtimeArguments=[{"type": "positional", "value": "--api-key"}, {"type": "positional", "value": WORD}]),
        (WORD,),
    ),
    Shape(
        "argument-variables",
        "mcp",
        package(
            packageArguments=[
                {"type": "named", "name": "--auth", "value": "{token}", "variables": {"token": {"default": WORD}}}
            ]
        ),
        (WORD,),
    ),
    Shape("remote-header", "mcp", remote(headers=[{"name": "Authorization", "value": f"Bearer {WORD}"}]), (WORD,)),
    Shape("remote-header-harmless-name", "mcp", remote(headers=[{"name": "X-Team", "value": ANTHROPIC}]), (ANTHROPIC,)),
    Shape("remote-url", "mcp", remote(url=f"https://files.example.org/mcp?api_key={WORD}"), (WORD,)),
    Shape("repository-login", "mcp", {**SERVER, "repository": {"url": f"https://me:{WORD}@github.com/a/b"}}, (WORD,)),
    Shape("server-meta", "mcp", {**SERVER, "_meta": {"publisher": {"npmToken": WORD}}}, (WORD,)),
    Shape("server-description", "mcp", {**SERVER, "description": f"Reads files. Key: {STRIPE}"}, (STRIPE,)),
    # Agent cards
    Shape("card-url", "a2a", {**CARD, "url": f"https://routes.example.org/a2a?key={HEX}"}, (HEX,)),
    Shape("card-credentials", "a2a", {**CARD, "authentication": {"schemes": ["basic"], "credentials": WORD}}, (WORD,)),
    Shape(
        "card-scheme-example",
        "a2a",
        {
            **CARD,
            "securitySchemes": {
                "apiKey": {"type": "apiKey", "name": "X-API-Key", "in": "header", "x-example": HEX, "value": WORD}
            },
        },
        (WORD, HEX),
    ),
    Shape(
        "card-scheme-description",
        "a2a",
        {
            **CARD,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": f"For tests: Authorization: Bearer {JWT}"}
            },
        },
        (JWT,),
    ),
    Shape(
        "card-skill-example",
        "a2a",
        {
            **CARD,
            "skills": [
                {**CARD["skills"][0], "examples": [f"curl -H 'Authorization: Bearer {HEX}' https://routes.example.org"]}
            ],
        },
        (HEX,),
    ),
    Shape(
        "card-extension",
        "a2a",
        {**CARD, "capabilities": {"extensions": [{"uri": "https://x.example.org", "params": {"apiKey": WORD}}]}},
        (WORD,),
    ),
    Shape("card-wrapped", "a2a", {"a2aCard": {**CARD, "metadata": {"x-api-key": WORD}}}, (WORD,)),
    # Skills
    Shape("skill-export", "agentskills", skill(f"```\nexport OPENAI_API_KEY={OPENAI}\n```\n"), (OPENAI,)),
    Shape("skill-assignment-of-a-word", "agentskills", skill(f"```\nDB_PASSWORD={WORD}\n```\n"), (WORD,)),
    Shape("skill-assignment-of-letters", "agentskills", skill(f"Run `API_KEY={PLAIN} npx x`.\n"), (PLAIN,)),
    Shape(
        "skill-header",
        "agentskills",
        skill(f'Run `curl -H "Authorization: Bearer {HEX}" https://x.example.org`.\n'),
        (HEX,),
    ),
    Shape("skill-yaml", "agentskills", skill(f"```yaml\npassword: {WORD}\n```\n"), (WORD,)),
    Shape("skill-json", "agentskills", skill(f'```json\n{{"apiKey": "{WORD}"}}\n```\n'), (WORD,)),
    Shape("skill-url", "agentskills", skill(f"Open https://x.example.org/?token={HEX} first.\n"), (HEX,)),
    Shape("skill-key", "agentskills", skill(PEM + "\n"), (PEM, "ZmFrZWZha2VmYWtl")),
    Shape(
        "skill-frontmatter",
        "agentskills",
        SKILL.replace("  author: Paper Team", f"  author: Paper Team\n  api-key: {WORD}"),
        (WORD,),
    ),
    Shape("skill-wrapped", "agentskills", {"skillMarkdown": skill(f"Token: {GITHUB}\n")}, (GITHUB,)),
)
