/* The requests that a closed loop walks over, read from a file once and sent many times. */
#ifndef REQUESTS_H
#define REQUESTS_H
#include <nghttp2/nghttp2.h>
#include <stdint.h>

enum { MOST_FIELDS = 24, MOST_MARKS = 4, MARK = 32 };

/* Bytes that are sent; the MARK bytes at each of the marks are hexadecimal digits, other ones each time. */
struct text {
    char *bytes;
    size_t length, marks[MOST_MARKS];
    int count;
};

struct request {
    struct text http1; /* head and body */
    nghttp2_nv fields[MOST_FIELDS]; /* for HTTP/2, into `lines` */
    size_t field_count;
    struct text lines, body;
    int status;
    const char *expected; /* of the answer's body; NULL: any */
    size_t expected_length;
};

struct requests {
    struct request *all;
    int count;
};

/* FILE holds, for each request, the line "METHOD PATH FIELDS BODY STATUS EXPECTED" (the number of fields, the lengths of
 * the body and of the expected body, -1 for any), the fields as lines "Name: value", both bodies and a line feed. In fields
 * and body 32 times '@' stand for digits that differ each time. Ends the program where the file is malformed. */
struct requests read_requests(const char *file, const char *scheme, const char *authority);

/* Fresh digits at all marks, by the generator of random numbers at `state` (splitmix64). */
void freshen(struct text *text, uint64_t *state);
uint64_t next_random(uint64_t *state);
#endif
