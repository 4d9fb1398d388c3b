# The deletion guard: a pass that would delete most of a resource is stopped until an operator accepts the deletions.

story few deletions, or a small share, are applied
settings pulls=patients! guard_at_least=20
wake
page patients 0 cursor c1 last whole known 25 -> applied
| absent 1..19
wake
sync
wake
page patients 1 cursor c2 last whole known 100 -> applied
| absent 1..30

story many deletions of a large share stop the pass with an alarm, and no record of the page is applied
settings pulls=appointments! guard_at_least=2
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
page appointments 1 cursor c2 last whole -> ignored
+ guard_tripped appointments 2 of 3
| a3 op1 prov1 12:00 30m patient p3
| a4 op1 prov1 15:00 30m patient p3
expect slot op1 prov1 10:00 30m busy
expect slot op1 prov1 15:00 30m free
expect reads failing since 08:00 stopped: the EHR shows 2 of 3 records deleted

story the pass starts again, and the alarm ends when the EHR shows its records again
settings pulls=appointments! guard_at_least=2
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
page appointments 1 cursor c2 whole -> applied
page appointments 2 cursor c3 last whole -> ignored
wake
at 2026-12-01T08:15
wake
> pull appointments 3 cursor -
page appointments 3 cursor c4 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
+ cycle_finished *
expect reads fine

story an operator accepts the deletions once
settings pulls=appointments! guard_at_least=2
accept appointments -> refused no_deletions_stopped
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> ignored
wake
accept appointments -> done
+ deletions_accepted appointments
wake
page appointments 2 cursor c2 last whole -> applied
+ page_applied *
wake
sync
wake
page appointments 3 cursor c3 last whole -> applied
+ cancelled a1 by ehr
+ gone a1
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
wake
sync
wake
page appointments 4 cursor c4 last whole -> applied
| a5 op1 prov1 10:00 30m patient p1
| a6 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 5 cursor c5 last whole -> ignored
+ guard_tripped appointments 2 of 2

story deletions on several pages and in several cycles are counted together
settings pulls=appointments guard_at_least=2
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
| a4 op1 prov1 13:00 30m patient p4
| a5 op1 prov1 14:00 30m patient p5
wake
sync
wake
page appointments 1 cursor c2 -> applied
| deleted a1
page appointments 2 cursor c3 last -> ignored
+ guard_tripped appointments 2 of 5
| deleted a2
wake
sync
wake
> pull appointments 3 cursor c2
page appointments 3 cursor c3 -> ignored
+ guard_tripped appointments 2 of 5
| deleted a2
expect slot op1 prov1 11:00 30m busy

story stopped tombstones are requested again from the same cursor, and applied once accepted
settings pulls=appointments guard_at_least=2
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last -> ignored
+ guard_tripped appointments 2 of 2
| deleted a1 a2
wake
accept appointments -> done
wake
> pull appointments 2 cursor c1
page appointments 2 cursor c2 last -> applied
+ cancelled a1 by ehr
+ gone a1
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| deleted a1 a2
wake
+ cycle_finished *
expect reads fine

story a stopped resource does not prevent reading the others
settings pulls=patients!,appointments
wake
page patients 0 cursor c1 last whole known 50 -> ignored
+ guard_tripped patients 40 of 50
| absent 1..40
wake
> pull appointments 1 cursor -
page appointments 1 cursor d1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished *
expect reads failing *

story few deletions of a shared resource, page by page, require no count of the known records
settings pulls=patients guard_at_least=3
wake
page patients 0 cursor c1 -> applied
| deleted 1 2
page patients 1 cursor c2 -> applied
| deleted 3 4
page patients 2 cursor c3 known 10 -> ignored
+ guard_tripped patients 6 of 14
| deleted 5 6
| seen 7

story a whole pass without records is stopped for a resource of any size until an operator accepts it
settings pulls=operatories!,appointments
wake
page operatories 0 cursor c1 last whole -> applied
+ page_applied *
+ pulling *
| operatory op1 active
page appointments 1 cursor d1 last -> applied
wake
sync
wake
page operatories 2 cursor c2 last whole -> applied
+ operatory_gone op2
+ record_gone operatories 2
+ operatory_gone op3
+ record_gone operatories 3
+ page_applied *
+ pulling *
| operatory op1 active
page appointments 3 cursor d2 last -> applied
wake
sync
wake
page operatories 4 cursor c3 last whole -> ignored
+ guard_tripped operatories 1 of 1
expect reads failing since 08:00 stopped: the EHR shows 1 of 1 records deleted
expect slot op1 prov1 10:00 30m free
wake
page appointments 5 cursor d3 last -> applied
wake
accept operatories -> done
wake
page operatories 6 cursor c4 last whole -> applied
+ page_applied *
+ pulling *
page appointments 7 cursor d4 last -> applied
wake
sync
wake
page operatories 8 cursor c5 last whole -> applied
+ operatory_gone op1
+ record_gone operatories 1
+ page_applied *
+ pulling *

story the only provider is not deleted by an empty pass
settings pulls=providers!
wake
page providers 0 cursor c1 last whole known 1 -> ignored
+ guard_tripped providers 1 of 1
| absent 1

story an empty last page ends a pass that showed records
settings pulls=providers!
wake
page providers 0 cursor c1 whole -> applied
| seen 2
page providers 1 cursor c2 last whole known 1 -> applied
+ page_applied *
| absent 1
wake
sync
wake
page providers 2 cursor c3 whole -> applied
| seen 2
page providers 3 cursor c4 last whole known 1 -> applied
+ record_gone providers 1
+ page_applied *
| absent 1

story another provider in place of the only one is applied
settings pulls=providers!
wake
page providers 0 cursor c1 last whole known 1 -> applied
+ page_applied *
| seen 2
| absent 1
wake
sync
wake
page providers 1 cursor c2 last whole known 1 -> applied
+ record_gone providers 1
+ page_applied *
| seen 2
| absent 1

story single deletions reported by the EHR are applied for a small resource
settings pulls=providers
wake
page providers 0 cursor c1 last whole -> applied
+ record_gone providers 1
+ page_applied *
| deleted 1
