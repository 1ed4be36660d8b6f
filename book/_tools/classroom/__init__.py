"""A teacher's course: made from the problem sets, released to students, marked where nothing can be forged."""
