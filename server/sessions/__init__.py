"""May they? Registration, resolution, revocation, and grants on repositories."""
