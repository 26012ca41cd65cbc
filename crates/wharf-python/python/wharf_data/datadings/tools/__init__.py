"""Tools that the original package has in these places."""
