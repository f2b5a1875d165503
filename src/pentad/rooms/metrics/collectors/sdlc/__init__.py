"""Software delivery systems: repositories, pages, jobs, tasks, dashboards."""
