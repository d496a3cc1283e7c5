"""The pictures of docs/pictures, by subject; `scripts/draw_pictures.py` draws them."""
