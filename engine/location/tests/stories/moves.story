# Moving an appointment at every stage of its insert.

story before it was sent, the insert carries the new place
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
expect slot op1 prov1 10:00 30m free
expect slot op2 prov1 11:00 30m busy
expect write w0 waiting until 08:00 deadline 11:00
wake
> push w0 1 create_appointment a1 op2 prov1 11:00 30m

story while it is sent, both places stay taken until the EHR has the new one
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

story while its outcome is unknown
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

story an unknown insert that was moved and is not there goes out at the new place
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

story once it is there, a reschedule goes out, and a second move goes with it while it waits
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

story moved while a reschedule is on its way: one more follows
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

story a refused move goes back to where the EHR has it
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

story moving within its own time needs no free slot but its own
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op1 prov1 10:15 30m -> moved
expect appointment a1 op1 prov1 10:15 30m pending

story moving to where it is changes nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op1 prov1 10:00 30m -> moved
+ nothing

story back and forth while a reschedule is on its way
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

story nobody moves what is gone, over, or another's slot
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
move a1 op2 prov1 10:15 30m -> refused slot_taken busy(a2) *
move a1 op2 prov1 07:00 30m -> refused slot_expired
move a3 op2 prov1 12:00 30m -> refused appointment_not_found
wake
pushed w0 1 written f1
cancel a1 -> cancelled
move a1 op2 prov1 12:00 30m -> refused appointment_not_open cancelled

story a move that runs out while the insert is unknown goes back to where the insert may be
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

story a place the insert certainly did not reach is free at once
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
expect slot op1 prov1 10:00 30m busy
pushed w0 1 retry "busy"
expect slot op1 prov1 10:00 30m free
wake
> nothing

story an appointment whose write still waits is not forgotten, though it is over
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

story staff move it while our move is on its way: nobody knows who was last, so ours goes out once more
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

story what follows the move and says nothing of its place does not keep it from going out once more
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

story a move that is given up behind one that is out leaves the place where that one puts it
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
