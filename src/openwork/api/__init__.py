"""The public interface: `openwork.load`, `openwork.train`, `openwork.evaluate` and what they return."""
