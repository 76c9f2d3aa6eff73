"""`openwork verify`: each check computes the same thing in two ways, which must agree."""
