"""Real graph servers for the tests, the benchmarks and work by hand: fetched as packages, started on loopback.

`kinds.py` lists them, one file each says how it is fetched and launched; `running.py` starts and stops them and keeps
the record of what runs, so that a run of the tests finds the servers that are up already.
"""
