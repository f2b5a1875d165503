"""The registers room as one object: what its tools, resources and routes speak to.

It only puts the parts together; each part knows the store, the rules of access, and nothing of MCP or HTTP.
"""

from pentad.platform import Platform
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.files import Files
from pentad.rooms.registers.live import LiveQueries
from pentad.rooms.registers.objects.history import History
from pentad.rooms.registers.objects.plans import Plans
from pentad.rooms.registers.objects.service import Objects
from pentad.rooms.registers.organisations import Organisations
from pentad.rooms.registers.saved import SavedQueries
from pentad.rooms.registers.transfer.service import Transfer
from pentad.rooms.registers.webhook_jobs import WebhookDeliveries, WebhookWatcher
from pentad.rooms.registers.webhook_messages import Messages
from pentad.rooms.registers.webhooks import Webhooks


class Registers:
    """Everything the room can do, over one store. Between `start` and `stop` it also follows queries and changes."""

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
        self.webhooks = Webhooks(database, clock, self.catalogue, self.access, platform.jobs, box=platform.secret_box)
        self.transfer = Transfer(database, self.objects, self.access)
        self._live = LiveQueries(database, self.saved, platform.owner_now)
        self.webhook_deliveries = WebhookDeliveries(platform, Messages(self.catalogue, self.access))
        self._webhook_watcher = WebhookWatcher(platform)

    async def start(self) -> None:
        await self.catalogue.open()
        await self.organisations.load()
        self._live.start()
        self._webhook_watcher.start()

    async def stop(self) -> None:
        await self._webhook_watcher.stop()
        await self._live.stop()
        self.catalogue.close()
        await self.organisations.close()
