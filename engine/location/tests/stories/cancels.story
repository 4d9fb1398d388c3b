# Cancellation at every stage of the insert.

story a cancellation before the insert was sent sends nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
cancel a1 "ill" -> cancelled
+ cancelled a1 by client "ill"
+ failed w0 create_appointment a1 withdrawn *
+ insert_failed a1 withdrawn *
expect queue none
expect slot op1 prov1 10:00 30m free

story a cancellation during the insert follows it, and the slot stays taken until the cancellation arrives
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
cancel a1 -> cancelled
+ cancelled a1 by client
+ queued w1 cancel a1 *
expect slot op1 prov1 10:00 30m busy
pushed w0 1 written f1
expect appointment a1 op1 prov1 10:00 30m done cancelling vacating op1 prov1 10:00 30m
wake
> push w1 1 cancel a1 *
pushed w1 1 written f1
+ done w1 cancel a1
+ cancel_confirmed a1
expect slot op1 prov1 10:00 30m free

story a refused insert makes the cancellation unnecessary
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
cancel a1 -> cancelled
pushed w0 1 rejected "no"
+ failed w0 create_appointment a1 failed "no"
+ failed w1 cancel a1 withdrawn *
+ insert_failed a1 failed "no"
expect queue none

story a cancellation of an unknown insert is sent after the insert is found
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
cancel a1 -> cancelled
after 5s
wake
found w0 2 written f1
wake
> push w1 1 cancel a1 *

story a cancellation of an appointment in the EHR is sent
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
cancel a1 "ill" -> cancelled
+ cancelled a1 by client "ill"
+ queued w1 cancel a1 *
cancel a1 -> cancelled already
+ nothing
wake
pushed w1 1 written f1
expect appointment a1 none
cancel a1 -> refused appointment_not_found

story a refused cancellation restores the appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
cancel a1 -> cancelled
wake
pushed w1 1 rejected "checked in already"
+ failed w1 cancel a1 failed "checked in already"
+ cancel_reverted a1 "checked in already"
expect appointment a1 op1 prov1 10:00 30m done

story a cancellation is refused if the EHR cannot cancel
settings no_cancels
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
cancel a1 -> cancelled
book a2 op1 prov1 10:00 30m patient p1 -> booked a2
wake
cancel a2 -> refused not_supported_by_ehr
pushed w1 1 written f1
cancel a2 -> refused not_supported_by_ehr

story a past appointment cannot be cancelled
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
at 2026-12-01T10:00
cancel a1 -> refused appointment_not_open past

story a cancellation that need not be sent frees the slot at once
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
cancel a1 -> cancelled
book a2 op1 prov1 10:00 30m patient p2 -> booked a2

story an insert cancelled after it was sent, moved and not written is withdrawn with its move
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
pushed w0 1 retry "busy"
cancel a1 -> cancelled
+ cancelled a1 by client
+ failed w0 create_appointment a1 withdrawn *
+ failed w1 reschedule a1 withdrawn *
+ insert_failed a1 withdrawn *
expect queue none

story a refused move of a cancelled appointment keeps its slot in the EHR taken until the cancellation arrives
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
cancel a1 -> cancelled
pushed w1 1 rejected "closed"
+ failed w1 reschedule a1 failed "closed"
+ move_reverted a1 to op1 prov1 10:00 30m "closed"
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m free
wake
> push w2 1 cancel a1 *
pushed w2 1 rejected "checked in"
expect appointment a1 op1 prov1 10:00 30m done

story a cancellation that times out behind an unknown move frees none of the slots
settings deadline=1h
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
cancel a1 -> cancelled
after 5s
wake
> find w1 2 *
found w1 2 unknown "reset"
at 2026-12-01T09:00
wake
+ failed w2 cancel a1 timed_out *
+ cancel_reverted a1 *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
wake
> find w1 3 *
found w1 3 written f1
expect appointment a1 op2 prov1 11:00 30m done
expect slot op1 prov1 10:00 30m free

story a move by staff during a cancellation in flight is kept if the cancellation is refused
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
page appointments 0 cursor c0 last -> applied
wake
+ cycle_finished *
sync
cancel a1 -> cancelled
wake
> push w1 1 cancel a1 *
> pull appointments 1 *
page appointments 1 cursor c1 last -> applied keep a1
| a1 op3 prov2 14:00 30m patient p1
pushed w1 1 rejected "checked in"
+ failed w1 *
+ cancel_reverted a1 "checked in"
+ move_reverted a1 to op3 prov2 14:00 30m "checked in"
expect appointment a1 op3 prov2 14:00 30m done

story an insert cancelled in flight and not written is not sent again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
cancel a1 -> cancelled
pushed w0 1 retry "busy"
+ failed w0 create_appointment a1 withdrawn *
+ failed w1 cancel a1 withdrawn *
+ insert_failed a1 withdrawn *
+ breaker_failure w0
expect queue none
expect slot op1 prov1 10:00 30m free

story an unknown insert that was cancelled and not found is not sent again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
cancel a1 -> cancelled
after 5s
wake
found w0 2 nothing
+ failed w0 create_appointment a1 withdrawn *
+ failed w1 cancel a1 withdrawn *
+ insert_failed a1 withdrawn *

story a move that waits before a cancellation keeps its slot taken and is sent first
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
cancel a1 -> cancelled
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
wake
pushed w1 1 written f1
wake
pushed w2 1 rejected "checked in"
expect appointment a1 op2 prov1 11:00 30m done
