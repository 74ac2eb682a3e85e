#include "CLibPQ.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static PorticoLibPQ library;
static const PorticoLibPQ *loaded;
static char problem[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#ifdef __APPLE__
    const char *file = "libpq.5.dylib";
#else
    const char *file = "libpq.so.5";
#endif
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        snprintf(problem, sizeof problem, "%s", reason ? reason : file);
        return;
    }
    struct {
        void **place;
        const char *name;
    } functions[] = {
#define FUNCTION(field, name) {(void **)&library.field, name}
        FUNCTION(connectStartParams, "PQconnectStartParams"),
        FUNCTION(connectPoll, "PQconnectPoll"),
        FUNCTION(status, "PQstatus"),
        FUNCTION(transactionStatus, "PQtransactionStatus"),
        FUNCTION(socket, "PQsocket"),
        FUNCTION(serverVersion, "PQserverVersion"),
        FUNCTION(parameterStatus, "PQparameterStatus"),
        FUNCTION(errorMessage, "PQerrorMessage"),
        FUNCTION(finish, "PQfinish"),
        FUNCTION(setnonblocking, "PQsetnonblocking"),
        FUNCTION(enterPipelineMode, "PQenterPipelineMode"),
        FUNCTION(sendQueryParams, "PQsendQueryParams"),
        FUNCTION(sendPrepare, "PQsendPrepare"),
        FUNCTION(sendQueryPrepared, "PQsendQueryPrepared"),
        FUNCTION(pipelineSync, "PQpipelineSync"),
        FUNCTION(flush, "PQflush"),
        FUNCTION(consumeInput, "PQconsumeInput"),
        FUNCTION(isBusy, "PQisBusy"),
        FUNCTION(getResult, "PQgetResult"),
        FUNCTION(resultStatus, "PQresultStatus"),
        FUNCTION(resultErrorField, "PQresultErrorField"),
        FUNCTION(ntuples, "PQntuples"),
        FUNCTION(nfields, "PQnfields"),
        FUNCTION(getvalue, "PQgetvalue"),
        FUNCTION(getlength, "PQgetlength"),
        FUNCTION(getisnull, "PQgetisnull"),
        FUNCTION(cmdTuples, "PQcmdTuples"),
        FUNCTION(clear, "PQclear"),
        FUNCTION(getCancel, "PQgetCancel"),
        FUNCTION(cancel, "PQcancel"),
        FUNCTION(freeCancel, "PQfreeCancel"),
        FUNCTION(setNoticeReceiver, "PQsetNoticeReceiver"),
        FUNCTION(libVersion, "PQlibVersion"),
#undef FUNCTION
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        *functions[index].place = dlsym(handle, functions[index].name);
        if (!*functions[index].place) {
            snprintf(problem, sizeof problem, "%s has no %s: version 14 or later is needed", file, functions[index].name);
            return;
        }
    }
    loaded = &library;
}

const PorticoLibPQ *portico_libpq(void) {
    pthread_once(&once, load);
    return loaded;
}

const char *portico_libpq_problem(void) { return problem; }
