// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test the end of a fiber's thread, of the thread group leader and of the
 * process; fork and exec.
 */
#include "test_program.h"

#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <time.h>

static long home, other, first_of_thread;
static void *stack;

static void exits(void *unused)
{
	(void)unused;
	pthread_exit(NULL);
}

static void just_exits(void *unused)
{
	(void)unused;
	syscall(SYS_exit, 0);
}

static void *ends_in_it(void *unused)
{
	(void)unused;
	first_of_thread = fiber_test_convert();
	fiber_switch(other);
	CHECK(!"a thread runs the first fiber of a thread that has ended");
	return NULL;
}

static void *makes_one(void *unused)
{
	(void)unused;
	first_of_thread = fiber_test_convert();
	stack = fiber_test_memory(STACK);
	other = fiber_create(stack, STACK, exits, NULL);
	return NULL;
}

/*
 * A thread that ends in a fiber makes that fiber and its first fiber unusable.
 */
static void a_thread(void)
{
	pthread_t thread;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(just_exits, NULL);
	thread = fiber_test_thread(ends_in_it, NULL);
	pthread_join(thread, NULL);
	SAME(fiber_switch(other), -EOWNERDEAD);
	SAME(fiber_switch(first_of_thread), -EOWNERDEAD);
	fiber_test_fiber(exits, NULL);
	SAME(fiber_switch(other), -ESRCH);
	SAME(fiber_switch(first_of_thread), -ESRCH);
}

static int visits;

static void counts(void *unused)
{
	(void)unused;
	for (;;) {
		visits++;
		fiber_switch(home);
	}
}

/* Fibers that an ended thread created but never ran are usable by others. */
static void its_fibers_stay(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	pthread_join(fiber_test_thread(makes_one, NULL), NULL);
	SAME(fiber_switch(first_of_thread), -EOWNERDEAD);
	SAME(fiber_delete(other), 0);
	SAME(fiber_switch(first_of_thread), -ESRCH);
	other = fiber_test_fiber(counts, NULL);
	SAME(fiber_switch(other), 0);
	SAME(visits, 1);
}

/*
 * The entries of many ended threads do not accumulate, and do not hide other
 * entries.
 */
static void many_threads(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (int i = 0; i < 200; i++) {
		other = fiber_test_fiber(just_exits, NULL);
		pthread_join(fiber_test_thread(ends_in_it, NULL), NULL);
	}
	SAME(fiber_convert(), -EEXIST);
}

/* A drawn number of threads end. */
#define LEAST_AT_ONCE 100
#define MOST_AT_ONCE 400

static long inside[MOST_AT_ONCE], firsts[MOST_AT_ONCE];
static pthread_barrier_t all_converted;

static void *ends_in_its_own(void *argument)
{
	long i = (long)argument;

	firsts[i] = fiber_test_convert();
	pthread_barrier_wait(&all_converted);
	fiber_switch(inside[i]);
	CHECK(!"a fiber continues whose thread has ended");
	return NULL;
}

/*
 * A single FIBERS_CREATE removes all threads that have ended before it. Here,
 * all threads convert before the first one ends, because FIBERS_CONVERT removes
 * ended threads, too.
 */
static void several_threads(void)
{
	pthread_t threads[MOST_AT_ONCE];
	struct timespec now;
	long at_once;

	clock_gettime(CLOCK_REALTIME, &now);
	srandom((unsigned int)now.tv_nsec);
	at_once = LEAST_AT_ONCE + random() % (MOST_AT_ONCE - LEAST_AT_ONCE + 1);
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	pthread_barrier_init(&all_converted, NULL, (unsigned int)at_once);
	for (long i = 0; i < at_once; i++)
		inside[i] = fiber_test_fiber(just_exits, NULL);
	for (long i = 0; i < at_once; i++)
		threads[i] = fiber_test_thread(ends_in_its_own, (void *)i);
	for (long i = 0; i < at_once; i++)
		pthread_join(threads[i], NULL);
	for (long i = 0; i < at_once; i++) {
		SAME(fiber_switch(inside[i]), -EOWNERDEAD);
		SAME(fiber_switch(firsts[i]), -EOWNERDEAD);
	}
	fiber_test_fiber(exits, NULL);
	for (long i = 0; i < at_once; i++) {
		SAME(fiber_switch(inside[i]), -ESRCH);
		SAME(fiber_switch(firsts[i]), -ESRCH);
	}
}

static int leader_lives = 1;

/*
 * The kernel sets leader_lives to 0 when the leader, which calls this function,
 * ends.
 */
static void tell_the_end(void)
{
	syscall(SYS_set_tid_address, &leader_lives);
}

/*
 * Wait until the kernel has ended the leader. pthread_join() waits for the C
 * library instead, which from glibc 2.43 on reports the end of the leader
 * earlier, or never.
 */
static void await_the_leader(void)
{
	while (__atomic_load_n(&leader_lives, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void *after_the_leader(void *unused)
{
	(void)unused;
	await_the_leader();
	home = fiber_test_convert();
	SAME(fiber_switch(1), -ESRCH);
	other = fiber_test_fiber(counts, NULL);
	for (int i = 0; i < 10; i++)
		SAME(fiber_switch(other), 0);
	SAME(visits, 10);
	exit(0);
}

static void *after_its_end(void *unused)
{
	long mine = fiber_test_convert();

	(void)unused;
	__atomic_store_n(&first_of_thread, mine, __ATOMIC_RELEASE);
	await_the_leader();
	SAME(fiber_switch(other), -EOWNERDEAD);
	SAME(fiber_switch(home), -EOWNERDEAD);
	SAME(fiber_switch(mine), -EBUSY);
	exit(0);
}

/* The thread group leader (its thread ID is the process ID) ends in a fiber. */
static void the_leader_inside(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(just_exits, NULL);
	tell_the_end();
	fiber_test_thread(after_its_end, NULL);
	/*
	 * Wait for the other thread's convert, which would remove an ended
	 * leader.
	 */
	while (!__atomic_load_n(&first_of_thread, __ATOMIC_ACQUIRE))
		usleep(1000);
	fiber_switch(other);
}

static void the_leader(void)
{
	SAME(fibers_begin(), 0);
	SAME(fiber_test_convert(), 1);
	tell_the_end();
	fiber_test_thread(after_the_leader, NULL);
	pthread_exit(NULL);
}

static void in_the_child(void)
{
	uint64_t value;

	SAME(fiber_switch(other), -ESRCH);
	SAME(fiber_convert(), -ESRCH);
	SAME(fiber_local_get(0, &value), -ESRCH);
	/* With its own open file, the child starts without fibers. */
	SAME(fibers_begin(), 0);
	SAME(fiber_switch(other), -EPERM);
	SAME(fiber_convert(), 1);
	SAME(fiber_switch(other), -ESRCH);
}

static void a_fork(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	SAME(fiber_test_child(in_the_child), 0);
	SAME(fiber_switch(other), 0);
	SAME(visits, 1);
}

static bool forked_well;

/* The child continues in a copy of this fiber, on a copy of its stack. */
static void forks(void *unused)
{
	(void)unused;
	forked_well = !fiber_test_child(in_the_child);
	SAME(fiber_switch(home), 0);
}

static void a_fork_inside(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	SAME(fiber_switch(fiber_test_fiber(forks, NULL)), 0);
	CHECK(forked_well);
	SAME(fiber_switch(other), 0);
	SAME(visits, 1);
}

/* Two open files of a process, and a duplicate, are equivalent. */
static void two_files(void)
{
	int first, copy;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	first = fibers_file;
	SAME(fibers_begin(), 0);
	SAME(fiber_switch(other), 0);
	copy = dup(fibers_file);
	close(fibers_file);
	close(first);
	fibers_file = copy;
	SAME(fiber_switch(other), 0);
	SAME(visits, 2);
	close(copy);
	SAME(fibers_begin(), 0);
	SAME(fiber_convert(), 1);
}

static void executes(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	fiber_test_fiber(counts, NULL);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void executes_with_the_file(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	fiber_test_fiber(counts, NULL);
	fcntl(fibers_file, F_SETFD, 0);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void from_a_fiber(void *unused)
{
	(void)unused;
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void executes_in_a_fiber(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	fiber_switch(fiber_test_fiber(from_a_fiber, NULL));
}

static int all_counted;

/* exec leaves only the calling thread, and gives it the leader's thread ID. */
static void *executes_there(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&all_counted, __ATOMIC_ACQUIRE))
		usleep(1000);
	home = fiber_test_convert();
	fiber_switch(fiber_test_fiber(from_a_fiber, NULL));
	return NULL;
}

static void a_thread_executes(void)
{
	pthread_t thread;

	SAME(fibers_begin(), 0);
	fiber_test_convert();
	thread = fiber_test_thread(executes_there, NULL);
	/*
	 * Count the check in fiber_test_thread() first, because exec ends this
	 * thread.
	 */
	__atomic_store_n(&all_counted, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(!"exec comes back");
}

static void a_spawn(void)
{
	char *words[] = { "true", NULL };
	int status = -1;
	pid_t child;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	SAME(posix_spawn(&child, "/bin/true", NULL, NULL, words, NULL), 0);
	waitpid(child, &status, 0);
	SAME(status, 0);
	SAME(fiber_switch(other), 0);
	/*
	 * A vfork child shares the memory, but is not a thread of this process.
	 */
	child = vfork();
	if (!child) {
		long said = fiber_switch(other);

		_exit(said == -EPERM ? 0 : 1);
	}
	waitpid(child, &status, 0);
	SAME(status, 0);
	SAME(fiber_switch(other), 0);
	SAME(visits, 2);
}

static void returns(void *unused)
{
	(void)unused;
}

static void (*bad_entry)(void *);
static size_t unmapped;

static void goes_wrong(void)
{
	void *here = fiber_test_memory(STACK);
	long id;

	SAME(fibers_begin(), 0);
	fiber_test_convert();
	id = fiber_create(here, STACK, bad_entry, NULL);
	CHECK(id > 0);
	if (unmapped)
		munmap(here, unmapped);
	fiber_switch(id);
}

static void dies(void (*entry)(void *), size_t gone)
{
	int status;

	bad_entry = entry;
	unmapped = gone;
	status = fiber_test_child(goes_wrong);
	CHECK(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

/* A bad address ends the process by a signal and has no other effect. */
static void bad_addresses(void)
{
	static const unsigned long bad[] = {
		0,
		1,
		0x7fffffffffff,
		0x800000000000,
		0x8000000000000000,
		0xdead000000000000,
		0xffff800000000000,
		0xffffffff81000000,
		0xffffffffff600001,
		0xffffffffffffffff,
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		dies((void (*)(void *))bad[i], 0);
	dies(returns, STACK);
	dies(returns, 0);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "thread", a_thread },
		{ "stay", its_fibers_stay },
		{ "threads", many_threads },
		{ "several", several_threads },
		{ "leader", the_leader },
		{ "leader-inside", the_leader_inside },
		{ "fork", a_fork },
		{ "fork-inside", a_fork_inside },
		{ "files", two_files },
		{ "exec", executes },
		{ "exec-open", executes_with_the_file },
		{ "exec-inside", executes_in_a_fiber },
		{ "exec-thread", a_thread_executes },
		{ "spawn", a_spawn },
		{ "bad", bad_addresses },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
