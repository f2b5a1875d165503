"""The stdio server as a process: nothing but the protocol on stdout, and an end with the end of its input."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.conformance.server import REPOSITORY, environment, pentad

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def run(lines: bytes, data: Path) -> subprocess.CompletedProcess[bytes]:
    command = [pentad(), "mcp", "serve", "--rooms", "tests.behaviour.room:ROOM", "--data", str(data)]
    return subprocess.run(
        command, input=lines, capture_output=True, cwd=REPOSITORY, env=environment(), timeout=60, check=False
    )


@pytest.mark.requirement("mcp:stdio:stdout-is-protocol", "mcp:stdio:ends-with-input")
def test_every_line_on_stdout_is_a_message_and_the_end_of_input_is_the_end(tmp_path: Path) -> None:
    crash = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "crash", "arguments": {"key": "k"}}}
    lines = b"\n".join([json.dumps(PING).encode(), b"", b"  \r", b"nonsense", json.dumps(crash).encode(), b""])
    ended = run(lines, tmp_path)
    assert ended.returncode == 0, ended.stderr
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {message["id"] for message in said} == {1, None, 2}
    assert b"canary-7f3a" in ended.stderr, "the operator reads of the crash on stderr"
    assert b"canary-7f3a" not in ended.stdout


@pytest.mark.requirement("mcp:stdio:oversized")
def test_an_overlong_line_is_refused_and_the_next_one_served(tmp_path: Path) -> None:
    lines = b'{"jsonrpc": "2.0", "pad": "' + b"x" * (5 * 1024 * 1024) + b'"}\n' + json.dumps(PING).encode() + b"\n"
    ended = run(lines, tmp_path)
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert said[0]["error"]["code"] == -32600
    assert said[1] == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("mcp:stdio:oversized-id")
def test_an_overlong_request_is_answered_by_its_id_or_ends_the_connection(tmp_path: Path) -> None:
    pad = b'"' + b"x" * (5 * 1024 * 1024) + b'"'
    known = b'{"method": "tools/call", "params": {"pad": ' + pad + b'}, "jsonrpc": "2.0", "id": 3}\n'
    unknown = b'{"one": {"pad": ' + pad + b'}, "id": 4, "two": {"pad": ' + pad + b"}}\n"
    ended = run(known + unknown + json.dumps(PING).encode() + b"\n", tmp_path)
    assert ended.returncode == 0
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(one["id"], one["error"]["code"]) for one in said] == [(3, -32600), (None, -32600)]


@pytest.mark.requirement("mcp:stdio:ends-with-input")
def test_a_call_that_hangs_does_not_hold_the_process(tmp_path: Path) -> None:
    params = {"name": "hang", "arguments": {"key": "k"}}
    ended = run(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n", tmp_path
    )
    assert ended.returncode == 0
    assert ended.stdout == b""
