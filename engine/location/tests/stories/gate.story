# The workstation gate. While it is shut, no request is sent to the EHR and no write fails. When it opens, waiting
# writes are sent at once.

story a shut gate sends nothing, and an opened gate sends the queue in order
settings concurrency=1
gate no_workstation
+ gate no_workstation
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
expect wake 10:00
wake
+ nothing
> nothing
after 1h
gate open
+ gate open
wake
> push w0 1 *
pushed w0 1 written f1
wake
> push w1 1 *
pushed w1 1 written f2
wake
> push w2 1 *
pushed w2 1 written f3
expect queue none

story writes whose deadline passed before the gate opens have timed out
gate logged_out
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 17:00 30m patient p2 -> booked a2
at 2026-12-01T10:00
wake
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *
at 2026-12-01T12:00
gate open
wake
> push w1 1 *

story an opening gate ends the pause of calls that met it closed
settings concurrency=1
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 gate_closed
at 2026-12-01T08:00:30
wake
pushed w0 2 gate_closed
expect path gate_closed until 08:01:30
gate no_workstation
wake
> nothing
after 5s
gate open
+ gate open
expect path open
wake
> push w0 3 *

story a repeated gate state changes nothing unless writes wait for a retry
gate no_workstation
gate no_workstation
+ nothing
gate logged_out
+ gate logged_out
gate open
+ gate open
gate open
+ nothing
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
gate open
+ nothing

story writes that wait for the staff's approval are sent in order on approval, and others meanwhile
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
book a2 op1 prov1 16:00 30m patient p2 -> booked a2
book a3 op1 prov1 15:00 30m patient p3 -> booked a3
gate open
wake
> push w0 1 *
> push w1 1 *
pushed w0 1 not_ready "the write waits for the staff's approval"
+ deferred w0 * "the write waits for the staff's approval"
wake
> push w2 1 *
pushed w2 1 written f3
pushed w1 1 not_ready "the write waits for the staff's approval"
expect path open
gate open
+ gate open
wake
> push w0 2 *
> push w1 2 *

story a write that staff decline fails permanently
gate open
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "declined by the staff at the workstation"
+ failed w0 create_appointment a1 failed "declined by the staff at the workstation"
+ insert_failed a1 failed *

story a workstation that disconnects during a write leaves it unknown, and the next one looks it up
gate open
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
> push w0 1 *
pushed w0 1 unknown "the workstation went before it answered"
gate no_workstation
after 2h
wake
> nothing
gate open
wake
> find w0 2 *
found w0 2 gate_closed
+ unknown w0 *
+ blocked gate_closed until *
gate open
+ gate open
wake
> find w0 3 *
found w0 3 nothing
wake
> push w0 4 *
pushed w0 4 written f1
expect queue none

story a write of unknown outcome fails if the gate stays shut as long as look-ups may fail
settings deadline=1h
gate open
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "the workstation went before it answered"
gate no_workstation
at 2026-12-01T10:00
wake
+ nothing
expect wake 11:00
at 2026-12-01T11:00
wake
+ failed w0 create_appointment a1 failed "the outcome stayed unknown: the workstation gate did not open again"
+ insert_failed a1 failed *

story a read cycle that meets a shut gate continues where it was when the gate opens
settings pulls=patients,appointments
gate open
wake
> pull patients 0 cursor -
page patients 0 cursor c1 -> applied
> pull patients 1 cursor c1
gate paused
+ gate paused
pulled patients 1 retry "the workstation went before it answered"
+ pull_failed patients *
expect wake never
after 3h
wake
> nothing
gate open
wake
> pull patients 2 cursor c1

story a page that arrives at a shut gate is applied, and the next one is requested when the gate opens
settings pulls=patients
gate open
wake
> pull patients 0 cursor -
gate no_workstation
page patients 0 cursor c1 -> applied
> nothing
wake
> nothing
gate open
wake
> pull patients 1 cursor c1
