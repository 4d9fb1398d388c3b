# Moving an appointment at every stage of its insert.

story a move before the insert was sent is sent with the insert
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
expect slot op1 prov1 10:00 30m free
expect slot op2 prov1 11:00 30m busy
expect write w0 waiting until 08:00 deadline 11:00
wake
> push w0 1 create_appointment a1 op2 prov1 11:00 30m

story a move during the insert keeps both slots taken until the EHR has the new one
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
+ queued w1 reschedule a1 *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
pushed w0 1 written f1
expect slot op1 prov1 10:00 30m busy
wake
> push w1 1 reschedule a1 op2 prov1 11:00 30m
pushed w1 1 written f1
expect slot op1 prov1 10:00 30m free
expect appointment a1 op2 prov1 11:00 30m done

story a move of an unknown insert waits for the look-up
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
+ queued w1 reschedule a1 *
after 5s
wake
> find w0 2 create_appointment a1 op1 prov1 10:00 30m
found w0 2 written f1
expect slot op1 prov1 10:00 30m busy
wake
> push w1 1 reschedule a1 op2 prov1 11:00 30m

story an unknown insert that was moved and not found is sent with the new slot
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
move a1 op2 prov1 11:00 30m -> moved
after 5s
wake
found w0 2 nothing
wake
> push w0 3 create_appointment a1 op2 prov1 11:00 30m
pushed w0 3 written f1
expect appointment a1 op2 prov1 11:00 30m done

story a move in the EHR queues a reschedule, which also carries a second move while it waits
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
+ moved *
+ queued w1 reschedule a1 *
move a1 op3 prov1 12:00 30m -> moved
+ moved a1 to op3 prov1 12:00 30m
expect slot op2 prov1 11:00 30m free
wake
> push w1 1 reschedule a1 op3 prov1 12:00 30m

story a move during a reschedule in flight queues another one
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
move a1 op3 prov1 12:00 30m -> moved
+ moved *
+ queued w2 reschedule a1 *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
pushed w1 1 written f1
expect appointment a1 op3 prov1 12:00 30m done vacating op2 prov1 11:00 30m
wake
pushed w2 1 written f1
expect appointment a1 op3 prov1 12:00 30m done

story a refused move reverts to the slot in the EHR
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 rejected "closed"
+ failed w1 reschedule a1 failed "closed"
+ move_reverted a1 to op1 prov1 10:00 30m "closed"
expect slot op2 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy

story a move within the old time requires no other free slot
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op1 prov1 10:15 30m -> moved
expect appointment a1 op1 prov1 10:15 30m pending

story a move to the current slot changes nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op1 prov1 10:00 30m -> moved
+ nothing

story a move back during a reschedule in flight queues another reschedule
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
move a1 op1 prov1 10:00 30m -> moved
+ moved *
+ queued w2 reschedule a1 *
pushed w1 1 written f1
expect slot op2 prov1 11:00 30m busy
wake
> push w2 1 reschedule a1 op1 prov1 10:00 30m
pushed w2 1 written f1
expect appointment a1 op1 prov1 10:00 30m done

story a move is refused for a taken or past slot and for a missing or cancelled appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
move a1 op2 prov1 10:15 30m -> refused slot_taken busy(a2) *
move a1 op2 prov1 07:00 30m -> refused slot_expired
move a3 op2 prov1 12:00 30m -> refused appointment_not_found
wake
pushed w0 1 written f1
cancel a1 -> cancelled
move a1 op2 prov1 12:00 30m -> refused appointment_not_open cancelled

story a move that times out behind an unknown insert reverts to the slot that the insert may have
settings deadline=1h pulls=appointments
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
move a1 op2 prov1 16:00 30m -> moved
page appointments 0 cursor c1 last -> applied
at 2026-12-01T08:59:59
wake
> find w0 2 *
at 2026-12-01T09:00
wake
+ failed w1 reschedule a1 timed_out *
+ move_reverted a1 to op1 prov1 17:00 30m *
found w0 2 written f1
expect appointment a1 op1 prov1 17:00 30m done

story a slot that the insert certainly did not reach is free at once
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
expect slot op1 prov1 10:00 30m busy
pushed w0 1 retry "busy"
expect slot op1 prov1 10:00 30m free
wake
> nothing

story a past appointment with a waiting write is not pruned
settings unintegrated
book a9 op1 prov1 2026-12-03T10:00 30m patient p9 -> booked a9
settings integrated
book a1 op1 prov1 09:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 10:00 30m -> moved
wake
pushed w1 1 gate_closed
move a1 op1 prov1 09:00 30m -> moved
at 2026-12-02T10:00
wake
+ pruned *
expect appointment a1 op1 prov1 2026-12-01T09:00 30m done
wake
> push w1 2 reschedule a1 *
pushed w1 2 written f1
at 2026-12-02T11:00
wake
+ pruned *
expect appointment a1 none

story a move by staff during a client's move makes the client's move be sent again
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 *
pushed w0 1 unknown "reset"
page appointments 1 cursor c2 last -> applied keep a9
| a9 op3 prov1 12:00 30m patient p9
after 5s
wake
> find w0 2 *
found w0 2 written f9
+ breaker_closed
+ done w0 reschedule a9
+ queued w1 reschedule a9 *
wake
> push w1 1 reschedule a9 op2 prov1 11:00 30m
pushed w1 1 written f9
expect appointment a9 op2 prov1 11:00 30m pulled

story a later write without placement does not prevent sending the move again
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 *
pushed w0 1 unknown "reset"
change a9 confirmation -> changed
page appointments 1 cursor c2 last -> applied keep a9
| a9 op3 prov1 12:00 30m patient p9
after 5s
wake
found w0 2 written f9
+ breaker_closed
+ done w0 reschedule a9
+ queued w2 reschedule a9 *

story a move dropped behind one in flight leaves the slot of the one in flight
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
move a1 op1 prov1 10:00 30m -> moved
+ moved *
+ queued w2 reschedule a1 *
drop w2 -> done
+ failed w2 reschedule a1 failed "dropped by an operator"
+ move_reverted a1 to op2 prov1 11:00 30m *
+ dropped w2
after 5s
wake
found w1 2 written f1
expect slot op1 prov1 10:00 30m free
expect appointment a1 op2 prov1 11:00 30m done
