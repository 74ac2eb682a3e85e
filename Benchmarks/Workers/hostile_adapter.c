/* An adapter's program for chaos.py and Tests/EndToEnd/test_hostile_workers.py: speaks as much of docs/protocol/adapter.md as a
 * gateway needs, and breaks in the way that the called operation names. Beside it are files of its own name: `.declaration`,
 * the response to `declare` as CBOR; and for the operation `fault-file`, read with each call, `.frames`, whole frames that are
 * sent before the response, and `.result` or `.error`, what the response has. One thread. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST = 3, LONGEST = 32 << 20 };

static unsigned char frame[LONGEST], declaration[LONGEST];
static size_t declaration_length;

static void write_all(const void *bytes, size_t count) {
    for (const char *at = bytes; count > 0;) {
        ssize_t written = write(HOST, at, count);
        if (written <= 0) _exit(0);
        at += written;
        count -= (size_t)written;
    }
}

static void send_frame(const void *bytes, size_t count) {
    unsigned char head[4] = {count >> 24, count >> 16 & 255, count >> 8 & 255, count & 255};
    write_all(head, 4);
    write_all(bytes, count);
}

/* `{member: number, name: value}`, the value already encoded. */
static void send_pair(const char *member, uint64_t number, const char *name, const void *value, size_t length) {
    static unsigned char out[LONGEST + 64];
    size_t at = 0;
    out[at++] = 0xA2;
    out[at++] = (unsigned char)(0x60 + strlen(member));
    at = (size_t)(mempcpy(out + at, member, strlen(member)) - (void *)out);
    out[at++] = 0x1B;
    for (int shift = 56; shift >= 0; shift -= 8) out[at++] = (unsigned char)(number >> shift);
    out[at++] = (unsigned char)(0x60 + strlen(name));
    at = (size_t)(mempcpy(out + at, name, strlen(name)) - (void *)out);
    memcpy(out + at, value, length);
    send_frame(out, at + length);
}

static void respond(uint64_t number, const void *result, size_t length) {
    send_pair("response", number, "result", result, length);
}

static void read_all(unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t got = read(HOST, bytes, count);
        if (got <= 0) _exit(0);
        bytes += got;
        count -= (size_t)got;
    }
}

static uint64_t number_at(const unsigned char *at) {
    int length = at[0] & 31;
    if (length < 24) return (uint64_t)length;
    uint64_t value = 0;
    for (int index = 0; index < 1 << (length - 24); index++) value = value << 8 | at[1 + index];
    return value;
}

/* {"content": {"value": "ok"}} */
static const unsigned char ok[] = "\xA1\x67" "content" "\xA1\x65" "value" "\x62" "ok";
/* {"content": 7}, {"content": {"value": 7}}: what is no result, and what the operation does not declare. */
static const unsigned char no_result[] = "\xA1\x67" "content" "\x07", wrong_value[] = "\xA1\x67" "content" "\xA1\x65" "value" "\x07";

static void fork_often(void) {
    char *const arguments[] = {"/bin/true", NULL};
    for (int attempt = 0; attempt < 1000; attempt++) {
        if (fork() == 0) for (;;) pause();
        execv(arguments[0], arguments);
    }
}

static void flood(size_t bytes) {
    static char line[1 << 16];
    memset(line, 'x', sizeof line);
    for (size_t at = 99; at < sizeof line; at += 100) line[at] = '\n';
    for (size_t sent = 0; sent < bytes; sent += sizeof line) if (write(1, line, sizeof line) < 0) return;
}

static void take_memory(void) {
    for (size_t taken = 0; taken < (size_t)10 << 30; taken += 1 << 20) {
        void *block = malloc(1 << 20);
        if (block == NULL) abort();
        memset(block, 1, 1 << 20);
    }
}

static void send_garbage(void) {
    unsigned char bytes[4096];
    unsigned state = (unsigned)getpid();
    for (size_t at = 0; at < sizeof bytes; at++) bytes[at] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
    write_all(bytes, sizeof bytes);
}

/* Arrays in arrays, deeper than any reader follows. */
static void send_depth(void) {
    static unsigned char deep[100000];
    memset(deep, 0x81, sizeof deep);
    send_frame(deep, sizeof deep);
}

static void send_requests(uint64_t count) {
    static uint64_t next = 0;
    for (uint64_t sent = 0; sent < count; sent++) send_pair("request", ++next, "method", "\x67" "unknown", 8);
}

static void send_credit(uint64_t stream, uint64_t bytes) {
    unsigned char value[9] = {0x1B};
    for (int at = 0; at < 8; at++) value[1 + at] = (unsigned char)(bytes >> (56 - 8 * at));
    send_pair("credit", stream, "bytes", value, sizeof value);
}

static void send_log_events(int count) {
    static const unsigned char event[] =
        "\xA2\x65" "event" "\x63" "log" "\x66" "params" "\xA1\x67" "message" "\xA3\x65" "level" "\x65" "error" "\x64" "text"
        "\x64" "text" "\x66" "values" "\x80";
    while (count-- > 0) send_frame(event, sizeof event - 1);
}

static int is(const char *name, size_t length) { return memmem(frame, length, name, strlen(name)) != NULL; }

static const char *program;

/* The bytes of a file beside the program, at most LONGEST; 0 where there is none. */
static size_t read_file(const char *suffix, unsigned char *bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s%s", program, suffix);
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    size_t length = 0;
    for (ssize_t count; length < LONGEST && (count = read(file, bytes + length, LONGEST - length)) > 0;)
        length += (size_t)count;
    close(file);
    return length;
}

static void respond_by_files(uint64_t number) {
    static unsigned char bytes[LONGEST];
    /* Where the call's own number is meant. */
    static const unsigned char mark[] = "\x1B\x7E\xAD\xBE\xEF\xCA\xFE\xF0\x0D";
    size_t length = read_file(".frames", bytes);
    for (unsigned char *at; (at = memmem(bytes, length, mark, sizeof mark - 1)) != NULL;)
        for (int index = 0; index < 8; index++) at[1 + index] = (unsigned char)(number >> (56 - 8 * index));
    write_all(bytes, length);
    if ((length = read_file(".error", bytes)) > 0) send_pair("response", number, "error", bytes, length);
    else if ((length = read_file(".result", bytes)) > 0) respond(number, bytes, length);
    else respond(number, ok, sizeof ok - 1);
}

/* The host answers every request of this one, one after the other, after the response: they are read and dropped. */
static void perform(uint64_t number, size_t length) {
    if (is("fault-kill", length)) kill(getpid(), SIGKILL);
    if (is("fault-trap", length)) __builtin_trap();
    if (is("fault-exit", length)) _exit(3);
    if (is("fault-hang", length)) for (;;) pause();
    if (is("fault-spin", length)) for (;;) __asm__ volatile("");
    if (is("fault-memory", length)) take_memory();
    if (is("fault-garbage", length)) send_garbage();
    if (is("fault-frame", length)) write_all("\x7F\xFF\xFF\xFF", 4);
    if (is("fault-depth", length)) send_depth();
    if (is("fault-fork", length)) fork_often();
    if (is("fault-flood", length)) flood(4 << 20);
    if (is("fault-log", length)) send_log_events(20000);
    if (is("fault-twice", length)) respond(number, ok, sizeof ok - 1);
    if (is("fault-stranger", length)) respond(number + 1000000, ok, sizeof ok - 1);
    if (is("fault-credit", length)) send_credit(77, UINT64_MAX);
    if (is("fault-requests", length)) send_requests(20000);
    if (is("fault-close", length)) {
        close(HOST);
        for (;;) pause();
    }
    if (is("fault-file", length)) respond_by_files(number);
    else if (is("fault-result", length)) respond(number, no_result, sizeof no_result - 1);
    else if (is("fault-value", length)) respond(number, wrong_value, sizeof wrong_value - 1);
    else respond(number, ok, sizeof ok - 1);
}


int main(int count, char **arguments) {
    /* {"version": 1, "name": "hostile", "options": []}, {"services": []}, null */
    static const unsigned char hello[] = "\xA3\x67" "version" "\x01\x64" "name" "\x67" "hostile" "\x67" "options" "\x80",
        made[] = "\xA1\x68" "services" "\x80", null[] = "\xF6";
    (void)count;
    program = arguments[0];
    if ((declaration_length = read_file(".declaration", declaration)) == 0) _exit(4);
    for (;;) {
        unsigned char head[4];
        read_all(head, 4);
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        if (length > sizeof frame) _exit(5);
        read_all(frame, length);
        unsigned char *request = memmem(frame, length, "\x67" "request", 8);
        /* Answers of the host to its own requests, and cancelled calls. */
        if (request == NULL || request > frame + 8) continue;
        uint64_t number = number_at(request + 8);
        if (is("\x65" "hello", length)) respond(number, hello, sizeof hello - 1);
        else if (is("\x67" "declare", length)) respond(number, declaration, declaration_length);
        else if (is("\x64" "make", length)) respond(number, made, sizeof made - 1);
        else if (is("\x64" "call", length)) perform(number, length);
        else respond(number, null, 1);
    }
}
