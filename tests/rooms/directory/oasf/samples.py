"""One complete, valid record for each OASF version: no errors and no warnings. `sample(version)` is a fresh copy."""

from copy import deepcopy
from typing import Any, Final

_READER: Final[dict[str, Any]] = {
    "name": "example.org/paper-reader",
    "version": "v2.4.0",
    "description": "Reads research papers, answers questions about them and writes short summaries.",
    "authors": ["Ada Park <ada@example.org>", "Reading Room Team"],
    "created_at": "2026-03-02T09:30:00Z",
    "annotations": {"team": "reading-room", "tier": "gold"},
}

_DIGEST: Final = "sha256:" + "4f" * 32

SAMPLES: Final[dict[str, dict[str, Any]]] = {
    "0.3.1": {
        **_READER,
        "schema_version": "0.3.1",
        "skills": [
            {
                "class_uid": 10202,
                "category_uid": 1,
                "class_name": "Text Summarization",
                "category_name": "Natural Language Processing",
            },
            {"class_uid": 602, "category_uid": 6},
        ],
        "locators": [
            {
                "type": "docker-image",
                "url": "https://registry.example.org/paper-reader:2.4.0",
                "size": 48123904,
                "digest": _DIGEST,
            },
            {"type": "source-code", "url": "https://git.example.org/paper-reader"},
        ],
        "extensions": [
            {
                "name": "schema.oasf.agntcy.org/features//observability",
                "version": "v1.0.0",
                "data": {
                    "communication_protocols": ["HTTP_1.1", "gRPC"],
                    "data_platform_integrations": ["prometheus"],
                    "data_schema": {
                        "name": "traces",
                        "version": "v1.0.0",
                        "url": "https://example.org/schemas/traces.json",
                    },
                    "export_format": "json",
                },
            },
            {"name": "example.org/pricing", "data": {"plan": "free"}},
        ],
        "signature": {
            "algorithm": "ECDSA_P256_SHA256",
            "certificate": "Y2VydGlmaWNhdGU=",
            "content_bundle": "YnVuZGxl",
            "content_type": "application/json",
            "signature": "c2lnbmF0dXJl",
            "signed_at": "2026-03-02T09:31:00Z",
        },
    },
    "0.7.0": {
        **_READER,
        "schema_version": "0.7.0",
        "skills": [
            {"name": "natural_language_processing/natural_language_generation/summarization", "id": 10202},
            {"name": "retrieval_augmented_generation/document_or_database_question_answering", "id": 602},
        ],
        "domains": [{"name": "technology/software_engineering", "id": 102}],
        "locators": [
            {
                "type": "docker_image",
                "url": "https://registry.example.org/paper-reader:2.4.0",
                "size": 48123904,
                "digest": _DIGEST,
            },
            {"type": "source_code", "url": "https://git.example.org/paper-reader"},
        ],
        "modules": [
            {
                "name": "runtime/mcp",
                "id": 302,
                "data": {
                    "servers": [
                        {
                            "name": "paper-reader",
                            "type": "local",
                            "command": "paper-reader",
                            "args": ["--stdio"],
                            "url": "https://reader.example.org/mcp",
                            "capabilities": ["notify"],
                            "env_vars": [{"name": "READER_TOKEN", "description": "Access to the paper store."}],
                            "tools": [{"name": "summarize", "description": "Summarize one paper."}],
                            "prompts": [{"name": "brief", "description": "A short brief.", "command": "/brief"}],
                            "resources": [{"name": "papers", "uri": "papers://all", "audience": ["assistant"]}],
                        }
                    ]
                },
            },
            {
                "name": "runtime/a2a",
                "id": 305,
                "data": {
                    "card_data": {"name": "Paper reader", "url": "https://reader.example.org/a2a"},
                    "protocol_version": "0.3.0",
                    "capabilities": ["streaming"],
                },
            },
        ],
        "signature": {"signature": "c2lnbmF0dXJl", "signed_at": "2026-03-02T09:31:00Z"},
    },
    "0.8.0": {
        **_READER,
        "schema_version": "0.8.0",
        "skills": [
            {"name": "natural_language_processing/natural_language_generation/summarization", "id": 10202},
            {"name": "retrieval_augmented_generation/document_or_database_question_answering", "id": 602},
        ],
        "domains": [{"name": "technology/data_science", "id": 104}],
        "locators": [
            {"type": "docker_image", "url": "https://registry.example.org/paper-reader:2.4.0"},
            {"type": "source_code", "url": "https://git.example.org/paper-reader"},
        ],
        "modules": [
            {
                "name": "integration/a2a",
                "id": 203,
                "data": {
                    "card_data": {"name": "Paper reader", "url": "https://reader.example.org/a2a"},
                    "protocol_version": "0.3.0",
                    "transports": ["jsonrpc"],
                },
            },
            {
                "name": "core/llm/model",
                "id": 10201,
                "data": {
                    "models": [{"model": "small-1", "provider": "example", "api_base": "https://models.example.org/v1"}]
                },
            },
        ],
    },
    "1.0.0": {
        **_READER,
        "schema_version": "1.0.0",
        "skills": [
            {"name": "natural_language_processing/natural_language_generation/summarization", "id": 10202},
            {"name": "retrieval_augmented_generation/document_or_database_question_answering", "id": 602},
        ],
        "domains": [{"name": "technology/data_science", "id": 104}],
        "locators": [
            {"type": "container_image", "urls": ["https://registry.example.org/paper-reader:2.4.0"]},
            {"type": "source_code", "urls": ["https://git.example.org/paper-reader"]},
        ],
        "modules": [
            {
                "name": "integration/mcp",
                "id": 202,
                "data": {
                    "name": "paper-reader",
                    "connections": [
                        {
                            "type": "stdio",
                            "command": "npx",
                            "args": ["-y", "paper-reader"],
                            "env_vars": [
                                {
                                    "name": "READER_TOKEN",
                                    "description": "Access to the paper store.",
                                    "required": True,
                                }
                            ],
                        },
                        {
                            "type": "streamable-http",
                            "url": "https://reader.example.org/mcp",
                            "headers": {"Authorization": "{authorization}"},
                        },
                    ],
                    "tools": [{"name": "summarize", "description": "Summarize one paper."}],
                },
            },
            {
                "name": "core/language_model/agentskills",
                "id": 10302,
                "data": {
                    "skill_file": "SKILL.md",
                    "skill_manifest": {"name": "paper-reader", "description": "How to read a paper."},
                },
            },
        ],
    },
    "1.1.0": {
        **_READER,
        "schema_version": "1.1.0",
        "skills": [
            {"name": "language_processing/language_generation/summarization", "id": 10302},
            {
                "name": "ai_ml_engineering/retrieval_augmented_generation/document_or_database_question_answering",
                "id": 70604,
            },
        ],
        "domains": [{"name": "technology/artificial_intelligence", "id": 111}],
        "locators": [
            {"type": "container_image", "urls": ["https://registry.example.org/paper-reader:2.4.0"]},
            {"type": "package", "urls": ["https://packages.example.org/paper-reader/2.4.0"]},
        ],
        "modules": [
            {
                "name": "integration/a2a",
                "id": 203,
                "data": {
                    "card_data": {"name": "Paper reader", "url": "https://reader.example.org/a2a"},
                    "card_schema_version": "v1.0.0",
                },
                "artifact": {
                    "media_type": "application/json",
                    "size": 64,
                    "digest": _DIGEST,
                    "data": "eyJuYW1lIjoiUGFwZXIgcmVhZGVyIn0=",
                },
            }
        ],
    },
}


def sample(version: str) -> dict[str, Any]:
    """A complete valid record of this OASF version, free to be changed."""
    return deepcopy(SAMPLES[version])
