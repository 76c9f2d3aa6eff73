"""Routes by which the page shows how a translation comes about."""
