"""What of a question lies after a period: years it names, and things that did not exist yet.

The list of things is short and certain on purpose: each entry is the first year in which anybody could have spoken of
it under that name. The author of an avatar adds what matters for its field.
"""

import re
from collections.abc import Iterable
from typing import Final

from pentad.rooms.avatars.verification.wording import levelled

_FIRST_SPOKEN_OF: Final = {
    1839: "daguerreotype photography",
    1844: "telegram",
    1859: "darwinism",
    1869: "dynamite",
    1876: "telephone|telephones",
    1877: "phonograph",
    1885: "automobile|automobiles|motor car",
    1895: "x-ray|x-rays|cinema|movie|movies",
    1901: "nobel prize|radio|wireless",
    1903: "airplane|airplanes|aeroplane|aircraft",
    1905: "relativity theory|theory of relativity",
    1914: "first world war|world war i|great war",
    1917: "russian revolution|october revolution|bolshevik",
    1922: "soviet union|ussr|insulin",
    1926: "television|tv|quantum mechanics",
    1928: "penicillin|antibiotics",
    1929: "great depression|black tuesday",
    1933: "nazi germany|third reich|new deal",
    1939: "second world war|world war ii|world war two|wwii",
    1941: "pearl harbor|holocaust",
    1945: "atomic bomb|nuclear weapon|nuclear weapons|hiroshima|united nations|cold war",
    1947: "transistor|transistors|marshall plan",
    1949: "nato|people's republic of china",
    1953: "dna double helix|double helix",
    1956: "artificial intelligence",
    1957: "sputnik|space race|european economic community",
    1958: "nasa|microchip|integrated circuit",
    1961: "berlin wall|manned spaceflight",
    1969: "moon landing|apollo 11|arpanet|woodstock",
    1971: "microprocessor|email|e-mail",
    1973: "oil crisis|mobile phone|cell phone|watergate",
    1975: "microsoft|personal computer",
    1976: "apple computer",
    1981: "aids epidemic|hiv",
    1983: "internet",
    1985: "windows operating system",
    1986: "chernobyl",
    1989: "fall of the berlin wall|tiananmen",
    1991: "world wide web|linux|python programming",
    1992: "text message|maastricht",
    1993: "european union|web browser",
    1994: "amazon.com|nafta",
    1995: "ebay|world trade organization|javascript",
    1996: "dolly the sheep",
    1997: "kyoto protocol|harry potter",
    1998: "google",
    1999: "euro currency|napster",
    2001: "september 11|9/11|wikipedia|ipod",
    2003: "human genome sequence|skype|tesla motors",
    2004: "facebook|social media",
    2005: "youtube|reddit",
    2006: "twitter|wikileaks",
    2007: "iphone|smartphone|smartphones|netflix streaming|kindle",
    2008: "airbnb|spotify|lehman bankruptcy|android phone",
    2009: "bitcoin|uber|whatsapp|blockchain|cryptocurrency|cryptocurrencies",
    2010: "instagram|ipad|arab spring",
    2011: "fukushima disaster|occupy wall street|snapchat",
    2012: "higgs boson discovery|crispr|tinder",
    2013: "edward snowden|crimea annexation",
    2014: "ethereum|isis caliphate|apple watch",
    2015: "paris agreement|openai|smart contracts|sustainable development goals",
    2016: "brexit|tiktok|alphago|pokemon go",
    2017: "metoo|transformer model|nft|nfts",
    2018: "gdpr enforcement|greta thunberg",
    2019: "covid|covid-19|coronavirus pandemic|sars-cov-2",
    2020: "gpt-3|black lives matter protests of 2020|lockdown of 2020",
    2021: "metaverse|capitol riot|january 6 attack|dall-e",
    2022: "chatgpt|stable diffusion|invasion of ukraine in 2022",
    2023: "gpt-4|claude ai|gemini ai|large language model|large language models|llm|llms|generative ai",
}
_YEAR: Final = re.compile(
    r"(?P<money>[$\u20ac\u00a3#]\s?)?(?<![\d.,/-])(?P<year>1\d{3}|2[01]\d{2})(?P<decade>'?s)?(?![\d%]|[.,]\d)(?:\s+(?P<next>[a-z]+))?",
    re.IGNORECASE,
)
_CENTURY: Final = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)[\s-]century\b|\b(twentieth|twenty[\s-]first)[\s-]century\b", re.IGNORECASE
)
_BEFORE_YEARS: Final = re.compile(
    r"\b(?:in|since|during|year|early|late|mid|circa|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)[\s-]+(?:the\s+)?$",
    re.IGNORECASE,
)
_AFTER_YEARS_WORDS: Final = (
    "a and as at but by did do does election elections for from had has have in is on or report the to until was"
    " were what when where which while who why with would you your conference war crisis edition olympics pandemic"
    " budget"
)
_AFTER_YEARS: Final = frozenset(_AFTER_YEARS_WORDS.split())


def years_in(text: str) -> list[int]:
    """The years a text speaks of; a number that counts something is none."""
    text = levelled(text)
    found: list[int] = []
    for match in _YEAR.finditer(text):
        following = match["next"]
        counts = following is not None and following.lower() not in _AFTER_YEARS and not match["decade"]
        if match["money"] or (counts and not _BEFORE_YEARS.search(text[: match.start("year")])):
            continue
        found.append(int(match["year"]))
    for match in _CENTURY.finditer(text):
        spoken = (match[2] or "").lower()
        century = int(match[1]) if match[1] else (20 if spoken == "twentieth" else 21)
        found.append((century - 1) * 100 + 1)
    return found


def later_in(text: str, end: int, own: Iterable[str] = ()) -> list[str]:
    """What in a text lies after the last year of a period, as it stands there."""
    found = [str(year) for year in years_in(text) if year > end]
    plain = levelled(text).lower()
    found += [term for term in own if re.search(rf"(?<!\w){re.escape(term.lower())}(?!\w)", plain)]
    for first, pattern in _PATTERNS.items():
        if first > end and (match := pattern.search(plain)) is not None:
            found.append(match[0])
    return list(dict.fromkeys(found))


_PATTERNS: Final = {
    first: re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(term) for term in terms.split('|'))})(?!\w)")
    for first, terms in _FIRST_SPOKEN_OF.items()
}
