"""What the REPL shows and reads: rendering, the input line, the plain fallback."""
