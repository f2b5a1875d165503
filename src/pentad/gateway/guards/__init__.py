"""The guards in front of every request, a module each, in the order `gateway/front.py` asks them."""
