"""A tour through Pentad with the directory's own client. Runs as a script in that client's own environment.

    python directory_client.py tour 127.0.0.1:8888
    python directory_client.py messages

`tour` prints one JSON line for each stop: `{"stop": name, "saw": value}`, or `"failed"` with the reason. `messages`
prints every message, enum and method the client knows. It asserts nothing: the tests do.
"""

import json
import sys
import threading
import traceback
import uuid
from typing import Any

import grpc
from agntcy.dir_sdk.client import Client, Config
from agntcy.dir_sdk.models import (
    core_v1,
    events_v1,
    naming_v1,
    routing_v1,
    search_v1,
    sign_v1,
    store_v1,
)
from google.protobuf.json_format import MessageToDict

MODELS = (core_v1, events_v1, naming_v1, routing_v1, search_v1, sign_v1, store_v1)


def agent(name: str, version: str = "v1.0.0") -> core_v1.Record:
    return core_v1.Record(
        data={
            "name": name,
            "version": version,
            "schema_version": "0.7.0",
            "description": "Finds its way <& around> in \u00fcmlauts.",
            "authors": ["Ada"],
            "created_at": "2026-01-02T03:04:05Z",
            "skills": [
                {"name": "natural_language_processing/natural_language_generation/text_completion", "id": 10201}
            ],
            "locators": [{"type": "docker_image", "url": "https://images.example.org/agent"}],
            "domains": [{"name": "technology/networking", "id": 103}],
            "modules": [],
        }
    )


class Tour:
    """The client's results, stop by stop."""

    def __init__(self, address: str) -> None:
        self.client = Client(Config(server_address=address))
        self.name = f"example.org/{uuid.uuid4()}"
        self.records = [agent(self.name, "v1.0.0"), agent(self.name, "v2.0.0")]
        self.refs: list[Any] = []

    def push(self) -> Any:
        self.refs = self.client.push(self.records)
        again = self.client.push(self.records)
        return {"same": self.refs == again, "lengths": [len(ref.cid) for ref in self.refs]}

    def pull(self) -> Any:
        return self.client.pull(self.refs) == self.records

    def lookup(self) -> Any:
        return [MessageToDict(meta)["annotations"] for meta in self.client.lookup(self.refs)]

    def search_cids(self) -> Any:
        named = search_v1.RecordQuery(type=search_v1.RECORD_QUERY_TYPE_NAME, value=self.name)
        newer = search_v1.RecordQuery(type=search_v1.RECORD_QUERY_TYPE_VERSION, value=">=v2.0.0")
        both = self.client.search_cids(search_v1.SearchCIDsRequest(queries=[named]))
        one = self.client.search_cids(search_v1.SearchCIDsRequest(queries=[named, newer], limit=5))
        order = [ref.cid for ref in reversed(self.refs)]
        return [[a.record_cid for a in both] == order, [a.record_cid for a in one] == order[:1]]

    def search_records(self) -> Any:
        named = search_v1.RecordQuery(type=search_v1.RECORD_QUERY_TYPE_NAME, value=self.name)
        found = self.client.search_records(search_v1.SearchRecordsRequest(queries=[named]))
        return [answer.record for answer in found] == self.records[::-1]

    def resolve(self) -> Any:
        found = self.client.resolve(self.name).records
        return [[one.version, one.cid == ref.cid] for one, ref in zip(found, self.refs[::-1], strict=True)]

    def verification(self) -> Any:
        answer = self.client.get_verification_info(cid=self.refs[0].cid)
        return [answer.verified, answer.error_message]

    def publish(self) -> Any:
        self.client.publish(routing_v1.PublishRequest(record_refs=routing_v1.RecordRefs(refs=self.refs[:1])))
        return self.listed()

    def unpublish(self) -> Any:
        self.client.unpublish(routing_v1.UnpublishRequest(record_refs=routing_v1.RecordRefs(refs=self.refs[:1])))
        return self.listed()

    def listed(self) -> Any:
        query = routing_v1.RecordQuery(type=routing_v1.RECORD_QUERY_TYPE_DOMAIN, value="technology")
        found = {a.record_ref.cid: list(a.labels) for a in self.client.list(routing_v1.ListRequest(queries=[query]))}
        return [found.get(ref.cid) for ref in self.refs]

    def publication(self) -> Any:
        request = routing_v1.PublishRequest(record_refs=routing_v1.RecordRefs(refs=self.refs))
        made = self.client.create_publication(request)
        got = self.client.get_publication(routing_v1.GetPublicationRequest(publication_id=made.publication_id))
        listed = self.client.list_publication(routing_v1.ListPublicationsRequest(limit=1))
        return [
            routing_v1.PublicationStatus.Name(got.status),
            [one.publication_id for one in listed] == [made.publication_id],
            bool(got.created_time and got.last_update_time),
        ]

    def referrers(self) -> Any:
        kind = sign_v1.PublicKey.DESCRIPTOR.full_name
        asked = [
            store_v1.PushReferrerRequest(
                record_ref=ref, referrer=core_v1.RecordReferrer(type=kind, data={"key": f"key {number}"})
            )
            for number, ref in enumerate(self.refs)
        ]
        pushed = self.client.push_referrer(asked)
        wanted = [store_v1.PullReferrerRequest(record_ref=ref, referrer_type=kind) for ref in self.refs]
        pulled = self.client.pull_referrer(wanted)
        return [[one.success for one in pushed], [MessageToDict(one.referrer.data) for one in pulled]]

    def listen(self) -> Any:
        """A listener receives events once its call has started, which the server signals by its first headers."""
        stream = self.client.listen(events_v1.ListenRequest())
        timer = threading.Timer(20, stream.cancel)
        timer.start()
        stream.initial_metadata()
        extra = agent(self.name, "v3.0.0")
        (ref,) = self.client.push([extra])
        for answer in stream:
            if answer.event.resource_id == ref.cid:
                seen = [events_v1.EventType.Name(answer.event.type), sorted(answer.event.labels)]
                break
        timer.cancel()
        stream.cancel()
        self.refs.append(ref)
        return seen

    def sync(self) -> Any:
        made = self.client.create_sync(store_v1.CreateSyncRequest(remote_directory_url="dir.example.invalid:8888"))
        got = self.client.get_sync(store_v1.GetSyncRequest(sync_id=made.sync_id))
        listed = made.sync_id in [one.sync_id for one in self.client.list_syncs(store_v1.ListSyncsRequest())]
        self.client.delete_sync(store_v1.DeleteSyncRequest(sync_id=made.sync_id))
        return [str(uuid.UUID(made.sync_id)) == made.sync_id, bool(got.created_time), listed]

    def invalid(self) -> Any:
        return self.refusal(lambda: self.client.push([core_v1.Record(data={"name": "x"})]))

    def delete(self) -> Any:
        self.client.delete(self.refs)
        return self.refusal(lambda: self.client.pull(self.refs))

    @staticmethod
    def refusal(asking: Any) -> Any:
        try:
            asking()
        except Exception as error:  # noqa: BLE001  whatever the client raises, the cause is what the server said
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, grpc.RpcError):
                cause = cause.__cause__ or cause.__context__
            return [cause.code().name, cause.details()] if cause is not None else str(error)
        return None


STOPS = (
    "push", "pull", "lookup", "search_cids", "search_records", "resolve", "verification", "publish", "unpublish",
    "publication", "referrers", "listen", "sync", "invalid", "delete",
)  # fmt: skip


def tour(address: str) -> None:
    traveller = Tour(address)
    for stop in STOPS:
        try:
            line = {"stop": stop, "saw": getattr(traveller, stop)()}
        except Exception as error:  # noqa: BLE001  whatever went wrong at a stop is that stop's report
            traceback.print_exc()
            line = {"stop": stop, "failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def messages() -> None:
    """All messages and methods of the client, as names and numbers."""
    files = {}
    for model in MODELS:
        for value in vars(model).values():
            if (file := getattr(getattr(value, "DESCRIPTOR", None), "file", None)) is not None:
                files[file.name] = file
    known: dict[str, Any] = {"messages": {}, "enums": {}, "methods": {}}
    for file in files.values():
        for message in file.message_types_by_name.values():
            known["messages"][message.full_name] = {
                field.name: [field.number, field.type, field.is_repeated] for field in message.fields
            }
        for enum in file.enum_types_by_name.values():
            known["enums"][enum.full_name] = {value.name: value.number for value in enum.values}
        for service in file.services_by_name.values():
            for method in service.methods:
                shape = [method.input_type.full_name, method.output_type.full_name]
                known["methods"][method.full_name] = [*shape, method.client_streaming, method.server_streaming]
    sys.stdout.write(json.dumps(known) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "tour":
        tour(sys.argv[2])
    else:
        messages()
