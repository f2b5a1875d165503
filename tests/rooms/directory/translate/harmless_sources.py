"""Sources without secrets, with values that look a little like them."""

from dataclasses import dataclass
from typing import Final

from tests.rooms.directory.translate.secret_shapes import UUID, Source, package, reached, remote, skill, started
from tests.rooms.directory.translate.sources import CARD, SERVER, SKILL


@dataclass(frozen=True)
class Harmless:
    """A source without a secret. It has to pass as it is."""

    id: str
    form: str
    source: Source


_SHA: Final = "9fceb02d0ae598e95dc970b74767f19372d61af8"
_DIGEST: Final = "sha256:" + "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"

_SIGNATURE: Final = "QFdkNLNszlGj3z3u0YQGt_T9LixY3qtdQpZmsTdDHDe3fXV9y9-B3m2-XgCpzuhiLt8E0tV6HXoZKHv4GtHgKQ"

HARMLESS: Final = (
    Harmless(
        "name-of-mixed-letters", "mcp", {**SERVER, "name": "dev.acmecorp/Data-Base11", "version": f"1.0.0+{_SHA}"}
    ),
    Harmless(
        "paths",
        "claude",
        started(
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/Users/ada/Documents/2024-reports",
            "C:\\Users\\ada\\AppData\\Local\\Programs",
            "${workspaceFolder}/src/main/resources/application",
        ),
    ),
    Harmless(
        "packages",
        "claude",
        started(
            "-y",
            "@upstash/context7-mcp@latest",
            "@scope/a-very-long-package-name-1@1.2.3-rc.4",
            "mcp-server-sqlite",
            "git+https://github.com/vendor/server-with-a-long-name.git",
        ),
    ),
    Harmless("git-sha", "claude", started("--from", f"git+https://github.com/vendor/x@{_SHA}", "x", command="uvx")),
    Harmless("image-digest", "claude", started("run", "-i", "--rm", f"ghcr.io/vendor/x@{_DIGEST}", command="docker")),
    Harmless(
        "image-tag",
        "claude",
        started(
            "run",
            "-p",
            "8080:80",
            "-v",
            "/var/run/docker.sock:/var/run/docker.sock",
            "mcp/fetch:1.4.2",
            command="docker",
        ),
    ),
    Harmless(
        "model",
        "claude",
        started("x", "--model", "gpt-4o-2024-08-06", "--port", "8931", "--timeout=30000", "--headless"),
    ),
    Harmless(
        "settings",
        "claude",
        started(
            "x",
            LOG_LEVEL="debug",
            AWS_REGION="eu-central-1",
            AWS_PROFILE="work-admin",
            MAX_TOKENS="4096",
            TOKEN_LIMIT="8192",
            AUTH_MODE="oauth2",
            NODE_ENV="production",
            TZ="Europe/Amsterdam",
            KEYCLOAK_URL="https://login.example.org/realms/main",
            ALLOWED_ORIGINS="https://a.example.org,https://b.example.org",
            PYTHONPATH="/opt/app:/opt/lib",
            MODEL_ID="anthropic.claude-3-5-sonnet-20241022-v2:0",
            COLLECTION="default",
            ENABLE_CACHE="true",
            EMAIL="ada@example.org",
            CACHE_KEY_PREFIX="notes",
        ),
    ),
    Harmless(
        "clouds",
        "claude",
        started(
            "x",
            "--mount",
            "type=bind,src=/Users/ada/projects,dst=/projects",
            "--allowed-tools=Read,Write,Bash(git:*)",
            "mongodb+srv://cluster0.ab1cd.mongodb.net/library",
            "jdbc:postgresql://db.example.org:5432/library",
            "https://github.com/vendor/files/releases/download/v1.4.0/files_1.4.0_darwin_arm64.mcpb",
            ROLE="arn:aws:iam::123456789012:role/Reader-Production",
            DATASTORE="projects/library-123456/locations/europe-west4/collections/default_collection",
            TENANT_ID=UUID,
            PUBLIC_KEY_URL="https://login.example.org/.well-known/jwks.json",
            PASSWORD_POLICY="at least 12 characters",
        ),
    ),
    Harmless(
        "key-files",
        "claude",
        started(
            "x",
            "--token-file",
            "/run/secrets/token",
            SSH_KEY_PATH="/home/ada/.ssh/id_ed25519",
            GOOGLE_APPLICATION_CREDENTIALS="/home/ada/keys/service-account.json",
            SSH_AUTH_SOCK="/tmp/ssh/agent.42",
        ),
    ),
    Harmless(
        "references",
        "vscode",
        {
            "servers": started(
                "x",
                "--api-key",
                "${input:key}",
                "--header",
                "Authorization: Bearer ${TOKEN}",
                A_TOKEN="${env:A_TOKEN}",
                B_TOKEN="$B_TOKEN",
                C_TOKEN="${C_TOKEN}",
            )["mcpServers"],
            "inputs": [{"id": "key", "type": "promptString", "description": "The API key", "password": True}],
        },
    ),
    Harmless("placeholders", "claude", started("x", API_KEY="<your-api-key>", TOKEN="YOUR_TOKEN_HERE", SECRET="")),
    Harmless(
        "urls",
        "cursor",
        reached("https://mcp.example.org/v1/workspaces/design-team/mcp?version=2&tools=search,fetch&page=10"),
    ),
    Harmless("uuid-in-a-path", "cursor", reached(f"https://mcp.example.org/tenants/{UUID}/mcp")),
    Harmless("local-url", "claude", reached("http://127.0.0.1:8931/sse")),
    Harmless(
        "header-references",
        "cursor",
        reached(
            "https://mcp.example.org",
            Authorization="Bearer ${env:TOKEN}",
            Accept="application/json",
            **{"X-Api-Version": "2024-11-05", "X-Team": "design"},
        ),
    ),
    Harmless(
        "shell", "claude", started("-c", "cd /srv/app && npm ci && exec node dist/server.js --stdio", command="bash")
    ),
    Harmless("server-json", "mcp", SERVER),
    Harmless(
        "server-json-file-hash",
        "mcp",
        package(
            registryType="mcpb",
            fileSha256=_DIGEST[7:],
            identifier="https://github.com/vendor/files/releases/download/v1.4.0/files.mcpb",
        ),
    ),
    Harmless(
        "server-json-choices",
        "mcp",
        package(
            environmentVariables=[
                {
                    "name": "API_KEY",
                    "description": "Your API key from https://x.example.org/keys",
                    "isRequired": True,
                    "isSecret": True,
                },
                {"name": "TRANSPORT", "default": "stdio", "choices": ["stdio", "streamable-http"]},
            ]
        ),
    ),
    Harmless(
        "server-json-variables",
        "mcp",
        remote(
            url="https://{tenant}.example.org/mcp",
            headers=[
                {
                    "name": "Authorization",
                    "value": "Bearer {token}",
                    "variables": {"token": {"isSecret": True, "isRequired": True, "description": "An access token"}},
                }
            ],
        ),
    ),
    Harmless("card", "a2a", CARD),
    Harmless(
        "card-security",
        "a2a",
        {
            **CARD,
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "name": "X-API-Key",
                    "in": "header",
                    "description": "Ask for an API key by mail.",
                },
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "oauth": {
                    "type": "oauth2",
                    "flows": {
                        "clientCredentials": {
                            "tokenUrl": "https://login.example.org/oauth2/token",
                            "scopes": {"routes:read": "Read routes", "token:introspect": "Look at tokens"},
                        }
                    },
                },
            },
            "security": [{"apiKey": []}],
        },
    ),
    Harmless(
        "card-signature",
        "a2a",
        {
            **CARD,
            "signatures": [
                {
                    "protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImtleS0xIn0",
                    "signature": _SIGNATURE,
                }
            ],
        },
    ),
    Harmless(
        "card-examples",
        "a2a",
        {
            **CARD,
            "skills": [
                {
                    **CARD["skills"][0],
                    "examples": [
                        "Plan a route from Utrecht to Groningen",
                        "Explain what a bearer token is",
                        "Reset the password of a user",
                    ],
                }
            ],
        },
    ),
    Harmless("skill", "agentskills", SKILL),
    Harmless(
        "skill-about-secrets",
        "agentskills",
        skill(
            "Set `API_KEY` in your environment: `export API_KEY=<your key>`. Never commit a password.\n\n"
            '```\ncurl -H "Authorization: Bearer $TOKEN" https://x.example.org/v1/items\n```\n\n'
            f"Pinned to {_SHA}; image `{_DIGEST}`. The token limit is 4096 tokens. Password: at least 12 characters.\n"
        ),
    ),
)
