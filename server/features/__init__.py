"""What people use beside tools: resources, prompts and completion, and the one dispatcher of both protocol eras."""
