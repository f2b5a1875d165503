"""The guards in front of every request, one module each. `http/front.py` calls them in order."""
