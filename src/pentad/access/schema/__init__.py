"""The tables of access, one numbered file per step and dialect."""
