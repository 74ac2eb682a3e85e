/* Outbox, cursor and compaction: what a store promises its replicas, small enough to look at every interleaving.
 *
 * Two devices, each with mutations of two records that it pushes one after the other and retries until it is answered; a
 * store with a log, outcomes and a floor; compaction that raises the floor at any moment; a network that loses requests
 * and answers, and delivers old pushes and old pages again, late. Faults are counted, so they stop.
 *
 * Claimed: a mutation has one effect, however often it arrives (assert in `push`); what a device has after each page is
 * what the store had at the device's cursor (assert in `checkReplica`); when the faults stop every outbox drains and
 * every replica is the store's state (`ltl converges`, and no invalid end state).
 *
 * A pull changes nothing at the store and no other device, so one device that pulls stands for all: device 0 pushes and
 * pulls, device 1 pushes.
 *
 * With one of WITHOUT_OUTCOME, WITHOUT_LAST_OUTCOME, WITHOUT_FLOOR, WITHOUT_CURSOR the model breaks a rule, and the
 * checker must find it (check.sh).
 */
#define DEVICES 2
#define MUTATIONS 2
#define RECORDS 2
#define LONGEST 5 /* the log: every mutation once, and room for one that is wrongly made twice */

/* The log by position; the entries stay in the model even where the store has removed them. */
byte record[LONGEST + 1];
bit removes[LONGEST + 1];
byte last = 0;
byte floor = 0;

/* What the store knows of each device: the last sequence number, and whether its outcome is there. */
byte sequence[DEVICES];
bit remembered[DEVICES];
/* Made by mutation number d * MUTATIONS + s - 1. */
byte effects[DEVICES * MUTATIONS];

/* What the devices want: chosen once, the same at every retry. */
byte wanted[DEVICES * MUTATIONS];
bit deletes[DEVICES * MUTATIONS];

/* Each device: answered mutations and sent ones. Where device 0 stands, and the position of each record there (0: none). */
byte answered[DEVICES];
byte sent[DEVICES];
byte cursor = 0;
byte replica[RECORDS];
/* The last page that was sent: from where, without what was compacted, to where. */
byte pageBase = 0;
byte pageFirst = 0;
byte pageEnd = 0;
bit pageIsSnapshot = 0;
byte position = 0;

/* What a replica should be; used within one step, zero between. */
byte expected[RECORDS];

#ifndef FAULTS
#define FAULTS 1
#endif
byte losses = FAULTS;
byte repetitions = FAULTS;
byte compactions = FAULTS;
byte finished = 0;

/* The store takes a push, in one transaction. */
inline push(d, s) {
    if
    :: s <= sequence[d] && remembered[d] -> skip /* the outcome is told again */
    :: else ->
        last++;
        assert(last <= LONGEST);
        record[last] = wanted[d * MUTATIONS + s - 1];
        removes[last] = deletes[d * MUTATIONS + s - 1];
        effects[d * MUTATIONS + s - 1]++;
        assert(effects[d * MUTATIONS + s - 1] == 1);
        sequence[d] = s;
#ifndef WITHOUT_OUTCOME
        remembered[d] = 1
#endif
    fi
}

/* The store answers a pull from the device's cursor: a page that ends anywhere, or everything where the log no longer
 * reaches back that far. */
inline answerPull() {
    pageBase = cursor;
    if
#ifndef WITHOUT_FLOOR
    :: cursor < floor ->
        pageIsSnapshot = 1; pageFirst = 0; pageEnd = last
    :: cursor >= floor ->
#else
    :: true ->
#endif
        pageIsSnapshot = 0;
        pageFirst = (cursor < floor -> floor : cursor);
        pageEnd = last;
        do
        :: pageEnd > pageFirst + 1 -> pageEnd--
        :: break
        od
    fi
}

/* The device takes a page, whole, where it goes on from where the device stands. */
inline takePage() {
    if
#ifndef WITHOUT_CURSOR
    :: pageBase != cursor -> skip
    :: pageBase == cursor ->
#else
    :: true ->
#endif
        if
        :: pageIsSnapshot -> replica[0] = 0; replica[1] = 0
        :: else
        fi;
        for (position : pageFirst + 1 .. pageEnd) {
            replica[record[position]] = (removes[position] -> 0 : position)
        }
        cursor = pageEnd;
        checkReplica()
    fi;
    /* A page that nobody can deliver again makes no difference. */
    if
    :: repetitions == 0 -> pageBase = 0; pageFirst = 0; pageEnd = 0; pageIsSnapshot = 0
    :: else
    fi
}

inline checkReplica() {
    expected[0] = 0;
    expected[1] = 0;
    for (position : 1 .. cursor) {
        expected[record[position]] = (removes[position] -> 0 : position)
    }
    assert(replica[0] == expected[0] && replica[1] == expected[1]);
    expected[0] = 0;
    expected[1] = 0;
    position = 0
}

proctype Device(byte d) {
    do
    :: atomic {
            answered[d] < MUTATIONS ->
            /* A mutation is made when it is first sent. */
            if
            :: sent[d] == answered[d] ->
                if
                :: wanted[d * MUTATIONS + answered[d]] = 0
                :: wanted[d * MUTATIONS + answered[d]] = 1
                fi;
                if
                :: deletes[d * MUTATIONS + answered[d]] = 0
                :: deletes[d * MUTATIONS + answered[d]] = 1
                fi;
                sent[d] = answered[d] + 1
            :: else
            fi
        };
        atomic {
            if
            :: losses > 0 -> losses-- /* the request is lost */
            :: losses > 0 -> losses--; push(d, sent[d]) /* its answer is lost */
            :: push(d, sent[d]); answered[d] = sent[d]
            fi
        }
    :: atomic { d == 0 && cursor < last -> answerPull() };
        atomic {
            if
            :: losses > 0 -> losses--
            :: takePage()
            fi
        }
    :: atomic {
            (answered[d] == MUTATIONS && (d > 0 || cursor == last && last >= DEVICES * MUTATIONS)) -> finished++; break
        }
    od
}

/* Old messages, late. */
proctype Network() {
    byte d;
    end: do
    :: atomic {
            repetitions > 0 && (sent[0] > 0 || sent[1] > 0) -> repetitions--;
            if
            :: sent[0] > 0 -> d = 0
            :: sent[1] > 0 -> d = 1
            fi;
            if
            :: push(d, sent[d])
            :: sent[d] > 1 -> push(d, sent[d] - 1)
            fi;
            d = 0
        }
    :: atomic { repetitions > 0 && pageEnd > 0 -> repetitions--; takePage() }
    od
}

proctype Compaction() {
    end: do
    :: atomic {
            compactions > 0 && floor < last -> compactions--;
            do
            :: floor < last -> floor++
            :: floor > 0 -> break
            od;
#ifdef WITHOUT_LAST_OUTCOME
            remembered[0] = 0; remembered[1] = 0
#endif
        }
    od
}

init {
    atomic {
        run Device(0);
        run Device(1);
        run Network();
        run Compaction()
    }
}

ltl converges { <> (finished == DEVICES) }
