"""The protected-resource document has the members of RFC 9728 and no empty ones."""

import pytest

from pentad.access.protected_resource import protected_resource


@pytest.mark.requirement("access:rfc9728")
def test_issuers_and_scopes_are_listed_in_a_stable_order() -> None:
    document = protected_resource(
        "https://pentad.example/mcp",
        authorization_servers=["https://login.example"],
        scopes={"registers:read", "*:read"},
        documentation="https://pentad.example/docs",
    )
    assert document == {
        "resource": "https://pentad.example/mcp",
        "authorization_servers": ["https://login.example"],
        "scopes_supported": ["*:read", "registers:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Pentad",
        "resource_documentation": "https://pentad.example/docs",
    }


def test_empty_lists_are_left_out() -> None:
    assert protected_resource("https://pentad.example/mcp").keys() == {
        "resource",
        "bearer_methods_supported",
        "resource_name",
    }
