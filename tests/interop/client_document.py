"""A client ID metadata document on https, as a client's maker would publish it."""

import json
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.net.certificates import certificate_for

NAME = "Interop Client"


@dataclass(frozen=True)
class Published:
    """Where the document is, and the settings of a server that may read it."""

    url: str
    settings: dict[str, str]


@contextmanager
def published(folder: Path) -> Generator[Published]:
    """Serve the document on this machine until the block ends. Its redirects have no port, which loopback ignores."""
    certificate = certificate_for("localhost", folder)

    class Document(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            described = {
                "client_id": f"https://localhost:{server.server_port}{self.path}",
                "client_name": NAME,
                "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }
            body = json.dumps(described).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Document) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Published(
                f"https://localhost:{server.server_port}/client.json",
                {"SSL_CERT_FILE": str(certificate), "PENTAD_FETCH_ALLOW_HOSTS": "localhost"},
            )
        finally:
            server.shutdown()
            thread.join()
