#define _GNU_SOURCE
#include "requests.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_TEXT = 64 << 10, MOST_REQUESTS = 100000 };
static const char mark[MARK + 1] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";

static void malformed(const char *file, int number) {
    fprintf(stderr, "%s: request %d is malformed\n", file, number);
    exit(2);
}

uint64_t next_random(uint64_t *state) {
    uint64_t value = *state += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

void freshen(struct text *text, uint64_t *state) {
    for (int index = 0; index < text->count; index++)
        for (int half = 0; half < 2; half++) {
            uint64_t bits = next_random(state);
            char *digits = text->bytes + text->marks[index] + 16 * half;
            for (int digit = 0; digit < 16; digit++, bits >>= 4) digits[digit] = "0123456789abcdef"[bits & 15];
        }
}

static struct text text_of(const char *bytes, size_t length) {
    struct text text = {.bytes = malloc(length + 1), .length = length};
    memcpy(text.bytes, bytes, length);
    text.bytes[length] = 0;
    for (char *at = text.bytes; (at = memmem(at, text.bytes + length - at, mark, MARK)) && text.count < MOST_MARKS; at += MARK)
        text.marks[text.count++] = at - text.bytes;
    return text;
}

static void add_field(struct request *request, char *name, char *value) {
    request->fields[request->field_count++] = (nghttp2_nv){
        .name = (uint8_t *)name, .namelen = strlen(name), .value = (uint8_t *)value, .valuelen = strlen(value),
        /* They live as long as the program, and are packed before they are sent again. */
        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

/* The fields of HTTP/2 are parts of `lines`, so that its marks are theirs. */
static void make_fields(struct request *request, char *method, char *path, const char *scheme, const char *authority) {
    add_field(request, ":method", method);
    add_field(request, ":scheme", strdup(scheme));
    add_field(request, ":authority", strdup(authority));
    add_field(request, ":path", path);
    for (char *line = request->lines.bytes, *end; (end = strchr(line, '\n')); line = end + 1) {
        char *value = strstr(line, ": ");
        *end = *value = 0;
        for (char *letter = line; *letter; letter++) *letter = tolower(*letter);
        add_field(request, line, value + 2);
    }
}

static int read_lines(FILE *stream, int count, char *lines, char *http1) {
    size_t used = 0;
    for (int index = 0; index < count; index++) {
        char *line = lines + used;
        if (used + 8192 > LONGEST_TEXT || !fgets(line, 8192, stream) || !strchr(line, '\n') || !strstr(line, ": ")) return 0;
        used += strlen(line);
        sprintf(http1 + strlen(http1), "%.*s\r\n", (int)strcspn(line, "\n"), line);
    }
    return 1;
}

static int read_request(FILE *stream, struct request *request, const char *scheme, const char *authority) {
    static char lines[LONGEST_TEXT], http1[3 * LONGEST_TEXT], body[LONGEST_TEXT];
    char *method, *path;
    int fields;
    long length, expected;
    if (fscanf(stream, "%ms %ms %d %ld %d %ld", &method, &path, &fields, &length, &request->status, &expected) != 6 ||
        fgetc(stream) != '\n' || fields < 0 || fields > MOST_FIELDS - 4 || length < 0 || length > LONGEST_TEXT || expected < -1)
        return 0;
    lines[0] = 0;
    sprintf(http1, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, authority);
    if (!read_lines(stream, fields, lines, http1) || fread(body, 1, length, stream) != (size_t)length) return 0;
    strcat(http1, "\r\n");
    size_t head = strlen(http1);
    memcpy(http1 + head, body, length);
    request->http1 = text_of(http1, head + length);
    request->body = text_of(body, length);
    request->lines = text_of(lines, strlen(lines));
    make_fields(request, method, path, scheme, authority);
    if (expected >= 0) {
        char *bytes = malloc(expected + 1);
        request->expected = bytes;
        request->expected_length = expected;
        if (fread(bytes, 1, expected, stream) != (size_t)expected) return 0;
    }
    return fgetc(stream) == '\n';
}

struct requests read_requests(const char *file, const char *scheme, const char *authority) {
    FILE *stream = fopen(file, "r");
    struct requests requests = {.all = calloc(MOST_REQUESTS, sizeof *requests.all)};
    if (!stream) malformed(file, 0);
    for (int next; (next = fgetc(stream)) != EOF; requests.count++) {
        ungetc(next, stream);
        if (requests.count == MOST_REQUESTS || !read_request(stream, &requests.all[requests.count], scheme, authority))
            malformed(file, requests.count);
    }
    if (!requests.count) malformed(file, 0);
    fclose(stream);
    return requests;
}
