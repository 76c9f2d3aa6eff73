"""Several runs beside each other, finished or under way: how they learned, and in what their settings differ."""
