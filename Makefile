# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# The commands of the lab kit. `make` or `make help` lists them.

# Set these on the command line only: a variable of the environment with such a name, for example n,
# has no effect.
stage :=
n :=
machine :=
long :=
compute :=
decimal :=
seed :=
fail :=
kill :=
task :=
args :=
yes :=
phase :=
trace :=
look :=
instructor :=
lang :=
flint :=
elective :=
PROG :=
AGAINST :=
CLASS :=
TABLE :=
INPUT :=
SYSY :=
O :=
LLC :=
RUNS :=
RED_ZONE :=
CODE_MODEL :=
KERNEL_STACK :=

root := $(patsubst %/,%,$(dir $(realpath $(lastword $(MAKEFILE_LIST)))))
setup := scripts/setup.sh
python := PYTHONPATH="$(CURDIR)" scripts/python.sh
build := $(or $(LAB_BUILD),build)
# The numbers of all stages, in ascending order.
numbers = $(shell ls stages | sed -n 's/^\([0-9][0-9]*\)-.*/\1/p' | sort -n)
# Stages whose speed is compared with the stage before: not 0, a driver, and not 1, the first.
measured = $(filter-out 0 1,$(numbers))
lab := $(python) -m grader.load
course := $(python) -m grader.course.commands
# Run a command that belongs to one elective: $(call elective_command,TARGET).
elective_command = $(python) -m electives $(call quote,$(elective)) $(1)
# Run a command of all exercises: $(call exercise,VERB), for stage=N or elective=NAME.
exercise = $(course) $(1) --exercise $(call quote,$(or $(elective),$(stage)))
# Prefix for recipes of stages: with elective=NAME, run the command of the elective instead.
stage_only = $(if $(elective),$(call exercise,$@); exit;)
# The learner's copy of the stage, if it exists; ref=1 selects the kit's stage.
ref :=
# work=FOLDER, for example build/try, uses copies in that folder instead of work/.
work :=
own := $(if $(ref),,$(if $(stage),$(firstword $(wildcard $(or $(work),work)/$(stage)-*))))
export LAB_REF := $(ref)
export LAB_WORK := $(work)

# yes=1 answers the question that machine=host asks before it touches this computer.
ifeq ($(yes),1)
export LAB_YES := 1
endif

# Quote a value for the shell, so that any value arrives as one word.
quote = '$(subst ','\'',$(1))'
# Without seed=, LAB_SEED of the environment is used; without both, the seed is random, except for
# debug.
seed_option = $(if $(seed),--seed $(call quote,$(seed)))
lang_option = $(if $(lang),--lang $(call quote,$(lang)))
lab_options = --stage $(call quote,$(stage)) --machine $(call quote,$(machine))

# One kbench option for each variable that is set.
kbench_options = $(foreach name,PROG AGAINST INPUT CLASS RUNS LLC,$(if $($(name)),--$(shell echo $(name) | tr A-Z a-z) $(call quote,$($(name))))) \
	$(if $(O),--level $(call quote,$(O))) $(if $(machine),--machine $(call quote,$(machine))) \
	$(if $(CODE_MODEL),--code-model $(call quote,$(CODE_MODEL))) \
	$(if $(filter 1,$(TABLE)),--table) $(if $(filter 1,$(SYSY)),--sysy) $(if $(filter 1,$(RED_ZONE)),--red-zone) $(if $(filter 1,$(KERNEL_STACK)),--kernel-stack)

# Commands that end in a verdict print the problem themselves. With -q, make passes on status 1 of a
# line that begins with + silently; otherwise it would print *** Error 1. Status 2, which means that
# there is no verdict, is an error for make as well, which passes it on and reports it in the last
# line.
verdicts := check bench debug memcheck sanitize doctor release-check
ifneq ($(MAKECMDGOALS),)
ifeq ($(filter-out $(verdicts),$(MAKECMDGOALS))$(findstring n,$(firstword -$(MAKEFLAGS))),)
may_fail := +
MAKEFLAGS += -q
unexport MAKEFLAGS
endif
endif

# Default target: build the stage of stage=N, or run the elective of elective=NAME.
.DEFAULT_GOAL := $(if $(stage),build,$(if $(elective),run,help))
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# The commands that a learner needs first come first in the help.
course_verbs := start check hint watch status

.PHONY: help
help:  ## say what there is to make
	@echo "make TARGET, some with stage=N ($(firstword $(numbers)) to $(lastword $(numbers))), n=NUMBER, machine=uml"
	@echo
	@awk -F ':.*## ' -v course='$(course_verbs)' '/^[a-z_.-]+:.*## / { line = sprintf("  %-22s %s", $$1, $$2); \
		if (index(" " course " ", " " $$1 " ")) said[$$1] = line; else others = others line "\n" } \
		END { count = split(course, verbs, " "); for (i = 1; i <= count; i++) print said[verbs[i]]; printf "%s", others }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "To begin: README.md, then make stage=0 start. For all stages: grader/run.sh"

.PHONY: setup
setup:  ## install what is missing, build the lab kernel (all targets do this by themselves)
	@$(setup) core lint test user
	@scripts/lab-kernel.sh >/dev/null
	@echo "all is set up"

.PHONY: doctor
doctor:  ## say what this computer can and cannot do, and what to do about it
	$(may_fail)@scripts/doctor.sh

.PHONY: core
core:
	$(may_fail)@$(setup) core

# Set up all that a first check needs, several parts at the same time.
.PHONY: first-run
first-run:
	$(may_fail)@$(if $(machine),,scripts/first-run.sh)

.PHONY: build
build: core  ## stage=N: build the module (what `make stage=N` does)
	@$(stage_only) $(lab) make $(lab_options)

.PHONY: load
load: core elective  ## stage=N, or elective=NAME: load the stage on a machine that stays up; swaps it when one is loaded (trace=1: with fib_trace)
	@$(if $(elective),$(call elective_command,load) $(kbench_options),$(lab) load $(lab_options) $(if $(filter 1,$(trace)),--trace) $(if $(filter 1,$(look)),--look))

.PHONY: unload
unload: core  ## end the machine that stays up
	@$(lab) unload

.PHONY: fib
fib: core  ## n=NUMBER: print F(n), asked of the stage that is loaded
	@$(lab) fib --n $(call quote,$(n))

.PHONY: shell
shell: core  ## a shell on the machine that is up, with /dev/fibonacci and fibctl
	@$(lab) shell

.PHONY: dmesg
dmesg: core  ## that machine's kernel log; after a crash, its last words
	@$(lab) dmesg

.PHONY: gdb
gdb: core  ## stage=N: gdb on the live lab kernel, with the stage's symbols (look=1: compiled for a debugger)
	@$(stage_only) $(setup) user
	@$(lab) gdb --stage $(call quote,$(stage)) $(if $(filter 1,$(look)),--look) --args=$(call quote,$(args))

.PHONY: check
check: first-run core elective  ## [stage=N or elective=NAME]: verify the stage, or all; your copy in work/ for points (ref=1: the kit's)
	$(may_fail)@$(if $(elective)$(own),$(if $(filter 1,$(long)),$(call elective_command,long),$(call exercise,check) $(if $(machine),--machine $(call quote,$(machine))) $(seed_option) $(args)),grader/run.sh $(if $(stage),--stage $(call quote,$(stage))) $(if $(machine),--machine $(call quote,$(machine))) $(seed_option) --no-measure --out $(build)/check)

.PHONY: start
start: core elective  ## stage=N or elective=NAME: make work/N-name/, your copy of the stage, with the tasks left to do (work=build/try: elsewhere; lang=LANGUAGE: its texts and hints in another language)
	@$(call exercise,start) $(lang_option)

.PHONY: status
status: core  ## the whole course: points by stage, and what is next
	@$(course) status

.PHONY: hint
hint: core elective  ## stage=N or elective=NAME: the next hint for the first task that is not done, or for task=K
	@$(call exercise,hint) $(if $(task),--task $(call quote,$(task))) $(lang_option) $(seed_option)

.PHONY: watch
watch: core elective  ## stage=N or elective=NAME: check your copy again whenever you save
	@$(call exercise,watch) $(seed_option)

.PHONY: convert
convert: core  ## stage=N or elective=NAME: bring a copy that an older kit made up to date
	@$(call exercise,convert)

.PHONY: predict
predict: core  ## stage=N [n=NUMBER] [compute=TIMES decimal=TIMES]: how much faster will it be? bench shows both
	@$(call exercise,predict) $(if $(n),--n $(call quote,$(n))) $(if $(compute),--compute $(call quote,$(compute))) $(if $(decimal),--decimal $(call quote,$(decimal)))

.PHONY: bench
bench: core  ## [stage=N]: verify and measure the stage and the one before it, or all
	$(may_fail)@$(stage_only) grader/run.sh $(if $(stage),--own --stage $(if $(filter $(measured),$(stage)),$$(( $(stage) - 1 ))-)$(call quote,$(stage))) $(if $(machine),--machine $(call quote,$(machine))) $(seed_option) $(if $(stage),--out $(build)/bench)

.PHONY: profile
profile: core  ## stage=N [n=NUMBER] [phase=compute]: where the instructions of one call go, by callgrind
	@$(stage_only) $(setup) user
	@$(python) -m grader.tools.profile $(lab_options) $(if $(n),--n $(call quote,$(n))) $(if $(phase),--phase $(call quote,$(phase)))

.PHONY: debug
debug: core  ## [stage=N]: break it on the debug kernel: KASAN, failing allocations, random calls
	$(may_fail)@$(stage_only) $(python) -m grader.debug $(if $(stage),--stage $(call quote,$(stage))) $(seed_option)

# Options that repeat a failure that check reports: F(n) with one failing allocation, or killed at
# one yield.
place_options = $(if $(fail)$(kill),$(if $(n),--n $(call quote,$(n)))) $(if $(fail),--fail $(call quote,$(fail))) $(if $(kill),--kill $(call quote,$(kill)))

# The directory of one stage, the learner's copy if it exists, or of all the kit's stages.
stage_dirs = $$($(python) -m grader.course.learner_copy $(if $(stage),--stage $(call quote,$(stage))))

.PHONY: user
user: core  ## [stage=N]: the stage as a program with malloc underneath: build/user/ (trace=1: with fib_trace)
	@$(stage_only) $(setup) user
	@dirs=$(stage_dirs) && for dir in $$dirs; do \
		MAKEFLAGS= make --no-print-directory -s -C common/userspace STAGE_DIR=$$dir TRACE=$(filter 1,$(trace)) && echo "built $(build)/user/$${dir##*/}/plain/fib" || exit; \
	done

.PHONY: memcheck
memcheck: core  ## [stage=N]: that program under valgrind, every allocation failing in turn
	$(may_fail)@$(stage_only) $(setup) user
	$(may_fail)@dirs=$(stage_dirs) && $(python) common/userspace/check.py memcheck $$dirs

.PHONY: sanitize
sanitize: core  ## [stage=N] [n=NUMBER fail=K]: the same under ASan and UBSan, with and without assembly
	$(may_fail)@$(stage_only) $(setup) user
	$(may_fail)@dirs=$(stage_dirs) && $(python) common/userspace/check.py sanitize $(place_options) $$dirs

.PHONY: compare-gmp
compare-gmp: core  ## [flint=DIR]: the bignum stages against GMP, and FLINT if it is in DIR, in user space: build/compare-gmp/
	@$(setup) user
	@$(python) -m grader.tools.compare_gmp $(if $(flint),--flint $(call quote,$(flint)))

# Install an elective's packages: the group with its name, besides core.
.PHONY: elective
elective:
	$(may_fail)@$(if $(elective),$(setup) core $(if $(filter $(elective),$(notdir $(patsubst %/,%,$(dir $(wildcard electives/*/exercise.toml))))),$(elective)))

.PHONY: run
run: core elective  ## elective=NAME: what it is there for; without a name, the electives there are
	@$(if $(elective),$(call elective_command,run) $(kbench_options) $(args),$(python) -m electives list)

.PHONY: kbench
kbench: core  ## PROG=FILE: a program, C or LLVM IR, inside a kernel, by all metrics; see handouts/electives
	@$(setup) kbench
	@$(python) -m electives.kbench $(kbench_options)

.PHONY: memblock
memblock: core  ## the kernel's early allocator made faster, tested and measured; see handouts/electives
	@$(setup) memblock
	@$(python) -m electives memblock run $(args)

.PHONY: kernel
kernel: core elective  ## elective=memblock: the lab kernel with your function in it: boots, logs the same, runs stage 2
	@$(call elective_command,kernel) $(args)
	@LAB_LINUX=$(build)/memblock/linux grader/run.sh --stage 2 --no-measure --out $(build)/memblock/stage2

# not exported
.PHONY: par
par: core  ## count the reference's instructions again, into expected/par.json
	@$(python) -m grader.scoring.par

.PHONY: figures
figures: core  ## count and measure again all figures of expected/, README, handouts and pictures: on a quiet computer, ten minutes
	@$(python) -m grader.scoring.par
	@$(python) handouts/figures/par_numbers.py
	@$(python) handouts/figures/graded_tables.py
	@$(python) handouts/figures/session_numbers.py
	@scripts/translate.sh update || [ $$? -eq 1 ]  # 1: some paragraphs are not translated yet
	@grader/run.sh --machine uml,qemu --seed 1
	@$(python) -m json.tool --compact $(build)/report/report.json handouts/figures/report.json
	@$(MAKE) compare-gmp
	@handouts/figures/draw.sh
	@$(python) -m handouts.pictures

# /not exported
.PHONY: report
report: core  ## draw build/report/ again from its report.json
	@$(python) -m grader.report $(build)/report

.PHONY: book
# not exported
book:  ## book and site with answers, for teachers: instructor=1; the book in Chinese: lang=zh-TW
# /not exported
book:  ## the handouts as a PDF, build/book/fibdrv-lab.pdf
	@scripts/book.sh $(if $(filter 1,$(instructor)),--instructor) $(if $(lang),--lang $(call quote,$(lang)))

.PHONY: site
site:  ## the handouts as a static site, build/site/, with search, the PDF and a sample report
	@scripts/book.sh --site $(if $(filter 1,$(instructor)),--instructor)

.PHONY: test
test:  ## the tests of the kit itself
	@$(setup) core test user lint book
	@scripts/lab-kernel.sh >/dev/null
# not exported
	@$(setup) qemu sandbox class kbench memblock translations release
	@scripts/distro-kernel.sh >/dev/null
	@scripts/lab-kernel.sh uml-debug >/dev/null
# /not exported
# Each worker starts with one third of the files, so that the data that a file's tests share is made
# once. A worker that has finished takes tests from the others. A fourth worker saves no time on two
# processors.
	@$(python) -m pytest -p no:cacheprovider $(if $(findstring -n,$(args)),,-n 3 --dist worksteal) $(or $(args),--skip-passed tests)

# not exported
.PHONY: screenshots
screenshots: core  ## those of the instructor's first hour, of a class graded here and of build/site/
	@$(setup) browser test
	@$(python) handouts/instructor/screenshots.py

.PHONY: matrix
matrix: core  ## all stages verified on the kernels of apt and of KSRC=a:b, one table (5 minutes each)
	@scripts/matrix.sh $(args)

.PHONY: mutation
mutation: core  ## change each place of the solutions: which changes earn all points? (20 minutes)
	@$(setup) core test qemu
	@$(python) tests/mutation_run.py $(args)

.PHONY: release-check
release-check: core  ## what must be true before a release besides make test and make lint
	$(may_fail)@$(setup) translations
	$(may_fail)@$(python) -m grader.tools.release_check

# /not exported
.PHONY: lint
lint:  ## clang-format, cppcheck, sparse, checkpatch, coccinelle, shellcheck, ruff, mypy, rumdl, vocabulary
	@$(setup) core lint
	@scripts/lint.sh

.PHONY: format
format:  ## format C and Python as the lint wants them
	@$(setup) core lint
	@scripts/format.sh

.PHONY: compile_commands.json
compile_commands.json: core  ## for clangd and editors: how each stage's files are compiled
	@$(python) -m grader.tools.compile_commands

.PHONY: clean
clean: unload  ## remove build/; the lab kernel stays in the cache
	@rm -rf build compile_commands.json
