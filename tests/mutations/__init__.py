"""Named mutations of the declared key's handling, and the test that each of them fails (`make mutate`)."""
