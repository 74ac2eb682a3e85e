// Stands between a store and PostgreSQL, on the loopback: delays what the client sends, and counts round trips.
//
//     round-trip-proxy LISTEN-PORT SERVER-PORT MICROSECONDS
//
// A round trip ends with a message that makes the server answer: Sync, or a simple query; TLS is not understood. What the
// client sends first after bytes of the server is handed on MICROSECONDS after it was read. Prints `ready` when it listens. A line on standard input is answered with one line:
// `round trips, connections, bytes of the clients, bytes of the server` since the last one; `cut` ends all connections,
// `hold` keeps what the server answers until `release`. Ends with standard input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, CONNECTIONS = 256 };

// Bytes that go one way; read only when there are none left, so each side slows the other down as it would without a proxy.
typedef struct {
    char bytes[BUFFER];
    size_t begin, end;
    uint64_t due;
    int waits;
} Direction;

typedef struct Connection {
    int sockets[2];  // client, server
    Direction ways[2];  // from the client, from the server
    int answered;
    int open;
    // Where the client's messages are: bytes of the next header, and those left of the message.
    unsigned char header[5];
    size_t known, left;
    int is_started;
} Connection;

static Connection *connections[CONNECTIONS];
static unsigned long trips, accepted, bytes[2];
static int poll_fd, timer, is_held, server_port;
static uint64_t delay;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void end(Connection *c) {
    if (!c->open) return;
    c->open = 0;
    close(c->sockets[0]);
    close(c->sockets[1]);
}

static void watch(Connection *c) {
    for (int side = 0; side < 2; side++) {
        Direction *in = &c->ways[side], *out = &c->ways[1 - side];
        int is_late = out->begin < out->end && !out->waits && !(side == 0 && is_held);
        struct epoll_event event = {
            .events = (in->begin == in->end ? EPOLLIN : 0u) | (is_late ? EPOLLOUT : 0u),
            .data.u64 = (uint64_t)(uintptr_t)c | (uint64_t)side};
        epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->sockets[side], &event);
    }
}

static void wake(void) {
    uint64_t first = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        Connection *c = connections[i];
        if (c && c->open && c->ways[0].waits && (!first || c->ways[0].due < first)) first = c->ways[0].due;
    }
    struct itimerspec at = {.it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void push(Connection *c, int side) {
    Direction *way = &c->ways[side];
    if (way->waits || (side == 1 && is_held)) return;
    while (way->begin < way->end) {
        ssize_t count = send(c->sockets[1 - side], way->bytes + way->begin, way->end - way->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR) end(c);
            return;
        }
        way->begin += (size_t)count;
    }
    way->begin = way->end = 0;
}

// Counts the messages that ask for an answer. The first message of a connection has no type.
static void follow(Connection *c, const char *bytes, size_t count) {
    while (count > 0) {
        if (c->left > 0) {
            size_t part = c->left < count ? c->left : count;
            c->left -= part;
            bytes += part;
            count -= part;
            continue;
        }
        size_t size = c->is_started ? 5 : 4;
        c->header[c->known++] = (unsigned char)*bytes++;
        count--;
        if (c->known < size) continue;
        const unsigned char *length = c->header + size - 4;
        c->left = ((size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3]) - 4;
        if (c->is_started && (c->header[0] == 'S' || c->header[0] == 'Q')) trips++;
        c->is_started = 1;
        c->known = 0;
    }
}

static void pull(Connection *c, int side) {
    Direction *way = &c->ways[side];
    if (way->begin < way->end) return;
    ssize_t count = recv(c->sockets[side], way->bytes, BUFFER, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        end(c);
        return;
    }
    way->end = (size_t)count;
    bytes[side] += (unsigned long)count;
    if (side == 0) follow(c, way->bytes, way->end);
    if (side == 1) {
        c->answered = 1;
    } else if (c->answered) {
        c->answered = 0;
        if (delay) {
            way->waits = 1;
            way->due = now() + delay;
            wake();
        }
    }
    push(c, side);
}

static int connect_to_server(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server_port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void take(int listener) {
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) return;
    int place = 0;
    while (place < CONNECTIONS && connections[place] && connections[place]->open) place++;
    int server = place < CONNECTIONS ? connect_to_server() : -1;
    if (server < 0) {
        close(client);
        return;
    }
    // Aligned, so the lowest bit of its address says which side an event is of.
    if (!connections[place] && !(connections[place] = malloc(sizeof(Connection)))) fail("malloc");
    Connection *c = connections[place];
    memset(c, 0, sizeof *c);
    c->open = c->answered = 1;
    c->sockets[0] = client;
    c->sockets[1] = server;
    accepted++;
    for (int side = 0; side < 2; side++) {
        int one = 1;
        setsockopt(c->sockets[side], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)(uintptr_t)c | (uint64_t)side};
        if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->sockets[side], &event) < 0) fail("epoll_ctl");
    }
}

static void command(void) {
    char line[64] = "";
    ssize_t count = read(0, line, sizeof line - 1);
    if (count <= 0) exit(0);
    if (!strncmp(line, "cut", 3)) {
        for (int i = 0; i < CONNECTIONS; i++) {
            if (connections[i]) end(connections[i]);
        }
    }
    is_held = strncmp(line, "hold", 4) == 0 || (is_held && strncmp(line, "release", 7) != 0);
    for (int i = 0; i < CONNECTIONS && !is_held; i++) {
        if (connections[i] && connections[i]->open) {
            push(connections[i], 1);
            if (connections[i]->open) watch(connections[i]);
        }
    }
    printf("%lu %lu %lu %lu\n", trips, accepted, bytes[0], bytes[1]);
    fflush(stdout);
    trips = accepted = bytes[0] = bytes[1] = 0;
}

static void release_due(void) {
    uint64_t ignored, time = now();
    if (read(timer, &ignored, sizeof ignored) < 0 && errno != EAGAIN) fail("read");
    for (int i = 0; i < CONNECTIONS; i++) {
        Connection *c = connections[i];
        if (!c || !c->open || !c->ways[0].waits || c->ways[0].due > time) continue;
        c->ways[0].waits = 0;
        push(c, 0);
        if (c->open) watch(c);
    }
    wake();
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "round-trip-proxy LISTEN-PORT SERVER-PORT MICROSECONDS\n");
        return 2;
    }
    server_port = atoi(arguments[2]);
    delay = strtoull(arguments[3], NULL, 10) * 1000;
    prctl(PR_SET_TIMERSLACK, 1);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 128) < 0) fail("listen");
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int special[] = {listener, timer, 0};
    for (uint64_t i = 0; i < 3; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};
        if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, special[i], &event) < 0) fail("epoll_ctl");
    }
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[64];
        int found = epoll_wait(poll_fd, events, 64, -1);
        if (found < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < found; i++) {
            uint64_t data = events[i].data.u64;
            if (data == 0) take(listener);
            else if (data == 1) release_due();
            else if (data == 2) command();
            else {
                Connection *c = (Connection *)(uintptr_t)(data & ~(uint64_t)1);
                int side = (int)(data & 1);
                if (c->open && events[i].events & EPOLLOUT) push(c, 1 - side);
                if (c->open && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) pull(c, side);
                if (c->open) watch(c);
            }
        }
    }
}
