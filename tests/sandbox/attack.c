// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Attacks of a hostile submission on the sandbox, for tests/test_sandbox.py.
 * Most attacks print "DONE" if they succeed and "refused" if they fail.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB (1 << 20)

static void say(const char *what, int failed)
{
	printf("%s: %s\n", what, failed ? "refused" : "DONE");
	fflush(stdout);
}

/* Create as many child processes as possible, at most 500. */
static void forks(void)
{
	int count = 0;

	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		count += pid > 0;
	}
	printf("%d\n", count);
}

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void threads(void)
{
	pthread_attr_t small;
	pthread_t thread;
	int count = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < 500; i++)
		count += !pthread_create(&thread, &small, sleeper, NULL);
	printf("%d\n", count);
	fflush(stdout);
	_exit(0);
}

/* Use 1200 MB: 20 MB in each of 60 processes, or all in one process. */
static void memory(int processes)
{
	for (int i = 0; i < 60; i++) {
		char *piece;

		if (processes && fork() > 0)
			continue;
		piece = malloc(20 * MB);
		if (!piece)
			break;
		memset(piece, 1, 20 * MB);
		/* Keep the compiler from removing the memset(). */
		__asm__ volatile("" : : "r"(piece) : "memory");
		if (processes)
			for (;;)
				pause();
	}
	sleep(20);
}

static void *take_memory(void *unused)
{
	usleep(100000);
	memory(0);
	return unused;
}

/*
 * Use memory in a thread of a process that looks dead, because its first thread
 * has ended.
 */
static void hidden_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, take_memory, NULL);
	pthread_exit(NULL);
}

/*
 * Fill page tables. Pages that are only read map the zero page, so the process
 * seems to use no memory.
 */
static void page_tables(void)
{
	size_t step = 2 * MB, size = step << 16;
	volatile char *all =
		mmap(NULL, size, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return;
	madvise((void *)all, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += step)
		(void)all[at];
	sleep(20);
}

/* Allocate memory that belongs to no process. */
static void hidden_memory(void)
{
	int fds[2];

	say("memfd", memfd_create("x", 0) < 0);
	say("shm", shmget(IPC_PRIVATE, MB, IPC_CREAT | 0600) < 0);
	say("sockets", socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

/* Keep the output open in a grandchild that has its own session. */
static void left_behind(void)
{
	if (!fork()) {
		setsid();
		if (!fork()) {
			signal(SIGTERM, SIG_IGN);
			signal(SIGHUP, SIG_IGN);
			sleep(1000);
		}
		_exit(0);
	}
	printf("ended\n");
}

static void network(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port) };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	say("tcp", sock < 0 || connect(sock, (struct sockaddr *)&address,
				       sizeof(address)));
	snprintf(name.sun_path + 1, 20, "sandbox-%d", port);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	say("abstract", sock < 0 || connect(sock, (struct sockaddr *)&name,
					    sizeof(sa_family_t) + 1 +
						    strlen(name.sun_path + 1)));
}

static void others(int pid)
{
	char path[64];

	say("kill", kill(pid, 0));
	say("ptrace", ptrace(PTRACE_ATTACH, pid, 0, 0) != 0);
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	say("environ", access(path, R_OK));
	/* Processes 1 and 2 belong to the sandbox itself. */
	say("ptrace 1", ptrace(PTRACE_ATTACH, 1, 0, 0) != 0);
	say("ptrace 2", ptrace(PTRACE_ATTACH, 2, 0, 0) != 0);
	say("namespace", unshare(CLONE_NEWUSER));
	say("namespace by clone",
	    syscall(56, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0) < 0);
}

static void terminal(void)
{
	char key = '\n';

	say("tty", open("/dev/tty", O_RDWR) < 0);
	for (int fd = 0; fd < 3; fd++) {
		say("isatty", !isatty(fd));
		say("sti", ioctl(fd, TIOCSTI, &key));
		say("ctty", ioctl(fd, TIOCSCTTY, 1));
	}
	say("session of others", getsid(0) == getpid());
}

static void read_file(const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "r");

	if (file && fgets(text, sizeof(text), file))
		printf("%s\n", text);
	else
		say("read", 1);
	if (file)
		fclose(file);
}

static void write_file(const char *path)
{
	FILE *file = fopen(path, "w");

	say("write", !file);
	if (file) {
		fputs("was here\n", file);
		fclose(file);
	}
}

/* Write @count files of @kilobytes KB each. */
static void files(int count, int kilobytes)
{
	static char block[1024];

	for (int i = 0; i < count; i++) {
		char name[32];
		FILE *file;

		snprintf(name, sizeof(name), "/tmp/%d", i);
		file = fopen(name, "w");
		if (!file)
			break;
		for (int k = 0; k < kilobytes; k++)
			fwrite(block, 1, sizeof(block), file);
		fclose(file);
	}
	printf("written\n");
	fflush(stdout);
	sleep(20);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *with = argc > 2 ? argv[2] : "0";

	if (!strcmp(what, "forks"))
		forks();
	else if (!strcmp(what, "bomb"))
		for (;;)
			fork();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "memory"))
		memory(atoi(with));
	else if (!strcmp(what, "hidden-thread"))
		hidden_thread();
	else if (!strcmp(what, "page-tables"))
		page_tables();
	else if (!strcmp(what, "hidden-memory"))
		hidden_memory();
	else if (!strcmp(what, "left-behind"))
		left_behind();
	else if (!strcmp(what, "network"))
		network(atoi(with));
	else if (!strcmp(what, "others"))
		others(atoi(with));
	else if (!strcmp(what, "kill-all"))
		kill(-1, SIGKILL);
	else if (!strcmp(what, "stop-all"))
		for (;;)
			kill(-1, SIGSTOP);
	else if (!strcmp(what, "terminal"))
		terminal();
	else if (!strcmp(what, "read"))
		read_file(with);
	else if (!strcmp(what, "write"))
		write_file(with);
	else if (!strcmp(what, "files") && argc > 3)
		files(atoi(with), atoi(argv[3]));
	else if (!strcmp(what, "loop"))
		for (;;)
			;
	else if (!strcmp(what, "sleep"))
		for (;;)
			pause();
	else
		return 99;
	return 0;
}
