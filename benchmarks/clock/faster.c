/* Preloaded: wall, boot and monotonic clocks run MGTOP_FASTER times as fast from
   MGTOP_FASTER_FROM (ns of CLOCK_MONOTONIC) on, and every wait is as much shorter. Clocks of
   CPU time stay true. For programs that are watched over a day which nobody has the time for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

typedef long long ns_t;
static ns_t times, from;
static int (*real_gettime)(clockid_t, struct timespec *);

static ns_t ns_of(const struct timespec *at) { return at->tv_sec * 1000000000LL + at->tv_nsec; }
static struct timespec of_ns(ns_t ns) {
    struct timespec at = {ns / 1000000000LL, ns % 1000000000LL};
    return at;
}
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
static ns_t true_ns(clockid_t clock) {
    struct timespec at;
    real_gettime(clock, &at);
    return ns_of(&at);
}

__attribute__((constructor)) static void begin(void) {
    if (real_gettime) return;
    times = atoll(getenv("MGTOP_FASTER") ? getenv("MGTOP_FASTER") : "1");
    from = atoll(getenv("MGTOP_FASTER_FROM") ? getenv("MGTOP_FASTER_FROM") : "0");
    real_gettime = (int (*)(clockid_t, struct timespec *))next("clock_gettime");
}

static int is_scaled(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME
        || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    begin();
    int answer = real_gettime(clock, at);
    if (is_scaled(clock))
        *at = of_ns(ns_of(at) + (times - 1) * (true_ns(CLOCK_MONOTONIC) - from));
    return answer;
}
time_t time(time_t *out) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out) *out = at.tv_sec;
    return at.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
    (void)zone;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    out->tv_sec = at.tv_sec;
    out->tv_usec = at.tv_nsec / 1000;
    return 0;
}

/* How long until a time of a scaled clock, in true ns. */
static ns_t until(clockid_t clock, const struct timespec *at) {
    struct timespec now;
    clock_gettime(clock, &now);
    ns_t wait = ns_of(at) - ns_of(&now);
    return wait > 0 ? wait / times : 0;
}
static struct timespec due(clockid_t clock, const struct timespec *at) {
    return of_ns(true_ns(clock) + until(clock, at));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wait, struct timespec *rest) {
    static int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
    if (!real) real = next("clock_nanosleep");
    begin();
    struct timespec shorter = flags & TIMER_ABSTIME ? due(clock, wait) : of_ns(ns_of(wait) / times);
    return real(clock, flags, &shorter, rest);
}
int nanosleep(const struct timespec *wait, struct timespec *rest) {
    static int (*real)(const struct timespec *, struct timespec *);
    if (!real) real = next("nanosleep");
    begin();
    struct timespec shorter = of_ns(ns_of(wait) / times);
    return real(&shorter, rest);
}
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *wait, const sigset_t *mask) {
    static int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    if (!real) real = next("ppoll");
    begin();
    if (!wait) return real(fds, n, wait, mask);
    struct timespec shorter = of_ns(ns_of(wait) / times);
    return real(fds, n, &shorter, mask);
}
int poll(struct pollfd *fds, nfds_t n, int ms) {
    struct timespec wait = of_ns(ms * 1000000LL);
    return ppoll(fds, n, ms < 0 ? NULL : &wait, NULL);
}
int select(int n, fd_set *in, fd_set *out, fd_set *err, struct timeval *wait) {
    static int (*real)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    if (!real) real = next("select");
    begin();
    if (!wait) return real(n, in, out, err, wait);
    ns_t us = (wait->tv_sec * 1000000LL + wait->tv_usec) / times;
    struct timeval shorter = {us / 1000000, us % 1000000};
    return real(n, in, out, err, &shorter);
}
/* A millisecond is its finest; so the shorter wait is one of poll on the epoll's own descriptor. */
int epoll_wait(int epfd, struct epoll_event *events, int most, int ms) {
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real) real = next("epoll_wait");
    if (ms > 0) {
        struct pollfd one = {epfd, POLLIN, 0};
        poll(&one, 1, ms);
        ms = 0;
    }
    return real(epfd, events, most, ms);
}
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *at) {
    static int (*real)(sem_t *, clockid_t, const struct timespec *);
    if (!real) real = next("sem_clockwait");
    begin();
    struct timespec sooner = due(clock, at);
    return real(sem, clock, &sooner);
}
int sem_timedwait(sem_t *sem, const struct timespec *at) {
    static int (*real)(sem_t *, const struct timespec *);
    if (!real) real = next("sem_timedwait");
    begin();
    struct timespec sooner = due(CLOCK_REALTIME, at);
    return real(sem, &sooner);
}
