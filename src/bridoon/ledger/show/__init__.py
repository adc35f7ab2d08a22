"""How answers look: tables for people, JSON for programs, CSV for spreadsheets."""
