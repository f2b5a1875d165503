"""The Open Agentic Schema Framework, embedded: what a record may hold, in five versions."""
