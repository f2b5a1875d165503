"""Cards for tests, in the words of each dialect."""

from typing import Any


def agentvault_card(name: str = "Weather", readable: str = "acme/weather", **more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0",
        "humanReadableId": readable,
        "agentVersion": "1.2.0",
        "name": name,
        "description": f"{name} for the towns of the coast.",
        "url": "https://agents.example.com/weather",
        "provider": {"name": "Acme"},
        "capabilities": {"a2aVersion": "0.2"},
        "authSchemes": [{"scheme": "apiKey"}],
        **more,
    }


def a2a_card(name: str = "Tide Table", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{name}: when the water comes.",
        "version": "3.1",
        "provider": {"organization": "Harbour Office", "url": "https://harbour.example.com"},
        "supportedInterfaces": [
            {"url": "https://harbour.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True},
        "skills": [{"id": "tides", "name": "Tides", "description": "Tides of a day.", "tags": ["sea", "time"]}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["application/json"],
        **more,
    }
