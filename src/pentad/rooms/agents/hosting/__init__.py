"""What an agent is, how one is found by its name, and the ones that come along."""
