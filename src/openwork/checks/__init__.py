"""`openwork verify`: whether a trained system does what it should, each thing asked in two ways that must agree."""
