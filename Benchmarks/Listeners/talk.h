/* What a listener and a speaker say to a server, and how a listener is told: one `struct talk` for each kind of server. */
#ifndef TALK_H
#define TALK_H

enum { PADDING = 120, LONGEST_ID = 1024, LONGEST_REQUEST = 4096 };

struct talk {
    const char *name;
    /* How lines begin by which a listener knows that it will hear every word from now on; an empty one: the end of its
     * first event. */
    const char *ready;
    /* Whether a listener that was cut off goes on where it was. */
    int goes_on;
    /* Whether each word is answered before the next one is spoken. */
    int acknowledges;
    /* The request of a listener, `id` being the last event that it heard, or empty. */
    int (*listen)(char *text, const char *where, const char *token, const char *id);
    /* A word as a request. */
    int (*speak)(char *text, const char *where, const char *token, const char *word, long number);
    /* Part of every answer that is a success. */
    const char *success;
};

extern const struct talk talks[];
const struct talk *talk_named(const char *name);

#endif
