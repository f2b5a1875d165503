"""Administration: the use cases behind `/api/admin`, `/api/account`, the console's pages and the verbs."""
