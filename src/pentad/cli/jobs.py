"""`pentad jobs`: background jobs and dead letters."""

from typing import TYPE_CHECKING

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.group()
def jobs() -> None:
    """List jobs; retry or forget dead letters."""


@jobs.command("list")
@click.option("--state", type=click.Choice(["queued", "running", "dead"]), help="Only jobs in this state.")
@click.option("--name", help="Only jobs of this name, e.g. registers.webhooks.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@json_option
@server_options()
def list_jobs(state: str | None, name: str | None, limit: int, as_json: bool, target: "Target") -> None:
    """List unfinished jobs, most recently changed first."""
    found = target.call_route("GET", "/api/admin/jobs", {"state": state, "name": name, "limit": limit})
    if as_json:
        print_json(found["jobs"])
        return
    print_table(
        ("id", "name", "key", "state", "attempt", "due", "changed", "error"),
        [
            (job["id"], job["name"], job["key"] or "", job["state"], job["attempt"], job["due"], job["changed"],
             job["error"])
            for job in found["jobs"]
        ],
        empty="There are no such jobs.",
    )  # fmt: skip


@jobs.command()
@click.argument("job_id", metavar="ID", type=int)
@server_options()
def retry(job_id: int, target: "Target") -> None:
    """Queue a dead letter again, with a full set of attempts."""
    target.call_route("POST", f"/api/admin/jobs/{job_id}/retry")
    say(f"Job {job_id} is queued.")


@jobs.command()
@click.argument("job_id", metavar="ID", type=int)
@server_options()
def forget(job_id: int, target: "Target") -> None:
    """Delete a dead letter."""
    target.call_route("DELETE", f"/api/admin/jobs/{job_id}")
    say(f"Job {job_id} is forgotten.")
