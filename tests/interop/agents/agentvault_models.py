"""AgentVault's models as validators: lines of JSON on stdin, each `[model, value]`; every fault is a line on stdout."""

import json
import sys
from typing import Any

from agentvault import models
from agentvault.agent_card_utils import parse_agent_card_from_dict
from agentvault.exceptions import AgentCardError
from pydantic import ValidationError


def judged(name: str, value: Any) -> str | None:
    try:
        if name == "AgentCard":
            parse_agent_card_from_dict(value)
        else:
            getattr(models, name).model_validate(value)
    except (AgentCardError, ValidationError) as error:
        return f"{name}: {error}"
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        if (fault := judged(*json.loads(line))) is not None:
            sys.stdout.write(f"{fault}\n")
