"""The ways an answer is put together before it is checked."""
