"""The protected-resource document and the challenges say how to log in, in a form that every client understands."""

import pytest

from pentad.http.protected_resources import BASIC, bearer, protected_resource


@pytest.mark.requirement("access:rfc9728")
def test_issuers_and_scopes_are_listed_in_a_stable_order() -> None:
    document = protected_resource(
        "https://pentad.example/mcp",
        authorization_servers=["https://login.example"],
        scopes={"registers:read", "*:read"},
    )
    assert document == {
        "resource": "https://pentad.example/mcp",
        "authorization_servers": ["https://login.example"],
        "scopes_supported": ["*:read", "registers:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Pentad",
    }


def test_empty_lists_are_left_out() -> None:
    assert protected_resource("https://pentad.example/mcp").keys() == {
        "resource",
        "bearer_methods_supported",
        "resource_name",
    }


def test_what_clients_search_for_comes_first() -> None:
    url = "https://pentad.example/.well-known/oauth-protected-resource/mcp"
    assert bearer(metadata_url=url, scope="lab:read", error="invalid_token") == (
        f'Bearer error="invalid_token", scope="lab:read", resource_metadata="{url}", realm="Pentad"'
    )
    assert bearer() == 'Bearer realm="Pentad"'
    assert BASIC == 'Basic realm="Pentad", charset="UTF-8"'


def test_nothing_breaks_out_of_the_header() -> None:
    assert bearer(scope='a"\r\nX: b') == 'Bearer scope="a\\"X: b", realm="Pentad"'
