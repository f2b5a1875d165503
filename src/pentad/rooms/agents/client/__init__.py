"""The client side: sends tasks to remote agents in the best dialect both sides speak."""
