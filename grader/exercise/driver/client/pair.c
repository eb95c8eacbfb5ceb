// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run two callers at the same time, for the requests in firstctl.h. They are
 * threads on one CPU, and processes on two CPUs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first.h"
#include "firstctl.h"

#define FIRST_RACE "/sys/module/first/parameters/race"
#define FIRST_KILLED "/sys/module/first/parameters/killed"
/* A second name of the device, in another directory. */
#define OTHER_DEVICE "/first.other"
#define MICROSECONDS_BETWEEN_SIGNALS 500

struct caller {
	void (*work)(struct caller *);
	struct caller *other;
	int cpu;
	int fd;
	long count;
	const char *text; /* the text to write */
	/*
	 * The number of lines to write before each CLEAR, or of lines that the
	 * notebook has at the beginning.
	 */
	long lines;
	off_t end; /* of the text, at the beginning */
	const char *attribute; /* the attribute to open instead of the device */
	int flags; /* of the open */
	bool asks; /* whether opens() writes a line and calls INFO */
	bool ended;
	long done;
	long odd;
	/* The calls that have begun and finished, for the other caller. */
	long begun;
	long finished;
	/*
	 * A thread of this process, or a process with one more thread. A driver
	 * with a lock for each process passes with two threads only.
	 */
	pthread_t thread;
	pid_t process;
};

/* Memory that this process shares with the callers' processes. */
static struct pair {
	struct caller caller[2];
	pthread_barrier_t begin;
	bool processes; /* whether each caller is a process */
	/* Set if a call failed with EINTR although no signal interrupted it. */
	bool unexpected_eintr;
} *shared;

/* The number of signals that this thread has handled. */
static __thread volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/*
 * Return whether a call failed because of a signal. @before is the number of
 * signals before the call. The signal handler runs before the call returns.
 */
static bool was_interrupted(long ret, sig_atomic_t before)
{
	if (ret != -1 || errno != EINTR)
		return false;
	if (signals == before)
		__atomic_store_n(&shared->unexpected_eintr, true,
				 __ATOMIC_RELAXED);
	return signals != before;
}

/* Make a call again while signals interrupt it. */
#define RETRY(call)                                     \
	({                                              \
		sig_atomic_t before;                    \
		long ret;                               \
                                                        \
		do {                                    \
			before = signals;               \
			ret = (call);                   \
		} while (was_interrupted(ret, before)); \
		ret;                                    \
	})

static bool has_ended(const struct caller *c)
{
	return __atomic_load_n(&c->ended, __ATOMIC_ACQUIRE);
}

/* Make all kinds of calls that count: reads at the end, writes, and failures. */
static void reads(struct caller *c)
{
	void *bad = (void *)8;
	char text[16];

	for (long i = 0; i < c->count; i++) {
		__atomic_add_fetch(&c->begun, 1, __ATOMIC_SEQ_CST);
		if (i % 5 == 0)
			c->done += pread(c->fd, text, sizeof(text),
					 FIRST_BYTES) == 0;
		else if (i % 5 == 1)
			c->done += pread(c->fd, bad, 1, 0) < 0;
		else if (i % 5 == 2)
			c->done += write(c->fd, "x", 1) < 0;
		else if (i % 5 == 3)
			c->done += write(c->fd, "0", 1) == 1;
		else
			c->done += write(c->fd, bad, 1) < 0;
		__atomic_add_fetch(&c->finished, 1, __ATOMIC_SEQ_CST);
	}
}

static void *run(void *argument)
{
	struct caller *c = argument;
	sigset_t usual;
	cpu_set_t cpu;

	sigemptyset(&usual);
	/*
	 * Do not interrupt counted reads, because a restarted read counts
	 * twice.
	 */
	if (c->work == reads)
		sigaddset(&usual, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &usual, NULL);
	CPU_ZERO(&cpu);
	CPU_SET(c->cpu, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pthread_barrier_wait(&shared->begin);
	c->work(c);
	__atomic_store_n(&c->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void start_thread(struct caller *c)
{
	if (pthread_create(&c->thread, NULL, run, c)) {
		perror("pthread_create");
		exit(1);
	}
}

/*
 * Start a caller. In a process of its own it is a second thread, because
 * locks.c checks the accesses of a process that has several threads.
 */
static void start(struct caller *c)
{
	sigset_t all;
	pid_t child;

	if (!shared->processes) {
		start_thread(c);
		return;
	}
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (child) {
		/* Only this process sets it, because the child shares *c. */
		c->process = child;
		return;
	}
	/* Leave the signals to the second thread, which makes the calls. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	start_thread(c);
	pthread_join(c->thread, NULL);
	_exit(0);
}

static void wait_for(const struct caller *c)
{
	if (shared->processes)
		waitpid(c->process, NULL, 0);
	else
		pthread_join(c->thread, NULL);
}

/*
 * Send signals until both callers have ended. A call that waits for a lock may
 * then fail with EINTR, and must not release the lock, which it does not hold.
 */
static void interrupt(const struct caller pair[2])
{
	while (!has_ended(&pair[0]) || !has_ended(&pair[1])) {
		for (int i = 0; i < 2; i++) {
			if (shared->processes)
				kill(pair[i].process, SIGUSR1);
			else
				pthread_kill(pair[i].thread, SIGUSR1);
		}
		usleep(MICROSECONDS_BETWEEN_SIGNALS);
	}
}

/* Return whether a new file counts the first line that it writes. */
static bool counts_first_line(const struct caller *c, int fd)
{
	size_t size = strlen(c->text);
	struct first_info info = { 0 };

	return RETRY(write(fd, c->text, size)) == (ssize_t)size &&
	       !RETRY(ioctl(fd, FIRST_IOC_INFO, &info)) && info.mine == 1;
}

/* Open the device and close it, again and again. */
static void opens(struct caller *c)
{
	for (long i = 0; i < c->count; i++) {
		int fd = (int)RETRY(open(FIRST_DEVICE, O_RDWR | O_CLOEXEC));

		bool right = !c->asks || counts_first_line(c, fd);

		c->done += fd >= 0 && !close(fd) && right;
	}
}

/*
 * Wait until the kernel no longer counts other threads of this process, because
 * locks.c checks each access while it counts them.
 */
static void wait_for_end(void)
{
	struct stat st;

	while (!stat("/proc/self/task", &st) && st.st_nlink > 3)
		usleep(10);
}

/*
 * Open the device by a second name. Both names have different inodes, so a lock
 * in the inode does not exclude the other caller.
 */
static int open_other(int flags)
{
	struct stat st;

	if (stat(FIRST_DEVICE, &st))
		return -1;
	unlink(OTHER_DEVICE);
	if (mknod(OTHER_DEVICE, S_IFCHR | 0600, st.st_rdev))
		return -1;
	return open(OTHER_DEVICE, flags);
}

/*
 * Run both callers to the end. If they cannot run, or if a call fails with
 * EINTR without a signal, print the error and return false.
 */
static bool together(struct caller pair[2], bool same_file)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };
	pthread_barrierattr_t across;

	sigaction(SIGUSR1, &action, NULL);
	pthread_barrierattr_init(&across);
	pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->begin, &across, 2);
	for (int i = 0; i < 2; i++) {
		if (pair[i].attribute)
			pair[i].fd = open_attribute(pair[i].attribute,
						    pair[i].flags);
		else if (!i)
			pair[i].fd = open(FIRST_DEVICE, pair[i].flags);
		else
			pair[i].fd = same_file ? pair[0].fd :
						 open_other(pair[i].flags);
		if (pair[i].fd < 0) {
			printf("%d\n", -errno);
			return false;
		}
		pair[i].other = &pair[1 - i];
	}
	for (int i = 0; i < 2; i++)
		start(&pair[i]);
	interrupt(pair);
	for (int i = 0; i < 2; i++)
		wait_for(&pair[i]);
	wait_for_end();
	pthread_barrier_destroy(&shared->begin);
	if (shared->unexpected_eintr)
		printf("%d\n", -EINTR);
	return !shared->unexpected_eintr;
}

static void part(struct caller pair[2], bool same_file)
{
	close(pair[0].fd);
	if (!same_file)
		close(pair[1].fd);
}

static void writes(struct caller *c)
{
	size_t size = strlen(c->text);

	for (long i = 0; i < c->count; i++) {
		__atomic_add_fetch(&c->begun, 1, __ATOMIC_SEQ_CST);
		c->done += RETRY(write(c->fd, c->text, size)) == (ssize_t)size;
		__atomic_add_fetch(&c->finished, 1, __ATOMIC_SEQ_CST);
	}
}

static long begun(const struct caller *c)
{
	return __atomic_load_n(&c->begun, __ATOMIC_SEQ_CST);
}

static long finished(const struct caller *c)
{
	return __atomic_load_n(&c->finished, __ATOMIC_SEQ_CST);
}

/*
 * Seek in the first lines, "0\n1\n1\n", and to the last line, and read it and
 * what follows. All new lines have two bytes. The end of the text must be after
 * all lines whose writes have finished, and before all that have not begun.
 */
static void follows(struct caller *c)
{
	char text[8192] = "";

	while (!has_ended(c->other)) {
		off_t begin = RETRY(lseek(c->fd, 5, SEEK_SET));
		off_t next = RETRY(lseek(c->fd, 1, SEEK_CUR));
		off_t least = c->end + 2 * finished(c->other);
		off_t line = RETRY(lseek(c->fd, -1, SEEK_END));
		ssize_t size = RETRY(read(c->fd, text, sizeof(text)));
		off_t most = c->end + 2 * begun(c->other);

		if (begin != 4 || next != 4 || line + 2 < least || size < 2 ||
		    line + size > most || text[0] == '\n' ||
		    text[size - 1] != '\n')
			c->odd++;
		c->done++;
	}
}

/* Return the number in an attribute, or -1. */
static long shown(const struct caller *c)
{
	char text[32] = "";

	if (RETRY(pread(c->fd, text, sizeof(text) - 1, 0)) < 1)
		return -1;
	return strtol(text, NULL, 10);
}

/*
 * Read the number of lines until the other caller, which writes, has ended. It
 * must count all writes that have finished, and none that has not begun.
 */
static void shows(struct caller *c)
{
	while (!has_ended(c->other)) {
		long least = finished(c->other);
		long lines = shown(c) - c->lines;

		c->odd += lines < least || lines > begun(c->other);
		c->done++;
	}
}

/* The number of times that the counter is read after each reset. */
#define READS_AFTER_RESET 4

/*
 * Set the counter of calls to 0 until the other caller has ended. Afterwards it
 * must count all calls that have begun after the reset and finished, and none
 * that finished before the reset.
 */
static void resets(struct caller *c)
{
	while (!has_ended(c->other)) {
		long before = finished(c->other), after;

		c->odd += RETRY(pwrite(c->fd, "0", 1, 0)) != 1;
		after = begun(c->other);
		for (int i = 0; i < READS_AFTER_RESET; i++) {
			long least = finished(c->other) - after;
			long calls = shown(c);

			c->odd += calls < 0 || calls < least ||
				  calls > begun(c->other) - before;
		}
		c->done++;
	}
}

/*
 * Make a call that counts, and set the counter to 0, as the other caller does.
 * The counter must never be more than the calls of both.
 */
static void resets_alike(struct caller *c)
{
	int device = open(FIRST_DEVICE, O_RDONLY | O_CLOEXEC);
	char text[1];

	for (long i = 0; i < c->count; i++) {
		long calls;

		__atomic_add_fetch(&c->begun, 1, __ATOMIC_SEQ_CST);
		c->odd += RETRY(pread(device, text, 1, 0)) != 1;
		c->odd += RETRY(pwrite(c->fd, "0", 1, 0)) != 1;
		calls = shown(c);
		c->odd += calls < 0 || calls > begun(c) + begun(c->other);
	}
	close(device);
}

/*
 * Make CLEAR calls until the other caller, which writes, has ended. After each
 * call, all lines must have been deleted whose writes had finished before.
 */
static void clears(struct caller *c)
{
	while (!has_ended(c->other)) {
		long least = finished(c->other);
		int lines = RETRY(ioctl(c->fd, FIRST_IOC_CLEAR));

		if (lines > 0)
			c->done += lines;
		c->odd += lines < 0 || c->done < least ||
			  c->done > begun(c->other);
	}
}

static void writes_and_clears(struct caller *c)
{
	for (long i = 0; i < c->count; i++) {
		__atomic_add_fetch(&c->begun, 1, __ATOMIC_SEQ_CST);
		c->done += RETRY(write(c->fd, c->text, strlen(c->text))) > 0;
		__atomic_add_fetch(&c->finished, 1, __ATOMIC_SEQ_CST);
		if (i % c->lines == c->lines - 1)
			(void)RETRY(ioctl(c->fd, FIRST_IOC_CLEAR));
	}
}

/*
 * Call INFO until the other caller has ended, which writes through the same
 * file, and deletes the lines when there are c->other->lines. All lines have the
 * same size.
 */
static void asks(struct caller *c)
{
	size_t size = strlen(c->other->text);
	struct first_info info;

	while (!has_ended(c->other)) {
		long least = finished(c->other);

		if (RETRY(ioctl(c->fd, FIRST_IOC_INFO, &info)) ||
		    info.mine < least || info.mine > begun(c->other) ||
		    info.lines > c->other->lines ||
		    info.bytes != info.lines * size ||
		    info.bytes + info.room != FIRST_BYTES ||
		    (info.mine - info.lines) % c->other->lines)
			c->odd++;
		c->done++;
	}
}

/* Numbers to write, and their lines, which differ in length and digits. */
static const char *const numbers[] = { "3", "20", "93", "10", "50" };
static const char *const lines[] = { "2\n", "6765\n", "12200160415121876738\n",
				     "55\n", "12586269025\n" };
#define LINES (sizeof(lines) / sizeof(lines[0]))

/*
 * Write one of the lines in turn, and CLEAR after each. The longest line is
 * written 40 or 400 times in some turns, so that the text is longer than a page.
 */
static void writes_in_turn(struct caller *c)
{
	for (long i = 0; i < c->count; i++) {
		const char *text = numbers[(size_t)i % LINES];
		int times = i % 50 == 2 ? 400 : i % 10 == 2 ? 40 : 1;

		for (int j = 0; j < times; j++)
			(void)RETRY(write(c->fd, text, strlen(text)));
		(void)RETRY(ioctl(c->fd, FIRST_IOC_CLEAR));
	}
}

/* Return whether a text is empty, or consists of one of the lines repeated. */
static bool is_repeated(const char *text, ssize_t size)
{
	for (size_t i = 0; i < LINES; i++) {
		ssize_t line = (ssize_t)strlen(lines[i]), at = 0;

		while (at + line <= size &&
		       !memcmp(text + at, lines[i], (size_t)line))
			at += line;
		if (at == size)
			return true;
	}
	return false;
}

/*
 * Read the text while another caller replaces it. A text with the length of one
 * text and the digits of another, or a part of a line, shows that read does not
 * hold the lock from the length to the end of the copy.
 */
static void wholes(struct caller *c)
{
	static char text[FIRST_BYTES];

	while (!has_ended(c->other)) {
		ssize_t size = RETRY(pread(c->fd, text, sizeof(text), 0));

		c->odd += !is_repeated(text, size);
		c->odd += RETRY(lseek(c->fd, 0, SEEK_SET)) != 0;
		c->odd += RETRY(lseek(c->fd, 0, SEEK_CUR)) != 0;
		(void)RETRY(lseek(c->fd, -1, SEEK_END));
		c->done++;
	}
}

static char whole_text[FIRST_BYTES + 1];

/*
 * Read the text. memset() maps the buffer first, so that the read causes no
 * page fault.
 */
static ssize_t pread_whole(int fd)
{
	memset(whole_text, '-', sizeof(whole_text));
	return pread(fd, whole_text, FIRST_BYTES, 0);
}

/*
 * Return the number of lines in the notebook. Set *@odd to the number of lines
 * after the beginning that are incomplete, or are neither F(3) nor F(4).
 */
static long counted(int fd, long *odd)
{
	char *line = whole_text, *text = whole_text, *end;
	ssize_t size = pread_whole(fd);
	long lines = 0;

	*odd = 0;
	if (size < 0)
		return -errno;
	text[size] = '\0';
	for (; (end = memchr(line, '\n', (size_t)(text + size - line)));
	     line = end + 1) {
		*end = '\0';
		if (lines++ >= FIRST_BEGINNING && strcmp(line, "2") &&
		    strcmp(line, "3"))
			++*odd;
	}
	*odd += line != text + size;
	return lines;
}

static void do_lines(struct caller pair[2])
{
	long lines, odd;

	pair[0].work = pair[1].work = writes;
	if (!together(pair, false))
		return;
	lines = counted(pair[0].fd, &odd);
	printf("0 %ld %ld %ld\n", pair[0].done + pair[1].done, lines, odd);
	part(pair, false);
}

static void do_follows(struct caller pair[2])
{
	int fd = open(FIRST_DEVICE, O_RDONLY | O_CLOEXEC);

	/* A failure has another test. */
	pair[1].end = lseek(fd, 0, SEEK_END);
	close(fd);
	pair[0].work = writes;
	pair[1].work = follows;
	pair[1].flags = O_RDONLY;
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[1].odd);
	part(pair, false);
}

/* Open an attribute instead of the device as the second file. */
static void do_shows(struct caller pair[2])
{
	pair[0].work = writes;
	pair[1].work = shows;
	pair[1].attribute = "lines";
	pair[1].flags = O_RDONLY;
	/* The number of lines before. A failure has another test. */
	pair[1].fd = open_attribute("lines", O_RDONLY);
	pair[1].lines = shown(&pair[1]);
	close(pair[1].fd);
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[1].odd);
	part(pair, false);
}

/* Fill the notebook until exactly one more line of the pair fits. */
static bool fill_up(size_t size)
{
	int fd = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);
	ssize_t used;

	if (fd < 0)
		return false;
	while (write(fd, "93", 2) == 2)
		;
	used = pread_whole(fd);
	while (used + 2 * size <= FIRST_BYTES && write(fd, "3", 1) == 1)
		used += size;
	close(fd);
	return used + size <= FIRST_BYTES && used + 2 * size > FIRST_BYTES;
}

static void do_last(struct caller pair[2])
{
	int race = open(FIRST_RACE, O_WRONLY | O_CLOEXEC);
	bool full = fill_up(strlen("2\n"));

	pair[0].work = pair[1].work = writes;
	pair[0].count = pair[1].count = 1;
	if (race < 0 || write(race, "1", 1) != 1 || !full) {
		printf("%d\n", -ENOSPC);
	} else if (together(pair, false)) {
		printf("0 %ld %ld\n", pair[0].done + pair[1].done,
		       (long)lseek(pair[0].fd, 0, SEEK_END));
		part(pair, false);
	}
	close(race);
}

static void do_same(struct caller pair[2])
{
	struct first_info info = { 0 };

	pair[0].work = pair[1].work = writes;
	if (!together(pair, true))
		return;
	if (ioctl(pair[0].fd, FIRST_IOC_INFO, &info))
		printf("%d\n", -errno);
	else
		printf("0 %ld %u\n", pair[0].done + pair[1].done, info.mine);
	part(pair, true);
}

static void do_reads(struct caller pair[2])
{
	pair[0].work = pair[1].work = reads;
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[0].done + pair[1].done);
	part(pair, false);
}

static void do_opens(struct caller pair[2], bool asks)
{
	pair[0].work = pair[1].work = opens;
	pair[0].asks = pair[1].asks = asks;
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[0].done + pair[1].done);
	part(pair, false);
}

static void do_resets(struct caller pair[2], bool both)
{
	pair[0].work = both ? resets_alike : reads;
	pair[1].work = both ? resets_alike : resets;
	for (int i = both ? 0 : 1; i < 2; i++) {
		pair[i].attribute = "calls";
		pair[i].flags = O_RDWR;
	}
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[0].odd + pair[1].odd);
	part(pair, false);
}

/*
 * The notebook is empty at first. At the end, CLEAR also removes the remaining
 * lines.
 */
static void do_clears(struct caller pair[2])
{
	int left;

	pair[0].work = writes;
	pair[1].work = clears;
	if (!together(pair, false))
		return;
	left = ioctl(pair[0].fd, FIRST_IOC_CLEAR);
	printf("%ld %ld %ld %ld\n", left < 0 ? (long)-errno : 0, pair[0].done,
	       pair[1].done + (left < 0 ? 0 : left), pair[1].odd);
	part(pair, false);
}

static void do_infos(struct caller pair[2])
{
	pair[0].work = writes_and_clears;
	pair[0].lines = 16;
	pair[1].work = asks;
	if (!together(pair, true))
		return;
	printf("0 %ld %ld\n", pair[1].done, pair[1].odd);
	part(pair, true);
}

static void do_wholes(struct caller pair[2])
{
	int fd = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);

	ioctl(fd, FIRST_IOC_CLEAR);
	close(fd);
	pair[0].work = writes_in_turn;
	pair[1].work = wholes;
	pair[1].flags = O_RDONLY;
	if (!together(pair, false))
		return;
	printf("0 %ld\n", pair[1].odd);
	part(pair, false);
}

static void set_killed(const char *value)
{
	int fd = open(FIRST_KILLED, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, 1) != 1) {
		perror(FIRST_KILLED);
		_exit(1);
	}
	close(fd);
}

/* A call whose caller is killed when it waits for a lock; see firstctl.h. */
struct killed_call {
	const char *kind;
	const char *when; /* the value of the parameter "killed" */
	int fd;
};

/* Open the file for a call of this kind. */
static int open_for(const char *kind)
{
	if (!strcmp(kind, "store"))
		return open_attribute("calls", O_WRONLY);
	if (!strcmp(kind, "lines") || !strcmp(kind, "calls"))
		return open_attribute(kind, O_RDONLY);
	return open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);
}

/* Make the call of a struct killed_call, as the thread that may be killed. */
static void *make_killed_call(void *argument)
{
	const struct killed_call *call = argument;
	const char *kind = call->kind;
	struct first_info info;
	char text[32];
	int fd = call->fd;

	if (!strcmp(kind, "close"))
		fd = open_for(kind);
	set_killed(call->when);
	if (!strcmp(kind, "open"))
		(void)!open_for(kind);
	else if (!strcmp(kind, "close"))
		close(fd);
	else if (!strcmp(kind, "write"))
		(void)!write(fd, "3", 1);
	else if (!strcmp(kind, "seek"))
		lseek(fd, -1, SEEK_END);
	else if (!strcmp(kind, "info"))
		ioctl(fd, FIRST_IOC_INFO, &info);
	else if (!strcmp(kind, "clear"))
		ioctl(fd, FIRST_IOC_CLEAR);
	else if (!strcmp(kind, "store"))
		(void)!write(fd, "0", 1);
	else
		(void)!read(fd, text, sizeof(text));
	_exit(0);
}

/*
 * Make a call in a process that is killed when the call begins, or while it waits
 * for a lock, unless the driver waits by mutex_lock, which no signal ends. The
 * process has two threads, so that locks.c checks its accesses.
 */
static void do_killed(const char *kind, const char *when)
{
	struct killed_call call = { kind, when, open_for(kind) };
	pthread_t thread;
	int status = 0;
	pid_t child = call.fd < 0 ? -1 : fork();

	if (child < 0) {
		printf("%d\n", -errno);
		return;
	}
	if (!child) {
		if (pthread_create(&thread, NULL, make_killed_call, &call))
			_exit(1);
		pthread_join(thread, NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	close(call.fd);
	set_killed("0");
	if (WIFEXITED(status) && WEXITSTATUS(status))
		printf("%d\n", -ECHILD);
	else
		printf("0 %d\n", WIFSIGNALED(status));
}

bool serve_pair(const struct request *r)
{
	long count = number(r, 1);
	/*
	 * On one CPU the callers alternate when race.c makes the driver wait.
	 */
	bool two = !strcmp(word(r, r->count - 1), "two");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), first = 0, second = 0;
	const char *verb = r->word[0];
	struct caller *pair;

	if (!strcmp(verb, "killed")) {
		do_killed(word(r, 1), word(r, 2));
		return true;
	}
	if (two && cpus > 1) {
		first = random() % cpus;
		second = (first + 1 + random() % (cpus - 1)) % cpus;
	}
	if (!shared) {
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (shared == MAP_FAILED) {
			perror("mmap");
			exit(1);
		}
	}
	*shared = (struct pair){
		.caller = { { .count = count,
			      .text = "3\n",
			      .flags = O_RDWR,
			      .cpu = (int)first },
			    { .count = count,
			      .text = "4\n",
			      .flags = O_RDWR,
			      .cpu = (int)second } },
		.processes = two,
	};
	pair = shared->caller;
	if (!strcmp(verb, "lines"))
		do_lines(pair);
	else if (!strcmp(verb, "follows"))
		do_follows(pair);
	else if (!strcmp(verb, "last"))
		do_last(pair);
	else if (!strcmp(verb, "shows"))
		do_shows(pair);
	else if (!strcmp(verb, "same"))
		do_same(pair);
	else if (!strcmp(verb, "reads"))
		do_reads(pair);
	else if (!strcmp(verb, "opens"))
		do_opens(pair, !strcmp(word(r, 2), "info"));
	else if (!strcmp(verb, "resets"))
		do_resets(pair, !strcmp(word(r, 2), "both"));
	else if (!strcmp(verb, "clears"))
		do_clears(pair);
	else if (!strcmp(verb, "infos"))
		do_infos(pair);
	else if (!strcmp(verb, "wholes"))
		do_wholes(pair);
	else
		return false;
	return true;
}
