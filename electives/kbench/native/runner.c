// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run the same program as an ordinary process: call its main and write the
 * result to the last line of stderr, as "kbench: ns N" or "kbench: signal N
 * ADDRESS PLACE STACK". The first argument is the time limit in seconds.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

int kbench_main(int argc, char **argv);

/*
 * The linker defines these symbols at the start and the end of the program's
 * own code, which does not include libc.
 */
extern char __executable_start, etext;

#define LOOK_WORDS 4096

static struct timespec begin;
static char signal_stack[1 << 16];

static void say_time(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "\nkbench: ns %lld\n",
		(end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec -
			begin.tv_nsec);
}

static int ours(uintptr_t address)
{
	return address >= (uintptr_t)&__executable_start &&
	       address < (uintptr_t)&etext;
}

/*
 * Return the address of the fault; for a fault within libc, the nearest return
 * address on the stack that is in the program's own code.
 */
static uintptr_t place(const ucontext_t *context)
{
	uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	const uintptr_t *stack =
		(const uintptr_t *)context->uc_mcontext.gregs[REG_RSP];

	for (int i = 0; !ours(at) && i < LOOK_WORDS; i++)
		at = stack[i];
	return at;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const ucontext_t *before = context;
	char text[128];
	int size;

	/*
	 * abort() and a failed assertion are a normal end. They do not flush
	 * stdout, which is buffered unless it is a terminal.
	 */
	if (number == SIGABRT) {
		fflush(stdout);
		say_time();
		_exit(128 + number);
	}
	/*
	 * If searching the stack causes a second fault, the process ends
	 * silently.
	 */
	signal(SIGSEGV, SIG_DFL);
	size = snprintf(text, sizeof(text),
			"\nkbench: signal %d %llx %llx %llx\n", number,
			(unsigned long long)(uintptr_t)info->si_addr,
			(unsigned long long)place(before),
			(unsigned long long)before->uc_mcontext.gregs[REG_RSP]);
	if (write(STDERR_FILENO, text, (size_t)size) != size)
		_exit(1);
	_exit(128 + number);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGSEGV, SIGBUS,	 SIGFPE,
				       SIGILL,	SIGABRT, SIGALRM };
	static char name[] = "program";
	static char *words[] = { name, NULL };
	stack_t stack = { .ss_sp = signal_stack,
			  .ss_size = sizeof(signal_stack) };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	alarm(argc > 1 ? (unsigned int)atoi(argv[1]) : 0);
	atexit(say_time);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	exit(kbench_main(1, words));
}
