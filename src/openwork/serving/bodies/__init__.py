"""What requests and answers of the routes hold, as pydantic models."""
