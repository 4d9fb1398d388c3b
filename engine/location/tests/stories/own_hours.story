# Local working hours, with an EHR that supports writing them.

story local hours offer slots at once and are sent to the EHR
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
+ hour_set 50
+ queued w0 create hours 50 ordered_by hours/50 deadline 2026-12-04T08:00
expect hours 11 12 21 22 31 32 50
expect told none
wake
> push w0 1 create hours 50
pushed w0 1 written f50
+ done w0 create hours 50
expect told 50 until 18
set_hour 50 op4 prov1 -> saved
+ nothing
set_hour 50 op4 prov1 until 17 -> saved
+ hour_set 50
+ queued w1 update hours 50 ordered_by hours/50 deadline 2026-12-04T08:00
expect told 50 until 18
wake
pushed w1 1 written f50
expect told 50 until 17
remove_hour 50 -> saved
+ hour_removed 50
+ queued w2 delete hours 50 ordered_by hours/50 deadline 2026-12-04T08:00
expect hours 11 12 21 22 31 32
expect told 50 until 17
wake
> push w2 1 delete hours 50
pushed w2 1 written f50
expect told none

story hours and their changes stay local if the EHR does not support hours
settings hours=update,delete
set_hour 50 op4 prov1 -> saved here
+ hour_set 50
set_hour 50 op4 prov1 until 17 -> saved here
expect queue none
remove_hour 50 -> saved here
+ hour_removed 50

story local hours are sent with their next change once the EHR supports hours
set_hour 50 op4 prov1 -> saved here
settings hours=create
set_hour 50 op4 prov1 until 17 -> saved
+ hour_set 50
+ queued w0 create hours 50 ordered_by hours/50 deadline 2026-12-04T08:00

story hours that the EHR cannot have stay local
settings hours=create,update,delete
set_hour 50 op4 prov1 here_only -> saved here
+ hour_set 50
set_hour 51 op4 prov1 -> saved
set_hour 51 op4 prov1 until 17 here_only -> saved here
+ hour_set 51
+ failed w0 create hours 51 withdrawn *
expect queue none

story hours in the EHR cannot be changed locally only
settings hours=create
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
set_hour 50 op4 prov1 until 17 -> refused not_supported_by_ehr
+ nothing
remove_hour 50 -> refused not_supported_by_ehr
+ nothing
settings hours=create,update,delete
set_hour 50 op4 prov1 until 17 here_only -> refused not_supported_by_ehr

story an unsent write carries later changes, and is withdrawn if the hours are removed
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
set_hour 50 op4 prov1 until 17 -> saved
+ hour_set 50
expect queue w0
remove_hour 50 -> saved here
+ hour_removed 50
+ failed w0 create hours 50 withdrawn "removed before it was sent"
expect queue none

story hours that the EHR refuses offer no slots
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
set_hour 50 op4 prov1 until 17 -> saved
pushed w0 1 rejected "no such chair"
+ failed w0 create hours 50 failed "no such chair"
+ failed w1 update hours 50 failed "no such chair"
+ hour_removed 50
expect hours 11 12 21 22 31 32
set_hour 50 op4 prov1 until 16 -> saved
+ hour_set 50
+ queued w2 create hours 50 ordered_by hours/50 *

story a refused change is reverted, unless another one follows
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
set_hour 50 op4 prov1 until 17 -> saved
wake
set_hour 50 op4 prov1 until 16 -> saved
pushed w1 1 rejected "too short"
+ failed w1 update hours 50 failed "too short"
expect hour 50 until 16
wake
pushed w2 1 rejected "too short"
+ failed w2 update hours 50 failed "too short"
+ hour_reverted 50 "too short"
expect hour 50 until 18

story a refused removal restores the hours
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
set_hour 50 op4 prov1 until 17 -> saved
remove_hour 50 -> saved
+ hour_removed 50
+ failed w1 update hours 50 withdrawn *
+ queued w2 delete hours 50 *
wake
pushed w2 1 rejected "in use"
+ failed w2 delete hours 50 failed "in use"
+ hour_reverted 50 "in use"
expect hour 50 until 18

story hours of unknown outcome are looked up
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 unknown "lost"
set_hour 50 op4 prov1 until 17 -> saved
+ hour_set 50
+ queued w1 update hours 50 *
after 5s
wake
> find w0 2 create hours 50
found w0 2 written f50
expect told 50 until 18
wake
> push w1 1 update hours 50

story hours removed by staff before their write was answered cause a whole pass
settings hours=create,update,delete pulls=hours
wake
page hours 0 cursor c1 last -> applied
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 unknown "lost"
sync
wake
page hours 1 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 2 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 3 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 4 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 5 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 6 cursor c2 last unmatched 1 -> ignored
sync
wake
page hours 7 cursor c2 last unmatched 1 -> applied
wake
sync
wake
> pull hours 8 cursor c2
page hours 8 cursor c2 last -> applied
wake
after 1m
wake
found w0 2 written f50
expect hours 11 12 21 22 31 32 50
sync
wake
+ cycle_started
+ read_anew hours
+ pulling hours *
> pull hours 9 cursor -
page hours 9 cursor c2 last -> applied
| deleted 50
expect hours 11 12 21 22 31 32

story hours removed while their outcome is unknown are not sent again
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 unknown "lost"
remove_hour 50 -> saved
+ hour_removed 50
+ queued w1 delete hours 50 *
after 5s
wake
found w0 2 nothing
+ failed w0 create hours 50 withdrawn *
+ failed w1 delete hours 50 withdrawn *
expect queue none
expect told none

story a pull shows local hours as local
settings hours=create,update,delete pulls=hours!
set_hour 50 op4 prov1 -> saved
wake
> push w0 1 create hours 50
> pull hours 0 cursor -
page hours 0 last whole unmatched 1 -> ignored
| hour 60 op4 prov1
| seen 11 12 21 22 31 32
+ pull_put_off hours until * "waiting for a record that is still being written"
pushed w0 1 written f50
after 5m
wake
> pull hours 1 cursor -
page hours 1 last whole -> applied
| hour 50 op4 prov1 ours
| seen 11 12 21 22 31 32
+ page_applied hours cursor * last
expect hours 11 12 21 22 31 32 50

story staff change and remove local hours in the EHR
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
settings pulls=hours
wake
> pull hours 0 cursor -
page hours 0 last -> applied
| hour 50 op4 prov1 until 12 ours
+ hour 50
+ page_applied hours *
expect hour 50 until 12
expect told 50 until 12
wake
sync
wake
> pull hours 1 cursor *
set_hour 50 op4 prov1 until 11 -> saved
page hours 1 last -> applied
| deleted 50
+ failed w1 update hours 50 withdrawn "removed in the EHR"
+ hour_gone 50
+ record_gone hours 50
+ page_applied hours *
expect told none

story pulled values of hours with a pending change apply if the change is refused
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
settings pulls=hours
wake
> pull hours 0 cursor -
set_hour 50 op4 prov1 until 17 -> saved
page hours 0 last -> applied
| hour 50 op4 prov1 until 12 ours
+ hour_shown 50
+ page_applied hours *
expect hour 50 until 17
wake
pushed w1 1 rejected "no"
+ failed w1 update hours 50 failed "no"
+ hour_reverted 50 "no"
expect hour 50 until 12

story a change that staff may have overwritten is sent again
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
settings pulls=hours
wake
> pull hours 0 cursor -
set_hour 50 op4 prov1 until 17 -> saved
wake
page hours 0 last -> applied
| hour 50 op4 prov1 until 12 ours
+ hour_shown 50
+ page_applied hours *
pushed w1 1 written f50
+ done w1 update hours 50
+ queued w2 update hours 50 ordered_by hours/50 *
wake
pushed w2 1 written f50
+ done w2 update hours 50
expect hour 50 until 17

story a page older than a write made meanwhile is read again
settings hours=create,update,delete pulls=hours
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 written f50
page hours 0 -> applied
| hour 50 op4 prov1 ours
remove_hour 50 -> saved
wake
pushed w1 1 written f50
page hours 1 last -> ignored
| hour 50 op4 prov1 until 12 ours
+ pulling hours 2 until *
page hours 2 last -> applied
expect hours 11 12 21 22 31 32
expect told none

story hours shown before their write was answered become one record
settings hours=create,update,delete pulls=hours
set_hour 50 op4 prov1 -> saved
wake
page hours 0 last -> applied
| hour 60 op4 prov1 until 12
pushed w0 1 written f60
hour_twin_found 60 by 50 op4 prov1 until 12
+ hour_gone 60
+ hour 50
expect hours 11 12 21 22 31 32 50
expect hour 50 until 12

story hours removed before their write was answered are removed
settings hours=create,update,delete
set_hour 50 op4 prov1 -> saved
wake
set_hour 50 op4 prov1 until 17 -> saved
pushed w0 1 written f60
hour_twin_found 60 gone 50
+ failed w1 update hours 50 withdrawn *
+ hour_gone 50
+ record_gone hours 50
expect hours 11 12 21 22 31 32

story a full queue refuses hours
settings hours=create,update,delete max_queue=1
set_hour 50 op4 prov1 -> saved
set_hour 51 op4 prov1 -> refused queue_full 1

story a change whose deadline passes with the look-up of the hours ends once, together with them
settings hours=create,update,delete deadline=1h
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 unknown "reset"
at 2026-12-01T08:59:50
set_hour 50 op4 prov1 until 17 -> saved
at 2026-12-01T09:59:45
wake
> find w0 2 *
after 30s
wake
+ failed w0 create hours 50 failed *
+ failed w1 update hours 50 failed *
+ hour_removed 50
expect queue none
