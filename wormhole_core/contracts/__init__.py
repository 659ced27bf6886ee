"""What plugin objects promise: one module per kind, base classes with do-nothing defaults."""
