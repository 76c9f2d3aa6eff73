"""The command line: one file a command. Nothing here loads torch before a command runs."""
