"""Make a teacher's course from the problem sets: `make course INTO=../my-course SEED=…`.

A **source notebook** is one file `book/assignments/SET.ipynb`; everything else is made from it. Its cells are
told apart by `metadata.tags` and by two entries of `metadata`: `nbgrader` (its schema 3) and `marking`
(ours).

text, no tag
    Markdown, released as it is. Each task states its minutes and its difficulty here.
coding answer, tag `answer`
    A code cell that defines one function. `nbgrader`: `{"schema_version": 3, "cell_type": "code", "grade":
    true, "solution": true, "locked": false, "task": false, "grade_id": "occupancy", "points": 6}`. `marking`:
    `{"check": "occupancy"}`, a name in `aggbandit.checks.ALL`, and `"function": "my_occupancy"` where the
    function is not called as the check is. The solution stands between lines `### BEGIN SOLUTION` and `###
    END SOLUTION`; the release has `raise NotImplementedError` there, indented as the first marker is.
text or figure answer, tag `answer`
    A Markdown cell, or a code cell that draws, marked by hand: the same `nbgrader` entry with its own
    `cell_type`, and no check. The model answer stands between the same two marker lines; the release has
    *Your answer:* there, or `# your code here`.
rubric, tag `rubric`
    Markdown, `marking`: `{"rubric": "the grade_id it belongs to"}`. Never released.
instance, tag `instance`
    A code cell with one line `seed = 0`. A course has a number of its own there. The cell may `assert` that
    what it draws is well-posed; where that fails, another number is drawn.
variants, on cells of any kind
    `marking`: `{"variants": "name", "variant": "a"}`. Of all cells with the same `variants` a course keeps
    those of one `variant`, drawn from its seed.
other code, no tag
    Imports, figures, `checks.occupancy(occupancy)`: released as they are.

A `grade_id` is unique in its notebook and made of letters, digits, `-` and `_`. Marking runs all code cells
from top to bottom in a process without network or files, goes on after a cell that fails, and then calls the
functions by name. Arguments and results are numbers and arrays of numbers. A check gives all its points or
none: a law holds or it does not; where parts are worth points of their own they are functions of their own.
"""
