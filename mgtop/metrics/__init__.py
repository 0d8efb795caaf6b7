"""Live sessions, offered to Prometheus and OTLP."""
