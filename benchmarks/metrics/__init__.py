"""The metrics room querying a whole organisation, compared with another client sending the same requests."""
