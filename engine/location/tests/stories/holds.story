# A hold keeps a slot for one client.

story a hold keeps the slot from others and lets its holder book
hold h1 op1 prov1 10:00 30m -> held until 08:05
+ held h1 op1 prov1 10:00 30m until 08:05
book a1 op1 prov1 10:00 30m patient p1 -> refused slot_taken busy(h1) *
hold h2 op1 prov1 10:15 30m -> refused slot_taken *
book a2 op1 prov1 10:00 30m patient p2 hold h1 -> booked a2
+ hold_ended h1
+ booked a2 *
+ queued w0 *
expect holds none

story a hold is valid beyond the expiry of its offer
hold h1 op1 prov1 10:00 30m expires 08:01 -> held until 08:05
at 2026-12-01T08:04
book a1 op1 prov1 10:00 30m patient p1 hold h1 expires 08:01 -> booked a1

story an expired hold of an expired offer cannot be booked
hold h1 op1 prov1 10:00 30m expires 08:01 -> held until 08:05
at 2026-12-01T08:05
book a1 op1 prov1 10:00 30m patient p1 hold h1 expires 08:01 -> refused slot_expired

story a hold expires and frees the slot
hold h1 op1 prov1 10:00 30m -> held until 08:05
expect wake 08:05
at 2026-12-01T08:05
wake
+ hold_ended h1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1

story a repeated hold changes nothing, and an expired one is renewed
hold h1 op1 prov1 10:00 30m -> held until 08:05
after 1m
hold h1 op1 prov1 10:00 30m -> held until 08:05
+ nothing
at 2026-12-01T08:05
hold h1 op1 prov1 10:00 30m -> held until 08:10
expect holds h1

story a released hold frees the slot, and a second release changes nothing
hold h1 op1 prov1 10:00 30m -> held *
release h1 -> done
+ hold_ended h1
release h1 -> done
+ nothing
expect slot op1 prov1 10:00 30m free

story a hold on an expired, past, taken or closed slot is refused
hold h1 op1 prov1 10:00 30m expires 08:00 -> refused slot_expired
at 2026-12-01T09:00
hold h1 op1 prov1 09:00 30m -> refused slot_expired
hold h1 op1 prov1 19:00 30m -> refused slot_taken outside_hours *
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
hold h1 op1 prov1 10:00 30m -> refused slot_taken busy(a1) *

story the limit on holds prevents one client from holding the whole calendar
settings max_holds=2
hold h1 op1 prov1 10:00 30m -> held *
hold h2 op1 prov1 11:00 30m -> held *
hold h3 op1 prov1 12:00 30m -> refused too_many_holds 2 300s
release h1 -> done
hold h3 op1 prov1 12:00 30m -> held *

story staff may take a held slot, which then cannot be booked with the hold
settings pulls=appointments
hold h1 op1 prov1 10:00 30m -> held *
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
book a1 op1 prov1 10:00 30m patient p1 hold h1 -> refused slot_taken busy(a9) *

story the limit on holds per key leaves room for other keys
settings max_holds_per_key=2
hold h1 op1 prov1 10:00 30m holder k1 -> held *
hold h2 op1 prov1 11:00 30m holder k1 -> held *
after 1m
hold h3 op1 prov1 12:00 30m holder k1 -> refused too_many_holds_of_key 2 240s
hold h3 op1 prov1 12:00 30m holder k2 -> held *
hold h1 op1 prov1 10:00 30m holder k1 -> held *
release h1 -> done
hold h4 op1 prov1 13:00 30m holder k1 -> held *
