"""Rows of chapter 4 of the Internet Supplement."""
