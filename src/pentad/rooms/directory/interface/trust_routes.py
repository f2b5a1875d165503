"""The trust policy over REST: its entries, and the records in quarantine."""

from typing import Any, Final

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, protected_route
from pentad.rooms.directory.interface.trust_tools import (
    EntryArguments,
    PolicyView,
    QuarantinedRecord,
    add_entry,
    policy_view,
    quarantined_records,
    remove_entry,
)
from pentad.rooms.directory.service import Directory

PATH: Final = "/api/directory/trust"
QUARANTINE_PATH: Final = "/api/directory/quarantine"


class QuarantinedRecords(BaseModel):
    """Up to 100 records in quarantine, by CID."""

    records: list[QuarantinedRecord]


def trust_routes(directory: Directory) -> list[BaseRoute]:
    async def read(_request: Request, _principal: Principal) -> dict[str, Any]:
        return _plain(policy_view(await directory.policy.state()))

    async def add(request: Request, principal: Principal) -> dict[str, Any]:
        try:
            given = EntryArguments.model_validate_json(await request.body())
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInput(
                f"The entry cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
                hint='Send {"name": "...", "namespace": "...", "key": "-----BEGIN PUBLIC KEY----- ..."}.',
            ) from None
        return _plain(await add_entry(directory, principal, given))

    async def remove(request: Request, _principal: Principal) -> dict[str, Any]:
        query = request.query_params
        return _plain(await remove_entry(directory, query.get("name", ""), query.get("namespace", "")))

    async def quarantine(request: Request, _principal: Principal) -> dict[str, Any]:
        found = await quarantined_records(directory, request.query_params.get("after", ""))
        return _plain(QuarantinedRecords(records=found))

    named = (Parameter("name", "The entry.", required=True), Parameter("namespace", "Its namespace; empty for all."))
    reading = Operation("The trust policy.", "directory", answer=PolicyView)
    adding = Operation("Trust a key or an issuer.", "directory", body=EntryArguments, answer=PolicyView)
    removal = Operation("Stop trusting a key or an issuer.", "directory", named, answer=PolicyView)
    held = Operation(
        "Records in quarantine, with the reasons.", "directory", (Parameter("after", "Continue after this CID."),),
        answer=QuarantinedRecords,
    )  # fmt: skip
    return [
        protected_route("GET", PATH, "directory:read", reading, read),
        protected_route("POST", PATH, "directory:admin", adding, add),
        protected_route("DELETE", PATH, "directory:admin", removal, remove),
        protected_route("GET", QUARANTINE_PATH, "directory:admin", held, quarantine),
    ]


def _plain(view: BaseModel) -> dict[str, Any]:
    return view.model_dump(exclude_none=True)
