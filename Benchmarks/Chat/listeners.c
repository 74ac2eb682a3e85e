/* Many listeners of one room, and one who speaks: how long each word takes, and whether any is lost or comes twice.
 *
 *     listeners sse|nats PORT LISTENERS SECONDS RATE RECONNECTS ROOM [TOKEN…]
 *
 * Every word is "#number nanoseconds#" in some padding. A listener expects the numbers in order, without gap and without
 * repetition; RECONNECTS times one that is chosen at random is closed and, over SSE, goes on with Last-Event-ID. Listeners
 * take turns with the tokens. Prints: delivered, lost, repeated, p50, p99 and largest delay in microseconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, PADDING = 120 };

struct listener {
    int socket, used, is_ready;
    long expected, begun;
    char id[128], coming[128];
    char buffer[BUFFER];
};

static int is_sse, port;
static const char *room;
static char **tokens;
static int token_count;
static struct listener *all;
static int epoll;
static uint32_t *delays;
static long delay_count, delay_room, lost, repeated;
static atomic_long spoken;
static double rate;
static long words;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int connection(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket_ = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return socket_;
}

static void send_all(int socket_, const char *text, size_t length) {
    while (length) {
        ssize_t sent = send(socket_, text, length, MSG_NOSIGNAL);
        if (sent <= 0) fail("send");
        text += sent;
        length -= sent;
    }
}

static void listen_from(struct listener *who) {
    char text[2048];
    int length;
    who->socket = connection();
    who->used = who->is_ready = 0;
    who->coming[0] = 0;
    if (is_sse)
        length = snprintf(
            text, sizeof text, "GET /chat/v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s%s%s\r\n",
            tokens[(who - all) % token_count], who->id[0] ? "Last-Event-ID: " : "", who->id, who->id[0] ? "\r\n" : "");
    else
        length = snprintf(text, sizeof text, "CONNECT {\"verbose\":false}\r\nSUB room 1\r\nPING\r\n");
    send_all(who->socket, text, length);
    fcntl(who->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = who};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, who->socket, &event)) fail("epoll_ctl");
}

static void hear(struct listener *who, char *word) {
    char *rest;
    long number = strtol(word, &rest, 10);
    long long sent = strtoll(rest, NULL, 10);
    if (number < who->expected) {
        repeated++;
        return;
    }
    lost += number - who->expected;
    who->expected = number + 1;
    if (delay_count < delay_room) delays[delay_count++] = (uint32_t)((now() - sent) / 1000);
}

static void line(struct listener *who, char *text) {
    char *word;
    if (!strncmp(text, "id: ", 4)) snprintf(who->coming, sizeof who->coming, "%s", text + 4);
    if (!*text && *who->coming) memcpy(who->id, who->coming, sizeof who->id);
    if (!strncmp(text, "event: ready", 12) || !strncmp(text, "PONG", 4)) who->is_ready = 1;
    if (!strncmp(text, "event: reset", 12)) fail("reset");
    if ((word = strchr(text, '#'))) hear(who, word + 1);
}

/* What came, line by line; 0 when it ended. */
static int take(struct listener *who) {
    ssize_t count = recv(who->socket, who->buffer + who->used, BUFFER - who->used - 1, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    if (count <= 0) return 0;
    who->used += count;
    char *begin = who->buffer, *end;
    while ((end = memchr(begin, '\n', who->buffer + who->used - begin))) {
        *end = 0;
        if (end > begin && end[-1] == '\r') end[-1] = 0;
        if (!strncmp(begin, "PING", 4)) send_all(who->socket, "PONG\r\n", 6);
        line(who, begin);
        begin = end + 1;
    }
    who->used -= begin - who->buffer;
    memmove(who->buffer, begin, who->used);
    if (who->used >= BUFFER - 1) fail("a line is too long");
    return 1;
}

static void *speak(void *unused) {
    (void)unused;
    int socket_ = connection();
    char text[1024], body[512], answer[65536], padding[PADDING + 1];
    memset(padding, 'x', PADDING);
    padding[PADDING] = 0;
    if (!is_sse) send_all(socket_, "CONNECT {\"verbose\":false}\r\n", 27);
    long long begin = now();
    for (long number = 0; number < words; number++) {
        long long due = begin + (long long)(number * 1e9 / rate), left = due - now();
        if (left > 0) usleep(left / 1000);
        int size = snprintf(body, sizeof body, is_sse ? "{\"text\":\"#%ld %lld#%s\"}" : "#%ld %lld#%s", number, now(), padding);
        int length = is_sse
            ? snprintf(text, sizeof text,
                  "POST /chat/v1/rooms/%s/messages HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                  "Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", room, tokens[0], size, body)
            : snprintf(text, sizeof text, "PUB room %d\r\n%s\r\n", size, body);
        send_all(socket_, text, length);
        atomic_store(&spoken, number + 1);
        if (is_sse) {
            if (recv(socket_, answer, sizeof answer - 1, 0) <= 0) fail("answer");
            if (strncmp(answer, "HTTP/1.1 200", 12)) { fprintf(stderr, "%.300s\n", answer); exit(1); }
        } else {
            while (recv(socket_, answer, sizeof answer, MSG_DONTWAIT) > 0) if (strstr(answer, "PING")) send_all(socket_, "PONG\r\n", 6);
        }
    }
    return NULL;
}

static int smaller(const void *left, const void *right) {
    return (*(const uint32_t *)left > *(const uint32_t *)right) - (*(const uint32_t *)left < *(const uint32_t *)right);
}

static void turn(int wait) {
    struct epoll_event events[256];
    int count = epoll_wait(epoll, events, 256, wait);
    for (int index = 0; index < count; index++) {
        struct listener *who = events[index].data.ptr;
        if (!take(who)) {
            fprintf(stderr, "a stream ended: %.200s\n", who->buffer);
            exit(1);
        }
    }
}

int main(int count, char **arguments) {
    if (count < 8) return 2;
    is_sse = !strcmp(arguments[1], "sse");
    port = atoi(arguments[2]);
    int listeners = atoi(arguments[3]);
    double seconds = atof(arguments[4]);
    rate = atof(arguments[5]);
    int reconnects = atoi(arguments[6]);
    room = arguments[7];
    tokens = arguments + 8;
    token_count = count - 8;
    words = (long)(seconds * rate);
    all = calloc(listeners, sizeof *all);
    delay_room = words * listeners;
    delays = malloc(delay_room * sizeof *delays);
    epoll = epoll_create1(0);
    for (int index = 0; index < listeners; index++) {
        listen_from(&all[index]);
        while (!all[index].is_ready) turn(1000);
    }
    pthread_t speaker;
    pthread_create(&speaker, NULL, speak, NULL);
    long long began = now(), heard_last = began;
    int left = reconnects;
    srand(1);
    for (;;) {
        long before = delay_count;
        turn(20);
        if (delay_count > before) heard_last = now();
        double gone = (now() - began) / 1e9 / seconds;
        if (is_sse && left && gone < 0.95 && gone > (double)(reconnects - left) / reconnects) {
            struct listener *who = &all[rand() % listeners];
            close(who->socket);
            listen_from(who);
            left--;
        }
        if (atomic_load(&spoken) == words && (delay_count >= delay_room || now() - heard_last > 5000000000LL)) break;
    }
    pthread_join(speaker, NULL);
    for (int index = 0; index < listeners; index++) lost += words - all[index].expected;
    qsort(delays, delay_count, sizeof *delays, smaller);
    printf("%ld %ld %ld %u %u %u\n", delay_count, lost, repeated, delays[delay_count / 2], delays[delay_count * 99 / 100],
        delays[delay_count - 1]);
    return 0;
}
