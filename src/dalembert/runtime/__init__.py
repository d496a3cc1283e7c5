"""The compiled equations of motion at run time: context, kernel, projection."""
