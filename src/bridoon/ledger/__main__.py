"""`python -m bridoon.ledger` is `harness-cli`."""

from bridoon.ledger.main import main

main()
