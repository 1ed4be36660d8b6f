# One command builds the book, one command tests it. `make` alone lists what there is.
# Needed beforehand: Linux, macOS or WSL with Python 3.11 or later, make and git; `make test` also wants a
# Chromium or Chrome, and bubblewrap for the tests of marking.

ifeq ($(OS),Windows_NT)
$(error Windows itself is not supported: run make inside WSL, in a Linux such as Ubuntu)
endif

PYTHON ?= python3
UV     := uv==0.13.9
BIN    := .venv/bin
READY  := .venv/ready
BOOK   := $(BIN)/python book/_tools

.DEFAULT_GOAL := help
.PHONY: help book pdf slides serve lab execute test test-live quick bench evidence soak lint lock clean course grade mark forget

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

book: $(READY)  ## build the book to _build/html (EXECUTE=1 runs every chapter first)
	@$(if $(EXECUTE),$(BOOK)/execute.py)
	@$(BOOK)/assets.py _build/assets
	@$(BOOK)/build.py

pdf: $(READY)  ## print the built book as one PDF, _build/only-the-total.pdf (wants a Chromium or Chrome)
	@$(BOOK)/pdf.py

slides: $(READY)  ## make slides of the built book, one deck a part, in _build/html/slides
	@$(BOOK)/slides.py

serve: $(READY)  ## serve the built book to this machine on a free port
	@$(BOOK)/serve.py

lab: $(READY)  ## open the chapters in JupyterLab
	@$(BOOK)/lab.py

execute: $(READY)  ## run every chapter again, in place (CHAPTER=book/name.ipynb: only that one)
	@$(BOOK)/execute.py $(CHAPTER)

course: $(READY)  ## make a teacher's course from the problem sets (INTO=../my-course; a secret seed is drawn)
	$(if $(INTO),,$(error Say where the course is made: make course INTO=../my-course))
	@$(BOOK)/course.py "$(INTO)" $(if $(SEED),--seed "$(SEED)")

grade: $(READY)  ## mark what was handed in (COURSE=../my-course SUBMISSIONS=../handed-in); wants Linux and bubblewrap
	$(if $(and $(COURSE),$(SUBMISSIONS)),,$(error Say what is marked: make grade COURSE=../my-course SUBMISSIONS=../handed-in))
	@$(BOOK)/grade.py "$(COURSE)" "$(SUBMISSIONS)" $(OPTIONS)

mark: $(READY)  ## open nbgrader's form grader, to mark text and figures by hand (COURSE=../my-course)
	$(if $(COURSE),,$(error Say what is marked: make mark COURSE=../my-course))
	@cd "$(COURSE)" && PATH="$(abspath $(BIN)):$$PATH" jupyter lab --LabApp.default_url=/formgrader

forget: $(READY)  ## delete what a course holds of a student (COURSE=../my-course STUDENT=their id)
	$(if $(and $(COURSE),$(STUDENT)),,$(error Say whose work is deleted: make forget COURSE=../my-course STUDENT=ada))
	@$(BOOK)/forget.py "$(COURSE)" "$(STUDENT)"

test:  ## everything: lint, types, unit, property and paper tests, chapters, the site in a browser
	@$(PYTHON) tests/browser.py
	@$(MAKE) --no-print-directory $(READY)
	@$(BIN)/python tests/run.py all

test-live: $(READY)  ## run every chapter in the browser, on the Python that the page brings (half an hour)
	@$(BIN)/python tests/run.py live

quick: $(READY)  ## the tests to run every few minutes: lint, types, unit and property tests but for long ones
	@$(BIN)/python tests/run.py quick

bench: $(READY)  ## measure the figures of merit and write book/bench.md (two minutes)
	@$(BIN)/python tests/benchmarks/first_figure.py
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \
	    $(BIN)/python -m pytest -q -s tests/benchmarks/figures_of_merit.py \
	    --benchmark-timer=time.process_time --benchmark-disable-gc --benchmark-columns=median,rounds

evidence: $(READY)  ## play the long tables and write book/evidence.md (ten minutes; interrupted, it goes on)
	@$(BIN)/python tests/benchmarks/evidence.py

soak: $(READY)  ## eleven million episodes: memory flat, every iterate inside (a minute or two)
	@$(BIN)/python tests/benchmarks/soak.py

lint: $(READY)  ## ruff and mypy
	@$(BIN)/python tests/run.py lint

lock: $(READY)  ## pin every version again, after a change of pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	    --no-annotate --no-header --quiet -o constraints.txt
	@echo "Pinned in constraints.txt; the next make installs it."

clean:  ## remove the environment and everything built
	@rm -rf .venv _build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage coverage.xml htmlcov
	@echo "Removed the environment and everything built."

# One environment for everything: the tests build the book and the book is tested, so two would differ only in name.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Python 3.11 or later is needed; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "setting up .venv (once; a minute or so) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet $(UV)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c constraints.txt -e '.[test]'
	@touch $@
