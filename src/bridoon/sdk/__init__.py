"""What third-party programs import. Standard library and `bridoon.wire` only."""
