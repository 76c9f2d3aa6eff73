"""The report of an experiment: reads its folder, tests what can be tested, and writes HTML, Markdown and pictures."""

from openwork.experiments.report.report import write_report

__all__ = ["write_report"]
