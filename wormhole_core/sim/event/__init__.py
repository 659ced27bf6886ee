"""The fast motion model: one reusable heap event per link, departure times computed at arrival."""
