"""Statements put together from the clauses of one sentence, or from two sentences, and what negations apply to."""

import pytest

from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.evidence import number_sentences
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.verifier import Checked, Verifier
from tests.rooms.avatars.answers.talking import passages_of

pytestmark = pytest.mark.anyio

FALSE = {
    "In 1912 Anna Weber built the weir, and Peter Holm closed the mill.": [
        "Anna Weber closed the mill.",
    ],
    "In 1912 Anna Weber built the weir, Peter Holm closed the mill.": [
        "Anna Weber closed the mill in 1912.",
    ],
    "In 1912 Anna Weber built the weir, and in 1926 Peter Holm closed the mill.": [
        "In 1926 Anna Weber built the weir.",
        "In 1912 Peter Holm closed the mill.",
        "In 1912 Anna Weber closed the mill.",
    ],
    "The miller did not sell the barley, but he paid the rent.": [
        "The miller did not pay the rent.",
        "The miller sold the barley.",
    ],
    "The clerk never opened the northern gate, and the keeper opened the southern gate every night.": [
        "The clerk opened the southern gate every night.",
        "The keeper never opened the southern gate.",
        "The clerk opened the northern gate.",
    ],
    "Because the board had no money, the bridge was closed in 1931.": [
        "The bridge was not closed in 1931.",
        "Because the board had money, the bridge was closed in 1931.",
    ],
    "The weir was built by Anna Weber in 1912. The mill was closed by Peter Holm in 1926.": [
        "The mill was closed by Anna Weber in 1912.",
        "The weir was built in 1926.",
        "Anna Weber closed the mill.",
        "Anna Weber built the weir in 1926, and Peter Holm closed the mill in 1912.",
    ],
    "The northern weir cost 400 crowns. The southern weir cost 900 crowns.": [
        "The northern weir cost 900 crowns.",
    ],
    "The northern weir was not tarred. The southern weir was tarred in May.": [
        "The southern weir was not tarred in May.",
        "The northern weir was tarred in May.",
        "The northern weir was tarred.",
    ],
    "Charles Babbage designed the engine, and Ada Lovelace wrote the notes about it.": [
        "Ada Lovelace designed the engine.",
        "The engine was designed by Ada Lovelace.",
        "Charles Babbage wrote the notes.",
    ],
    "The board dismissed the keeper in the spring.": [
        "The keeper dismissed the board in the spring.",
        "The board was dismissed by the keeper in the spring.",
    ],
    "The keeper was dismissed by the board in the spring.": [
        "The keeper dismissed the board in the spring.",
    ],
    "The Danes taught the farmers to drain the marsh.": [
        "The Danes were taught by the farmers to drain the marsh.",
    ],
    "Anna Weber wrote the report.": [
        "The report wrote Anna Weber.",
    ],
    "Anna Weber wrote the report that Peter Holm printed.": [
        "Peter Holm wrote the report.",
    ],
    "When the tide rose, the keeper closed the gate and the farmers drove the cattle to the dike.": [
        "The keeper drove the cattle to the dike.",
        "The farmers closed the gate.",
    ],
    "The flood of 1926 destroyed the mill, and the fire of 1931 destroyed the school.": [
        "The fire of 1931 destroyed the mill.",
        "The flood of 1926 destroyed the school.",
    ],
    "In 1926 the flood destroyed the mill; in 1931 a fire destroyed the school.": [
        "The mill was destroyed in 1931.",
        "In 1931 the flood destroyed the mill.",
    ],
    "Wind mills drain the marsh, whereas steam pumps drain the polder.": [
        "Steam pumps drain the marsh.",
    ],
    "Neither the clerk nor the miller signed the treaty, but the mayor did.": [
        "The clerk signed the treaty.",
    ],
    "He was elected in 1920. He was not elected in 1924.": [
        "He was elected in 1924.",
        "He was not elected in 1920.",
    ],
    "He denied that the bridge was closed.": [
        "The bridge was closed.",
    ],
    "Nobody believed that the bridge was closed.": [
        '"the bridge was closed"',
    ],
    "If the board agrees, the bridge is closed at noon.": [
        "The bridge is closed at noon.",
    ],
    "The clerk did not open the gate or close the old weir.": [
        '"close the old weir"',
    ],
    "The clerk did not open the gate, nor did the miller close the old weir.": [
        "The miller did close the old weir.",
    ],
    "It is not true, he said, that the old bridge was closed.": [
        "The old bridge was closed.",
    ],
    "The old bridge was closed in May, and the clerk did not complain.": [
        "The clerk complained.",
    ],
    "The keeper mended the dike and opened the gate, and the clerk paid the masons.": [
        "The clerk opened the gate.",
        "The keeper paid the masons.",
    ],
    "Anna Weber built the weir, and Peter Holm closed the mill.": [
        "Anna Weber built the weir and closed the mill.",
        "Anna Weber, who closed the mill, built the weir.",
    ],
    "Charles II was not restored in 1658 but in 1660.": [
        "Charles II was restored in 1658.",
    ],
    "The report was written by Anna Weber and printed by Peter Holm.": [
        "The report was printed by Anna Weber.",
        "Peter Holm wrote the report.",
    ],
    "The mayor praised Anna Weber, and the bishop praised Peter Holm.": [
        "The bishop praised Anna Weber.",
        "Peter Holm was praised by the mayor.",
    ],
    "Anna Weber earned 30 marks a month while Peter Holm earned 50 marks a month.": [
        "Anna Weber earned 50 marks a month.",
    ],
    "Anna Weber earned 30 marks and Peter Holm 50 marks a month.": [
        "Anna Weber earned 50 marks a month.",
    ],
    "The northern gate is of oak; the southern gate is of iron.": [
        "The northern gate is of iron.",
    ],
    "The northern gate is of oak and the southern gate of iron.": [
        "The northern gate is of iron.",
    ],
}
TRUE = {
    "In 1912 Anna Weber built the weir, and Peter Holm closed the mill.": [
        "Peter Holm closed the mill.",
        "In 1912 Anna Weber built the weir.",
    ],
    "In 1912 Anna Weber built the weir, and in 1926 Peter Holm closed the mill.": [
        "Peter Holm closed the mill in 1926.",
    ],
    "The miller did not sell the barley, but he paid the rent.": [
        "The miller paid the rent.",
        "The miller did not sell the barley.",
    ],
    "The clerk never opened the northern gate, and the keeper opened the southern gate every night.": [
        "The keeper opened the southern gate every night.",
    ],
    "Without a permit nobody may fish, and the warden checks the nets.": [
        "The warden checks the nets.",
    ],
    "Because the board had no money, the bridge was closed in 1931.": [
        "The bridge was closed in 1931.",
    ],
    "The weir was built by Anna Weber in 1912. The mill was closed by Peter Holm in 1926.": [
        "Peter Holm closed the mill in 1926.",
        "Anna Weber built the weir in 1912, and Peter Holm closed the mill in 1926.",
    ],
    "The northern weir cost 400 crowns. The southern weir cost 900 crowns.": [
        "The southern weir cost 900 crowns.",
    ],
    "Charles Babbage designed the engine, and Ada Lovelace wrote the notes about it.": [
        "The engine was designed by Charles Babbage.",
        "The notes were written by Ada Lovelace.",
    ],
    "The board dismissed the keeper in the spring.": [
        "The keeper was dismissed by the board in the spring.",
        "In the spring the keeper was dismissed by the board.",
    ],
    "The keeper was dismissed by the board in the spring.": [
        "The board dismissed the keeper in the spring.",
    ],
    "The storm broke the northern gate in 1927.": [
        "The northern gate was broken by the storm in 1927.",
        "In 1927 the northern gate was broken by the storm.",
    ],
    "The Danes taught the farmers to drain the marsh.": [
        "The farmers were taught by the Danes to drain the marsh.",
    ],
    "Anna Weber wrote the report.": [
        "The report was written by Anna Weber.",
    ],
    "When the tide rose, the keeper closed the gate and the farmers drove the cattle to the dike.": [
        "The farmers drove the cattle to the dike when the tide rose.",
    ],
    "The flood of 1926 destroyed the mill, and the fire of 1931 destroyed the school.": [
        "The school was destroyed by the fire of 1931.",
    ],
    "In 1926 the flood destroyed the mill; in 1931 a fire destroyed the school.": [
        "The school was destroyed in 1931 by a fire.",
    ],
    "Wind mills drain the marsh, whereas steam pumps drain the polder.": [
        "The marsh is drained by wind mills.",
    ],
    "The old bridge was closed in May, but the clerk never wrote it down.": [
        "The old bridge was closed in May.",
    ],
    "The old bridge was closed in May, and the clerk did not complain.": [
        "The old bridge was closed in May.",
    ],
    "The keeper mended the dike and opened the gate.": [
        "The keeper opened the gate.",
    ],
    "Anna Weber built the weir and closed the mill.": [
        "Anna Weber built the weir and closed the mill.",
    ],
    "Anna Weber came to Ashdown in 1911 and built the weir there.": [
        "Anna Weber built the weir at Ashdown.",
    ],
    "Anna Weber, who came to Ashdown in 1911, built the weir with stones of the old church.": [
        "Anna Weber built the weir with stones of the old church.",
    ],
    "Anna Weber built the weir in 1912. It cost 400 crowns.": [
        "The weir that Anna Weber built in 1912 cost 400 crowns.",
    ],
    "Anna Weber built the weir in 1912. She was born in Halvesand.": [
        "Anna Weber was born in Halvesand and built the weir in 1912.",
    ],
    "The engineers of the board and the farmers of the marsh rebuilt the dike.": [
        "The engineers of the board rebuilt the dike.",
    ],
    "Twice a year the board of Halvesand inspected the gates and wrote down every crack.": [
        "The board of Halvesand wrote down every crack.",
        "Every crack was written down by the board of Halvesand.",
    ],
    "To open the tool, click the icon in the toolbar, or press the T key.": [
        "Press the T key to open the tool.",
    ],
    "Gates open at low tide because the water in the canal then stands higher than the sea.": [
        "The water in the canal stands higher than the sea at low tide.",
    ],
    "The report was written by Anna Weber and printed by Peter Holm.": [
        "Anna Weber wrote the report.",
        "Peter Holm printed the report.",
    ],
    "The gates were opened by hand at low tide.": [
        "At low tide the gates were opened by hand.",
    ],
    "The mayor praised Anna Weber, and the bishop praised Peter Holm.": [
        "Peter Holm was praised by the bishop.",
    ],
    "Anna Weber earned 30 marks a month while Peter Holm earned 50 marks a month.": [
        "Peter Holm earned 50 marks a month.",
    ],
    "The northern gate is of oak; the southern gate is of iron.": [
        "The southern gate is of iron.",
    ],
    "The northern gate is of oak, the southern of iron.": [
        "The southern gate is of iron.",
    ],
}


async def checked(source: str, text: str) -> Checked:
    """The statement, checked against all sentences of the source."""
    evidence = number_sentences(passages_of((("Notes", 1934, "by", [source]),)))
    verifier = Verifier(evidence, "Ida Brandt", SentenceSimilarity(None))
    (found,) = await verifier.check(Draft((Statement(text, tuple(each.name for each in evidence)),)))
    return found


@pytest.mark.requirement("avatars:verify:mixing")
@pytest.mark.parametrize(("source", "text"), [(source, text) for source, texts in FALSE.items() for text in texts])
async def test_words_of_several_clauses_support_nothing_that_none_of_them_says(source: str, text: str):
    found = await checked(source, text)
    assert not found.passes, found


@pytest.mark.requirement("avatars:verify:voice")
@pytest.mark.parametrize(("source", "text"), [(source, text) for source, texts in TRUE.items() for text in texts])
async def test_a_part_of_a_sentence_passes_in_either_voice_whatever_its_other_clauses_deny(source: str, text: str):
    found = await checked(source, text)
    assert found.passes, found.problems
