# Unknown outcomes: a write is looked up before it is sent again.

story an unknown outcome is looked up before anything is sent
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

story not found: sent again
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

story no answer before the call's deadline is unknown too
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

story a process that died during a call comes back to the same rule
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

story a look-up that fails is repeated, never turned into a push
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

story what cannot have been sent is sent when it can be
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

story past its start what cannot have been sent times out
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
at 2026-12-01T10:00:01
wake
> find w0 2 *
found w0 2 never_sent "the patient was refused"
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *

story past its start an unknown insert is still looked up: it may be there
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

story past its start an insert that was not found times out
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

story an EHR that never answers whether it has it: given up long after the deadline
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

story what waits behind an unknown write of the same patient keeps waiting
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

story look-ups that are never answered are given up too, and repeated with growing patience until then
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

story what is sent and never found is not sent for ever: the fourth time an operator decides
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

story how often is a setting, and what is found in time is done
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

story a change makes nothing twice: it is sent until its deadline
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

story with the identifier of another record it is not done: looked up once, then an operator decides
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

story look-ups that find nothing do not close the breaker: it is writes that fail
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
