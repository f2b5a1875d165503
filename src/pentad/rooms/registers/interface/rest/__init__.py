"""The room over plain HTTP: OpenRegister's REST routes and Pentad's additions."""
