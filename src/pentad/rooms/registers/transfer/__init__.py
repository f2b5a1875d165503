"""Objects to and from files: CSV, Excel, JSON and JSON Lines."""
