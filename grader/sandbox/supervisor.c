// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run a command for the grader and report its end: see
 * grader/sandbox/running.py.
 *
 *	supervisor -s SOCKET [-u UID] [-g GID] [-k] [-x] [-d DIR]... [-l LIMIT=VALUE]...
 *	       COMMAND...
 *
 * The supervisor sends descriptors of the directories over SOCKET, waits for a
 * byte, and runs the command in a session of its own, as user UID with the
 * additional group GID, within the limits. It is a subreaper, so all processes
 * that outlive the command become its children. They get GRACE_MS to end.
 * Then the supervisor kills them (-k), or else it ends itself, which ends the
 * sandbox. Its last message has the wait status of the command and the number
 * of processes that were left. With -x COMMAND must be a path, and the command
 * cannot execute another program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_DIRS 16
#define GRACE_MS 200

/* The last message over the socket. */
struct word {
	int status; /* wait status of the command, as from waitpid() */
	int left;
	int error; /* errno if the command could not be run, else 0 */
};

struct limit {
	int which;
	struct rlimit value;
};

static const struct {
	const char *name;
	int which;
} NAMES[] = {
	{ "as", RLIMIT_AS },	     { "core", RLIMIT_CORE },
	{ "cpu", RLIMIT_CPU },	     { "fsize", RLIMIT_FSIZE },
	{ "nofile", RLIMIT_NOFILE }, { "nproc", RLIMIT_NPROC },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * These signals are always blocked, so none is missed between a check and a
 * wait.
 */
static sigset_t signals;
static int told_to_end;

/* Waits until a child ends or SIGTERM arrives, for @ms at most. */
static void wait_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	if (sigtimedwait(&signals, NULL, &time) == SIGTERM)
		told_to_end = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "supervisor: %s: %s\n", what, strerror(errno));
	exit(125);
}

static struct limit parse_limit(char *text)
{
	char *value = strchr(text, '=');
	struct limit limit;

	errno = EINVAL;
	if (!value)
		die(text);
	*value++ = '\0';
	for (size_t i = 0; i < COUNT(NAMES); i++) {
		if (strcmp(NAMES[i].name, text) != 0)
			continue;
		limit.which = NAMES[i].which;
		limit.value.rlim_cur = strtoull(value, NULL, 10);
		limit.value.rlim_max = limit.value.rlim_cur;
		/* The kernel sends SIGXCPU, and SIGKILL one second later. */
		if (limit.which == RLIMIT_CPU)
			limit.value.rlim_max++;
		return limit;
	}
	die(text);
	exit(125);
}

/* Sends "r" with descriptors of the directories, and waits for a byte. */
static void hand_over(int sock, char *const *names, int count)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(MAX_DIRS * sizeof(int))];
	} control = { .head.cmsg_level = SOL_SOCKET };
	struct iovec byte = { .iov_base = "r", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1 };
	int fds[MAX_DIRS];
	char go;

	for (int i = 0; i < count; i++) {
		fds[i] = open(names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fds[i] < 0)
			die(names[i]);
	}
	if (count) {
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	if (sendmsg(sock, &message, 0) < 0)
		die("sendmsg");
	for (int i = 0; i < count; i++)
		close(fds[i]);
	/* The grader has ended, so exit without a message. */
	if (read(sock, &go, 1) != 1)
		exit(125);
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define END_OF_CALLS 0x40000000 /* the first system call of x32 */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define END_OF_CALLS 0x40000000
#endif

#define PAGE 4096
#define PLACES (1ull << 46) /* addresses that a process may map */

/* Copies a path to a random address; returns NULL if none is free. */
static char *hide(const char *path)
{
	size_t size = strlen(path) + 1;

	for (int i = 0; i < 100; i++) {
		uint64_t place;
		char *page;

		if (getrandom(&place, sizeof(place), 0) != sizeof(place))
			return NULL;
		place %= PLACES;
		page = mmap((void *)(place & ~(uint64_t)(PAGE - 1)),
			    PAGE + size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			    -1, 0);
		if (page != MAP_FAILED)
			return memcpy(page + place % PAGE, path, size);
	}
	return NULL;
}

/*
 * Allows one execve() and blocks all later ones: the filter accepts only the
 * execve() whose path is at a random address. The program cannot know this
 * address, because execve() replaces the memory, and it has no time to guess
 * one of 2^46 addresses. Returns the path at that address; NULL with errno on
 * failure.
 */
static char *last_exec(const char *path)
{
#ifdef ARCH
	char *hidden = hide(path);
	uint64_t place = (uintptr_t)hidden;
	struct sock_filter steps[] = {
#define LOAD(member)                       \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 offsetof(struct seccomp_data, member))
#define IF(what, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_K | (what), (uint32_t)(value), yes, no)
		LOAD(arch),
		IF(BPF_JEQ, ARCH, 0, 9),
		LOAD(nr),
		IF(BPF_JGE, END_OF_CALLS, 7, 0),
		IF(BPF_JEQ, SYS_execveat, 6, 0),
		IF(BPF_JEQ, SYS_execve, 0, 4),
		LOAD(args[0]),
		IF(BPF_JEQ, place, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0]) + 4),
		IF(BPF_JEQ, place >> 32, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { COUNT(steps), steps };

	if (!hidden || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return NULL;
	return hidden;
#else
	errno = ENOSYS;
	return NULL;
#endif
}

/* Runs the command in the child; never returns. */
static void become(char **command, uid_t uid, gid_t group,
		   const struct limit *limits, int count, int last, int sock)
{
	struct word failed = { .status = -1 };
	char *path;
	FILE *score;

	setsid();
	/* Without this, root would own the files of this process in /proc. */
	prctl(PR_SET_DUMPABLE, 1);
	/* If memory runs out, the kernel must kill this process first. */
	score = fopen("/proc/self/oom_score_adj", "w");
	if (score) {
		fputs("1000", score);
		fclose(score);
	}
	if (uid && (setgroups(group != (gid_t)-1, &group) ||
		    setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		goto fail;
	for (int i = 0; i < count; i++) {
		/*
		 * EPERM means that the present limit is stricter, so keep the
		 * present limit.
		 */
		if (setrlimit(limits[i].which, &limits[i].value) &&
		    errno != EPERM)
			goto fail;
	}
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	if (!last)
		execvp(command[0], command);
	else if ((path = last_exec(command[0])))
		execv(path, command);
fail:
	failed.error = errno;
	send(sock, &failed, sizeof(failed), MSG_NOSIGNAL);
	_exit(127);
}

/*
 * Sends a signal to every child, of any session; returns the number of
 * children.
 * @number: signal, or 0 to only count.
 */
static int signal_children(int number)
{
	FILE *list;
	char path[64];
	int pid, count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	list = fopen(path, "r");
	if (!list)
		return 0;
	while (fscanf(list, "%d", &pid) == 1) {
		count++;
		if (number)
			kill(pid, number);
	}
	fclose(list);
	return count;
}

/* Reaps all children that have ended; returns whether others still run. */
static int reap(pid_t command, int *status)
{
	pid_t pid;
	int any;

	while ((pid = waitpid(-1, &any, WNOHANG)) > 0) {
		if (pid == command)
			*status = any;
	}
	return pid == 0;
}

static void finish(pid_t command, struct word *word, int kills)
{
	struct timespec begin, now;
	int more;

	word->status = -1;
	while ((more = reap(command, &word->status)) && word->status == -1 &&
	       !told_to_end)
		wait_ms(1000);
	/* Give the remaining processes GRACE_MS to end. */
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (more && !told_to_end) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - begin.tv_sec) * 1000 +
			    (now.tv_nsec - begin.tv_nsec) / 1000000 >=
		    GRACE_MS)
			break;
		wait_ms(10);
		more = reap(command, &word->status);
	}
	word->left = more ? signal_children(0) : 0;
	/*
	 * First kill the whole group with one signal, because a fork bomb grows
	 * faster than its processes can be killed one by one. Then repeat,
	 * because the children of a killed process become our children.
	 */
	if (more && kills)
		kill(-command, SIGKILL);
	while (more && kills) {
		signal_children(SIGKILL);
		wait_ms(1);
		more = reap(command, &word->status);
	}
}

int main(int argc, char **argv)
{
	struct limit limits[COUNT(NAMES)];
	struct word word = { 0 };
	char *dirs[MAX_DIRS];
	int n_dirs = 0, n_limits = 0, kills = 0, last = 0, option, sock = -1;
	gid_t group = -1;
	uid_t uid = 0;
	pid_t command;

	while ((option = getopt(argc, argv, "+s:u:g:kxd:l:")) != -1) {
		if (option == 's')
			sock = atoi(optarg);
		else if (option == 'u')
			uid = strtoul(optarg, NULL, 10);
		else if (option == 'g')
			group = strtoul(optarg, NULL, 10);
		else if (option == 'k')
			kills = 1;
		else if (option == 'x')
			last = 1;
		else if (option == 'd' && n_dirs < MAX_DIRS)
			dirs[n_dirs++] = optarg;
		else if (option == 'l' && n_limits < (int)COUNT(NAMES))
			limits[n_limits++] = parse_limit(optarg);
		else
			return 125;
	}
	if (sock < 0 || optind == argc)
		return 125;
	fcntl(sock, F_SETFD, FD_CLOEXEC);
	/*
	 * Without this, processes of the same user could use our descriptors.
	 */
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("prctl");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	/* Outside of a sandbox, end when the grader is killed. */
	if (kills && prctl(PR_SET_PDEATHSIG, SIGTERM))
		die("prctl");
	hand_over(sock, dirs, n_dirs);

	command = fork();
	if (command < 0)
		die("fork");
	if (!command)
		become(argv + optind, uid, group, limits, n_limits, last, sock);
	finish(command, &word, kills);
	send(sock, &word, sizeof(word), MSG_NOSIGNAL);
	return 0;
}
