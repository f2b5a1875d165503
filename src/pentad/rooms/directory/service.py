"""The directory as one object: what its tools, prompts, resources and the gRPC server speak to."""

from pentad.platform import Platform


class Directory:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    async def start(self) -> None:
        """Begin what runs beside the calls."""

    async def stop(self) -> None:
        """End it."""
