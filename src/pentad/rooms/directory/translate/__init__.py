"""Translates records from and to other formats, between OASF versions, and tells two of them apart."""
