"""Reads the XML parts of a document with lxml. Entities, DTDs and external parts are never resolved."""

import io
from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

from pentad.documents.document import Unreadable

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001  it has no public name


def elements(data: bytes, part: str, *names: str, starts: bool = False) -> Iterator[tuple[str, str, Element]]:
    """Yield `(event, name, element)` for each element with one of these local names when it ends.

    With `starts`, elements are yielded when they begin, too. Raises Unreadable if the data is not XML, is nested deeper
    than 256 levels (the limit of libxml2), or declares entities.
    """
    stream = etree.iterparse(
        io.BytesIO(data),
        events=("start", "end") if starts else ("end",),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for number, (event, element) in enumerate(stream):
            if number == 0:
                _refuse_entities(element, part)
            yield event, etree.QName(element).localname, element
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
            raise Unreadable("unsafe", f"{part} is nested deeper or expands further than a document would.") from None
        raise Unreadable("damaged", f"It is damaged: {part} is not valid XML.") from None


def attribute(element: Element, name: str) -> str:
    """The value of an attribute, whatever its namespace; empty if there is none."""
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), "")


def _refuse_entities(element: Element, part: str) -> None:
    dtd = element.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise Unreadable("unsafe", f"{part} declares entities of its own, which a document does not need.")
