// The functions of libpq that the store calls, found when the program runs: it has no link dependency, and builds where
// libpq's headers are not installed. Declared as libpq 14 and later have them.
#ifndef PORTICO_LIBPQ_H
#define PORTICO_LIBPQ_H

#include <stddef.h>

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;

// libpq's ExecStatusType, as far as the store tells results apart.
enum {
    PORTICO_PQ_COMMAND_OK = 1,
    PORTICO_PQ_TUPLES_OK = 2,
    PORTICO_PQ_NONFATAL_ERROR = 6,
    PORTICO_PQ_PIPELINE_SYNC = 10,
    PORTICO_PQ_PIPELINE_ABORTED = 11,
};

// libpq's PostgresPollingStatusType.
enum { PORTICO_PQ_POLLING_FAILED = 0, PORTICO_PQ_POLLING_READING = 1, PORTICO_PQ_POLLING_WRITING = 2, PORTICO_PQ_POLLING_OK = 3 };

// The functions by their names in libpq.
typedef struct {
    PGconn *(*connectStartParams)(const char *const *names, const char *const *values, int expandsName);
    int (*connectPoll)(PGconn *);
    int (*status)(const PGconn *);
    int (*transactionStatus)(const PGconn *);
    int (*socket)(const PGconn *);
    int (*serverVersion)(const PGconn *);
    const char *(*parameterStatus)(const PGconn *, const char *name);
    char *(*errorMessage)(const PGconn *);
    void (*finish)(PGconn *);
    int (*setnonblocking)(PGconn *, int);
    int (*enterPipelineMode)(PGconn *);
    int (*sendQueryParams)(
        PGconn *, const char *text, int count, const unsigned int *types, const char *const *values, const int *lengths,
        const int *formats, int resultFormat);
    int (*sendPrepare)(PGconn *, const char *name, const char *text, int count, const unsigned int *types);
    int (*sendQueryPrepared)(
        PGconn *, const char *name, int count, const char *const *values, const int *lengths, const int *formats,
        int resultFormat);
    int (*pipelineSync)(PGconn *);
    int (*flush)(PGconn *);
    int (*consumeInput)(PGconn *);
    int (*isBusy)(PGconn *);
    PGresult *(*getResult)(PGconn *);
    int (*resultStatus)(const PGresult *);
    char *(*resultErrorField)(const PGresult *, int field);
    int (*ntuples)(const PGresult *);
    int (*nfields)(const PGresult *);
    char *(*getvalue)(const PGresult *, int row, int column);
    int (*getlength)(const PGresult *, int row, int column);
    int (*getisnull)(const PGresult *, int row, int column);
    char *(*cmdTuples)(PGresult *);
    void (*clear)(PGresult *);
    PGcancel *(*getCancel)(PGconn *);
    int (*cancel)(PGcancel *, char *message, int size);
    void (*freeCancel)(PGcancel *);
    void *(*setNoticeReceiver)(PGconn *, void (*receive)(void *, const PGresult *), void *);
    int (*libVersion)(void);
} PorticoLibPQ;

// The library, loaded with the first call; null where it is not installed or lacks a function. Safe to call from any thread.
const PorticoLibPQ *portico_libpq(void);

// Why there is none; valid after portico_libpq() returned null.
const char *portico_libpq_problem(void);

#endif
