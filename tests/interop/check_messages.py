"""Check messages of a server against the SDK's wire models. Runs as a script in the SDK's own environment.

Reads lines `{"version": revision, "method": method, "message": message}` and prints one line for each
message that does not fit its revision.
"""

import json
import sys
from typing import Any

from mcp_types import JSONRPCError, methods
from pydantic import ValidationError


def problem(version: str, asked: str, message: dict[str, Any]) -> str | None:
    """Why this message does not fit, or None."""
    try:
        if message.get("jsonrpc") != "2.0":
            return "no JSON-RPC version"
        if "error" in message:
            JSONRPCError.model_validate(message)
        elif "result" in message:
            methods.validate_server_result(asked, version, message["result"])
        elif "id" in message:
            methods.parse_server_request(message["method"], version, message.get("params"))
        else:
            methods.parse_server_notification(message["method"], version, message.get("params"))
    except KeyError:
        return f"{message.get('method', asked)} does not exist in {version}"
    except ValidationError as error:
        return str(error)
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        record = json.loads(line)
        if why := problem(record["version"], record["method"], record["message"]):
            sys.stdout.write(json.dumps({**record, "problem": why}) + "\n")
