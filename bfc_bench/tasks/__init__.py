"""Tasks: input laws, targets, labels and the errors that are measured on them."""
