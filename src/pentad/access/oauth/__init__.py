"""The OAuth 2.1 authorization server: clients, authorization requests, grants and their tokens, device codes.

Nothing here knows HTTP; `http/oauth.py` and `http/authorize.py` serve it.
"""
