"""Building blocks without I/O. Every package may import them; they import no other package."""
