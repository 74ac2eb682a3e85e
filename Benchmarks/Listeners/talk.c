#include "talk.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static int follow(char *text, const char *path, const char *token, const char *id) {
    return snprintf(
        text, LONGEST_REQUEST, "GET %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s%s%s\r\n", path, token,
        id[0] ? "Last-Event-ID: " : "", id, id[0] ? "\r\n" : "");
}

static int post(char *text, const char *path, const char *token, const char *body) {
    return snprintf(
        text, LONGEST_REQUEST,
        "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        path, token, strlen(body), body);
}

static int chat_listen(char *text, const char *room, const char *token, const char *id) {
    (void)room;
    return follow(text, "/chat/v1/live", token, id);
}

static int chat_speak(char *text, const char *room, const char *token, const char *word, long number) {
    char path[256], body[LONGEST_REQUEST / 2];
    (void)number;
    snprintf(path, sizeof path, "/chat/v1/rooms/%s/messages", room);
    snprintf(body, sizeof body, "{\"text\":\"%s\"}", word);
    return post(text, path, token, body);
}

static int sync_listen(char *text, const char *query, const char *token, const char *id) {
    char path[LONGEST_REQUEST / 2];
    snprintf(path, sizeof path, "/sync/v1/live?%s", query);
    return follow(text, path, token, id);
}

static void fresh_id(char *text) {
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) memset(bytes, 1, sizeof bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    for (int index = 0; index < 16; index++) {
        if (index == 4 || index == 6 || index == 8 || index == 10) *text++ = '-';
        text += sprintf(text, "%02x", bytes[index]);
    }
}

/* A new note of one device. */
static int sync_speak(char *text, const char *query, const char *token, const char *word, long number) {
    static char device[40];
    char record[40], body[LONGEST_REQUEST / 2];
    (void)query;
    if (!device[0]) fresh_id(device);
    fresh_id(record);
    snprintf(
        body, sizeof body,
        "{\"clientId\":\"%s\",\"mutations\":[{\"sequence\":%ld,\"operation\":\"create\",\"collection\":\"notes\","
        "\"id\":\"%s\",\"fields\":{\"title\":\"t\",\"text\":\"%s\"}}]}",
        device, number + 1, record, word);
    return post(text, "/sync/v1/push", token, body);
}

static int nats_listen(char *text, const char *room, const char *token, const char *id) {
    (void)room, (void)token, (void)id;
    return snprintf(text, LONGEST_REQUEST, "CONNECT {\"verbose\":false}\r\nSUB room 1\r\nPING\r\n");
}

static int nats_speak(char *text, const char *room, const char *token, const char *word, long number) {
    (void)room, (void)token;
    return snprintf(
        text, LONGEST_REQUEST, "%sPUB room %zu\r\n%s\r\n", number ? "" : "CONNECT {\"verbose\":false}\r\n", strlen(word), word);
}

const struct talk talks[] = {
    {"chat", "event: ready", 1, 1, chat_listen, chat_speak, "HTTP/1.1 200"},
    {"sync", "", 1, 1, sync_listen, sync_speak, "\"applied\""},
    {"nats", "PONG", 0, 0, nats_listen, nats_speak, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL},
};

const struct talk *talk_named(const char *name) {
    const struct talk *talk = talks;
    while (talk->name && strcmp(talk->name, name)) talk++;
    return talk->name ? talk : NULL;
}
