"""Rows of chapter 9 of the Internet Supplement."""
