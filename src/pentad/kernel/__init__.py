"""Pure building blocks without I/O: everyone may import them, they import nobody."""
