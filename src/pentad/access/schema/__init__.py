"""The tables of access, one numbered file a step and dialect."""
