// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Stands between the grader and a command that it runs: grader/sandbox/running.py.
 *
 *	supervisor -s SOCKET [-u UID] [-g GID] [-k] [-x] [-d DIR]... [-l LIMIT=VALUE]...
 *	       COMMAND...
 *
 * It hands the directories over by SOCKET, waits for the word to go, and runs
 * the command in a session of its own, as user UID, who is also in group GID,
 * within the limits. What the command leaves behind when it has ended becomes
 * the supervisor's child, whatever it has done to hide; it has a moment to end.
 * Then the supervisor kills it (-k), or ends itself, and the sandbox with it. The
 * last word is how the command ended, and how many were left. With -x the
 * command, which is a path then, cannot run another program.
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

/* What is said over the socket. */
struct word {
	int status; /* as of waitpid */
	int left;
	int error; /* errno, when the command could not be run */
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

/* Blocked at all times, so that none is missed between a look and a wait. */
static sigset_t signals;
static int told_to_end;

/* Waits until a child has ended or SIGTERM has come, or for so long. */
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
		/* SIGXCPU first, and SIGKILL for those who ignore it. */
		if (limit.which == RLIMIT_CPU)
			limit.value.rlim_max++;
		return limit;
	}
	die(text);
	exit(125);
}

/* Says "ready", with the directories open, and waits until told to go. */
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
	/* Nobody there any more: not an error, an end. */
	if (read(sock, &go, 1) != 1)
		exit(125);
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define END_OF_CALLS 0x40000000 /* from here on the calls of x32 */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define END_OF_CALLS 0x40000000
#endif

#define PAGE 4096
#define PLACES (1ull << 46) /* of addresses that a process may map */

/* Copies a path to an address that is drawn; NULL if none is free. */
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
 * Lets one execve through and none after it: a filter takes only the one whose
 * path lies at an address that is drawn here. No program ever knows it, since
 * its memory is another, and to guess one of 2^46 takes longer than a program
 * has. Returns the path at that address; NULL with errno.
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

/* In the child: never returns. */
static void become(char **command, uid_t uid, gid_t group,
		   const struct limit *limits, int count, int last, int sock)
{
	struct word failed = { .status = -1 };
	char *path;
	FILE *score;

	setsid();
	/* As long as it is not, its own files in /proc are not its own. */
	prctl(PR_SET_DUMPABLE, 1);
	/* If the computer has no memory left, this goes first. */
	score = fopen("/proc/self/oom_score_adj", "w");
	if (score) {
		fputs("1000", score);
		fclose(score);
	}
	if (uid && (setgroups(group != (gid_t)-1, &group) ||
		    setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		goto fail;
	for (int i = 0; i < count; i++) {
		/* What is stricter already may stay so. */
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

/* Sends a signal to every child, in whatever session; how many there are. */
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

/* Takes in all children that have ended; whether there are more. */
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
	/* What is left has a moment. */
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
	 * Its group first, all at one stroke: a bomb that is killed one by one
	 * grows. A killed child's children are ours, so over and over.
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
	/* Of two with the same user, one could use the other's descriptors. */
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("prctl");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	/* When the grader itself is killed, this must not be left. */
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
