/* A closed loop over requests that differ, as the apps of many users make them.
 *
 *     closed_loop http1|https1|http2 PORT CONNECTIONS STREAMS SECONDS SEED FILE PID [hold]
 *
 * Each connection walks over the requests of FILE (requests.h) in an order of its own, and asks the next one when it is
 * answered; over HTTP/2 (with TLS, by ALPN) STREAMS are under way at once, over HTTP/1.1 one is. Status, length and bytes
 * of every answer are compared with what the file expects. Every connection asks once at least. Loopback only; ends
 * PATIENCE seconds after the last request at the latest. Prints one line of JSON: answers, errors by kind, bytes of heads
 * and bodies, microseconds from a request to the end of its answer, and what it cost in microseconds of processor time for
 * each answer: here, and in process PID with its descendants. With `hold` the connections stay until standard input ends. */
#define _GNU_SOURCE
#include "requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 20000, MOST_STREAMS = 100, MOST_ANSWERS = 20000000, HEAD = 32 << 10, CHUNK = 64 << 10, PATIENCE = 10 };
enum error { NONE, STATUS, LENGTH, BYTES, CLOSED, PROTOCOL, UNANSWERED, ERRORS };
static const char *error_names[] = {"", "status", "length", "bytes", "closed", "protocol", "unanswered"};

/* One request under way, and what came of its answer. */
struct exchange {
    struct connection *connection;
    struct request *request;
    struct text body; /* over HTTP/2, of this sending; its bytes are the exchange's own */
    size_t body_sent;
    long long began;
    int is_busy, status, differs;
    long long declared; /* length of the answer's body, -1 where it does not say */
    size_t received;
};

struct connection {
    int socket, is_waiting_to_write;
    SSL *tls;
    nghttp2_session *session;
    uint32_t *order;
    int position;
    char *output;
    size_t output_length, output_sent, output_room;
    char *head; /* HTTP/1.1 */
    size_t head_length;
    int has_head;
    struct exchange *exchanges;
};

static struct requests requests;
static struct connection *connections;
static int connection_count, stream_count, is_http2, is_secure, epoll, busy;
static uint64_t randomness;
static uint32_t *times;
static long answers, errors[ERRORS];
static long long end, bytes;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static void count_error(enum error error, const struct exchange *exchange) {
    if (!errors[error]++)
        fprintf(stderr, "%s: %.*s: status %d, %zu bytes\n", error_names[error], (int)strcspn(exchange->request->http1.bytes, "\r"),
            exchange->request->http1.bytes, exchange->status, exchange->received);
}

/* Sends what is waiting; what the socket does not take waits for it. */
static int flush(struct connection *one) {
    while (one->output_sent < one->output_length) {
        const char *from = one->output + one->output_sent;
        int length = (int)(one->output_length - one->output_sent);
        int sent = one->tls ? SSL_write(one->tls, from, length) : (int)send(one->socket, from, length, MSG_NOSIGNAL);
        if (sent > 0) {
            one->output_sent += sent;
            continue;
        }
        if (one->tls ? SSL_get_error(one->tls, sent) != SSL_ERROR_WANT_WRITE : errno != EAGAIN) return 0;
        break;
    }
    int waits = one->output_sent < one->output_length;
    if (!waits) one->output_sent = one->output_length = 0;
    if (waits != one->is_waiting_to_write) {
        struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = one};
        epoll_ctl(epoll, EPOLL_CTL_MOD, one->socket, &event);
        one->is_waiting_to_write = waits;
    }
    return 1;
}

static char *output(struct connection *one, size_t length) {
    if (one->output_length + length > one->output_room)
        one->output = realloc(one->output, one->output_room = 2 * (one->output_length + length));
    one->output_length += length;
    return one->output + one->output_length - length;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
    struct exchange *exchange = source->ptr;
    size_t left = exchange->body.length - exchange->body_sent, length = left < room ? left : room;
    memcpy(to, exchange->body.bytes + exchange->body_sent, length);
    exchange->body_sent += length;
    if (length == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)length;
}

static void ask_by_stream(struct exchange *exchange) {
    struct request *request = exchange->request;
    nghttp2_data_provider body = {.source.ptr = exchange, .read_callback = read_body};
    freshen(&request->lines, &randomness);
    if (request->body.length) {
        char *own = realloc(exchange->body.bytes, request->body.length);
        memcpy(own, request->body.bytes, request->body.length);
        exchange->body = request->body;
        exchange->body.bytes = own;
        exchange->body_sent = 0;
        freshen(&exchange->body, &randomness);
    }
    if (nghttp2_submit_request(exchange->connection->session, NULL, request->fields, request->field_count,
            request->body.length ? &body : NULL, exchange) < 0)
        fail("nghttp2_submit_request");
}

static void ask(struct exchange *exchange) {
    struct connection *one = exchange->connection;
    exchange->request = &requests.all[one->order[one->position]];
    one->position = (one->position + 1) % requests.count;
    exchange->status = exchange->differs = 0;
    exchange->received = 0;
    exchange->declared = -1;
    exchange->is_busy = 1;
    busy++;
    exchange->began = now();
    if (is_http2) return ask_by_stream(exchange);
    freshen(&exchange->request->http1, &randomness);
    memcpy(output(one, exchange->request->http1.length), exchange->request->http1.bytes, exchange->request->http1.length);
}

static void take_body(struct exchange *exchange, const void *from, size_t length) {
    struct request *request = exchange->request;
    if (request->expected && (exchange->received + length > request->expected_length ||
            memcmp(request->expected + exchange->received, from, length)))
        exchange->differs = 1;
    exchange->received += length;
    bytes += length;
}

static enum error error_of(const struct exchange *exchange) {
    const struct request *request = exchange->request;
    if (exchange->status != request->status) return STATUS;
    if (exchange->declared >= 0 && exchange->status != 304 && (size_t)exchange->declared != exchange->received) return LENGTH;
    if (request->expected && request->expected_length != exchange->received) return LENGTH;
    return exchange->differs ? BYTES : NONE;
}

static void answered(struct exchange *exchange) {
    enum error error = error_of(exchange);
    long long moment = now();
    if (error) count_error(error, exchange);
    else if (answers < MOST_ANSWERS) times[answers++] = (uint32_t)((moment - exchange->began) / 1000);
    exchange->is_busy = 0;
    busy--;
    if (moment < end) ask(exchange);
}

static void shut(struct connection *one, enum error error) {
    for (int index = 0; index < stream_count; index++)
        if (one->exchanges[index].is_busy) {
            count_error(error, &one->exchanges[index]);
            one->exchanges[index].is_busy = 0;
            busy--;
        }
    close(one->socket);
    one->socket = -1;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags, void *context) {
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!exchange) return 0;
    bytes += name_length + length;
    if (name_length == 7 && !memcmp(name, ":status", 7)) exchange->status = atoi((const char *)value);
    if (name_length == 14 && !memcmp(name, "content-length", 14)) exchange->declared = atoll((const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *from, size_t length, void *context) {
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);
    if (exchange) take_body(exchange, from, length);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);
    if (!exchange) return 0;
    if (code) exchange->status = 0;
    answered(exchange);
    return 0;
}

static int write_frames(struct connection *one) {
    const uint8_t *frames;
    ssize_t length;
    while (one->output_length < 4 * CHUNK && (length = nghttp2_session_mem_send(one->session, &frames)))
        if (length < 0) return 0;
        else memcpy(output(one, length), frames, length);
    return 1;
}

static nghttp2_session *session_of(struct connection *one) {
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2 << 20}};
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_client_new(&session, callbacks, one);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 10 << 20);
    return session;
}

/* The head, once it is whole; 0 where it is no head. */
static int read_head(struct connection *one, char *last) {
    struct exchange *exchange = one->exchanges;
    *last = 0;
    if (strncmp(one->head, "HTTP/1.1 ", 9)) return 0;
    exchange->status = atoi(one->head + 9);
    char *length = strcasestr(one->head, "\ncontent-length:");
    exchange->declared = length ? atoll(length + 16) : -1;
    if (!length && exchange->status != 304 && exchange->status != 204) return 0;
    bytes += last + 4 - one->head;
    one->has_head = 1;
    return 1;
}

/* One answer at a time: bytes beyond it are none that were asked for. */
static int read_http1(struct connection *one, const char *from, size_t length) {
    struct exchange *exchange = one->exchanges;
    if (!exchange->is_busy) return 0;
    if (!one->has_head) {
        if (one->head_length + length > HEAD) return 0;
        memcpy(one->head + one->head_length, from, length);
        one->head_length += length;
        one->head[one->head_length] = 0;
        char *last = strstr(one->head, "\r\n\r\n");
        if (!last) return 1;
        if (!read_head(one, last)) return 0;
        from = last + 4;
        length = one->head + one->head_length - from;
    }
    take_body(exchange, from, length);
    size_t whole = exchange->status == 304 || exchange->declared < 0 ? 0 : exchange->declared;
    if (exchange->received < whole) return 1;
    one->has_head = 0;
    one->head_length = 0;
    answered(exchange);
    return 1;
}

static void take(struct connection *one) {
    static char chunk[CHUNK];
    do {
        int length = one->tls ? SSL_read(one->tls, chunk, sizeof chunk) : (int)recv(one->socket, chunk, sizeof chunk, 0);
        if (length <= 0) {
            int waits = one->tls ? SSL_get_error(one->tls, length) == SSL_ERROR_WANT_READ : length < 0 && errno == EAGAIN;
            if (!waits) return shut(one, CLOSED);
            break;
        }
        int holds = is_http2 ? nghttp2_session_mem_recv(one->session, (uint8_t *)chunk, length) == length
                             : read_http1(one, chunk, length);
        if (!holds) return shut(one, PROTOCOL);
    } while (one->tls && SSL_has_pending(one->tls));
    if (is_http2 && !write_frames(one)) return shut(one, PROTOCOL);
    if (!flush(one)) shut(one, CLOSED);
}

static void turn(long long until) {
    struct epoll_event events[256];
    long long wait = until - now();
    int count = epoll_wait(epoll, events, 256, wait > 0 ? (int)(wait / 1000000) + 1 : 0);
    for (int index = 0; index < count; index++) {
        struct connection *one = events[index].data.ptr;
        if (one->socket >= 0 && events[index].events & EPOLLOUT && !flush(one)) shut(one, CLOSED);
        if (one->socket >= 0 && events[index].events & ~EPOLLOUT) take(one);
    }
}

static SSL_CTX *tls_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    const unsigned char *protocol = (const unsigned char *)(is_http2 ? "\x02h2" : "\x08http/1.1");
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, protocol, protocol[0] + 1);
    return context;
}

static void shuffle(struct connection *one, uint64_t seed) {
    one->order = malloc(requests.count * sizeof *one->order);
    for (int index = 0; index < requests.count; index++) {
        int other = next_random(&seed) % (index + 1);
        one->order[index] = one->order[other];
        one->order[other] = index;
    }
}

static void connect_one(struct connection *one, int port, SSL_CTX *context) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    one->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (one->socket < 0 || connect(one->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(one->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (is_secure) {
        const unsigned char *protocol;
        unsigned length;
        one->tls = SSL_new(context);
        SSL_set_fd(one->tls, one->socket);
        if (SSL_connect(one->tls) != 1) fail("SSL_connect");
        SSL_get0_alpn_selected(one->tls, &protocol, &length);
        if (is_http2 && (length != 2 || memcmp(protocol, "h2", 2))) fail("the server speaks no HTTP/2");
    }
    if (is_http2) one->session = session_of(one);
    else one->head = malloc(HEAD + 1);
    fcntl(one->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, one->socket, &event)) fail("epoll_ctl");
    one->exchanges = calloc(stream_count, sizeof *one->exchanges);
    for (int index = 0; index < stream_count; index++) one->exchanges[index].connection = one;
}

/* Nanoseconds of user and system time of a process and its descendants, of all their threads. */
static long long processor_time(int pid) {
    struct timespec time;
    clockid_t clock;
    char path[64];
    int child;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time)) return 0;
    long long sum = time.tv_sec * 1000000000LL + time.tv_nsec;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *children = fopen(path, "r");
    while (children && fscanf(children, "%d", &child) == 1) sum += processor_time(child);
    if (children) fclose(children);
    return sum;
}

static int smaller(const void *left, const void *right) {
    return (*(const uint32_t *)left > *(const uint32_t *)right) - (*(const uint32_t *)left < *(const uint32_t *)right);
}

static void print(double seconds, double server, double own) {
    qsort(times, answers, sizeof *times, smaller);
    printf("{\"answers\": %ld, \"seconds\": %.4f, \"bytes\": %lld, \"p50\": %u, \"p99\": %u, \"largest\": %u, ", answers, seconds,
        bytes, answers ? times[answers / 2] : 0, answers ? times[answers * 99 / 100] : 0, answers ? times[answers - 1] : 0);
    printf("\"server\": %.3f, \"generator\": %.3f, \"errors\": {", answers ? server / answers : 0, answers ? own / answers : 0);
    const char *comma = "";
    for (int error = 1; error < ERRORS; error++)
        if (errors[error]) {
            printf("%s\"%s\": %ld", comma, error_names[error], errors[error]);
            comma = ", ";
        }
    printf("}}\n");
    fflush(stdout);
}

static void run(double seconds, int pid) {
    long long server = processor_time(pid), own = processor_time(getpid()), began = now();
    end = began + (long long)(seconds * 1e9);
    for (int index = 0; index < connection_count; index++) {
        struct connection *one = &connections[index];
        for (int stream = 0; stream < stream_count; stream++) ask(&one->exchanges[stream]);
        if ((is_http2 && !write_frames(one)) || !flush(one)) shut(one, CLOSED);
    }
    while (busy && now() < end) turn(end);
    long long last = now() + PATIENCE * 1000000000LL;
    while (busy && now() < last) turn(last);
    double took = (now() - began) / 1e9;
    double spent = (processor_time(pid) - server) / 1e3, cost = (processor_time(getpid()) - own) / 1e3;
    for (int index = 0; index < connection_count; index++)
        if (connections[index].socket >= 0)
            for (int stream = 0; stream < stream_count; stream++)
                if (connections[index].exchanges[stream].is_busy) count_error(UNANSWERED, &connections[index].exchanges[stream]);
    print(took, spent, cost);
}

int main(int count, char **arguments) {
    if (count != 9 && !(count == 10 && !strcmp(arguments[9], "hold"))) return 2;
    is_http2 = !strcmp(arguments[1], "http2");
    is_secure = is_http2 || !strcmp(arguments[1], "https1");
    int port = atoi(arguments[2]);
    connection_count = atoi(arguments[3]);
    stream_count = is_http2 ? atoi(arguments[4]) : 1;
    uint64_t seed = randomness = strtoull(arguments[6], NULL, 10);
    if (connection_count < 1 || connection_count > MOST_CONNECTIONS || stream_count < 1 || stream_count > MOST_STREAMS) return 2;
    char authority[32];
    snprintf(authority, sizeof authority, "127.0.0.1:%d", port);
    requests = read_requests(arguments[7], is_secure ? "https" : "http", authority);
    signal(SIGPIPE, SIG_IGN);
    epoll = epoll_create1(0);
    times = malloc(MOST_ANSWERS * sizeof *times);
    connections = calloc(connection_count, sizeof *connections);
    SSL_CTX *context = is_secure ? tls_context() : NULL;
    for (int index = 0; index < connection_count; index++) {
        shuffle(&connections[index], next_random(&seed));
        connect_one(&connections[index], port, context);
    }
    run(atof(arguments[5]), atoi(arguments[8]));
    if (count == 10) while (getchar() != EOF) {}
    return 0;
}
