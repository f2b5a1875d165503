"""The guards in front of every request, a module each, in the order `http/front.py` asks them."""
