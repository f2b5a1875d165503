"""The registers room as one object for its tools, resources and routes.

It only assembles its parts, which know the store and the access rules, but neither MCP nor HTTP.
"""

from pentad.platform import Platform
from pentad.rooms.registers.access.organisations import Organisations
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.attachments.service import Attachments
from pentad.rooms.registers.attachments.text import AttachmentTexts
from pentad.rooms.registers.attachments.upload_links import UploadLinks
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.objects.history import History
from pentad.rooms.registers.objects.plans import Plans
from pentad.rooms.registers.objects.service import Objects
from pentad.rooms.registers.objects.undo import Undo
from pentad.rooms.registers.transfer.service import Transfer
from pentad.rooms.registers.transfer.transfer_jobs import TransferJobs
from pentad.rooms.registers.views.live import LiveViews
from pentad.rooms.registers.views.service import Views
from pentad.rooms.registers.webhooks.deliveries import MessageBuilder
from pentad.rooms.registers.webhooks.delivery_job import WebhookDeliveries, WebhookWatcher
from pentad.rooms.registers.webhooks.service import Webhooks


class Registers:
    """All operations of the room, on one store. Between `start` and `stop` it also watches views and changes."""

    def __init__(self, platform: Platform) -> None:
        database, clock = platform.database, platform.clock
        self.platform = platform
        self.organisations = Organisations(database, clock)
        self.access = AccessRules(self.organisations)
        self.catalogue = Catalogue(database, clock, self.access, platform.search)
        self.objects = Objects(database, clock, self.catalogue, self.access, platform.search, platform.neighbours)
        self.history = History(database, clock, self.catalogue, self.access, self.objects)
        undo = Undo(database.dialect, self.catalogue, self.access, self.objects, self.history)
        self.plans = Plans(database, clock, self.catalogue, self.access, self.objects, undo)
        most_bytes = platform.limits.upload_bytes
        self.attachments = Attachments(database, clock, platform.jobs, most_bytes, self.access, self.objects)
        self.attachment_texts = AttachmentTexts(database, self.attachments)
        self.upload_links = UploadLinks(database, clock, self.objects, self.attachments, platform.owner_now)
        self.webhooks = Webhooks(platform, self.catalogue, self.access)
        self.transfer = Transfer(database, self.objects, self.access)
        self.transfers = TransferJobs(platform, self.catalogue, self.access, self.transfer, undo)
        self.views = Views(database, clock, self.catalogue, self.objects, self.access, self.transfer)
        self._live = LiveViews(database, self.views, platform.owner_now)
        self.webhook_deliveries = WebhookDeliveries(platform, MessageBuilder(self.catalogue, self.access))
        self._webhook_watcher = WebhookWatcher(platform)

    def now(self) -> float:
        """The moment that relative times count from."""
        return self.platform.clock.now()

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
