"""Rows of chapter 7 of the Internet Supplement."""
