"""Documents that are translated: their texts, the marks within these, and the formats of files."""
