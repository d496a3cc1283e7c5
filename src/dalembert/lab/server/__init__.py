"""The server: addresses, who may ask, files of the page, runs that are watched."""
