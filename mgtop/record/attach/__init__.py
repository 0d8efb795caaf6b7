"""Recording a program that runs already: found by its pid, left as it was."""
