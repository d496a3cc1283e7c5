"""Rows of chapter 2 of the Internet Supplement."""
