"""`pentad avatars`."""
