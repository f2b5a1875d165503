"""From bytes to one JSON-RPC message, or a protocol error that says why not."""

import msgspec
from msgspec import UNSET

from pentad.mcp.messages import NO_PARAMS, Envelope
from pentad.mcp.wire_errors import INVALID_REQUEST, PARSE_ERROR, ProtocolError

_decode = msgspec.json.Decoder(Envelope).decode
_NULL = msgspec.Raw(b"null")
_decode_parts = msgspec.json.Decoder(list[msgspec.Raw]).decode


def batch_parts(body: bytes, most: int) -> list[msgspec.Raw]:
    """The messages of a batch, each still as bytes. Raises ProtocolError."""
    try:
        parts = _decode_parts(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"Not JSON: {str(error) or 'nested too deeply'}.") from None
    if not parts or len(parts) > most:
        raise ProtocolError(INVALID_REQUEST, f"A batch has 1 to {most} messages, this one {len(parts)}.")
    return parts


def is_answer(envelope: Envelope) -> bool:
    """Whether the message answers a request of ours. Raises ProtocolError for one that is of no kind at all."""
    if envelope.method is not UNSET:
        return False
    if envelope.result is UNSET and envelope.error is UNSET:
        raise ProtocolError(INVALID_REQUEST, "A message has a method, a result or an error; this one has none.")
    return True


def parse_envelope(body: bytes) -> Envelope:
    """One message of any kind. Raises ProtocolError with -32700 or -32600."""
    try:
        str(body, "utf-8")  # raw parts of a message are read later, where nobody expects broken text any more
        envelope = _decode(body)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_REQUEST, f"Not a JSON-RPC message: {error}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ProtocolError(PARSE_ERROR, f"Not JSON: {str(error) or 'nested too deeply'}.") from None
    if envelope.params == _NULL:  # some clients write out what they leave empty
        envelope.params = NO_PARAMS
    if envelope.jsonrpc != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A JSON-RPC message says "jsonrpc": "2.0".')
    if envelope.id is None and envelope.method is not UNSET:
        raise ProtocolError(INVALID_REQUEST, "A request's id is a string or an integer, not null.")
    return envelope
