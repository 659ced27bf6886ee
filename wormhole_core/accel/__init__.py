"""The Wormhole idea: simulate together only what shares ports, never the same thing twice, and never
what no longer changes. Works on the event model; knows no plugins."""
