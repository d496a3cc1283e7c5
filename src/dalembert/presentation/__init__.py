"""From equations to print: lines, names, LaTeX documents."""
