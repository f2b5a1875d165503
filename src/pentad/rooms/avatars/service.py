"""The avatars as one object: what the room's tools, prompts and resources speak to."""

from pentad.platform import Platform


class Avatars:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    async def start(self) -> None:
        """Begin what runs beside the calls."""

    async def stop(self) -> None:
        """End it."""
