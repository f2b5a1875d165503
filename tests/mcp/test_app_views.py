"""Which clients get views, and what the URI of a fragment means."""

from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.mcp.app_views import EXTENSION, MIME_TYPE, RENDERED, rendered_call, shows_views
from pentad.mcp.call import NO_HEADERS, Peer
from pentad.mcp.revisions import NEWEST_LEGACY


class Declaring(Peer):
    declared: dict[str, Any]

    def client_capabilities(self) -> dict[str, Any]:
        return self.declared


@pytest.mark.parametrize(
    ("capabilities", "shows"),
    [
        ({}, False),
        ({"extensions": {}}, False),
        ({"extensions": None}, False),
        ({"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}, True),
        ({"extensions": {EXTENSION: {}}}, True),
        ({"extensions": {EXTENSION: {"mimeTypes": []}}}, True),
        ({"extensions": {EXTENSION: {"mimeTypes": ["text/html"]}}}, False),
        ({"extensions": {EXTENSION: {"mimeTypes": "text/html"}}}, False),
    ],
)
@pytest.mark.requirement("apps:negotiation")
def test_a_client_gets_views_if_it_declared_that_it_shows_them(capabilities: dict[str, Any], shows: bool) -> None:
    peer = Declaring(LOCAL, NEWEST_LEGACY, "memory", None, NO_HEADERS)
    peer.declared = capabilities
    assert shows_views(peer) is shows


@pytest.mark.requirement("apps:fragments")
def test_the_uri_of_a_fragment_names_a_tool_and_its_arguments() -> None:
    assert rendered_call(f"{RENDERED}objects/%7B%22id%22%3A%22a%2Fb%22%7D") == ("objects", b'{"id":"a/b"}')
    assert rendered_call(f"{RENDERED}objects/") == ("objects", b"{}")
    for wrong in ("objects/%5B%5D", "objects/%7B", "objects/7"):
        assert rendered_call(RENDERED + wrong) is None
