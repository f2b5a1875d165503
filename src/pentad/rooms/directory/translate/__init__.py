"""Translates records from and to other formats and between OASF versions, and compares two records."""
