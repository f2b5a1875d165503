"""What `/readyz` says: `ok`, `degraded` or `failing`, with the reasons.

`degraded` still answers 200: the store refuses to write, a room is unwell, an issuer of tokens is away, but all else
works, above all reading. Taking such a server out of service would make a partial failure a whole one, on every server
of that store at once. `failing` is 503: not even reading can be relied on.
"""

from typing import Any, Final

from pentad.app import App
from pentad.kernel.clock import iso

_STATUSES: Final = {"ok": 200, "degraded": 200, "failing": 503}


async def readiness(app: App) -> tuple[int, dict[str, Any]]:
    """The status of the answer, and its body."""
    store = await app.store_watch.now()
    health = app.store_watch.health
    rooms = {opened.room.name: {"status": "ok"} for opened in app.rooms} | await app.health()
    issuers = {name: "ok" if trouble is None else "unreachable" for name, trouble in app.issuer_troubles().items()}
    status = health.status
    if status == "ok":
        if store.trouble is not None:
            status = "failing"
        elif "unreachable" in issuers.values() or any(state.get("status") != "ok" for state in rooms.values()):
            status = "degraded"
    shown: dict[str, Any] = {"dialect": store.dialect, "schema": store.schema, "queued": store.queued}
    if troubles := [{**trouble.told, "since": iso(trouble.since)} for trouble in health.troubles()]:
        shown["troubles"] = troubles
    elif store.trouble is not None:
        shown["troubles"] = [store.trouble.as_json()]
    body = {"status": status, "store": shown, "rooms": rooms}
    return _STATUSES[status], {**body, "issuers": issuers} if issuers else body
