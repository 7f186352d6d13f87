/*
 * The protocol of claims, for the model checker SPIN: two processes receive deliveries of one event that has two handlers, and share a
 * store. It follows src/receiver/run-event.ts, attempt.ts and lease.ts, and the contracts in src/store; `claims.test.ts` runs SPIN, which
 * searches every order of the steps.
 *
 * There is no clock. A process may pause between any two steps, and a lease may end at any time: if a process needs it then, that is an
 * outage or a stall of more than ten seconds. Up to TROUBLES things go wrong: such an end of a lease, a lost answer, a handler that fails or
 * hangs, the death of a process. Deliveries never stop, not even after a 2xx: the sender retries, and sends duplicates.
 *
 * Left out: deadlines, with the answers 409 and 503, which change nothing in the store; duplicates that join a run, and get its answer;
 * renewals that would change nothing; effects of an abandoned handler; schemas, `order: 'latest'`, closing, the inbox, and retention.
 */

/* The mistake to plant, none by `spin -DTROUBLES=3 -DMISTAKE=NONE`. MARKS_NOT_READ is about the mark of CALL. */
mtype:mistake = { NONE, BUSY_ANSWERED_AS_DUPLICATE, RELEASED_WITHOUT_MARKS, RELEASED_BY_ANY_TOKEN, MARKS_NOT_READ, COMMITTED_BY_ANY_TOKEN,
  MARKED_AFTER_COMMIT, RENEWED_WHEN_DONE, CLAIMED_WITHOUT_LEASE, NEVER_ABANDONED };

/* Handlers, as bits: WRITE writes to the store's database by `context.transaction`, CALL has its effect elsewhere. */
#define CALL 1
#define WRITE 2
#define ALL 3

mtype = { CLAIM, RENEW, COMPLETE, RELEASE, RETRIED_RELEASE, COMMIT, YES, NO, BUSY, DONE, LOST };

/* The store. `holder` is the token of the last claim, which holds the event while it is leased. Tokens are numbers. */
byte holder, marks, tokens;
bool isLeased, isDone;

/* Of each process: the token of the claim that it renews, its running handlers, and a call of which it lost the answer. The store carries
 * out this call later, or never; meanwhile no other answer is lost. */
byte mine[2], running[2];
typedef Call { mtype kind; byte token; byte marks };
Call late[2];

/* For the properties: handlers that have completed, marks that the store has had, and whether a second run of a handler is explained. */
byte troubles = TROUBLES, completed, kept;
bool wasDone, isExplained;

/*
 * The properties, by sentences of docs/reference/guarantees.md.
 * early: "The receiver sends a 2xx only when every handler has completed or there is nothing to do."
 * again: "A handler runs a second time only after a crash, a failed run, an outage or stall of more than ten seconds, an abort that it
 *   ignored, or if the store forgot the event."
 * forgotten: "handlers that finished do not run again", not even after all this, once the store has had the mark
 * twice: "Writes into the store's own database by `context.transaction` happen once even then"
 * reopened: "An event completes once for any number, order and overlap of duplicates, as long as the store remembers it."
 * stuck: "A crash loses nothing as long as an attempt or a manual retry is left.", "A handler that throws anything, or hangs, neither ends the
 *   process nor blocks its event forever." It is the formula at the end.
 */
bool early, again, forgotten, twice, reopened;
#define forbid(property, condition) property = ((condition) != 0); assert(!property)
#define keep(more) marks = marks | (more); kept = kept | (more)
#define trouble (troubles > 0) -> troubles--

/* The store carries out a call: one atomic step. */
inline carryOut(call, by, given, answer) {
  answer = NO;
  if
  :: call == CLAIM && isLeased -> answer = BUSY
  :: call == CLAIM && !isLeased && isDone -> answer = DONE
  :: call == CLAIM && !isLeased && !isDone ->
    forbid(reopened, wasDone);
    tokens++; holder = tokens; isLeased = true; answer = YES
  :: call == RENEW && (!isLeased || holder == by) && (!isDone || MISTAKE == RENEWED_WHEN_DONE) ->
    holder = by; isLeased = true; isDone = false; keep(given); answer = YES
  :: call == COMPLETE && (!isLeased || holder == by) ->
    holder = 0; isLeased = false; isDone = true; wasDone = true; answer = YES
  :: (call == RELEASE || call == RETRIED_RELEASE) && (!isLeased || holder == by || MISTAKE == RELEASED_BY_ANY_TOKEN) ->
    holder = 0; isLeased = false; keep(given); answer = YES
  :: call == COMMIT && ((holder == by && !isDone && !(marks & WRITE)) || MISTAKE == COMMITTED_BY_ANY_TOKEN) ->
    forbid(twice, completed & WRITE);
    completed = completed | WRITE; keep((MISTAKE == MARKED_AFTER_COMMIT -> 0 : WRITE)); answer = YES
  :: else
  fi
}

/* A process calls the store, and is answered or gives up. */
inline ask(call, by, given) {
  if
  :: carryOut(call, by, given, answer)
  :: late[me].kind == 0 && trouble; late[me].kind = call; late[me].token = by; late[me].marks = given; answer = LOST
  fi
}

/* A process runs the event for one delivery after another, as `runEvent` does. */
proctype Process(byte me) {
  mtype answer;
  byte finished, failed, known;
  bool isLost, isStoring;
delivery:
  skip; /* Other steps may come before the next delivery. */
  atomic {
    ask(CLAIM, 0, 0);
    if
    :: answer == YES -> mine[me] = holder; finished = (MISTAKE == MARKS_NOT_READ -> marks & WRITE : marks); known = kept; answer = 0
    :: answer == DONE || (answer == BUSY && MISTAKE == BUSY_ANSWERED_AS_DUPLICATE) -> /* 200 */
      forbid(early, completed != ALL); answer = 0; goto delivery
    :: else -> answer = 0; goto delivery /* asks again a second later, or for the next delivery */
    fi
  };
  d_step { /* Begins the handlers without a mark. WRITE whose commit was not answered has failed, and may run again: see `twice`. */
    forbid(forgotten, ALL & ~finished & known);
    forbid(again, !isExplained && ALL & ~finished & ((CALL & completed & ~known) | running[0] | running[1]));
    running[me] = ALL & ~finished; known = 0
  };
  do
  :: d_step { running[me] & CALL -> running[me] = running[me] - CALL; finished = finished | CALL; completed = completed | CALL }
  :: d_step { running[me] & CALL && trouble; running[me] = running[me] - CALL; failed = failed | CALL }
  :: d_step { running[me] & WRITE && trouble; running[me] = running[me] - WRITE; failed = failed | WRITE }
  :: atomic { running[me] & WRITE -> /* its last step */
      ask(COMMIT, mine[me], 0);
      running[me] = running[me] - WRITE; isLost = isLost || answer == NO;
      if :: answer == YES -> finished = finished | WRITE :: else -> failed = failed | WRITE fi; answer = 0
    }
  :: atomic { (running[me] || isStoring) && !isLost && (!isLeased || holder != mine[me] || finished & ~marks) ->
      ask(RENEW, mine[me], finished); isLost = answer == NO; answer = 0
    }
  :: atomic { !running[me] && isLost && !isStoring -> break } /* 503 */
  :: atomic { !running[me] && !failed && (!isLost || isStoring) -> /* 200, unless the answer is no; asks again if it is lost */
      ask(COMPLETE, mine[me], 0); forbid(early, answer != NO && !isStoring && completed != ALL);
      if :: answer == LOST -> isStoring = true; answer = 0 :: else -> break fi
    }
  :: atomic { !running[me] && failed && !isLost -> /* 500; asks again beside the next runs if the answer is lost */
      ask(RELEASE, mine[me], (MISTAKE == RELEASED_WITHOUT_MARKS -> 0 : finished));
      late[me].kind = (answer == LOST -> RETRIED_RELEASE : late[me].kind); break
    }
  :: atomic { running[me] && trouble; MISTAKE != NEVER_ABANDONED; /* ignores its abort, and is abandoned: the lease is left to end */
      isExplained = true; running[me] = 0;
      if :: finished && !isLost -> ask(RENEW, mine[me], finished) :: else fi; break
    }
  :: atomic { trouble; isExplained = true; running[me] = 0; /* dies, and starts again */
      late[me].kind = (late[me].kind == RETRIED_RELEASE -> RELEASE : late[me].kind); break
    }
  od;
  atomic { mine[me] = 0; finished = 0; failed = 0; isLost = false; isStoring = false; answer = 0; goto delivery }
}

#define isNeededBy(p) (mine[p] == holder || (late[p].kind == RETRIED_RELEASE && late[p].token == holder))

/* Ends leases. One that no process needs ends for certain. */
active proctype Leases() {
  do
  :: d_step { isLeased && !isNeededBy(0) && !isNeededBy(1) && MISTAKE != CLAIMED_WITHOUT_LEASE -> isLeased = false }
  :: d_step { isLeased && (isNeededBy(0) || isNeededBy(1)) && trouble; isExplained = true; isLeased = false }
  od
}

/* Brings late calls to the store, or drops them. */
active proctype Network() {
  mtype answer;
  byte p;
  do
  :: atomic {
      if :: late[0].kind -> p = 0 :: late[1].kind -> p = 1 fi;
      if
      :: carryOut(late[p].kind, late[p].token, late[p].marks, answer)
      :: late[p].kind != RETRIED_RELEASE
      :: late[p].kind == RETRIED_RELEASE && trouble; isExplained = true /* its process dies, or has retried for 60 s */
      fi;
      if
      :: late[p].kind == RETRIED_RELEASE -> late[p].kind = RELEASE /* the first call is still under way */
      :: late[p].kind == CLAIM && answer == YES -> late[p].kind = RELEASE; late[p].token = holder /* is given back */
      :: else -> late[p].kind = 0; late[p].token = 0; late[p].marks = 0
      fi;
      answer = 0; p = 0
    }
  od
}

init { atomic { run Process(0); run Process(1) } }

ltl stuck { <> isDone }
