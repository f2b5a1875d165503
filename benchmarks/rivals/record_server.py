"""The least a directory over gRPC can do in Python: records in a dictionary, under the hash of their sorted JSON.

Run as a script by the interpreter of its own environment: `record_server.py PORT`. Push and Pull have the names and
messages the directory's clients speak (`Record` holds a Struct, `RecordRef` a CID), made here from their descriptors.
Handlers are async and convert as protobuf's own library does. Nothing is validated, indexed or kept on disk. Nothing of
Pentad is imported.
"""

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, struct_pb2

PACKAGE = "agntcy.dir.core.v1"


def messages() -> tuple[Any, Any]:
    """The classes of Record and RecordRef."""
    file = descriptor_pb2.FileDescriptorProto(name="core.proto", package=PACKAGE, syntax="proto3")
    file.dependency.append(struct_pb2.DESCRIPTOR.name)
    field = descriptor_pb2.FieldDescriptorProto
    record, ref = file.message_type.add(name="Record"), file.message_type.add(name="RecordRef")
    record.field.add(
        name="data", number=1, type=field.TYPE_MESSAGE, label=field.LABEL_OPTIONAL, type_name=".google.protobuf.Struct"
    )
    ref.field.add(name="cid", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    pool = descriptor_pool.Default()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    found = [pool.FindMessageTypeByName(f"{PACKAGE}.{name}") for name in ("Record", "RecordRef")]
    return tuple(map(message_factory.GetMessageClass, found))


Record, RecordRef = messages()
STORE: dict[str, dict[str, Any]] = {}


async def push(requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:
    async for request in requests:
        data = json_format.MessageToDict(request.data)
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        cid = hashlib.sha256(text.encode()).hexdigest()
        STORE[cid] = data
        yield RecordRef(cid=cid)


async def pull(requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:
    async for request in requests:
        answer = Record()
        answer.data.update(STORE[request.cid])
        yield answer


async def serve(port: int) -> None:
    server = grpc.aio.server()
    methods = {
        name: grpc.stream_stream_rpc_method_handler(handler, asked.FromString, answered.SerializeToString)
        for name, handler, asked, answered in (("Push", push, Record, RecordRef), ("Pull", pull, RecordRef, Record))
    }
    service = grpc.method_handlers_generic_handler("agntcy.dir.store.v1.StoreService", methods)
    server.add_generic_rpc_handlers((service,))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
