"""The registers room as one object: what its tools, resources and routes speak to.

It only puts the parts together; each part knows the store, the rules of access, and nothing of MCP or HTTP.
"""

from pentad.platform import Platform
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.files import Files
from pentad.rooms.registers.live import LiveQueries
from pentad.rooms.registers.objects.history import History
from pentad.rooms.registers.objects.objects import Objects
from pentad.rooms.registers.objects.plans import Plans
from pentad.rooms.registers.organisations import Organisations
from pentad.rooms.registers.saved import SavedQueries
from pentad.rooms.registers.sending import Sender
from pentad.rooms.registers.transfer.service import Transfer
from pentad.rooms.registers.webhook_messages import Messages
from pentad.rooms.registers.webhooks import Webhooks


class Registers:
    """Everything the room can do, over one store. Between `start` and `stop` it also follows queries and sends."""

    def __init__(self, platform: Platform) -> None:
        database, clock = platform.database, platform.clock
        self.platform = platform
        self.organisations = Organisations(database, clock)
        self.access = AccessRules(self.organisations)
        self.catalogue = Catalogue(database, clock, self.access, platform.search)
        self.objects = Objects(database, clock, self.catalogue, self.access, platform.search)
        self.history = History(database, self.catalogue, self.access, self.objects)
        self.plans = Plans(database, clock, self.catalogue, self.access, self.objects, self.history)
        self.saved = SavedQueries(database, clock, self.catalogue, self.objects, self.access)
        self.files = Files(database, clock, platform.limits.upload_bytes)
        self.webhooks = Webhooks(database, clock, self.catalogue, self.access, box=platform.secret_box)
        self.transfer = Transfer(database, self.objects, self.access)
        self._live = LiveQueries(database, self.saved, platform.owner_now)
        messages = Messages(self.catalogue, self.access)
        self._sender = Sender(database, clock, platform.fetcher, messages, platform.owner_now, box=platform.secret_box)

    async def start(self) -> None:
        await self.catalogue.open()
        await self.organisations.load()
        self._live.start()
        self._sender.start()

    async def stop(self) -> None:
        await self._sender.stop()
        await self._live.stop()
        self.catalogue.close()
        await self.organisations.close()
