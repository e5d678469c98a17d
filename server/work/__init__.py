"""What runs beside the requests: loops that clean up and that notice what other processes changed."""
