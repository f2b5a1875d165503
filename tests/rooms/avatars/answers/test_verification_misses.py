"""Statements that sound right: exchanged names, invented clauses, cut negations, altered nested quotes."""

import pytest

from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.evidence import number_sentences
from pentad.rooms.avatars.verification.quotes import quotes_in
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.verifier import Checked, Verifier
from tests.rooms.avatars.answers.talking import passages_of

pytestmark = pytest.mark.anyio

TEXT = (
    "In the spring of 1811 Mr. Harlan visited Miss Percy at Ashdown and asked her to lend him her horse. "
    "The oak gates outperform the iron gates in every winter that the board has recorded. "
    "The miller told the clerk that \u201cno man may close the weir\u201d and walked home before noon. "
    "Many believed that the old bridge would carry the carts, which it did not. "
    "Mr. Collins asked Charlotte Lucas to marry him, and she accepted him at once. "
    "The sluice was repaired by Anna Weber after the flood of 1926. "
    "Peter Holm weighed the barley, and Johan Lind paid 12 marks for 30 sacks. "
    "The Swedish team beat the Danish team by four goals in the final at Malmo. "
    "Copper nails last longer, but iron is cheaper. "
    "The smiths work tin and zinc, and their goods are cheaper than those of the town. "
    "More farmers of the parish sow barley than clover. "
    "Rye prefers sand to clay and grows on both. "
    "The second kind of box, and new to the hall of the town and its yard is a \u201dnamed\u201d box kept in a barrel"
    " chest in both the hall of the mayor and in the yard of the mayor. "
    "This is usual. newer if the lost box (in the yard) is newer than the old box, the old box is burnt and replaced by"
    " the lost box. older if the lost box (in the yard) is older than the old box, the old box is burnt and replaced by"
    " the lost box. never if the lost box already lies there, Brandt skips fetching this box. "
    "For each village, Brandt maintains a list of its wells and weirs. "
    "Mr. Hale proposed to Clara Visser on the pier in June 1880, and she refused him. "
    "Two years later she married the pilot Anton Brekke. "
    "The Aurora carried 312 passengers in 1884; the Borealis carried only 97. "
    "Johan Lind opened his shop in the hall of the mayor. "
    "Because the rope of the ferry broke, Johan Lind waited two days for help. "
    "Dr. Amara Holm mapped the southern caves with her brother Paul. "
    "Most scholars believed that the caves were made by the sea, which is wrong."
)
EVIDENCE = number_sentences(passages_of((("Notes", 1934, "by", [TEXT]),)))
BY = Verifier(EVIDENCE, "Ida Brandt", SentenceSimilarity(None))


async def checked(text: str, opening: str) -> Checked:
    name = next(each.name for each in EVIDENCE if each.text.startswith(opening))
    (found,) = await BY.check(Draft((Statement(text, (name,)),)))
    return found


@pytest.mark.requirement("avatars:verify:roles")
@pytest.mark.parametrize(
    ("text", "opening"),
    [
        (
            "In the spring of 1811 Miss Percy visited Mr. Harlan at Ashdown and asked her to lend him her horse.",
            "In the",
        ),
        ("The iron gates outperform the oak gates in every winter that the board has recorded.", "The oak"),
        ("The clerk told the miller that no man may close the weir.", "The miller"),
        ("Anna Weber was repaired by the sluice after the flood of 1926.", "The sluice"),
        ("Johan Lind weighed the barley, and Peter Holm paid 12 marks for 30 sacks.", "Peter"),
        ("Peter Holm weighed the barley, and Johan Lind paid 30 marks for 12 sacks.", "Peter"),
        ("The Swedish team was beaten by the Danish team in the final at Malmo.", "The Swedish"),
        ("Copper is cheaper than iron.", "Copper"),
        ("Mr. Hale proposed to Clara Visser on the pier in June 1880, and he refused her.", "Mr. Hale"),
        ("He refused her.", "Mr. Hale"),
        ("The rope of the ferry broke because Johan Lind waited two days for help.", "Because"),
        ("Dr. Amara Holm mapped the northern caves with her brother Paul.", "Dr. Amara"),
        ("Dr. Amara Holm mapped the southern caves with her sister Paul.", "Dr. Amara"),
        ("Mr. Hale married the pilot Anton Brekke two years later.", "Two years"),
        ("The Aurora carried only 97 passengers.", "The Aurora"),
        ("Johan Lind opened her shop in the hall of the mayor.", "Johan"),
        ("Tin is cheaper than zinc.", "The smiths"),
        ("More farmers sow clover than barley.", "More"),
        ("Rye prefers clay to sand.", "Rye"),
    ],
)
async def test_exchanged_names_and_reversed_comparisons_do_not_pass(text: str, opening: str):
    assert not (await checked(text, opening)).passes


@pytest.mark.requirement("avatars:verify:clauses")
@pytest.mark.parametrize(
    "more", [", and sold it to a merchant", ", which made the village rich", " because the king wished it"]
)
async def test_an_invented_clause_does_not_pass_behind_a_true_one(more: str):
    text = "The oak gates outperform the iron gates in every winter that the board has recorded"
    assert (await checked(f"{text}.", "The oak")).passes
    assert not (await checked(f"{text}{more}.", "The oak")).passes


@pytest.mark.requirement("avatars:verify:clauses")
async def test_a_short_invented_clause_does_not_hide_in_a_long_sentence():
    text = "In the spring of 1811 Mr. Harlan visited Miss Percy at Ashdown, asked her to lend him her horse"
    assert not (await checked(f"{text}, and painted stables.", "In the")).passes


@pytest.mark.requirement("avatars:verify:nested-quotes")
def test_a_quotation_inside_a_quotation_belongs_to_it():
    assert quotes_in('He wrote: "The miller said "never" and left."') == ['The miller said "never" and left.']
    assert quotes_in("\u201cShe said \u201cyes\u201d at once.\u201d Then \u201cno\u201d.") == [
        "She said \u201cyes\u201d at once.",
        "no",
    ]
    assert quotes_in("It says \u2018the farmer\u2019s barn is full\u2019 there.") == ["the farmer\u2019s barn is full"]
    assert quotes_in('"One." and "two".') == ["One.", "two"]
    assert quotes_in("\u201cA \u201dnamed\u201d box.\u201d") == ["A \u201dnamed\u201d box."]
    assert quotes_in('\u201c<gate name="north" state="open"/>\u201d') == ['<gate name="north" state="open"/>']


@pytest.mark.requirement("avatars:verify:nested-quotes")
@pytest.mark.parametrize(
    "quote",
    [
        'The miller told the clerk that "every man may close the weir" and walked home before noon.',
        'The miller told the clerk that "no man may open the weir" and walked home before noon.',
        "The miller told the clerk that \u201cno man\u201d may close the weir and went home \u201cat night\u201d.",
    ],
)
async def test_an_altered_quote_with_nested_marks_is_never_said(quote: str):
    for text in (f'She writes: "{quote}"', f"She writes: \u201c{quote}\u201d", f"She writes: \u2018{quote}\u2019"):
        found = await checked(text, "The miller")
        assert not found.passes or "every man" not in found.text


@pytest.mark.requirement("avatars:verify:nested-quotes")
async def test_an_altered_quote_does_not_pass_behind_closing_marks_on_both_sides_of_a_word():
    text = next(each.text for each in EVIDENCE if each.text.startswith("The second"))
    assert (await checked(f"\u201c{text}\u201d", "The second")).verdict == "quoted"
    altered = f"\u201c{text.replace('barrel', 'these')}\u201d"
    assert "these" not in (await checked(altered, "The second")).text


@pytest.mark.requirement("avatars:verify:polarity")
async def test_a_negation_that_goes_missing_in_a_list_is_noticed():
    text = next(each.text for each in EVIDENCE if each.text.startswith("This is usual"))
    assert not (await checked(text.replace("never ", ""), "This is usual")).passes


@pytest.mark.requirement("avatars:verify:clauses")
async def test_a_false_name_before_what_the_person_maintains_is_not_said():
    text = "For each village, Brandt maintains a list of its wells and weirs."
    assert (await checked(text, "For each")).passes
    assert not (await checked(text.replace("village", "Marta Quist"), "For each")).passes


@pytest.mark.requirement("avatars:verify:polarity")
@pytest.mark.parametrize(
    "text",
    [
        '"Many believed that the old bridge would carry the carts"',
        '"the old bridge would carry the carts"',
        "The old bridge would carry the carts.",
        "Many believed that the old bridge would carry the carts, which it did.",
    ],
)
async def test_a_negation_after_the_words_is_not_cut_off(text: str):
    assert not (await checked(text, "Many")).passes


@pytest.mark.requirement("avatars:verify:polarity")
async def test_a_belief_that_its_sentence_calls_wrong_is_not_repeated():
    assert not (await checked("The caves were made by the sea.", "Most")).passes
    whole = "Most scholars believed that the caves were made by the sea, which is wrong."
    assert (await checked(whole, "Most")).verdict == "quoted"


@pytest.mark.requirement("avatars:verify:paraphrases")
@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Mr. Collins proposed to Charlotte Lucas and she accepted him.", "Mr. Collins"),
        ("Charlotte Lucas was asked by Mr. Collins to marry him.", "Mr. Collins"),
        ("Anna Weber repaired the sluice after the flood of 1926.", "The sluice"),
        ("After the flood of 1926 the sluice was repaired by Anna Weber.", "The sluice"),
        ("Johan Lind paid 12 marks for 30 sacks.", "Peter"),
        ("The Danish team was beaten by the Swedish team in the final at Malmo.", "The Swedish"),
        ("In every winter the oak gates outperform the iron gates.", "The oak"),
        ("In the parish more farmers sow barley than clover.", "More"),
        ("Rye grows on both and prefers sand to clay.", "Rye"),
        ("She refused him in June 1880.", "Mr. Hale"),
        ("Johan Lind waited two days for help because the rope of the ferry broke.", "Because"),
        ("Clara Visser married the pilot Anton Brekke two years later.", "Two years"),
        ("The Borealis carried only 97 passengers.", "The Aurora"),
    ],
)
async def test_a_true_paraphrase_is_not_refused(text: str, opening: str):
    assert (await checked(text, opening)).verdict != "unsupported"


@pytest.mark.requirement("avatars:verify:paraphrases")
async def test_a_name_in_the_sentence_before_a_pronoun_is_quoted_with_it():
    found = await checked("Clara Visser married the pilot Anton Brekke two years later.", "Two years")
    assert found.verdict == "unsure"
    assert [sentence.text[:8] for sentence in found.sentences] == ["Mr. Hale", "Two year"]
    assert (await checked("Ida Brandt married Marta Quist two years later.", "Two years")).verdict == "unsupported"
