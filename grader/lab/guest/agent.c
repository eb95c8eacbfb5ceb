// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The guest's end of the channel: runs the commands that the host requests.
 * This program is process 1 of the lab machine. Its arguments are the serial
 * line for the channel and, optionally, the serial line for a shell.
 *
 *	run ID COMMAND	run COMMAND by /bin/sh, with empty standard input
 *	feed ID COMMAND	run COMMAND; it reads the following bytes of the channel
 *	put ID PATH OFFSET SIZE
 *			store the SIZE bytes that follow (4096 at most)
 *	kill		kill the running command, unless it was started by feed
 *
 * The Adler-32 checksum of the line, as 8 hexadecimal digits, and a blank
 * precede each of these lines, except kill. The answer to a damaged line is the
 * byte 3, ID and a newline.
 *
 * Any other request that arrives while a command runs is answered after it.
 *
 * The answer to run and feed is the byte 1, ID and a newline at the start, then
 * the command's output, then the byte 2, ID, the exit status (128 plus the
 * signal number if a signal killed the command) and a newline. The answer to
 * put is the last line only. Only the kit's client and busybox write to the
 * channel, so a module cannot forge an answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 8192

static int channel;
static char input[LINE_MAX_BYTES];
static size_t input_size;

static void power_off(const char *why)
{
	fprintf(stderr, "agent: %s, powering off\n", why);
	reboot(RB_POWER_OFF);
	exit(1);
}

static void read_more(void)
{
	ssize_t count;

	if (input_size == sizeof(input))
		power_off("a line too long");
	do
		count = read(channel, input + input_size,
			     sizeof(input) - input_size);
	while (count < 0 && errno == EINTR);
	if (count <= 0)
		power_off("the line is closed");
	input_size += (size_t)count;
}

static void drop_input(size_t count)
{
	input_size -= count;
	memmove(input, input + count, input_size);
}

/* Waits for the next line and stores it in @line, without its newline. */
static void next_line(char *line)
{
	char *end;

	while (!(end = memchr(input, '\n', input_size)))
		read_more();
	*end = '\0';
	memcpy(line, input, (size_t)(end - input) + 1);
	drop_input((size_t)(end - input) + 1);
}

/* Returns whether the checksum in @line (RFC 1950) is right for the rest. */
static bool undamaged(const char *line)
{
	const char *request = strchr(line, ' ');
	unsigned long low = 1, high = 0;
	char expected[sizeof("01234567 ")];

	if (!request)
		return false;
	for (const char *c = request + 1; *c; c++) {
		low = (low + (unsigned char)*c) % 65521;
		high = (high + low) % 65521;
	}
	snprintf(expected, sizeof(expected), "%04lx%04lx ", high, low);
	return !strncmp(line, expected, strlen(expected));
}

static void say(int byte, const char *id, int status)
{
	char text[128];
	int size;

	if (byte == 2)
		size = snprintf(text, sizeof(text), "\002%.64s %d\n", id,
				status);
	else
		size = snprintf(text, sizeof(text), "%c%.64s\n", byte, id);
	for (int done = 0; done < size;) {
		ssize_t count =
			write(channel, text + done, (size_t)(size - done));

		if (count < 0 && errno != EINTR)
			power_off("the line is broken");
		if (count > 0)
			done += (int)count;
	}
}

static pid_t start(const char *command, int in, const sigset_t *unblocked)
{
	pid_t child = fork();

	if (child)
		return child;
	sigprocmask(SIG_SETMASK, unblocked, NULL);
	setsid();
	dup2(in, STDIN_FILENO);
	dup2(channel, STDOUT_FILENO);
	dup2(channel, STDERR_FILENO);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/*
 * Does nothing. SIGCHLD needs a handler so that it interrupts ppoll(), the only
 * place where the signal is unblocked.
 */
static void on_child(int signal)
{
	(void)signal;
}

static int status_of(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

/* If the next line is "kill", removes that line from the input, returns true. */
static bool take_kill(void)
{
	if (input_size < 5 || memcmp(input, "kill\n", 5))
		return false;
	drop_input(5);
	return true;
}

/*
 * Waits for @child; reaps all other processes too, because this is process 1.
 */
static int wait_for(pid_t child, bool listen, const sigset_t *unblocked)
{
	struct pollfd line = { .fd = channel, .events = POLLIN };
	int status;
	pid_t done;

	for (;;) {
		while ((done = waitpid(-1, &status, WNOHANG)) > 0)
			if (done == child)
				return status_of(status);
		if (done < 0 && errno == ECHILD)
			return 127;
		while (listen && take_kill())
			/*
			 * Before the child calls setsid(), it has no process
			 * group of its own.
			 */
			if (kill(-child, SIGKILL))
				kill(child, SIGKILL);
		/*
		 * Stop reading at another request, which must wait until this
		 * request has ended.
		 */
		if (ppoll(&line, listen && !memchr(input, '\n', input_size),
			  NULL, unblocked) > 0)
			read_more();
	}
}

static void run(const char *id, const char *command, bool feed,
		const sigset_t *unblocked)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t child;

	say(1, id, 0);
	child = start(command, feed ? channel : null, unblocked);
	close(null);
	say(2, id, child < 0 ? 126 : wait_for(child, !feed, unblocked));
}

/* Makes the missing parent folders of @path, like mkdir -p. */
static void make_folders(char *path)
{
	for (char *end = path; (end = strchr(end + 1, '/'));) {
		*end = '\0';
		mkdir(path, 0755);
		*end = '/';
	}
}

static void put(const char *id, const char *rest)
{
	unsigned long offset, size;
	char path[256];
	int fd, status = 1;

	if (sscanf(rest, "%255s %lu %lu", path, &offset, &size) != 3 ||
	    size > 4096)
		power_off("a bad put");
	while (input_size < size)
		read_more();
	make_folders(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (offset ? 0 : O_TRUNC),
		  0600);
	if (fd >= 0) {
		if (pwrite(fd, input, size, (off_t)offset) == (ssize_t)size)
			status = 0;
		close(fd);
	}
	drop_input(size);
	say(2, id, status);
}

/*
 * Runs a shell on a serial line, which is its terminal, and restarts it when it
 * ends. The init script cannot do this, because the background jobs of a script
 * ignore Ctrl-C.
 */
static void keep_shell(const char *line)
{
	while (true) {
		pid_t shell = fork();

		if (!shell) {
			int tty;

			setsid(); /* open() makes it the session's terminal */
			tty = open(line, O_RDWR);
			dup2(tty, STDIN_FILENO);
			dup2(tty, STDOUT_FILENO);
			dup2(tty, STDERR_FILENO);
			execl("/bin/sh", "sh", "-c", "stty sane; exec sh -l",
			      (char *)NULL);
			_exit(127);
		}
		waitpid(shell, NULL, 0);
		sleep(1);
	}
}

int main(int argc, char **argv)
{
	char line[LINE_MAX_BYTES], verb[8], id[65];
	struct sigaction action = { .sa_handler = on_child };
	sigset_t blocked, unblocked;

	if (argc < 2 || argc > 3)
		return 2;
	if (argc == 3 && !fork())
		keep_shell(argv[2]);
	channel = open(argv[1], O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (channel < 0)
		power_off(argv[1]);
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &unblocked);

	say(2, "ready", 0);
	for (;;) {
		const char *rest;
		int at = 0;

		next_line(line);
		if (sscanf(line, "%*s %7s %64s %n", verb, id, &at) < 2 || !at)
			continue; /* ignore a late kill and unknown lines */
		rest = line + at;
		if (!undamaged(line))
			say(3, id, 0);
		else if (!strcmp(verb, "run"))
			run(id, rest, false, &unblocked);
		else if (!strcmp(verb, "feed"))
			run(id, rest, true, &unblocked);
		else if (!strcmp(verb, "put"))
			put(id, rest);
	}
}
