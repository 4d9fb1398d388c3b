# The store was restored from a backup, so later changes of the location are lost.

story a creation is looked up before it is sent, and sent if not found
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
restart
restored
+ restored 1000000
+ write_restored w0
+ write_restored w1
wake
> find w0 1 *
> find w1 1 *
found w0 1 written f1
+ done w0 create_appointment a1
+ insert_done a1 f1
found w1 1 nothing
+ deferred w1 until * "looked up after the store was restored: not in the EHR"
wake
> push w1 2 *

story a change that is not found is not sent over later changes
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op1 prov1 11:00 30m -> moved
restored
wake
> find w1 1 *
found w1 1 nothing
+ failed w1 reschedule a1 failed *
+ move_reverted a1 to op1 prov1 10:00 30m *

story no slot is offered before the EHR was read again
settings pulls=appointments
wake
> pull appointments 0 cursor -
page appointments 0 cursor c1 last -> applied
expect slot op1 prov1 10:00 30m free
restored
expect slot op1 prov1 10:00 30m closed
wake
> pull appointments 1 cursor -
page appointments 1 cursor c2 last -> applied
expect slot op1 prov1 10:00 30m free

story deletions since the backup are read after the full pass
settings pulls=appointments
wake
> pull appointments 0 cursor -
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
restored
restart
wake
> pull appointments 1 cursor -
# The EHR has deleted a1 since the backup: the full pass neither shows nor reports it.
page appointments 1 cursor c2 last whole -> applied
expect slot op1 prov1 10:00 30m busy
expect cursor appointments c1
wake
sync
wake
> pull appointments 2 cursor c1
page appointments 2 cursor c3 last -> applied
| deleted a1
expect slot op1 prov1 10:00 30m free
expect cursor appointments c3

story the full passes after a restore show deletions by absence
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
restored
wake
> pull appointments 1 cursor -
page appointments 1 cursor c2 last whole -> applied
| a2 op2 prov2 10:00 30m patient p2
expect cursor appointments c2

story write ids that may have been used are skipped
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
restored
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
expect queue w0 w1000001

story a retry of an unsent failed write is looked up, because it may have been written since the backup
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
drop w0 -> done
restored
retry w0 with op1 prov1 10:00 30m patient p1 -> retried w1000001
+ booked a1 op1 prov1 10:00 30m patient p1
+ retried w0 as w1000001 create_appointment a1 deadline 10:00 look_first
wake
> find w1000001 1 create_appointment a1 op1 prov1 10:00 30m
found w1000001 1 written f1
+ done w1000001 create_appointment a1
+ insert_done a1 f1

story a visit whose old appointment is cancelled stays until its restored replacement was looked up
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
restored
settings pulls=appointments
wake
> find w1 1 *
> pull appointments 0 cursor -
page appointments 0 cursor c1 last -> applied*
| a1 op1 prov1 10:00 30m patient p1 cancelled
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m
found w1 1 written f2
+ done w1 replace a1
+ replaced a1 * by f2 op2 prov1 11:00 30m
+ queued * cancel_replaced a1 *

story a page that shows a restored replacement as cancelled cancels the visit
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
restored
settings pulls=appointments
wake
> find w1 1 *
> pull appointments 0 cursor -
page appointments 0 cursor c1 last -> applied*
| a1 op2 prov1 11:00 30m patient p1 foreign f2 replacement w1 cancelled
expect slot op2 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy
