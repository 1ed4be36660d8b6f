"""The drawings of the chapters: `chNN` draws chapter NN, `index` the landing page."""
