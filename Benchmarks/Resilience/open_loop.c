/* An open loop: asks on schedule, whatever the answers do, as the open internet does.
 *
 *     open_loop PORT RATE SECONDS CAP PATIENCE <REQUEST
 *
 * Asks RATE times a second for SECONDS, over a connection that is at rest or else over a new one, up to CAP of them; what
 * finds all of them busy is not sent, and counted. RATE 0 is a closed loop: CAP connections, each asks when it is answered.
 * An answer in chunks ends with the bytes of the last chunk, which may not stand within its body.
 * An answer's time is taken from the moment that it was scheduled for, so whoever is late (the generator too) pays for it.
 * Ends PATIENCE seconds after the last scheduled moment at the latest. Loopback only. Prints one line of JSON: counts by
 * status ("0": the connection ended or nothing came), microseconds of the accepted (2xx) and the refused (503), how late
 * requests were sent, and how many connections were made. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 8 << 10, LONGEST_REQUEST = 64 << 10, MOST_CONNECTIONS = 20000, MOST_REQUESTS = 5000000, STATUSES = 600 };
#define ENDLESS (1LL << 40)

struct connection {
    int socket, is_busy;
    size_t sent, read; /* of the request; of the answer's head */
    long long left;    /* of the answer's body; -1 until its head is whole */
    int status, closes, is_chunked;
    char tail[5];      /* the last bytes of an answer in chunks */
    long long due;
    char head[HEAD + 1];
};

struct times { uint32_t *values; long count; };

static char request[LONGEST_REQUEST];
static size_t request_length;
static int port, epoll, is_closed_loop;
static struct connection *all, **resting;
static long made, cap, resting_count, open_count, unsent, counts[STATUSES];
static struct times accepted, refused, lateness;
static long long end;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void note(struct times *times, long long since) {
    times->values[times->count++] = (uint32_t)((now() - since) / 1000);
}

static void answered(struct connection *one, int status) {
    counts[status < STATUSES ? status : 0]++;
    if (status / 100 == 2) note(&accepted, one->due);
    if (status == 503) note(&refused, one->due);
    one->is_busy = 0;
}

/* An answer without a length ends with its connection; any other is cut off by that end. */
static void shut(struct connection *one) {
    if (one->is_busy) answered(one, one->left > ENDLESS / 2 ? one->status : 0);
    close(one->socket);
    one->socket = -1;
    open_count--;
}

static int send_on(struct connection *one) {
    while (one->sent < request_length) {
        ssize_t count = send(one->socket, request + one->sent, request_length - one->sent, MSG_NOSIGNAL);
        /* Whoever is refused need not be able to send it all: the answer is there to be read. */
        if (count < 0) return errno == EAGAIN || errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;
        one->sent += count;
    }
    return 1;
}

static void ask(struct connection *one, long long due) {
    one->is_busy = 1;
    one->sent = one->read = 0;
    one->left = -1;
    one->due = due;
    note(&lateness, due);
    if (!send_on(one)) shut(one);
}

/* Nothing where the cap is reached or there is no port left. */
static struct connection *connected(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct connection *one = NULL;
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (long index = 0; index < cap && open_count < cap && !one; index++)
        if (all[(made + index) % cap].socket < 0) one = &all[(made + index) % cap];
    if (!one) return NULL;
    one->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (one->socket < 0) fail("socket");
    setsockopt(one->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(one->socket, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) {
        close(one->socket);
        one->socket = -1;
        return NULL;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = one};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, one->socket, &event)) fail("epoll_ctl");
    made++;
    open_count++;
    return one;
}

static void ask_somebody(long long due) {
    /* One that has ended since, and may be in use anew. */
    while (resting_count && (resting[resting_count - 1]->socket < 0 || resting[resting_count - 1]->is_busy)) resting_count--;
    struct connection *one = resting_count ? resting[--resting_count] : connected();
    if (one) ask(one, due);
    else unsent++;
}

/* Notes the last bytes of an answer in chunks, and whether they end it. */
static void follow(struct connection *one, const char *bytes, size_t count) {
    size_t taken = count < sizeof one->tail ? count : sizeof one->tail;
    memmove(one->tail, one->tail + taken, sizeof one->tail - taken);
    memcpy(one->tail + sizeof one->tail - taken, bytes + count - taken, taken);
    if (!memcmp(one->tail, "0\r\n\r\n", sizeof one->tail)) one->left = 0;
}

static void read_head(struct connection *one) {
    char *last = strstr(one->head, "\r\n\r\n"), *length;
    if (!last) return;
    *last = 0;
    one->status = atoi(one->head + 9);
    one->closes = strcasestr(one->head, "\nconnection: close") != NULL;
    length = strcasestr(one->head, "\ncontent-length:");
    long long whole = length ? atoll(length + 16) : one->status == 204 ? 0 : ENDLESS;
    one->left = whole - (long long)(one->read - (last + 4 - one->head));
    one->is_chunked = !length && strcasestr(one->head, "\ntransfer-encoding: chunked") != NULL;
    memset(one->tail, 0, sizeof one->tail);
    if (one->is_chunked) follow(one, last + 4, one->read - (last + 4 - one->head));
}

static void rest(struct connection *one) {
    answered(one, one->status);
    if (one->closes) {
        shut(one);
        one = is_closed_loop && now() < end ? connected() : NULL;
    }
    if (!one) return;
    if (!is_closed_loop) resting[resting_count++] = one;
    else if (now() < end) ask(one, now());
}

static void take(struct connection *one) {
    static char body[256 << 10];
    if (one->is_busy && !send_on(one)) return shut(one);
    while (one->socket >= 0) {
        int in_head = one->is_busy && one->left < 0;
        ssize_t count = recv(one->socket, in_head ? one->head + one->read : body, in_head ? HEAD - one->read : sizeof body, 0);
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) return shut(one);
        if (!in_head && one->is_chunked) follow(one, body, count);
        else if (!in_head) one->left -= count;
        else {
            one->head[one->read += count] = 0;
            read_head(one);
        }
        if (one->is_busy && one->left == 0) rest(one);
        else if (one->is_busy && one->left < 0 && one->read == HEAD) fail("a head is too long");
    }
}

static void turn(long long until) {
    struct epoll_event events[256];
    long long wait = until - now();
    struct timespec patience = {.tv_sec = wait > 0 ? wait / 1000000000 : 0, .tv_nsec = wait > 0 ? wait % 1000000000 : 0};
    int count = epoll_pwait2(epoll, events, 256, &patience, NULL);
    for (int index = 0; index < count; index++)
        if (((struct connection *)events[index].data.ptr)->socket >= 0) take(events[index].data.ptr);
}

static int smaller(const void *left, const void *right) {
    return (*(const uint32_t *)left > *(const uint32_t *)right) - (*(const uint32_t *)left < *(const uint32_t *)right);
}

static void print_times(const char *name, struct times *times) {
    long count = times->count;
    qsort(times->values, count, sizeof *times->values, smaller);
    printf(", \"%s\": {\"count\": %ld, \"p50\": %u, \"p99\": %u, \"largest\": %u}", name, count,
        count ? times->values[count / 2] : 0, count ? times->values[count * 99 / 100] : 0, count ? times->values[count - 1] : 0);
}

static void print(void) {
    const char *comma = "";
    printf("{\"statuses\": {");
    for (int status = 0; status < STATUSES; status++)
        if (counts[status]) {
            printf("%s\"%d\": %ld", comma, status, counts[status]);
            comma = ", ";
        }
    printf("}, \"unsent\": %ld, \"connections\": %ld", unsent, made);
    print_times("accepted", &accepted);
    print_times("refused", &refused);
    print_times("late", &lateness);
    printf("}\n");
}

int main(int count, char **arguments) {
    if (count != 6) return 2;
    port = atoi(arguments[1]);
    double rate = atof(arguments[2]), seconds = atof(arguments[3]);
    cap = atol(arguments[4]);
    is_closed_loop = rate == 0;
    request_length = fread(request, 1, sizeof request, stdin);
    long most = is_closed_loop ? MOST_REQUESTS : (long)(rate * seconds);
    if (cap < 1 || cap > MOST_CONNECTIONS || most > MOST_REQUESTS || request_length == sizeof request) return 2;
    all = calloc(cap, sizeof *all);
    resting = calloc(most + cap, sizeof *resting);
    accepted.values = malloc((most + cap) * sizeof(uint32_t));
    refused.values = malloc((most + cap) * sizeof(uint32_t));
    lateness.values = malloc((most + cap) * sizeof(uint32_t));
    epoll = epoll_create1(0);
    for (long index = 0; index < cap; index++) all[index].socket = -1;
    long long begin = now();
    end = begin + (long long)(seconds * 1e9);
    for (long index = 0; is_closed_loop && index < cap; index++) ask_somebody(now());
    for (long number = 0; !is_closed_loop && number < most;) {
        long long due = begin + (long long)(number * 1e9 / rate);
        if (due <= now()) {
            ask_somebody(due);
            number++;
        } else turn(due);
    }
    if (is_closed_loop) while (now() < end) turn(end);
    long busy = 1;
    for (long long last = end + (long long)(atof(arguments[5]) * 1e9); busy && now() < last;) {
        turn(now() + 20000000);
        busy = 0;
        for (long index = 0; index < cap; index++) busy += all[index].socket >= 0 && all[index].is_busy;
    }
    for (long index = 0; index < cap; index++)
        if (all[index].socket >= 0) shut(&all[index]);
    print();
    return 0;
}
