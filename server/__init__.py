"""The application: shells at the edge, services inside, one composition root."""
