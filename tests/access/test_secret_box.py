"""Secrets in the store are sealed under the operator's key, and opened only with it and in their place."""

import pytest

from pentad.access.secret_box import MARK, PLAIN, SecretBox
from pentad.kernel.errors import Misconfigured

ONE = "not-a-real-key " * 3
OTHER = "another-unreal-key " * 3


@pytest.mark.requirement("access:secret-key:sealed")
def test_what_is_sealed_is_not_readable_and_opens_again() -> None:
    box = SecretBox(ONE)
    sealed = box.seal(b"plain words", "table/1")
    assert sealed.startswith(MARK)
    assert b"plain words" not in sealed
    assert sealed.isascii()
    assert sealed != box.seal(b"plain words", "table/1"), "the same value never looks the same"
    assert box.open(sealed, "table/1") == b"plain words"
    assert SecretBox(f"  {ONE}\n").open(sealed, "table/1") == b"plain words", "blanks around a key are not part of it"


def test_without_a_key_values_stay_as_they_are() -> None:
    assert PLAIN.seal(b"x", "table/1") == b"x"
    assert PLAIN.open(b"x", "table/1") == SecretBox(ONE).open(b"x", "table/1") == b"x"
    assert not PLAIN.is_on


@pytest.mark.requirement("access:secret-key:place")
def test_a_sealed_value_opens_only_unchanged_and_in_its_place() -> None:
    box = SecretBox(ONE)
    sealed = box.seal(b"x", "table/1")
    damaged = sealed[:-6] + (b"AAAA" if sealed[-6:-2] != b"AAAA" else b"BBBB") + sealed[-2:]
    for value, place in ((sealed, "table/2"), (damaged, "table/1"), (sealed[:-3], "table/1")):
        with pytest.raises(Misconfigured, match="changed or moved") as refused:
            box.open(value, place)
        assert "x" * 3 not in refused.value.sentence()


@pytest.mark.requirement("access:secret-key:wrong")
def test_a_missing_or_wrong_key_is_told_by_the_settings_name() -> None:
    sealed = SecretBox(ONE).seal(b"x", "table/1")
    for box in (PLAIN, SecretBox(OTHER), SecretBox(None, [OTHER])):
        with pytest.raises(Misconfigured, match="secret_key") as refused:
            box.open(sealed, "table/1")
        assert "PENTAD_SECRET_KEY" in str(refused.value.hint)
        assert ONE.strip() not in refused.value.sentence()


@pytest.mark.requirement("access:secret-key:change")
def test_a_previous_key_opens_and_the_newest_seals() -> None:
    old, both = SecretBox(ONE), SecretBox(OTHER, [ONE])
    assert both.open(old.seal(b"x", "p"), "p") == b"x"
    assert SecretBox(OTHER).open(both.seal(b"x", "p"), "p") == b"x"


@pytest.mark.requirement("access:secret-key:strong")
def test_a_short_key_is_refused() -> None:
    for make in (lambda: SecretBox("short"), lambda: SecretBox(ONE, ["short"]), lambda: SecretBox(" " * 40)):
        with pytest.raises(Misconfigured, match="at least 32") as refused:
            make()
        assert "short" not in refused.value.sentence()


def test_a_box_does_not_show_its_keys() -> None:
    assert ONE.strip() not in repr(vars(SecretBox(ONE)))
