# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Remember which options the compiler knows. make reads this file before kbuild's makefiles.
#
# Before each build kbuild tries about thirty options with its function try-run, and starts the
# compiler for each: two thirds of the time in which a small module is built. The answers depend on
# kernel and compiler only. grader/lab/module.py keeps a copy of this file for each kernel. With
# LAB_REMEMBER=y each option that the compiler accepts is appended to the copy (LAB_PROBES). A refusal
# is never kept, since a compiler that was stopped also gives one.
lab-empty :=
lab-space := $(lab-empty) $(lab-empty)
# The name of the variable for a command: characters that end a name in an assignment are replaced.
lab-name = lab.$(subst $$,~,$(subst $(lab-space),~,$(subst =,~,$(subst :,~,$(subst \#,~,$(strip $(1)))))))
lab-ask = $(shell set -e; TMP=$(TMPOUT)/tmp; trap "rm -rf $(TMPOUT)" EXIT; mkdir -p $(TMPOUT); \
	if ($(1)) >/dev/null 2>&1; then echo y; fi)
lab-keep = y$(eval $(1) := y)$(if $(LAB_REMEMBER),$(file >>$(LAB_PROBES),$(1) := y))
lab-try = $(or $($(2)),$(if $(lab-ask),$(call lab-keep,$(2))))
# Usage in kbuild: $(call try-run, command, value if it succeeds, value if it fails)
override try-run = $(if $(call lab-try,$(1),$(call lab-name,$(1))),$(2),$(3))
