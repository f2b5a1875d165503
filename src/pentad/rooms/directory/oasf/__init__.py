"""The Open Agentic Schema Framework (OASF), embedded in five versions: what a record may contain."""
