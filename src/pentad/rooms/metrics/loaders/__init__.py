"""Figures in the formats of other systems, and the destinations they are sent to."""
