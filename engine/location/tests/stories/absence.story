# Absence from a page does not prove a deletion: a record is deleted only if two consecutive complete passes lack it.

story a record that one pass lacks and the next one contains is kept
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m busy
wake
sync
wake
page appointments 2 cursor c3 last whole -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 3 cursor c4 last whole -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m busy

story a replaced appointment that two passes in a row lack frees its place
settings no_reschedules pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w0 1 written f2
wake
pushed w1 1 rejected "locked"
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op2 prov1 11:00 30m patient p1
| replaced a1 w1 op1 prov1 10:00 30m
+ page_applied *
wake
sync
wake
page appointments 2 cursor c3 last whole -> applied
| a1 op2 prov1 11:00 30m patient p1
+ page_applied *
expect slot op1 prov1 10:00 30m busy
wake
sync
wake
page appointments 3 cursor c4 last whole -> applied
| a1 op2 prov1 11:00 30m patient p1
+ replaced_gone a1 w1
+ page_applied *
expect slot op1 prov1 10:00 30m free
expect appointment a1 op2 prov1 11:00 30m pulled

story a deletion is confirmed by a whole pass two minutes after the pass that first lacks the record
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished *
at 2026-12-01T08:02:12
wake
> pull appointments 2 cursor -
page appointments 2 cursor c3 last whole -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m free

story a record that changes between two passes is not missing, even with a pass over changes in between
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
sync
wake
page appointments 2 cursor c3 last -> applied
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 3 cursor c4 last whole -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m busy

story a pass with fewer records than the EHR announces neither deletes nor confirms anything
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole estimate 2 -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
wake
sync
wake
page appointments 2 cursor c3 last whole estimate 2 -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m busy
wake
sync
wake
page appointments 3 cursor c4 last whole estimate 1 -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
wake
sync
wake
page appointments 4 cursor c5 last whole estimate 1 -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1

story a write during a pass makes up for one missing record at most
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole estimate 3 -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
move a1 op2 prov1 15:00 30m -> moved
sync
wake
> push w0 1 reschedule a1 *
> pull appointments 1 cursor c1
page appointments 1 cursor c2 whole estimate 3 -> applied
| a2 op1 prov1 11:00 30m patient p2
pushed w0 1 written f1
# Two of three records are known to exist, so the absence of the third one proves nothing.
page appointments 2 cursor c3 last whole estimate 3 -> applied
+ page_applied *
wake
sync
wake
page appointments 3 cursor c4 last whole estimate 2 -> applied
+ page_applied *
| a1 op2 prov1 15:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2

story a record that the EHR reports as deleted is deleted at once
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
| deleted a2

story a restart between two passes keeps the missing records
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
restart
wake
sync
wake
page appointments 2 cursor c3 last whole -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1

story a pass whose announced total changes neither deletes nor confirms anything
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole estimate 3 -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
# The total falls between two pages: the record that moved up is on neither of them.
page appointments 1 cursor c2 whole estimate 3 -> applied
| a1 op1 prov1 10:00 30m patient p1
page appointments 2 cursor c3 last whole estimate 2 -> applied
+ page_applied *
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
page appointments 3 cursor c4 whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
page appointments 4 cursor c5 last whole estimate 2 -> applied
+ page_applied *
| a3 op1 prov1 12:00 30m patient p3
expect slot op1 prov1 11:00 30m busy
wake
sync
wake
page appointments 5 cursor c6 whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
page appointments 6 cursor c7 last whole estimate 2 -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a3 op1 prov1 12:00 30m patient p3

story a total that changes and changes back contradicts the pass too
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole estimate 1 -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
sync
wake
page appointments 2 cursor c3 whole estimate 1 -> applied
page appointments 3 cursor c4 whole estimate 2 -> applied
page appointments 4 cursor c5 last whole estimate 1 -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m busy

story a confirming pass that contradicts itself is repeated after two minutes, up to three times in a row
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole estimate 1 -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished *
at 2026-12-01T08:02:12
wake
> pull appointments 2 cursor -
page appointments 2 cursor c3 last whole estimate 2 -> applied
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished *
at 2026-12-01T08:04:30
wake
> pull appointments 3 cursor -
page appointments 3 cursor c4 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
at 2026-12-01T08:06:50
wake
> pull appointments 4 cursor -
page appointments 4 cursor c5 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
at 2026-12-01T08:09:10
wake
> pull appointments 5 cursor -
page appointments 5 cursor c6 last whole estimate 2 -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished *
# The next pass is the regular one.
at 2026-12-01T08:12:00
wake
> nothing
at 2026-12-01T08:20:30
wake
> pull appointments 6 cursor c6
page appointments 6 cursor c7 last whole estimate 1 -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1
