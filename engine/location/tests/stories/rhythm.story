# The rhythm of read cycles. The providers work from 08:00 to 18:00.

story without other keys, cycles come every ten minutes at any time
settings pulls=appointments jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
wake
+ cycle_finished next 08:10
after 1m
intent
expect wake 08:10
at 2026-12-01T23:00
wake
page appointments 1 cursor d2 last -> applied
wake
+ cycle_finished next 23:10

story while intents are active and the practice is open, cycles come faster
settings pulls=appointments jitter_percent=0 busy_every=2m
wake
page appointments 0 cursor d1 last -> applied
wake
+ cycle_finished next 08:10
expect wake 08:10
after 1m
intent
expect wake 08:02
at 2026-12-01T08:02
wake
> pull appointments 1 cursor d1
page appointments 1 cursor d2 last -> applied
wake
+ cycle_finished next 08:12
expect wake 08:04

story an intent after the fast pause is followed by a cycle at once
settings pulls=appointments jitter_percent=0 busy_every=2m
wake
page appointments 0 cursor d1 last -> applied
wake
after 5m
intent
expect wake due
wake
> pull appointments 1 cursor d1

story intents count as active for a quarter of an hour
settings pulls=appointments jitter_percent=0 every=1h busy_every=20m
wake
page appointments 0 cursor d1 last -> applied
wake
+ cycle_finished next 09:00
after 1m
intent
expect wake 09:00
at 2026-12-01T08:10
intent
expect wake 08:20

story while the practice is closed, cycles come slower, and one is due when it opens
settings pulls=appointments jitter_percent=0 night_every=4h
at 2026-12-01T20:00
wake
page appointments 0 cursor d1 last -> applied
wake
+ cycle_finished next 2026-12-02T00:00
at 2026-12-02T05:00
wake
page appointments 1 cursor d2 last -> applied
wake
+ cycle_finished next 08:00
at 2026-12-02T08:00
wake
page appointments 2 cursor d3 last -> applied
wake
+ cycle_finished next 08:10

story after a long night, the random extension is at most a usual pause
settings pulls=appointments jitter_percent=10 night_every=14h
at 2026-12-01T20:00
wake
page appointments 0 cursor d1 last -> applied
wake
+ cycle_finished next 2026-12-02T08:07:45.304

story an intent at night ends the slow rhythm, but does not start the fast one
settings pulls=appointments jitter_percent=0 busy_every=1m night_every=4h
at 2026-12-01T20:00
wake
page appointments 0 cursor d1 last -> applied
wake
expect wake 2026-12-02T00:00
after 2m
intent
expect wake 20:10

story the fast rhythm waits for the quota
settings pulls=appointments jitter_percent=0 busy_every=30s burst=1 per_minute=1
wake
page appointments 0 cursor d1 last -> applied
wake
after 5s
intent
expect wake 08:01

story the fast rhythm does not shorten the pause before a confirming pass
settings pulls=appointments! jitter_percent=0 busy_every=5m
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
intent
wake
+ cycle_finished next 08:02
expect wake 08:02
