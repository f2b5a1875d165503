"""The agents room beside the libraries agents are written with."""
