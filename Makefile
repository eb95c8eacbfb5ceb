# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# The one door to the lab kit. `make` or `make help` says what there is.

# To be said on the command line; a variable of the environment that is called n is not meant.
stage :=
n :=
machine :=
seed :=
args :=
yes :=
instructor :=
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
# The numbers of the stages there are, in order.
numbers = $(shell ls stages | sed -n 's/^\([0-9][0-9]*\)-.*/\1/p' | sort -n)
lab := $(python) -m grader.load
course := $(python) -m grader.course.commands
# What a target is for an elective, where there is one: $(call door,TARGET).
door = $(python) -m electives $(call quote,$(elective)) $(1)
# The learner's copy of the stage, where there is one; ref=1 means the kit's own.
ref :=
own := $(if $(ref),,$(if $(stage),$(firstword $(wildcard work/$(stage)-*))))
export LAB_REF := $(ref)

# yes=1 answers what machine=host asks before it touches this computer.
ifeq ($(yes),1)
export LAB_YES := 1
endif

# Quoted, so that whatever is given arrives as one word.
quote = '$(subst ','\'',$(1))'
# Without one LAB_SEED of the environment counts; without that it is drawn, but for debug.
seed_option = $(if $(seed),--seed $(call quote,$(seed)))
lab_options = --stage $(call quote,$(stage)) --machine $(call quote,$(machine))

# An option of kbench for each variable that is set.
kbench_options = $(foreach name,PROG AGAINST INPUT CLASS RUNS LLC,$(if $($(name)),--$(shell echo $(name) | tr A-Z a-z) $(call quote,$($(name))))) \
	$(if $(O),--level $(call quote,$(O))) $(if $(machine),--machine $(call quote,$(machine))) \
	$(if $(CODE_MODEL),--code-model $(call quote,$(CODE_MODEL))) \
	$(if $(filter 1,$(TABLE)),--table) $(if $(filter 1,$(SYSY)),--sysy) $(if $(filter 1,$(RED_ZONE)),--red-zone) $(if $(filter 1,$(KERNEL_STACK)),--kernel-stack)

# With a stage and no target: build that stage; with an elective: what it is there for.
.DEFAULT_GOAL := $(if $(stage),build,$(if $(elective),run,help))
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

.PHONY: help
help:  ## say what there is to make
	@echo "make TARGET, some with stage=N ($(firstword $(numbers)) to $(lastword $(numbers))), n=NUMBER, machine=uml"
	@echo
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "To begin: make stage=1 load, make fib n=93, make unload. For all stages: grader/run.sh"

.PHONY: setup
setup:  ## install what is missing, build the lab kernel (all targets do this by themselves)
	@$(setup) core lint test user
	@scripts/lab-kernel.sh >/dev/null
	@echo "all is set up"

.PHONY: doctor
doctor:  ## say what this computer can and cannot do, and what to do about it
	@scripts/doctor.sh

.PHONY: core
core:
	@$(setup) core

.PHONY: build
build: core  ## stage=N: build the module (what `make stage=N` does)
	@$(lab) make $(lab_options)

.PHONY: load
load: core elective  ## stage=N, or elective=NAME: load the stage on a machine that stays up; swaps it when one is loaded
	@$(if $(elective),$(call door,load) $(kbench_options),$(lab) load $(lab_options))

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
gdb: core  ## stage=N: gdb on the live lab kernel, with the stage's symbols
	@$(setup) user
	@$(lab) gdb --stage $(call quote,$(stage)) --args=$(call quote,$(args))

.PHONY: check
check: core elective  ## [stage=N or elective=NAME]: verify the stage, or all; your copy in work/ for points (ref=1: the kit's)
	@$(if $(elective),$(call door,check),$(if $(own),$(course) check --stage $(call quote,$(stage)) --machine $(call quote,$(machine)) $(seed_option) $(args),grader/run.sh $(if $(stage),--stage $(call quote,$(stage))) $(if $(machine),--machine $(call quote,$(machine))) $(seed_option) --no-measure --out $(build)/check))

.PHONY: start
start: core elective  ## stage=N or elective=NAME: make work/N-name/, your copy of the stage, with the tasks left to do
	@$(if $(elective),$(call door,start),$(course) start --stage $(call quote,$(stage)))

.PHONY: status
status: core  ## the whole course: points by stage, and what is next
	@$(course) status

.PHONY: hint
hint: core elective  ## stage=N or elective=NAME: the next hint for the first task that is not done
	@$(if $(elective),$(call door,hint),$(course) hint --stage $(call quote,$(stage)) $(seed_option))

.PHONY: watch
watch: core  ## stage=N: check your copy again whenever you save
	@$(course) watch --stage $(call quote,$(stage)) $(seed_option)

.PHONY: bench
bench: core  ## [stage=N]: verify and measure the stage and the one before it, or all
	@grader/run.sh $(if $(stage),--own --stage $(if $(filter $(wordlist 2,999,$(numbers)),$(stage)),$$(( $(stage) - 1 ))-)$(call quote,$(stage))) $(if $(machine),--machine $(call quote,$(machine))) $(seed_option) $(if $(stage),--out $(build)/bench)

.PHONY: profile
profile: core  ## stage=N [n=NUMBER]: where the instructions of one call go, by callgrind
	@$(setup) user
	@$(python) -m grader.tools.profile $(lab_options) $(if $(n),--n $(call quote,$(n)))

.PHONY: debug
debug: core  ## [stage=N]: break it on the debug kernel: KASAN, failing allocations, random calls
	@$(python) -m grader.debug $(if $(stage),--stage $(call quote,$(stage))) $(seed_option)

# These take one stage, the learner's copy if there is one, or all of the kit's.
stage_dirs = $$($(python) -m grader.course.learner_copy $(if $(stage),--stage $(call quote,$(stage))))

.PHONY: user
user: core  ## [stage=N]: the stage as a program with malloc underneath: build/user/
	@$(setup) user
	@dirs=$(stage_dirs) && for dir in $$dirs; do \
		MAKEFLAGS= make --no-print-directory -s -C common/userspace STAGE_DIR=$$dir && echo "built $(build)/user/$${dir##*/}/plain/fib" || exit; \
	done

.PHONY: memcheck
memcheck: core  ## [stage=N]: that program under valgrind, every allocation failing in turn
	@$(setup) user
	@dirs=$(stage_dirs) && $(python) common/userspace/check.py memcheck $$dirs

.PHONY: sanitize
sanitize: core  ## [stage=N]: the same under ASan and UBSan, with and without assembly
	@$(setup) user
	@dirs=$(stage_dirs) && $(python) common/userspace/check.py sanitize $$dirs

.PHONY: compare-gmp
compare-gmp: core  ## the bignum stages against GMP, in user space: build/compare-gmp/
	@$(setup) user
	@$(python) -m grader.tools.compare_gmp

# What an elective needs besides core: a group of packages of its name.
.PHONY: elective
elective:
	@$(if $(elective),$(setup) core $(if $(filter $(elective),$(notdir $(patsubst %/,%,$(dir $(wildcard electives/*/elective.toml))))),$(elective)))

.PHONY: run
run: core elective  ## elective=NAME: what it is there for; without a name, the electives there are
	@$(if $(elective),$(call door,run) $(kbench_options) $(args),$(python) -m electives list)

.PHONY: kbench
kbench: core  ## PROG=FILE: a program, C or LLVM IR, inside a kernel, by all rulers; see handouts/electives
	@$(setup) kbench
	@$(python) -m electives.kbench $(kbench_options)

.PHONY: memblock
memblock: core  ## the kernel's early allocator made faster, tested and measured; see handouts/electives
	@$(setup) memblock
	@$(python) -m electives memblock run $(args)

# not exported
.PHONY: par
par: core  ## count the reference's instructions anew, into expected/par.json
	@$(python) -m grader.verdict.par

# /not exported
.PHONY: report
report: core  ## draw build/report/ again from its report.json
	@$(python) -m grader.report $(build)/report

.PHONY: book
book:  ## the handouts as build/book/index.html and a PDF; instructor=1 adds the answers
	@scripts/book.sh $(if $(filter 1,$(instructor)),--instructor)

.PHONY: test
test:  ## the tests of the kit itself
	@$(setup) core test user lint book
	@scripts/lab-kernel.sh >/dev/null
# not exported
	@$(setup) qemu sandbox class kbench memblock
	@scripts/distro-kernel.sh >/dev/null
	@scripts/lab-kernel.sh uml-debug >/dev/null
# /not exported
	@$(python) -m pytest -p no:cacheprovider $(if $(findstring -n,$(args)),,-n 3) $(or $(args),tests)

# not exported
.PHONY: matrix
matrix: core  ## all stages verified on the kernels of apt and of KSRC=a:b, one table (5 minutes each)
	@scripts/matrix.sh $(args)

.PHONY: mutation
mutation: core  ## small faults in the bignum stages: which part of the kit catches each (20 minutes)
	@$(setup) core test user
	@$(python) tests/mutation_run.py $(args)

# /not exported
.PHONY: lint
lint:  ## clang-format, cppcheck, sparse, shellcheck, ruff, mypy
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
