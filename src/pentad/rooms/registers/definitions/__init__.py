"""What a schema means: pure, without I/O."""
