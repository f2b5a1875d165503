"""Errors to gRPC statuses and back."""

import pytest
from grpc import StatusCode
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel import errors
from pentad.kernel.incidents import internal_error
from pentad.rooms.directory.models import NotOffered
from pentad.rooms.directory.wire.statuses import error_of, shortened, status_of


def test_every_error_of_the_kernel_has_a_status_of_its_meaning() -> None:
    expected = {
        errors.InvalidInput: StatusCode.INVALID_ARGUMENT,
        errors.LimitExceeded: StatusCode.INVALID_ARGUMENT,
        errors.NotFound: StatusCode.NOT_FOUND,
        errors.Conflict: StatusCode.FAILED_PRECONDITION,
        errors.VersionMismatch: StatusCode.FAILED_PRECONDITION,
        errors.Unauthenticated: StatusCode.UNAUTHENTICATED,
        errors.Forbidden: StatusCode.PERMISSION_DENIED,
        errors.DeadlineExceeded: StatusCode.DEADLINE_EXCEEDED,
        errors.Unavailable: StatusCode.UNAVAILABLE,
        errors.Misconfigured: StatusCode.FAILED_PRECONDITION,
        errors.PentadError: StatusCode.INTERNAL,
        NotOffered: StatusCode.UNIMPLEMENTED,
    }
    for kind, code in expected.items():
        error = kind("What.", hint="Do.")
        assert status_of(error) == (code, error.sentence())
        assert error.sentence().startswith("What. Do.")
    assert status_of(errors.Overloaded("Busy."))[0] is StatusCode.UNAVAILABLE
    code, text = status_of(errors.RateLimited("Too many.", retry_after=1))
    assert (code, text) == (StatusCode.RESOURCE_EXHAUSTED, "rate limit exceeded: Too many.")


def test_a_failure_of_the_server_tells_the_number_it_has_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    hidden = internal_error(RuntimeError("secret"), "/x/Y")
    code, text = status_of(hidden, "/x/Y")
    assert code is StatusCode.INTERNAL
    assert "secret" not in text
    lost = errors.Unavailable("It is away.")
    _, told = status_of(lost, "/x/Z")
    for number, said in ((hidden.incident, text), (lost.incident, told)):
        assert number is not None
        assert number in said
        assert number in caplog.text


def test_another_directorys_status_becomes_the_same_error() -> None:
    for kind in (errors.InvalidInput, errors.NotFound, errors.Unauthenticated, errors.Forbidden):
        code, _ = status_of(kind("x"))
        made = error_of(code, "its words", "there:1")
        assert (type(made), made.message) == (kind, "its words")
    assert isinstance(error_of(StatusCode.UNIMPLEMENTED, "", "there:1"), NotOffered)
    for code in (StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DATA_LOSS):
        made = error_of(code, "", "there:1")
        assert isinstance(made, errors.Unavailable)
        assert "there:1" in made.message


@given(st.text(max_size=3_000))
def test_a_text_fits_into_a_header_and_says_as_much_as_it_can(text: str) -> None:
    cut = shortened(text)
    encoded = sum(1 if 32 <= byte <= 126 and byte != 37 else 3 for byte in cut.encode("utf-8", "replace"))
    assert encoded <= 6_010
    assert cut == text or cut.endswith(" ...")
    assert text.startswith(cut.removesuffix(" ..."))
