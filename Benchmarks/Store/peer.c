// What SQLite alone does: inserts of employees into one table in WAL mode at synchronous=FULL, one connection, prepared
// statement, one commit for every BATCH of them. Prints inserts a second.   peer FILE BATCH SECONDS
#define _POSIX_C_SOURCE 200809L
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sqlite3 *database;

static void run(const char *sql) {
    char *error = 0;
    if (sqlite3_exec(database, sql, 0, 0, &error) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 4 || sqlite3_open(arguments[1], &database) != SQLITE_OK) return 2;
    int batch = atoi(arguments[2]);
    double seconds = atof(arguments[3]);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE employees (id TEXT NOT NULL UNIQUE, firstName TEXT NOT NULL, lastName TEXT NOT NULL,"
        " division TEXT NOT NULL, email TEXT, phoneNumber TEXT, revision INTEGER NOT NULL, row INTEGER PRIMARY KEY) STRICT");
    run("CREATE INDEX employees_division ON employees (division, id)");
    sqlite3_stmt *insert;
    sqlite3_prepare_v2(database, "INSERT INTO employees VALUES (?, 'Ada', 'Benson', ?, 'ada.benson@example.com', '555-1234', ?, NULL)",
                       -1, &insert, 0);
    double start = now();
    long made = 0;
    char id[32], division[32];
    while (now() - start < seconds) {
        if (batch > 1) run("BEGIN");
        for (int number = 0; number < batch; number++, made++) {
            sqlite3_bind_text(insert, 1, id, snprintf(id, sizeof id, "e%ld", made), SQLITE_TRANSIENT);
            sqlite3_bind_text(insert, 2, division, snprintf(division, sizeof division, "Division %ld", made % 12), SQLITE_TRANSIENT);
            sqlite3_bind_int64(insert, 3, made);
            if (sqlite3_step(insert) != SQLITE_DONE) return 1;
            sqlite3_reset(insert);
        }
        if (batch > 1) run("COMMIT");
    }
    printf("%.0f\n", made / (now() - start));
    sqlite3_finalize(insert);
    sqlite3_close(database);
    return 0;
}
