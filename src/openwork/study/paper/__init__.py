"""The paper's equations, figures, tables and settings by name: each with our code, tests and numbers for it."""
