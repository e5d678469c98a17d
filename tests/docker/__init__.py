"""Tests of the files in `docker/`: what can be read, beside the other tests; the built image, by `make image-test`."""
