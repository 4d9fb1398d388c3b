# Writes that miss their deadline.

story an insert that waits until its appointment starts times out and frees the rest of the slot
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 retry "busy" after 5h
expect wake 10:00
at 2026-12-01T10:00
wake
+ failed w0 create_appointment a1 timed_out "not in the EHR before its deadline"
+ insert_failed a1 timed_out "not in the EHR before its deadline"
> nothing
expect queue none
expect appointment a1 none

story a call in flight at the start of the appointment is awaited
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T09:59:59
wake
at 2026-12-01T10:00:01
wake
+ nothing
pushed w0 1 written f1
+ done *
+ insert_done *

story a call in flight at the start that did not write times out afterwards
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T09:59:59
wake
at 2026-12-01T10:00:01
pushed w0 1 retry "busy"
wake
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *

story a patient that is never written fails the appointment too
settings deadline=1h
book a1 op1 prov1 17:00 30m patient p1 new -> booked a1
wake
pushed w0 1 gate_closed
at 2026-12-01T09:00
wake
+ failed w0 create_patient p1 timed_out *
+ failed w1 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *
expect slot op1 prov1 17:00 30m free

story a reschedule that times out is reverted
settings deadline=1h
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 17:00 30m -> moved
wake
pushed w1 1 gate_closed
at 2026-12-01T09:00
wake
+ failed w1 reschedule a1 timed_out *
+ move_reverted a1 to op1 prov1 10:00 30m *
expect appointment a1 op1 prov1 10:00 30m done
expect slot op2 prov1 17:00 30m free

story a cancellation that times out is reverted
settings deadline=1h
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
cancel a1 -> cancelled
wake
pushed w1 1 gate_closed
at 2026-12-01T09:00
wake
+ failed w1 cancel a1 timed_out *
+ cancel_reverted a1 *
expect appointment a1 op1 prov1 10:00 30m done
expect slot op1 prov1 10:00 30m busy

story the deadline of an insert in flight moves to the new start of the appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 15:00 30m -> moved
pushed w0 1 retry "busy" after 3h
expect write w0 waiting until 11:00 deadline 15:00
at 2026-12-01T11:00
wake
> push w0 2 create_appointment a1 op2 prov1 15:00 30m

story the deadline of an unknown insert moves to an earlier start
book a1 op1 prov1 15:00 30m patient p1 -> booked a1
at 2026-12-01T09:59
wake
pushed w0 1 unknown "reset"
move a1 op1 prov1 10:00 30m -> moved
after 1m
wake
> find w0 2 *
found w0 2 nothing
+ failed w0 create_appointment a1 timed_out *
+ failed w1 reschedule a1 withdrawn *
+ insert_failed a1 timed_out *

story writes of one patient that time out together end once each
settings deadline=2h
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
pushed w0 1 gate_closed
at 2026-12-01T10:00
wake
+ failed w0 create_patient p1 timed_out *
+ failed w1 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *
expect queue none

story an insert that times out is not also reported as losing its slot
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
> pull appointments 0 *
page appointments 0 cursor c1 last -> applied
+ pulled *
+ conflict a1 with a9
+ page_applied *
| a9 op1 prov1 10:00 30m patient p9
pushed w0 1 retry "busy"
at 2026-12-01T10:00
wake
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *
expect conflicts none
