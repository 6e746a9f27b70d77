// A server that answers every statement at once with a canned row, for many connections on few threads: what no server of a thread per connection can pass.
//
// Usage: canned_epoll PORT [THREADS]. Each thread (2 unless told) has an epoll of its own and the connections that it has accepted; nothing is shared. It speaks
// the part of the MySQL protocol that the load client uses: no password, text statements, prepared statements. A statement that begins with SELECT gets
// one row of 119 bytes, anything else OK. scripts/canned_pairs.py measures it beside one of a thread per connection.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 256
#define STATEMENTS 128

// What a connection keeps between its commands. Input that is not whole yet waits in `held`.
struct connection {
    int fd;
    int logged_in;
    uint32_t held_bytes, held_room;
    uint8_t *held;
    uint16_t last_statement;
    uint8_t is_select[STATEMENTS];
};

struct reply {
    uint8_t bytes[65536];
    size_t length;
    uint8_t sequence;
};

static int port;

static void packet(struct reply *r, const void *body, size_t n) {
    if (r->length + n + 4 > sizeof r->bytes) return;
    uint8_t *p = r->bytes + r->length;
    p[0] = n, p[1] = n >> 8, p[2] = n >> 16, p[3] = r->sequence++;
    memcpy(p + 4, body, n);
    r->length += n + 4;
}

static void ok(struct reply *r) { packet(r, "\0\0\0\2\0\0\0", 7); }

static void eof(struct reply *r) { packet(r, "\xfe\0\0\2\0", 5); }

static void column(struct reply *r) {
    static const char text[] = "\3def\1s\1t\1t\1c\1c\x0c\x21\0\x68\1\0\0\xfe\0\0\0\0\0";
    packet(r, text, sizeof text - 1);
}

// One column, one row; `binary` is that of a prepared statement.
static void row(struct reply *r, int binary) {
    uint8_t body[124] = {0}, *p = body;
    packet(r, "\1", 1);
    column(r);
    eof(r);
    if (binary) p += 2;
    *p++ = 119;
    memset(p, 'x', 119);
    packet(r, body, p - body + 119);
    eof(r);
}

static int starts_with_select(const uint8_t *text, size_t n) { return n >= 6 && !strncasecmp((const char *)text, "select", 6); }

// Answers one packet. 0: the connection is over.
static int answer(struct connection *c, const uint8_t *body, size_t n, struct reply *r) {
    if (!c->logged_in) {
        c->logged_in = 1;
        r->sequence = 2;
        ok(r);
        return 1;
    }
    r->sequence = 1;
    uint16_t id = n >= 5 ? (body[1] | body[2] << 8) % STATEMENTS : 0;
    switch (n ? body[0] : 1) {
    case 0x01: return 0;
    case 0x03: starts_with_select(body + 1, n - 1) ? row(r, 0) : ok(r); break;
    case 0x16: {
        int select = starts_with_select(body + 1, n - 1), parameters = 0;
        for (size_t i = 1; i < n; i++) parameters += body[i] == '?';
        c->last_statement = (c->last_statement + 1) % STATEMENTS;
        c->is_select[c->last_statement] = select;
        uint8_t head[12] = {0, c->last_statement, c->last_statement >> 8, 0, 0, select, 0, parameters, parameters >> 8, 0, 0, 0};
        packet(r, head, 12);
        for (int i = 0; i < parameters; i++) column(r);
        if (parameters) eof(r);
        if (select) column(r), eof(r);
        break;
    }
    case 0x17: c->is_select[id] ? row(r, 1) : ok(r); break;
    case 0x18:
    case 0x19: break;
    default: ok(r);
    }
    return 1;
}

// Reads what is there and answers all that is whole. 0: the connection is over.
static int serve(struct connection *c, uint8_t *in, size_t room, struct reply *r) {
    memcpy(in, c->held, c->held_bytes);
    size_t have = c->held_bytes, at = 0;
    ssize_t got = recv(c->fd, in + have, room - have, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return 0;
    if (got > 0) have += got;
    r->length = 0;
    while (have - at >= 4) {
        size_t n = in[at] | in[at + 1] << 8 | in[at + 2] << 16;
        if (have - at < n + 4) break;
        if (!answer(c, in + at + 4, n, r)) return 0;
        at += n + 4;
    }
    if (r->length && send(c->fd, r->bytes, r->length, MSG_NOSIGNAL) != (ssize_t)r->length) return 0;
    c->held_bytes = have - at;
    if (c->held_bytes > c->held_room) {
        uint8_t *more = realloc(c->held, c->held_bytes);
        if (!more) return 0;
        c->held = more, c->held_room = c->held_bytes;
    }
    if (c->held_bytes) memcpy(c->held, in + at, c->held_bytes);
    return c->held_bytes < room;
}

static void greet(int fd) {
    static const char text[] = "\x0a" "8.0.40\0" "\1\1\1\1" "abcdefgh\0" "\xff\xf7\x21\2\0\x08\0\x15" "\0\0\0\0\0\0\0\0\0\0" "ijklmnopqrst\0" "mysql_native_password";
    struct reply r = {.length = 0, .sequence = 0};
    packet(&r, text, sizeof text);
    send(fd, r.bytes, r.length, MSG_NOSIGNAL);
}

static void *work(void *unused) {
    (void)unused;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 4096)) {
        perror("listen");
        exit(1);
    }
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &wanted);
    uint8_t *in = malloc(1 << 20);
    struct reply *r = malloc(sizeof *r);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                int fd = accept(listener, NULL, NULL);
                if (fd < 0 || !(c = calloc(1, sizeof *c))) continue;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                c->fd = fd;
                greet(fd);
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
                epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
            } else if (!serve(c, in, 1 << 20, r)) {
                close(c->fd);
                free(c->held);
                free(c);
            }
        }
    }
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: canned_epoll PORT [THREADS]\n");
        return 2;
    }
    port = atoi(arguments[1]);
    int threads = count > 2 ? atoi(arguments[2]) : 2;
    pthread_t last = 0;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&last, NULL, work, NULL)) return 1;
    pthread_join(last, NULL);
    return 0;
}
