"""Everything the server hosts is listed in its directory: see `service.py`."""
