"""What the agents room keeps open while it is served."""

from pentad.platform import Platform


class Agents:
    """The room's service."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
