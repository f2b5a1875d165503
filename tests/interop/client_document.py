"""A client ID metadata document on https, as a client's vendor would publish it."""

import json
import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.net.certificates import certificate_for

NAME = "Interop Client"
PATH = "/client.json"
REDIRECT = "http://127.0.0.1/callback"
"""Without a port, which loopback redirects ignore."""


@dataclass
class Published:
    """Where the document is, the settings of a server that may read it, and the requests received."""

    url: str
    certificate: Path
    host: str
    port: int
    connections: int = 0
    """How many connections were opened, whether or not they went on to TLS and HTTP."""
    paths: list[str] = field(default_factory=list[str])
    """The requested paths."""

    @property
    def settings(self) -> dict[str, str]:
        return {"SSL_CERT_FILE": str(self.certificate), "PENTAD_FETCH_ALLOW_HOSTS": self.host}


class _Listener(ThreadingHTTPServer):
    """Counts connections before TLS begins. The handshake is done by the thread that serves the connection."""

    published: Published
    tls: ssl.SSLContext

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.published.connections += 1
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: some peers end the connection during the handshake."""


@contextmanager
def published(
    folder: Path, host: str = "localhost", *, redirect_to: str | None = None, **changes: object
) -> Generator[Published]:
    """Serve the document at every path of this host until the block ends. It always describes `/client.json` there.

    With `redirect_to` that one path answers with a redirect instead. `changes` are fields that differ.
    """
    folder.mkdir(exist_ok=True)
    certificate = certificate_for(host, folder)

    class Document(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where.paths.append(self.path)
            described = {
                "client_id": f"https://{self.headers['Host']}{PATH}",
                "client_name": NAME,
                "redirect_uris": [REDIRECT, "http://localhost/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                **changes,
            }
            body = json.dumps(described).encode()
            moved = redirect_to is not None and self.path == PATH
            self.send_response(302 if moved else 200)
            if moved:
                self.send_header("Location", str(redirect_to))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Print no log."""

    with _Listener(("127.0.0.1", 0), Document) as server:
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(certificate)
        port = server.server_port
        where = server.published = Published(f"https://{host}:{port}{PATH}", certificate, host, port)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield where
        finally:
            server.shutdown()
            thread.join()
