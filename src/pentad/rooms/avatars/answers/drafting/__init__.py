"""The ways to draft an answer before it is checked: quotes, an endpoint's model, the client's model, the caller's."""
