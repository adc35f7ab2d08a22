"""The schema as SQL, one file per version; `bridoon.ledger.store.schema` applies them."""
