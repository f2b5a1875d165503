"""Exchanged names and numbers, sentence against sentence."""

import pytest

from pentad.rooms.avatars.verification.word_order import roles_exchanged

LETTERS = "The northern gate of type B is opened before the gate of type A at every spring tide."
FIRM = "In 1926 the firm Lind Holm rebuilt the weir in oak."
TABLE = "Table 3 lists the Sluices of the Marsh, and a list of their keepers is kept in Halvesand."


@pytest.mark.requirement("avatars:verify:roles")
@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("The northern gate of type A is opened before the gate of type B at every spring tide.", LETTERS),
        ("The gate of type B is opened before the gate of type B at every spring tide.", LETTERS),
        ("In 1926 the firm Holm Lind rebuilt the weir in oak.", FIRM),
        ("The firm Holm Lind rebuilt the weir.", FIRM),
        ("Sluices 3 lists the Table of the Marsh, and a list of their keepers is kept in Halvesand.", TABLE),
        ("Table 3 lists the Sluices of the Halvesand, and a list of their keepers is kept in Marsh.", TABLE),
    ],
)
def test_names_in_other_places_are_noticed_if_nothing_else_differs(statement: str, source: str):
    assert roles_exchanged(statement, source)


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        (LETTERS, LETTERS),
        ("The gate of type A at every spring tide.", LETTERS),
        ("The firm Lind Holm rebuilt the weir in oak in 1926.", FIRM),
        ("The firm Lind Holm rebuilt the weir.", FIRM),
        ("A list of their keepers is kept in Halvesand.", TABLE),
        ("Anna met Bo, and Anna met Bo again.", "In May Anna met Bo, and Anna met Bo again."),
    ],
)
def test_true_parts_of_a_sentence_pass(statement: str, source: str):
    assert not roles_exchanged(statement, source)
