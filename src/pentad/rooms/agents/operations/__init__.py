"""What each dialect can be asked for: the request read, the engine called, the answer written."""
