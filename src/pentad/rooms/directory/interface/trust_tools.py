"""The tool for the trust policy, and the types it shares with the REST routes."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.policy_service import PolicyState


class EntryArguments(Arguments):
    """A key or an issuer to trust."""

    name: Annotated[str, Field(description="Name that trusted_by shows.")] = ""
    namespace: Annotated[str, Field(description="Where it applies; empty: all names.")] = ""
    key: Annotated[str | None, Field(description="Public key as PEM text.")] = None
    issuer: Annotated[str | None, Field(description="https origin whose published keys count.")] = None


class TrustArguments(EntryArguments):
    action: Literal["list", "add", "remove", "quarantined"] = "list"
    after: Annotated[str, Field(description="quarantined: continue after this CID.")] = ""


class Entry(BaseModel):
    """`problem` says why the issuer's keys could not be refreshed."""

    namespace: str
    name: str
    issuer: str | None = None
    checked_at: str | None = None
    fingerprints: list[str]
    problem: str | None = None
    created_by: str
    created_at: str


class QuarantinedRecord(BaseModel):
    cid: str
    name: str
    version: str
    pushed_by: str
    reason: str


class PolicyView(BaseModel):
    """`quarantined` counts the records in quarantine; `pending` means that a change is still being applied."""

    entries: list[Entry]
    quarantined: int
    pending: bool
    records: list[QuarantinedRecord] | None = None


QUARANTINE_PAGE: Final = 100


@tool("directory_trust", title="Trust policy", action="admin", destructive=True, listed="room", open_world=True)
async def trust(arguments: TrustArguments, call: Call[Directory]) -> PolicyView:
    """Show or change whose signatures make a record trusted, or list the records in quarantine."""
    directory = call.service
    directory.require_local()
    match arguments.action:
        case "add":
            return await add_entry(directory, call.principal, arguments)
        case "remove":
            return await remove_entry(directory, arguments.name, arguments.namespace)
        case "quarantined":
            view = policy_view(await directory.policy.state())
            return view.model_copy(update={"records": await quarantined_records(directory, arguments.after)})
        case "list":
            return policy_view(await directory.policy.state())


async def add_entry(directory: Directory, who: Principal, given: EntryArguments) -> PolicyView:
    """Trust a key or an issuer, and evaluate the records again."""
    await directory.policy.add(who, given.name, given.namespace, key=given.key, issuer=given.issuer)
    return policy_view(await directory.policy.settle())


async def remove_entry(directory: Directory, name: str, namespace: str) -> PolicyView:
    """Stop trusting a key or an issuer, and evaluate the records again."""
    if not name:
        raise InvalidInput("The name of the entry is missing.")
    await directory.policy.remove(name, namespace)
    return policy_view(await directory.policy.settle())


async def quarantined_records(directory: Directory, after: str = "") -> list[QuarantinedRecord]:
    found = await directory.policy.quarantined(QUARANTINE_PAGE, after)
    return [QuarantinedRecord(**one._asdict()) for one in found]


def policy_view(state: PolicyState) -> PolicyView:
    fields: dict[str, Any] = state.as_json()
    return PolicyView.model_validate(fields)


TRUST_TOOLS: Final = (trust,)
