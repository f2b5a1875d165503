"""Reads the text in images: photographs and scans of pages. Each frame of a TIFF is a page.

Only the sandboxed process imports this module.
"""

import warnings
from io import BytesIO
from typing import Final

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from pentad.documents.document import Extracted, Unreadable
from pentad.documents.pdf import RawPage, of_pages
from pentad.documents.scans import ScannedPages
from pentad.documents.text_recognition import INSTALL, TextRecognizer

_FORMATS: Final = ("PNG", "JPEG", "TIFF", "WEBP")
_MOST_PIXELS: Final = 120_000_000
_MOST_FRAMES: Final = 2_000


def read(data: bytes, recognizer: TextRecognizer | None = None) -> Extracted:
    if recognizer is None:
        raise Unreadable("no_text", f"It is a picture: {INSTALL}")
    found = ScannedPages(recognizer)
    try:
        with warnings.catch_warnings(), Image.open(BytesIO(data), formats=_FORMATS) as image:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            pages = [_page(number, frame, found) for number, frame in enumerate(_frames(image), 1)]
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise Unreadable("too_large", f"It has more than {_MOST_PIXELS:,} pixels.") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise Unreadable("damaged", "It is damaged or not a picture.") from None
    if not found.scans:
        raise Unreadable("no_text", "No text was found on it.")
    return found.added_to(of_pages(pages), len(pages))


def _frames(image: Image.Image) -> "list[Image.Image] | ImageSequence.Iterator":
    count = getattr(image, "n_frames", 1)
    if count > _MOST_FRAMES:
        raise Unreadable("too_large", f"It has {count:,} pages; the limit is {_MOST_FRAMES:,}.")
    return ImageSequence.Iterator(image) if image.format == "TIFF" else [image]


def _page(number: int, frame: Image.Image, found: ScannedPages) -> RawPage:
    return RawPage(number, found.text(number, lambda: ImageOps.exif_transpose(frame)))


Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
