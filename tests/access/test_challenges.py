"""Challenges say how to log in, in an order that every client understands, and cannot be broken out of."""

from pentad.access.challenges import BASIC, bearer


def test_what_clients_search_for_comes_first() -> None:
    url = "https://pentad.example/.well-known/oauth-protected-resource/mcp"
    assert bearer(metadata_url=url, scope="lab:read", error="invalid_token") == (
        f'Bearer error="invalid_token", scope="lab:read", resource_metadata="{url}", realm="Pentad"'
    )
    assert bearer() == 'Bearer realm="Pentad"'
    assert BASIC == 'Basic realm="Pentad", charset="UTF-8"'


def test_nothing_breaks_out_of_the_header() -> None:
    assert bearer(scope='a"\r\nX: b') == 'Bearer scope="a\\"X: b", realm="Pentad"'
