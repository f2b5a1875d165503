"""An agent whose server dies at a step of listing it, as a power cut would end it.

`DIES_AT` names the step. The parts of the server are replaced where the step begins, in this process alone.
"""

import os
import signal
from typing import Any

from pentad.listings import store
from pentad.listings.service import Listings
from pentad.rooms.directory.trust.service import Trust
from tests.listings.hosted import NewReviewer, Reviewer

__all__ = ["NewReviewer", "Reviewer"]

STEPS = ("declared", "stored", "signed")


def _die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


match os.environ.get("DIES_AT"):
    case "declared":
        Listings.reconcile = _die
    case "stored":
        Trust.sign = _die
    case "signed":
        store.settle = _die
    case _:
        pass
