"""Settings and jobs of a server, for administrators."""

from typing import Any, Final

from pentad.access.audit import AuditTrail
from pentad.administration.rights import require
from pentad.jobs.queue import JobQueue, StoredJob
from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.settings.catalogue import list_settings
from pentad.settings.model import Settings

JOBS_MOST: Final = 1_000


class ServerAdministration:
    """The use cases. `actor` is always the caller."""

    def __init__(self, settings: Settings, jobs: JobQueue, audit: AuditTrail) -> None:
        self._settings = settings
        self._jobs = jobs
        self._audit = audit

    def settings(self, actor: Principal) -> list[dict[str, Any]]:
        """Every setting with its value, where it comes from, and what it does. Secrets are masked."""
        require(actor)
        return [
            {
                "path": line.path,
                "value": line.value,
                "source": line.origin.layer,
                "place": line.origin.detail,
                "about": line.about,
            }
            for line in list_settings(self._settings)
        ]

    async def jobs(
        self, actor: Principal, *, state: str | None = None, name: str | None = None, limit: int = 100
    ) -> dict[str, Any]:
        """Unfinished jobs, and their number in each state."""
        require(actor)
        found = await self._jobs.stored(state=state, name=name, limit=min(limit, JOBS_MOST))
        return {"jobs": [_job_json(job) for job in found], "counts": await self._jobs.counts()}

    async def job(self, actor: Principal, job_id: int) -> dict[str, Any]:
        """One unfinished job."""
        require(actor)
        found = await self._jobs.stored(job_id=job_id)
        if not found:
            raise NotFound(f"There is no job {job_id}.", hint="It may be done: done jobs are not kept.")
        return _job_json(found[0])

    async def retry_job(self, actor: Principal, job_id: int) -> dict[str, Any]:
        """Queue a dead letter again, with a fresh set of attempts."""
        require(actor)
        await self._jobs.retry_dead(job_id)
        self._audit.event(actor, "job retried", target=f"job:{job_id}")
        return {"id": job_id, "state": "queued"}

    async def forget_job(self, actor: Principal, job_id: int) -> dict[str, Any]:
        """Delete a dead letter."""
        require(actor)
        await self._jobs.forget_dead(job_id)
        self._audit.event(actor, "job forgotten", target=f"job:{job_id}")
        return {"id": job_id, "state": "forgotten"}


def _job_json(job: StoredJob) -> dict[str, Any]:
    """The job without its payload, which may contain what only the room may show."""
    return {
        "id": job.id,
        "name": job.name,
        "key": job.key,
        "state": job.state,
        "attempt": job.attempt,
        "error": job.error,
        "created": iso(job.created_at),
        "changed": iso(job.updated_at),
        "due": iso(job.run_at),
        "needs": job.needs,
    }
