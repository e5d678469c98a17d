"""What a model may call: declared once, then dispatched."""
