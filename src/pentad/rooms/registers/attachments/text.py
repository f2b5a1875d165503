"""The text of attached files. A job extracts it in a sandboxed process; it is read in pages and searched with the
objects.

The text is untrusted. It is passed on as data and never interpreted, neither as HTML nor as instructions.
"""

import tempfile
from typing import Final

from pentad.documents.document import Unreadable
from pentad.jobs.job import JobRun, Retries
from pentad.kernel.default_limits import MIB
from pentad.kernel.incidents import internal_error
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers.attachments.files import Attachment, TextState, format_of
from pentad.rooms.registers.attachments.service import Attachments
from pentad.rooms.registers.query.search_words import ATTACHMENT_WORDS, distinct_words

RETRIES: Final = Retries(attempts=3)
LONGEST_TEXT: Final = 4_000_000
"""Characters of a text that is kept."""

_PLACE: Final = (
    "SELECT texts.number, objects.register, objects.schema, objects.uuid FROM attachment_texts AS texts"
    " JOIN objects ON objects.id = texts.object WHERE texts.file = ?"
)


class AttachmentTexts:
    """Extracts texts and reads them."""

    def __init__(self, database: Database, attachments: Attachments) -> None:
        self._database = database
        self._attachments = attachments

    async def page(self, attachment: Attachment, offset: int, size: int) -> str:
        """Some characters of an extracted text; empty if there is none."""
        row = await self._database.lookup(
            "SELECT substr(text, ?, ?) FROM attachment_texts WHERE file = ? AND state = 'done'",
            offset + 1, size, attachment.id,
        )  # fmt: skip
        return "" if row is None else row[0] or ""

    async def extract(self, run: JobRun) -> None:
        """The job: extract the text of the file whose id is the job's key. Does nothing if the file is gone."""
        row = await self._database.lookup("SELECT id, name, size, modified_at FROM files WHERE id = ?", run.key)
        if row is None:
            return
        attachment = Attachment(*row)
        try:
            text = await self._text(attachment)
        except Unreadable as refusal:
            await self._save(run, attachment, "failed", problem=refusal.message)
        except Exception as error:
            if not RETRIES.is_spent(run.attempt):
                raise
            problem = internal_error(error, "Extracting the text of an attachment")
            await self._save(run, attachment, "failed", problem=problem.message)
        else:
            await self._save(run, attachment, "unsupported" if text is None else "done", text=text)

    async def _text(self, attachment: Attachment) -> str | None:
        kind = format_of(attachment.name)
        if kind is None:
            return None
        from pentad.documents.sandbox import ReadingLimits, read_text  # imported late: few servers ever need it

        limits = ReadingLimits(
            file_bytes=self._attachments.most_bytes, memory_bytes=1024 * MIB, cpu_seconds=60, wall_seconds=180.0,
            text_characters=LONGEST_TEXT, output_bytes=64 * MIB,
        )  # fmt: skip
        with tempfile.TemporaryFile() as file:
            async for piece in self._attachments.pieces(attachment):
                file.write(piece)
            file.seek(0)
            return (await read_text(file, kind, limits)).text

    async def _save(
        self,
        run: JobRun,
        attachment: Attachment,
        state: TextState,
        *,
        text: str | None = None,
        problem: str | None = None,
    ) -> None:
        words = distinct_words(f"{attachment.name}\n{text}") if text is not None else ""

        def save(tx: Transaction) -> None:
            run.check(tx)
            row = tx.one(_PLACE, attachment.id)
            if row is None:
                return  # deleted or replaced meanwhile
            number, register, schema, uuid = row
            tx.run(
                "UPDATE attachment_texts SET state = ?, problem = ?, characters = ?, text = ? WHERE number = ?",
                state, problem, len(text or ""), text, number,
            )  # fmt: skip
            ATTACHMENT_WORDS.delete(tx, self._database.dialect, [number])
            if words:
                ATTACHMENT_WORDS.insert(tx, self._database.dialect, [(number, (words,))])
            resource_updated(tx, attachment.text_uri(f"openregister://objects/{register}/{schema}/{uuid}"))

        await self._database.write(save)
