"""The guards in front of every request. `http/front.py` calls them in order."""
