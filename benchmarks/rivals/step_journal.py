"""A journal of steps as one would write it by hand: a table in SQLite, a look before each step, a commit after it.

Run as a script: `step_journal.py PORT FILE [marked]`. A request names a number of steps ("steps N"); they are taken one
after another. The journal is as durable as Pentad's (WAL, synchronous=FULL). With `marked` it also commits before a
step runs, as Pentad does: otherwise nobody knows after a crash whether a step was cut short, and it runs twice. It does
not know who may see a task, or how to run one again. Nothing of Pentad is imported.
"""

import json
import sqlite3
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn


class Journal:
    def __init__(self, path: str, *, marked: bool) -> None:
        self._marked = marked
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS steps (task TEXT, number INTEGER, name TEXT, result TEXT,"
            " PRIMARY KEY (task, number)) WITHOUT ROWID"
        )

    async def step(self, task: str, number: int, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        found = self._connection.execute(
            "SELECT result FROM steps WHERE task = ? AND number = ?", (task, number)
        ).fetchone()
        if found is not None:
            if found[0] is None:
                raise RuntimeError(f"The step {name!r} was cut short.")
            return json.loads(found[0])
        if self._marked:
            self._connection.execute("INSERT INTO steps VALUES (?, ?, ?, NULL)", (task, number, name))
        result = await work()
        text = json.dumps(result)
        if self._marked:
            self._connection.execute("UPDATE steps SET result = ? WHERE task = ? AND number = ?", (text, task, number))
        else:
            self._connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (task, number, name, text))
        return result


def application(journal: Journal) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        request = json.loads(body)
        text = request["params"]["message"]["parts"][0]["text"]
        task = uuid.uuid4().hex
        for number in range(int(text.removeprefix("steps "))):

            async def work(number: int = number) -> dict[str, int]:
                return {"number": number}

            await journal.step(task, number, f"step {number}", work)
        result = {"task": {"id": task, "status": {"state": "TASK_STATE_COMPLETED"}}}
        answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, separators=(",", ":")).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


def main() -> None:
    app = application(Journal(sys.argv[2], marked="marked" in sys.argv[3:]))
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", log_level="error", lifespan="off")


if __name__ == "__main__":
    main()
