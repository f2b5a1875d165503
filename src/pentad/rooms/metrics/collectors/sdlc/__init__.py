"""The systems software is made with: repositories, pages, jobs, tasks, dashboards."""
