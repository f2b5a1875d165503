"""The guarded way out, and the hardened way in."""
