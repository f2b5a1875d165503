"""Guesses the language of a question, by script and by function words: enough to say that it cannot be searched for.

A wrong guess costs nothing but wording, because it is used only if nothing was found.
"""

import unicodedata
from typing import Final

from pentad.search.text import words

_FUNCTION_WORDS: Final = {
    "en": "the of and to in is was were are that for with on as by this it from at which who what when where why how"
    " did does do has have had be been not or an a you your",
    "de": "der die das den dem des und ist war sind waren ein eine einen einem einer nicht mit von zu im am wie wer wo"
    " wann warum welche welcher welches für auf aus über hat haben wurde wird gibt viele",
    "es": "el la los las de del y es fue son una un que qué quién cuándo dónde cómo cuántos cuántas por para con en no"
    " se su al lo hay cuál",
    "fr": "le la les des de du et est était sont une un que qui quand où comment pourquoi combien pour avec dans en ne"
    " pas se sa son au aux quel quelle il y a",
    "it": "il lo la gli le di del della e è era sono una un che chi quando dove come perché quanti quante per con nel"
    " non si su al c'è quale",
    "pt": "o a os as de do da dos das e é foi são uma um que quem quando onde como quantos quantas por para com no na"
    " não se seu ao há qual",
    "nl": "de het een en is was zijn waren niet met van te in op hoe wie waar wanneer waarom welke voor uit over heeft"
    " hebben werd wordt veel",
}
_SETS: Final = {name: frozenset(listed.split()) for name, listed in _FUNCTION_WORDS.items()}
_FEWEST_HITS: Final = 2
_OTHER_SCRIPT: Final = 0.3
_READ: Final = 2_000


def language_of(text: str) -> str | None:
    """A language as its code, or the name of a script that is not Latin; None if the text does not tell."""
    text = text[:_READ]
    letters = [letter for letter in text if letter.isalpha()]
    scripts = [unicodedata.name(letter, "").split(" ", 1)[0] for letter in letters]
    foreign = [script for script in scripts if script not in ("LATIN", "")]
    if letters and len(foreign) > _OTHER_SCRIPT * len(letters):
        return max(set(foreign), key=foreign.count).lower()
    found = words(text)
    hits = {name: sum(word in listed for word in found) for name, listed in _SETS.items()}
    best = max(hits, key=lambda name: hits[name])
    rivals = [count for name, count in hits.items() if name != best]
    return best if hits[best] >= _FEWEST_HITS and hits[best] > max(rivals) else None


def differs(question: str, corpus: str) -> bool:
    """Whether a question is in another language than the corpus."""
    mine = language_of(question)
    return mine is not None and mine != (language_of(corpus) or "en")
