// What SQLite alone does: the questions of questions.py as prepared statements over tables with the gateway's keys and
// indexes, their rows written as the JSON that the gateway answers.   peer FILE QUESTION SECONDS [AFTER]
// Prints microseconds for one answer, then one answer.
#define _POSIX_C_SOURCE 200809L
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;
static char *output;
static size_t used, room;

static void bytes(const char *text, size_t count) {
    if (used + count > room) output = realloc(output, room = 2 * (used + count));
    memcpy(output + used, text, count);
    used += count;
}

static void text(const char *value) { bytes(value, strlen(value)); }

// The columns' names are the members'; texts in the data need no escapes but these.
static void value(sqlite3_stmt *row, int column) {
    const char *content = (const char *)sqlite3_column_text(row, column);
    if (!content) return text("null");
    int is_text = sqlite3_column_type(row, column) == SQLITE_TEXT && sqlite3_column_name(row, column)[0] != '#';
    if (!is_text) return bytes(content, sqlite3_column_bytes(row, column));
    text("\"");
    for (const char *from = content; *from; from++) {
        if (*from == '"' || *from == '\\') text("\\");
        bytes(from, 1);
    }
    text("\"");
}

static void members(sqlite3_stmt *row, int count) {
    for (int column = 0; column < count; column++) {
        const char *name = sqlite3_column_name(row, column);
        text(column ? ",\"" : "\"");
        text(name[0] == '#' ? name + 1 : name);
        text("\":");
        value(row, column);
    }
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *made;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, 0) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
        exit(1);
    }
    return made;
}

static void list(sqlite3_stmt *rows, int count) {
    int number = 0;
    text("{\"value\":[");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        text(number++ ? ",{" : "{");
        members(rows, count);
        text("}");
    }
    text("]}");
    sqlite3_reset(rows);
}

static sqlite3_stmt *first, *second, *third;

static void expand(void) {
    int schools = 0;
    text("{\"value\":[");
    while (sqlite3_step(first) == SQLITE_ROW) {
        text(schools++ ? ",{" : "{");
        members(first, 2);
        text(",\"Students\":[");
        sqlite3_bind_int64(second, 1, sqlite3_column_int64(first, 0));
        for (int students = 0; sqlite3_step(second) == SQLITE_ROW; students++) {
            text(students ? ",{" : "{");
            members(second, 2);
            text(",\"Visits\":[");
            sqlite3_bind_int64(third, 1, sqlite3_column_int64(second, 0));
            for (int visits = 0; sqlite3_step(third) == SQLITE_ROW; visits++) {
                text(visits ? ",{" : "{");
                members(third, 2);
                text("}");
            }
            sqlite3_reset(third);
            text("]}");
        }
        sqlite3_reset(second);
        text("]}");
    }
    text("]}");
    sqlite3_reset(first);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int count, char **arguments) {
    if (count < 4 || sqlite3_open_v2(arguments[1], &database, SQLITE_OPEN_READONLY, 0) != SQLITE_OK) return 2;
    const char *question = arguments[2];
    double end = now() + atof(arguments[3]) * 1e6, start = now();
    int columns = 0;
    if (!strcmp(question, "filter"))
        first = prepare("SELECT StudentID, FirstName, LastName, GPA AS \"#GPA\", Status FROM Students WHERE GPANumber >= 3.5"
                        " AND Status = 'Applied' ORDER BY GPANumber DESC, LastName, StudentID LIMIT 100"), columns = 5;
    else if (!strcmp(question, "count")) first = prepare("SELECT count(*) FROM Visits WHERE Kind = 'Campus tour'");
    else if (!strcmp(question, "groups"))
        first = prepare("SELECT Kind, count(*) AS N, sum(Interest) AS S FROM Visits GROUP BY Kind ORDER BY Kind"), columns = 3;
    else if (!strcmp(question, "page"))
        first = prepare("SELECT VisitID, StudentID, Kind FROM Visits WHERE VisitID > ? ORDER BY VisitID LIMIT 100"), columns = 3;
    else {
        first = prepare("SELECT SchoolID, Name FROM Schools ORDER BY SchoolID LIMIT 20");
        second = prepare("SELECT StudentID, LastName FROM Students WHERE SchoolID = ? ORDER BY StudentID LIMIT 5");
        third = prepare("SELECT VisitID, Kind FROM Visits WHERE StudentID = ? ORDER BY VisitID LIMIT 3");
    }
    if (count > 4) sqlite3_bind_int64(first, 1, atoll(arguments[4]));
    long made = 0;
    do {
        used = 0;
        if (columns) list(first, columns);
        else if (second) expand();
        else {
            sqlite3_step(first);
            value(first, 0);
            sqlite3_reset(first);
        }
        made++;
    } while (now() < end);
    printf("%.1f\n%.*s", (now() - start) / made, (int)used, output);
    return 0;
}
