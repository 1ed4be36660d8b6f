"""A teacher's course: made from the problem sets, released, and marked where nothing can be forged."""
