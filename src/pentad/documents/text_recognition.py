"""Recognizes the text of scanned pages and pictures, if the extra `pentad[ocr]` is installed.

Only the sandboxed process loads the engine, and only for a page that needs it.
"""

import io
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from pentad.documents.confinement import use_reserve
from pentad.documents.reading_order import Piece, lines_of

if TYPE_CHECKING:
    from PIL.Image import Image

INSTALL: Final = "install text recognition with: pip install 'pentad[ocr]'"
LONGEST_SIDE: Final = 2_000
"""The size in pixels of a page for recognition; the engine scales larger ones down to this."""
_SHOWN_SIDE: Final = 1_200
_SHOWN_QUALITY: Final = 45
_ENGINE: Final = "rapidocr"
_PICTURES: Final = "cv2"
"""The image library of the engine; both come with the extra."""
_ONE_THREAD: Final = {
    "Global.log_level": "critical",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
"""Several documents are read at once, one on each core."""


def is_installed() -> bool:
    """Whether the engine is installed. Cheap: does not load it."""
    return find_spec(_ENGINE) is not None


@dataclass(frozen=True, slots=True)
class Recognized:
    """The text of a page, the engine's confidence (0 to 1), and the page as a small WebP picture."""

    text: str
    confidence: float
    picture: bytes


class TextRecognizer:
    """Recognizes the pages of one document. `has_time` is False once its time is used up."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._engine: Any = None

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self._ends

    def recognize(self, image: "Image") -> Recognized | None:
        """The text in an image; None if there is none."""
        image = image.convert("RGB")
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        found = self._loaded()(_pixels(image))
        if not found.txts:
            return None
        pieces = [_piece(text, box) for text, box in zip(found.txts, found.boxes, strict=True)]
        sizes = [len(text) for text in found.txts]
        sure = sum(score * size for score, size in zip(found.scores, sizes, strict=True)) / max(sum(sizes), 1)
        return Recognized("\n".join(lines_of(pieces)), round(min(max(float(sure), 0.0), 1.0), 3), _picture(image))

    def _loaded(self) -> Any:
        if self._engine is None:
            use_reserve()
            pictures: Any = import_module(_PICTURES)
            pictures.setNumThreads(1)
            self._engine = import_module(_ENGINE).RapidOCR(params=_ONE_THREAD)
        return self._engine


def _pixels(image: "Image") -> Any:
    """The pixels as blue, green and red, as the engine expects them."""
    import numpy as np

    return np.asarray(image)[:, :, ::-1]


def _piece(text: str, box: Any) -> Piece:
    across, down = [float(point[0]) for point in box], [float(point[1]) for point in box]
    return Piece(text, min(across), min(down), max(across), max(down))


def _picture(image: "Image") -> bytes:
    shown, out = image.convert("L"), io.BytesIO()
    shown.thumbnail((_SHOWN_SIDE, _SHOWN_SIDE))
    shown.save(out, "WEBP", quality=_SHOWN_QUALITY)
    return out.getvalue()
