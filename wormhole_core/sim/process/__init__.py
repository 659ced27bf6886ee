"""The readable model: one SimPy process per NIC, switch port and link direction. The specification.

Read `build.py`, then `link.py`, `port.py`, `switch.py`, `host.py`; `alarm.py` is what processes sleep on.
"""
