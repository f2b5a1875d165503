"""The operator's settings, in layers that keep track of where each value came from."""
