# Unknown outcomes: a write is looked up before it is sent again.

story an unknown outcome is looked up before the write is sent again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "connection reset"
+ unknown w0 until 08:00:05 "connection reset"
+ breaker_failure w0
expect wake 08:00:05
at 2026-12-01T08:00:05
wake
+ calling w0 find 2 until *
> find w0 2 create_appointment a1 op1 prov1 10:00 30m
found w0 2 written f1
+ breaker_closed
+ done w0 create_appointment a1
+ insert_done a1 f1

story a write that is not found is sent again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "connection reset"
after 5s
wake
> find w0 2 *
found w0 2 nothing
+ deferred w0 until 08:00:05 "looked up: not in the EHR"
wake
> push w0 3 *
pushed w0 3 written f1
+ breaker_closed
+ done *
+ insert_done *

story a call without answer before its deadline is unknown
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
at 2026-12-01T08:00:30
expect wake due
wake
+ unknown w0 until * "no answer before the call's deadline"
+ breaker_failure w0
> nothing
pushed w0 1 written f1
+ nothing
after 5s
wake
> find w0 2 *

story a call in flight at a crash is unknown after the restart
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
restart
at 2026-12-01T09:00
wake
+ unknown w0 *
+ breaker_failure w0
after 5s
wake
> find w0 2 *

story a failed look-up is repeated and never replaced by a push
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
after 5s
wake
> find w0 2 *
found w0 2 retry "busy"
+ unknown w0 until * "busy"
+ breaker_failure w0
after 15m
wake
> find w0 3 *
found w0 3 rejected "what?"
+ unknown w0 until * "what?"
+ breaker_failure w0
after 15m
wake
> find w0 4 *

story a write that cannot have been sent is sent when possible
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
after 30s
wake
after 5s
wake
> find w0 2 *
found w0 2 never_sent "the patient is not in the EHR yet"
+ deferred w0 until * "the patient is not in the EHR yet"
wake
> push w0 3 *

story a write that cannot have been sent times out after the start of its appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
at 2026-12-01T10:00:01
wake
> find w0 2 *
found w0 2 never_sent "the patient was refused"
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *

story an unknown insert is looked up after its start too
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T09:59:50
wake
pushed w0 1 unknown "reset"
at 2026-12-01T10:00
wake
> find w0 2 *
found w0 2 written f1
+ breaker_closed
+ done w0 *
+ insert_done a1 f1

story an insert that is not found after its start times out
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T09:59:50
wake
pushed w0 1 unknown "reset"
at 2026-12-01T10:00
wake
> find w0 2 *
found w0 2 nothing
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *

story a write whose look-ups keep failing is given up long after its deadline
settings deadline=1h
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
at 2026-12-01T10:59:59
wake
> find w0 2 *
at 2026-12-01T11:00
found w0 2 retry "busy"
+ failed w0 create_appointment a1 failed "the outcome stayed unknown: the EHR could not be asked"
+ insert_failed a1 failed *

story writes behind an unknown write of the same patient keep waiting
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
pushed w0 1 unknown "reset"
wake
> nothing
after 5s
wake
> find w0 2 create_patient p1
found w0 2 written f1
wake
> push w1 1 create_appointment a1 *

story unanswered look-ups are repeated with backoff and finally fail
settings deadline=1h backoff_base=2s
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
after 5s
wake
> find w0 2 *
after 30s
wake
+ unknown w0 until * "no answer before the call's deadline"
+ breaker_failure w0
expect waits w0 1ms 4s
at 2026-12-01T10:59:59
wake
> find w0 3 *
after 30s
wake
+ failed w0 create_appointment a1 failed "the outcome stayed unknown: the EHR could not be asked"
+ insert_failed a1 failed *
expect queue none

story an insert that is sent and not found four times fails, and an operator decides
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
> push w0 1 *
pushed w0 1 unknown "timeout"
+ unknown w0 until 08:00:05 *
+ breaker_failure w0
at 08:00:05
wake
> find w0 2 *
found w0 2 nothing
wake
> push w0 3 *
pushed w0 3 unknown "timeout"
+ unknown w0 until 08:00:15 *
+ breaker_failure w0
at 08:00:15
wake
> find w0 4 *
found w0 4 nothing
wake
> push w0 5 *
pushed w0 5 unknown "timeout"
+ unknown w0 until 08:00:35 *
+ breaker_failure w0
at 08:00:35
wake
> find w0 6 *
found w0 6 nothing
wake
> push w0 7 *
pushed w0 7 unknown "timeout"
+ unknown w0 until 08:01:15 *
+ breaker_failure w0
at 08:01:15
wake
> find w0 8 *
found w0 8 nothing
+ failed w0 create_appointment a1 failed "sent 4 times without an answer, and never found when it was looked up*"
+ insert_failed a1 failed *
expect queue none
retry w0 with op1 prov1 17:00 30m patient p1 -> retried w1
wake
> find w1 1 *
found w1 1 nothing
wake
> push w1 2 *
pushed w1 2 written f1
+ done *
+ insert_done *

story the number of resends is configurable, and a write found in time is done
settings max_resends=1
save payments 7 create patient p1 -> saved
wake
pushed w0 1 unknown "timeout"
after 5s
wake
found w0 2 nothing
wake
pushed w0 3 unknown "timeout"
restart
after 10s
wake
found w0 4 written f1
+ breaker_closed
+ done w0 create payments 7

story a change cannot be duplicated, so it is resent until its deadline
settings max_resends=0
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
cancel a1 -> cancelled
wake
pushed w1 1 unknown "timeout"
after 5s
wake
found w1 2 nothing
+ deferred w1 *
wake
> push w1 3 *

story an answer with another record's identifier is looked up once, then an operator decides
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 of_another "appointments 7 has it"
+ unknown w0 until 08:00:05 "appointments 7 has it"
+ breaker_failure w0
after 5s
wake
> find w0 2 *
found w0 2 of_another "appointments 7 has it"
+ failed w0 create_appointment a1 failed "appointments 7 has it"
+ insert_failed a1 failed *

story look-ups that find nothing do not close a breaker opened by failing writes
settings threshold=2 concurrency=1
save payments 7 create patient p1 -> saved
save payments 8 create patient p2 -> saved
wake
pushed w0 1 unknown "an answer without identifier"
wake
> push w1 1 *
pushed w1 1 retry "down"
+ deferred w1 *
+ breaker_failure w1
+ blocked breaker until 08:00:30
at 08:00:30
wake
> push w1 2 *
pushed w1 2 unknown "down"
+ unknown w1 *
+ breaker_failure w1
+ blocked breaker until 08:01:30
at 08:01:30
wake
> find w0 2 *
found w0 2 nothing
+ deferred w0 *
expect path breaker until 08:01:30
wake
> find w1 3 *
found w1 3 written f2
+ breaker_closed
+ done *
