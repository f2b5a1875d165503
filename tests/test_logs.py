"""Logs: a planted secret never reaches the stream, in either format, however it is spelled."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.secrets.text import scrub_text
from pentad.kernel.trace import RequestMark, request_mark
from pentad.logs import Console, JsonLines, configure_logging

CANARY = "s3cr3tCanary"
TOKEN = f"pentad_abcdefgh234567ab_{CANARY}"
SHAPES = [
    "Authorization: Bearer {}",
    "authorization=Basic {}",
    "{{'Authorization': 'Bearer {}'}}",
    '{{"headers": {{"authorization": "Digest {}"}}}}',
    "Proxy-Authorization: Negotiate {}",
    "sent bearer {} to nobody",
    "Cookie: sid={}; other=1",
    "password={}",
    "PENTAD_JWT_SECRET={}",
    '{{"password": "{}"}}',
    "{{'api_key': '{}'}}",
    "token: {}",
    "connect to postgresql://ada:{}@db:5432/x failed",
    "GET http://{}@proxy/ refused",
    "/callback?access_token={}&state=1",
    "client-secret = '{}'",
]


def logged(formatter: logging.Formatter, message: str, *args: object, **extra: Any) -> str:
    record = logging.getLogger("pentad.test").makeRecord(
        "pentad.test", logging.INFO, "file", 1, message, args, None, extra=extra
    )
    return formatter.format(record)


@pytest.fixture(params=["json", "console"])
def formatter(request: pytest.FixtureRequest) -> logging.Formatter:
    return JsonLines() if request.param == "json" else Console(colour=True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("access:secrets:logs")
def test_a_secret_is_hidden_in_every_shape_it_is_written_in(formatter: logging.Formatter, shape: str) -> None:
    assert CANARY not in logged(formatter, "before " + shape.format(CANARY) + " after")
    assert CANARY not in logged(formatter, "%s", shape.format(CANARY))
    assert CANARY not in logged(formatter, "see extra", detail=shape.format(CANARY))


@given(
    st.sampled_from(SHAPES),
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=3, max_size=40),
    st.text(max_size=20),
)
def test_whatever_surrounds_it_a_secret_is_hidden(shape: str, noise: str, before: str) -> None:
    secret = f"Q{noise}Z9"
    text = scrub_text(f"{before} {shape.format(secret)}")
    assert secret not in text.removeprefix(before)


@given(st.text(max_size=300))
def test_any_text_is_redacted_without_failing_and_redacting_again_changes_nothing_more(text: str) -> None:
    once = scrub_text(text)
    assert scrub_text(once) == once


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=60))
def test_basic_credentials_are_hidden_whatever_they_are(password: str) -> None:
    header = base64.b64encode(f"ada:{password}".encode()).decode()
    assert header not in scrub_text(f"Basic {header}")


def test_an_api_key_alone_is_hidden_without_any_word_around_it(formatter: logging.Formatter) -> None:
    assert CANARY not in logged(formatter, TOKEN)


def test_ordinary_text_is_left_alone() -> None:
    text = "Register 7 not found at https://host.example/a?b=c and @you; 3 tokens left, key of the matter: none"
    assert scrub_text(text) == text


def test_values_are_hidden_by_their_name(formatter: logging.Formatter) -> None:
    line = logged(formatter, "x", password=CANARY, nested={"api_key": CANARY, "list": [f"Bearer {CANARY}"]}, port=8700)
    assert CANARY not in line
    assert "8700" in line


def test_a_traceback_is_redacted_too(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(f"password={CANARY}")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": "x", "exc_info": (ValueError, error, error.__traceback__)})
    line = formatter.format(record)
    assert "ValueError" in line
    assert CANARY not in line


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = kept
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.mark.requirement("logs:structured")
def test_a_line_carries_its_request(root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logging("info", "auto", stream)
    mark = request_mark.set(RequestMark("r1", "t1"))
    try:
        logging.getLogger("pentad").info("hello", extra={"room": "metrics"})
        logging.getLogger("pentad").debug("not shown")
    finally:
        request_mark.reset(mark)
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert {key: found[key] for key in ("level", "message", "request_id", "trace_id", "room")} == {
        "level": "info",
        "message": "hello",
        "request_id": "r1",
        "trace_id": "t1",
        "room": "metrics",
    }


@pytest.mark.requirement("logs:structured")
def test_nothing_is_ever_logged_to_stdout(root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("debug", "json")
    logging.getLogger("pentad").error("to stderr")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "to stderr" in captured.err


@given(st.text(max_size=60))
def test_a_console_message_is_one_line_without_control_characters(text: str) -> None:
    line = logged(Console(colour=False), "%s", text)
    assert "\n" not in line
    assert "\x1b" not in line
