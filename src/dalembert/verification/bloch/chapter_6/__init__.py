"""Rows of chapter 6 of the Internet Supplement."""
