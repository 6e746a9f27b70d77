/* Makes each fsync and fdatasync of a program take longer, to widen the moment between the write of a commit and its durability:
 *
 *   gcc -O2 -shared -fPIC -pthread scripts/slow_sync.c -o slow_sync.so
 *   SLOW_SYNC_MS=20 LD_PRELOAD=./slow_sync.so altiplano serve ...
 *
 * The server makes its system calls itself, so no function of the C library can stand in for them: a seccomp filter stops them, and a
 * thread that the filter does not cover lets them go on after a while. Needs Linux 5.5 and the right to filter (root, or no_new_privs). */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int notify_fd = -1;
static long delay_ms = 20;
static sem_t ready;

static void *supervise(void *unused) {
    (void)unused;
    sem_wait(&ready);
    for (;;) {
        struct seccomp_notif request;
        struct seccomp_notif_resp response;
        memset(&request, 0, sizeof request);
        if (ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
            if (errno == EINTR || errno == ENOENT)
                continue;
            return NULL;
        }
        struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000};
        nanosleep(&delay, NULL);
        memset(&response, 0, sizeof response);
        response.id = request.id;
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

__attribute__((constructor)) static void slow_sync(void) {
    /* Programs that this one starts inherit the filter, and need none of their own. */
    unsetenv("LD_PRELOAD");
    const char *text = getenv("SLOW_SYNC_MS");
    if (text)
        delay_ms = atol(text);
    sem_init(&ready, 0, 0);
    pthread_t thread;
    /* Before the filter: what it starts with is not filtered. */
    if (pthread_create(&thread, NULL, supervise, NULL) != 0)
        return;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    notify_fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (notify_fd < 0)
        fprintf(stderr, "slow_sync: no filter: %s\n", strerror(errno));
    sem_post(&ready);
}
