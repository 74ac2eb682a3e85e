/* Many listeners, and one who speaks: how long each word takes, and whether any is lost or comes twice.
 *
 *     listeners chat|sync|nats PORT LISTENERS SECONDS RATE RECONNECTS WHERE [TOKEN…]
 *
 * WHERE is the chat's room, or the query of sync's live streams. Every word is "#number nanoseconds#" in some padding. A
 * listener expects the numbers in order, without gap and without repetition; RECONNECTS times one that is chosen at random
 * is closed and, over SSE, goes on with Last-Event-ID. Listeners take turns with the tokens. Prints: delivered, lost,
 * repeated; then p50, p99 and largest delay in microseconds from when the word was sent, and the same from when it was
 * acknowledged, where it is (0 for what was there before; a word comes to many, of which some may be). */
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

#include "talk.h"

enum { BUFFER = 1 << 16 };

struct listener {
    int socket, used, is_ready;
    long expected;
    char id[LONGEST_ID], coming[LONGEST_ID];
    char buffer[BUFFER];
};

struct delivery {
    long number;
    long long instant;
};

static const struct talk *talk;
static int port;
static const char *where;
static char **tokens;
static int token_count;
static struct listener *all;
static int epoll;
static struct delivery *deliveries;
static long delivery_count, delivery_room, lost, repeated;
static atomic_long spoken;
static double rate;
static long words;
/* Of each word; the speaker's until it has ended. */
static long long *sent, *acknowledged;

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
        ssize_t count = send(socket_, text, length, MSG_NOSIGNAL);
        if (count <= 0) fail("send");
        text += count;
        length -= count;
    }
}

static void listen_from(struct listener *who) {
    char text[LONGEST_REQUEST];
    who->socket = connection();
    who->used = who->is_ready = 0;
    who->coming[0] = 0;
    send_all(who->socket, text, talk->listen(text, where, token_count ? tokens[(who - all) % token_count] : "", who->id));
    fcntl(who->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = who};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, who->socket, &event)) fail("epoll_ctl");
}

static void hear(struct listener *who, const char *word, long long instant) {
    long number = strtol(word, NULL, 10);
    if (number < who->expected) {
        repeated++;
        return;
    }
    lost += number - who->expected;
    who->expected = number + 1;
    if (delivery_count < delivery_room) deliveries[delivery_count++] = (struct delivery){number, instant};
}

/* A page of sync may tell several words in one line; each stands between two marks. */
static void line(struct listener *who, char *text, long long instant) {
    if (!strncmp(text, "id: ", 4)) {
        if (strlen(text + 4) >= LONGEST_ID) fail("an id is too long");
        strcpy(who->coming, text + 4);
    }
    if (!*text && *who->coming) {
        strcpy(who->id, who->coming);
        if (!*talk->ready) who->is_ready = 1;
    }
    if (*talk->ready && !strncmp(text, talk->ready, strlen(talk->ready))) who->is_ready = 1;
    if (!strncmp(text, "event: reset", 12) || !strncmp(text, "event: error", 12)) fail(text);
    for (char *word = strchr(text, '#'); word; word = strchr(word + 1, '#')) {
        hear(who, word + 1, instant);
        if (!(word = strchr(word + 1, '#'))) fail("a word has no end");
    }
}

/* What came, line by line; 0 when it ended. */
static int take(struct listener *who) {
    ssize_t count = recv(who->socket, who->buffer + who->used, BUFFER - who->used - 1, 0);
    long long instant = now();
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    if (count <= 0) return 0;
    who->used += count;
    char *begin = who->buffer, *end;
    while ((end = memchr(begin, '\n', who->buffer + who->used - begin))) {
        *end = 0;
        if (end > begin && end[-1] == '\r') end[-1] = 0;
        if (!strncmp(begin, "PING", 4)) send_all(who->socket, "PONG\r\n", 6);
        line(who, begin, instant);
        begin = end + 1;
    }
    who->used -= begin - who->buffer;
    memmove(who->buffer, begin, who->used);
    if (who->used >= BUFFER - 1) fail("a line is too long");
    return 1;
}

static void hear_answer(int socket_, long number) {
    char answer[65536];
    ssize_t count = recv(socket_, answer, sizeof answer - 1, 0);
    acknowledged[number] = now();
    if (count <= 0) fail("answer");
    answer[count] = 0;
    if (strncmp(answer, "HTTP/1.1 200", 12) || !strstr(answer, talk->success)) {
        fprintf(stderr, "%.600s\n", answer);
        exit(1);
    }
}

static void answer_pings(int socket_) {
    char said[65536];
    ssize_t count;
    while ((count = recv(socket_, said, sizeof said - 1, MSG_DONTWAIT)) > 0) {
        said[count] = 0;
        if (strstr(said, "PING")) send_all(socket_, "PONG\r\n", 6);
    }
}

static void *speak(void *unused) {
    (void)unused;
    int socket_ = connection();
    char text[LONGEST_REQUEST], word[256], padding[PADDING + 1];
    memset(padding, 'x', PADDING);
    padding[PADDING] = 0;
    long long begin = now();
    for (long number = 0; number < words; number++) {
        long long due = begin + (long long)(number * 1e9 / rate), left = due - now();
        if (left > 0) usleep(left / 1000);
        sent[number] = now();
        snprintf(word, sizeof word, "#%ld %lld#%s", number, sent[number], padding);
        send_all(socket_, text, talk->speak(text, where, token_count ? tokens[0] : "", word, number));
        if (talk->acknowledges)
            hear_answer(socket_, number);
        else
            answer_pings(socket_);
        atomic_store(&spoken, number + 1);
    }
    return NULL;
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

/* One listener is cut off and comes back, so often over the whole time. */
static void cut(int listeners, int *left, int reconnects, double gone) {
    if (!talk->goes_on || !*left || gone >= 0.95 || gone <= (double)(reconnects - *left) / reconnects) return;
    struct listener *who = &all[rand() % listeners];
    close(who->socket);
    listen_from(who);
    --*left;
}

static int smaller(const void *left, const void *right) {
    return (*(const uint32_t *)left > *(const uint32_t *)right) - (*(const uint32_t *)left < *(const uint32_t *)right);
}

static void print_delays(const long long *from) {
    uint32_t *delays = malloc((delivery_count + 1) * sizeof *delays);
    for (long index = 0; index < delivery_count; index++) {
        long long delay = deliveries[index].instant - from[deliveries[index].number];
        delays[index] = delay > 0 ? (uint32_t)(delay / 1000) : 0;
    }
    qsort(delays, delivery_count, sizeof *delays, smaller);
    printf(" %u %u %u", delays[delivery_count / 2], delays[delivery_count * 99 / 100], delays[delivery_count - 1]);
    free(delays);
}

static void print_all(int listeners) {
    if (!delivery_count) fail("nothing was heard");
    for (int index = 0; index < listeners; index++) lost += words - all[index].expected;
    printf("%ld %ld %ld", delivery_count, lost, repeated);
    print_delays(sent);
    if (talk->acknowledges) print_delays(acknowledged);
    printf("\n");
}

int main(int count, char **arguments) {
    if (count < 8 || !(talk = talk_named(arguments[1]))) return 2;
    port = atoi(arguments[2]);
    int listeners = atoi(arguments[3]);
    double seconds = atof(arguments[4]);
    rate = atof(arguments[5]);
    int reconnects = atoi(arguments[6]), left = reconnects;
    where = arguments[7];
    tokens = arguments + 8;
    token_count = count - 8;
    words = (long)(seconds * rate);
    all = calloc(listeners, sizeof *all);
    sent = calloc(words, sizeof *sent);
    acknowledged = calloc(words, sizeof *acknowledged);
    delivery_room = words * listeners;
    deliveries = malloc(delivery_room * sizeof *deliveries);
    epoll = epoll_create1(0);
    for (int index = 0; index < listeners; index++) {
        listen_from(&all[index]);
        while (!all[index].is_ready) turn(1000);
    }
    pthread_t speaker;
    pthread_create(&speaker, NULL, speak, NULL);
    long long began = now(), heard_last = began;
    srand(1);
    for (;;) {
        long before = delivery_count;
        turn(20);
        if (delivery_count > before) heard_last = now();
        cut(listeners, &left, reconnects, (now() - began) / 1e9 / seconds);
        if (atomic_load(&spoken) == words && (delivery_count >= delivery_room || now() - heard_last > 5000000000LL)) break;
    }
    pthread_join(speaker, NULL);
    print_all(listeners);
    return 0;
}
