"""A real server that gets SIGTERM: turns finish, questions survive."""

import http.client
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import Served, serving
from tests.waiting import PATIENCE, wait_until


def call(served: Served, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection("localhost", served.port, timeout=PATIENCE)
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, f"/agents/patient/{path}", None if body is None else json.dumps(body), headers)
        answer = json.loads(connection.getresponse().read())
        return answer.get("task", answer)
    finally:
        connection.close()


def send(served: Served, text: str, *, wait: bool = True, **more: str) -> Any:
    message = {"messageId": f"m-{text[-20:]}", "role": "ROLE_USER", "parts": [{"text": text}], **more}
    return call(served, "message:send", {"message": message, "configuration": {"returnImmediately": not wait}})


def said(task: Any) -> str:
    return task["status"]["message"]["parts"][0]["text"]


@pytest.mark.interop
@pytest.mark.requirement("agents:durable:drain")
def test_a_server_that_is_terminated_lets_turns_finish_and_keeps_questions(tmp_path: Path) -> None:
    arguments = ["--data", str(tmp_path / "data"), "--agent", "tests.processes.patient_agent:patient"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with serving("agents", arguments, settings={"PENTAD_DRAIN_SECONDS": "60"}) as leaving:
        asked = send(leaving, "ask")
        reading = send(leaving, str(pipe), wait=False)
        wait_until(lambda: said(call(leaving, f"tasks/{reading['id']}")) == "Reading.", "it does not read")
        leaving.process.send_signal(signal.SIGTERM)
        pipe.write_text("done", encoding="ascii")
        assert leaving.process.wait(PATIENCE) == 0, leaving.logged()
    with serving("agents", arguments) as heir:
        read = call(heir, f"tasks/{reading['id']}")
        assert (read["status"]["state"], said(read)) == ("TASK_STATE_COMPLETED", "done")
        assert call(heir, f"tasks/{asked['id']}")["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        answered = send(heir, "red", taskId=asked["id"])
        assert (answered["status"]["state"], said(answered)) == ("TASK_STATE_COMPLETED", "red")
