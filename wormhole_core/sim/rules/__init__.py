"""Pure state machines without timing: the one truth of both motion models."""
