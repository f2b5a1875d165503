"""The metrics room asking a whole organisation, beside the same requests from another client."""
