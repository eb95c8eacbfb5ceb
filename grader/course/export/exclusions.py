# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The files that are not exported to students, with the reasons."""

from __future__ import annotations

from fnmatch import fnmatch

# The reason for each pattern of file names. Add every file that quotes a solution.
LEFT_OUT = {
    "stages/*.[ch]": "the solutions; skeletons take their place",
    "stages/*/exercise.toml": "part of the skeletons",
    "handouts/instructor.md": "for teachers",
    "handouts/instructor/*": "for teachers",
    "handouts/zh-TW/*": "a course has its handouts in one language",
    "scripts/translate.sh": "a course has its handouts in one language",
    "grader/course/translation.py": "a course has its handouts in one language",
    "tests/test_translations.py": "a course has its handouts in one language",
    "handouts/experiments/*": "patches quote the solutions",
    "handouts/pictures/experiment.svg": "of the experiments",
    "CONTRIBUTING.md": "about the kit itself",
    ".ci/*": "about the kit itself",
    ".github/workflows/kit.yml": "about the kit itself; EXPORTED_AS has the course's",
    ".github/workflows/releases.yml": "about the kit itself",
    "scripts/matrix.sh": "about the kit itself",
    "scripts/try-release": "about the kit itself",
    "tests/test_try_release.py": "about the kit itself",
    "grader/tools/matrix.py": "about the kit itself",
    "grader/tools/release_check.py": "about the kit itself",
    "scripts/export-course": "nothing is left to export",
    "grader/course/export/*": "nothing is left to export",
    "tests/test_export*.py": "nothing is left to export",
    "scripts/try-site": "about the kit itself",
    "scripts/try-site.txt": "about the kit itself",
    "scripts/try_site.py": "about the kit itself",
    "tests/test_site.py": "needs two languages",
    "tests/site_pages.py": "needs two languages",
    "tests/class_*.py": "quotes the solutions, or needs them",
    "tests/test_class*.py": "needs solved stages",
    "tests/test_compare.py": "needs solved stages",
    "tests/test_compare_gmp.py": "needs solved stages",
    "tests/test_concurrency.py": "needs solved stages",
    "tests/test_stage_contract.py": "needs solved stages",
    "tests/test_course.py": "needs solved stages",
    "tests/test_alone.py": "needs solved stages",
    "tests/test_debug.py": "needs solved stages, and the debug kernel",
    "tests/test_handout_mistakes.py": "needs solved stages",
    "tests/test_faults.py": "needs the faults",
    "tests/test_once.py": "needs the faults",
    "tests/test_codes.py": "needs the faults",
    "tests/test_vector.py": "needs the faults",
    "tests/test_mutation.py": "needs the solutions",
    "tests/test_object_store.py": "needs solved stages",
    "tests/test_c_flags.py": "needs solved stages",
    "tests/test_fft_error.py": "needs solved stages",
    "tests/test_host_faults.py": "needs the class's submissions",
    "tests/test_instructions.py": "needs the faults",
    "tests/test_ideas.py": "needs the faults",
    "tests/test_operation_headers.py": "needs solved stages",
    "tests/test_size_classes.py": "needs the faults",
    "tests/test_operands.py": "needs solved stages",
    "tests/test_right_variants.py": "needs the solutions",
    "tests/right/*": "they are solutions",
    "tests/kbench/right/*": "they are solutions",
    "tests/test_stage0*.py": "needs stage 0 solved",
    "tests/test_similarity.py": "needs solved stages",
    "tests/test_repetition.py": "quotes the solution",
    "tests/test_look.py": "needs solved stages",
    "tests/test_fibers.py": "needs the elective solved",
    "tests/test_profile.py": "needs solved stages",
    "tests/test_qemu.py": "needs solved stages, and the distribution's kernel",
    "tests/test_run.py": "needs solved stages",
    "tests/test_snapshot.py": "needs the distribution's kernel",
    "tests/test_warm_up.py": "quotes the solution",
    "tests/test_solutions.py": "needs solved stages",
    "tests/test_user_build.py": "needs solved stages",
    "tests/test_user_time.py": "needs solved stages",
    "tests/test_environment.py": "needs solved stages",
    "tests/test_kbench*.py": "needs the elective solved, and the distribution's kernel",
    "tests/test_electives.py": "needs the electives solved",
    "tests/elective/*": "about the kit itself",
    "electives/memblock/variants/*": "another solution",
    "tests/test_memblock*.py": "needs the elective solved",
    "tests/faults/*": "faults quote the solutions",
    "tests/catalogue.py": "needs the faults",
    "tests/fault_finders.py": "needs the faults",
    "tests/shared_machine.py": "of tests that are left out",
    "tests/mutation_run.py": "needs the solutions",
    "tests/mutation_survivors.toml": "lines of the solutions",
    "tests/USER_VALUES.md": "about the kit itself",
}

# Files that have another path in a student repository.
EXPORTED_AS = {"scripts/course-workflow.yml": ".github/workflows/check.yml"}


# Students get this file only with --answers; the book folds each answer under its question.
ANSWERS = "handouts/answers.md"


def excluded(name: str, answers: bool = False) -> bool:
    """Return whether the file with this name is not exported to students."""
    if name == ANSWERS:
        return not answers
    return any(fnmatch(name, pattern) for pattern in LEFT_OUT)
