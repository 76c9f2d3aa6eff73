"""Coming from elsewhere: the configurations and command lines of other toolkits, translated into run files."""
