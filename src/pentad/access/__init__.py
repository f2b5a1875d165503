"""Who may do what: credentials, principals, keys, limits and the audit trail."""
