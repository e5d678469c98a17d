"""Faults of other servers that were reported in public, each as a test of ours, named after its symptom.

`rows.py` says which test stands for which row of the research's table of bug reports.
"""
