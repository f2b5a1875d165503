"""The server somebody writes in an afternoon, done well: FastAPI, SQLAlchemy Core, SQLite, jsonschema.

Run as a script by the interpreter of its own environment: `object_server.py PORT FILE SCHEMA`. It does the least of
what Pentad's registers do: objects with a version, validation with formats, a row of history for every write, the same
indexes, full-text search with rank over every text of an object, WAL and synchronous=FULL. Handlers are async and call
SQLite in place, which is faster than FastAPI's threads for one client; objects are kept and answered as text. Nothing
of Pentad is imported.
"""

import json
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson
import sqlalchemy as sa
import uvicorn
from fastapi import Body, FastAPI, Query
from fastapi.responses import Response
from jsonschema import Draft202012Validator

PORT, FILE, DEFINITION = int(sys.argv[1]), sys.argv[2], json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(DEFINITION["schema"], format_checker=Draft202012Validator.FORMAT_CHECKER)
INDEXED = DEFINITION["indexed"]

metadata = sa.MetaData()
objects = sa.Table(
    "objects", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.Text, unique=True, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)  # fmt: skip
history = sa.Table(
    "history", metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.Text, nullable=False, index=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("before", sa.Text),
)  # fmt: skip


def extract(name: str) -> sa.ColumnElement[Any]:
    return sa.literal_column(f"json_extract(data, '$.{name}')")


engine = sa.create_engine(f"sqlite:///{FILE}")


@sa.event.listens_for(engine, "connect")
def prepare(connection: Any, _record: Any) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536"):
        connection.execute(f"PRAGMA {pragma}")


metadata.create_all(engine)
with engine.begin() as connection:
    connection.exec_driver_sql("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, content = '')")
    for name in INDEXED:
        connection.exec_driver_sql(f"CREATE INDEX IF NOT EXISTS by_{name} ON objects (json_extract(data, '$.{name}'))")

app = FastAPI()


def refusals(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"path": list(error.path), "message": error.message} for error in VALIDATOR.iter_errors(data)]


def texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from texts(value.values() if isinstance(value, dict) else value)


def store(rows: list[dict[str, Any]]) -> list[str]:
    now = time.time()
    made = [str(uuid.uuid4()) for _ in rows]
    with engine.begin() as connection:
        last = connection.exec_driver_sql("SELECT max(id) FROM objects").scalar_one() or 0
        numbered = list(enumerate(zip(made, rows, strict=True), last + 1))
        connection.execute(
            sa.insert(objects),
            [
                {"id": number, "uuid": key, "version": 1, "data": orjson.dumps(row).decode(), "created_at": now,
                 "updated_at": now}
                for number, (key, row) in numbered
            ],
        )  # fmt: skip
        connection.exec_driver_sql(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            [(number, " ".join(texts(row.values()))) for number, (_, row) in numbered],
        )
        connection.execute(
            sa.insert(history),
            [{"uuid": key, "version": 1, "action": "create", "at": now, "before": None} for key in made],
        )
    return made


def answer(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


@app.post("/objects")
async def create(data: Annotated[dict[str, Any], Body()]) -> Response:
    if problems := refusals(data):
        return answer({"problems": problems}, 422)
    (key,) = store([data])
    return answer({**data, "id": key, "version": 1}, 201)


@app.post("/bulk")
async def bulk(rows: Annotated[list[dict[str, Any]], Body()]) -> Response:
    problems = {number: found for number, row in enumerate(rows) if (found := refusals(row))}
    if problems:
        return answer({"problems": problems}, 422)
    return answer([{"id": key, "status": "created", "version": 1} for key in store(rows)])


@app.get("/objects/{key}")
async def get(key: str) -> Response:
    with engine.connect() as connection:
        row = connection.execute(sa.select(objects.c.data).where(objects.c.uuid == key)).first()
    return Response(row[0] if row else b"{}", 200 if row else 404, media_type="application/json")


@app.get("/objects")
async def find(
    code: str | None = None, status: str | None = None, limit: Annotated[int, Query(le=1000)] = 30
) -> Response:
    where = [extract(name) == value for name, value in (("code", code), ("status", status)) if value is not None]
    with engine.connect() as connection:
        total = connection.execute(sa.select(sa.func.count()).select_from(objects).where(*where)).scalar_one()
        rows = connection.execute(sa.select(objects.c.data).where(*where).order_by(objects.c.id).limit(limit)).all()
    return Response(
        f'{{"total":{total},"results":[{",".join(row[0] for row in rows)}]}}', media_type="application/json"
    )


@app.get("/search")
async def search(words: str, limit: Annotated[int, Query(le=1000)] = 30) -> Response:
    statement = sa.text(
        "SELECT data FROM words JOIN objects ON objects.id = words.rowid WHERE words MATCH :words"
        " ORDER BY rank LIMIT :limit"
    )
    quoted = " ".join('"' + word.replace('"', '""') + '"*' for word in words.split())
    with engine.connect() as connection:
        rows = connection.execute(statement, {"words": quoted, "limit": limit}).all()
    return Response(f'{{"results":[{",".join(row[0] for row in rows)}]}}', media_type="application/json")


@app.get("/facets")
async def facets(names: str) -> Response:
    found: dict[str, Any] = {}
    with engine.connect() as connection:
        for name in names.split(","):
            value = extract(name)
            rows = connection.execute(sa.select(value, sa.func.count()).select_from(objects).group_by(value)).all()
            found[name] = dict(rows)
    return answer(found)


if __name__ == "__main__":
    uvicorn.run(app, port=PORT, http="httptools", loop="uvloop", log_level="error", access_log=False)
