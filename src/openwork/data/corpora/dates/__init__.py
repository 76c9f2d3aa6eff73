"""The built-in corpus `dates`: from the way people write dates in many countries to ISO 8601."""

from openwork.data.corpora.dates.corpus import DateExample, express, format_names, generate
from openwork.data.corpora.dates.formats import LOCALES

__all__ = ["LOCALES", "DateExample", "express", "format_names", "generate"]
