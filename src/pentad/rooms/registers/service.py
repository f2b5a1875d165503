"""The registers room as one object: what its tools, resources and routes speak to."""

from pentad.platform import Platform


class Registers:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
