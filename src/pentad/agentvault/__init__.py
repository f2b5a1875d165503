"""AgentVault's library under its own names: write agents, find them, send them tasks with context.

Everything is imported on first use, so `import pentad.agentvault` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pentad.agentvault import agent_card_utils, client, exceptions, key_manager, mcp_utils, models
    from pentad.agentvault.agent_card_utils import (
        fetch_agent_card_from_url,
        load_agent_card_from_file,
        parse_agent_card_from_dict,
    )
    from pentad.agentvault.client import AgentVaultClient
    from pentad.agentvault.exceptions import (
        A2AAuthenticationError,
        A2AConnectionError,
        A2AError,
        A2AMessageError,
        A2ARemoteAgentError,
        A2ATimeoutError,
        AgentCardError,
        AgentCardFetchError,
        AgentCardValidationError,
        AgentVaultError,
        KeyManagementError,
    )
    from pentad.agentvault.key_manager import KeyManager
    from pentad.agentvault.mcp_utils import MCPContext, MCPItem, format_mcp_context, get_mcp_context
    from pentad.agentvault.models import AgentCard, Artifact, DataPart, FilePart, Message, Task, TaskState, TextPart
    from pentad.agentvault.server import BaseA2AAgent, StepFailed, StepInterrupted, a2a_method, agent

__all__ = [
    "A2AAuthenticationError",
    "A2AConnectionError",
    "A2AError",
    "A2AMessageError",
    "A2ARemoteAgentError",
    "A2ATimeoutError",
    "AgentCard",
    "AgentCardError",
    "AgentCardFetchError",
    "AgentCardValidationError",
    "AgentVaultClient",
    "AgentVaultError",
    "Artifact",
    "BaseA2AAgent",
    "DataPart",
    "FilePart",
    "KeyManagementError",
    "KeyManager",
    "MCPContext",
    "MCPItem",
    "Message",
    "StepFailed",
    "StepInterrupted",
    "Task",
    "TaskState",
    "TextPart",
    "a2a_method",
    "agent",
    "agent_card_utils",
    "client",
    "exceptions",
    "fetch_agent_card_from_url",
    "format_mcp_context",
    "get_mcp_context",
    "key_manager",
    "load_agent_card_from_file",
    "mcp_utils",
    "models",
    "parse_agent_card_from_dict",
]

_MODULES: Final = frozenset(
    {"agent_card_utils", "client", "exceptions", "key_manager", "mcp_utils", "models", "server"}
)
_PLACES: Final = {
    "client": ("AgentVaultClient",),
    "key_manager": ("KeyManager",),
    "server": ("BaseA2AAgent", "StepFailed", "StepInterrupted", "a2a_method", "agent"),
    "mcp_utils": ("MCPContext", "MCPItem", "format_mcp_context", "get_mcp_context"),
    "models": ("AgentCard", "Artifact", "DataPart", "FilePart", "Message", "Task", "TaskState", "TextPart"),
    "agent_card_utils": ("fetch_agent_card_from_url", "load_agent_card_from_file", "parse_agent_card_from_dict"),
    "exceptions": tuple(name for name in __all__ if name.endswith("Error")),
}
_PLACE_OF: Final = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"pentad.agentvault.{name}")
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"pentad.agentvault.{place}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "server"])
