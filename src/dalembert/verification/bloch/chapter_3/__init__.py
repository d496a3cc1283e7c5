"""Rows of chapter 3 of the Internet Supplement."""
