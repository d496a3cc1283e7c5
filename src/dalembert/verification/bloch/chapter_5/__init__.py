"""Rows of chapter 5 of the Internet Supplement."""
