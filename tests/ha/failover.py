#!/usr/bin/env python3
"""Bookings while the database fails over: two PostgreSQL servers under Patroni (synchronous standby, etcd), one practice-sync.

Run by hand, as root on Debian:

    apt-get install patroni etcd-server python3-psycopg2 postgresql
    tests/ha/failover.py --program target/release/practice-sync --adapter sandbox.wasm [--rounds 3]

`sandbox.wasm` is what `practice-sync adapter build adapters/sandbox --out .` makes. In each round the server that takes writes is killed
with its Patroni (SIGKILL), and started again when the other one has taken over. A client books one after the other, each with a key of
its own, and repeats with the same key what was not answered. Printed: for how long nobody could book, and how many bookings that were
acknowledged are missing at the end, which must be 0. Exit code 1 where it is not.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

KEY, SUBDOMAIN, LOCATION = "psk_of_the_failover", "demo-dental", 101
ETCD, DATABASES, API, REST = (2391, 2392), (5461, 5462), 8461, (8471, 8472)
ADDRESS = f"http://127.0.0.1:{API}"

PATRONI = """
scope: practice-sync
name: {name}
restapi: {{ listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}" }}
etcd3: {{ host: "127.0.0.1:{etcd}" }}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    postgresql: {{ use_pg_rewind: true, parameters: {{ synchronous_commit: "on", max_connections: 100 }} }}
  initdb: [ {{ encoding: UTF8 }}, {{ locale: C }}, data-checksums ]
  pg_hba: [ "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust" ]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  bin_dir: "{binaries}"
  data_dir: "{data}"
  pgpass: "{data}.pgpass"
  authentication:
    superuser: {{ username: postgres, password: x }}
    replication: {{ username: replicator, password: x }}
    rewind: {{ username: rewind, password: x }}
  parameters: {{ unix_socket_directories: "{sockets}" }}
"""

CONFIGURATION = """
data_dir = "{dir}/data"
log = "warn"
[http]
listen = "127.0.0.1:{api}"
slot_token = "12h"
[rate_limits]
per_second = 0
per_minute = 0
[rate_limits.endpoints]
"POST /intent/booking/search" = 0
[engine]
store_engine = "postgres"
[postgres]
url = "postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
tls = "off"
connect_timeout = "2s"
statement_timeout = "5s"
[adapters]
sandbox = "{adapter}"
[[institutions]]
id = 1
subdomain = "{subdomain}"
name = "Demo Dental"
environment = "sandbox"
[[institutions.sources]]
id = 11
name = "Sandbox EHR"
adapter = "sandbox"
base_url = "sandbox:"
[[institutions.locations]]
id = {location}
name = "Main Street"
zone = "America/New_York"
source = 11
foreign_id = "main-street"
"""

KEYS = """
[[keys]]
name = "failover"
sha256 = "{hash}"
environment = "sandbox"
institutions = ["{subdomain}"]
"""


class Servers:
    """Two databases with Patroni, and etcd."""

    def __init__(self, folder):
        self.folder, self.patronis = folder, [None, None]
        versions = pathlib.Path("/usr/lib/postgresql")
        self.binaries = max(versions.iterdir(), key=lambda it: int(it.name)) / "bin"
        shutil.chown(folder, "postgres")
        client, peer = ETCD
        self.etcd = subprocess.Popen(
            ["etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{client}",
             "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}"],
            stdout=open(f"{folder}/etcd.log", "w"), stderr=subprocess.STDOUT)
        time.sleep(2)

    def start(self, number):
        file = self.folder / f"patroni-{number}.yml"
        file.write_text(PATRONI.format(
            name=f"db{number}", rest=REST[number], etcd=ETCD[0], port=DATABASES[number], binaries=self.binaries,
            data=self.folder / f"pg-{number}", sockets=self.folder))
        shutil.chown(file, "postgres")
        log = open(self.folder / f"patroni-{number}.log", "a")
        self.patronis[number] = subprocess.Popen(
            ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--", "patroni", str(file)],
            stdout=log, stderr=subprocess.STDOUT, cwd="/", start_new_session=True)

    def state(self, number):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{REST[number]}/patroni", timeout=2) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as answer:
            return json.loads(answer.read() or b"{}")
        except (OSError, ValueError):
            return {}

    def leader(self):
        leads = [n for n in (0, 1) if self.state(n).get("role") in ("master", "primary")]
        return leads[0] if len(leads) == 1 else None

    def settled(self):
        """Returns whether one server leads and the other follows it synchronously."""
        leader = self.leader()
        if leader is None:
            return False
        following = self.state(leader).get("replication", [])
        return any(it.get("sync_state") in ("sync", "quorum") for it in following)

    def kill(self, number):
        """Kills Patroni and its PostgreSQL, like a power failure."""
        pid = int((self.folder / f"pg-{number}" / "postmaster.pid").read_text().split()[0])
        os.kill(self.patronis[number].pid, signal.SIGKILL)
        for process in [pid, *children(pid)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.patronis[number].wait()

    def stop(self):
        for patroni in filter(None, self.patronis):
            if patroni.poll() is None:
                patroni.send_signal(signal.SIGTERM)
        for patroni in filter(None, self.patronis):
            patroni.wait(60)
        self.etcd.terminate()
        self.etcd.wait(10)


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(it) for it in found]


def wait(what, condition, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.2)
    raise SystemExit(f"it took longer than {seconds} s: {what}")


class Client:
    def __init__(self):
        self.token = KEY
        self.token = f"Bearer {self.call('POST', '/authenticates')[1]['data']['token']}"

    def call(self, method, path, body=None):
        headers = {"Authorization": self.token, "Svc-Api-Version": "v3.0.0", "User-Agent": "failover/1.0"}
        data = json.dumps(body).encode() if body is not None else None
        if data:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(ADDRESS + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or b"{}")

    def at(self, path):
        return f"{path}?subdomain={SUBDOMAIN}&location_id={LOCATION}"


def ready():
    try:
        return urllib.request.urlopen(f"{ADDRESS}/readyz", timeout=2).status == 200
    except OSError:
        return False


def synced(client):
    status, answer = client.call("GET", f"/sync_status?subdomain={SUBDOMAIN}")
    return status == 200 and answer["data"] and all(it["read_status"] == "green" for it in answer["data"])


def slots(client):
    """Returns offers of one provider each, which do not overlap."""
    found, day = [], time.time() + 86_400
    while len(found) < 2_000 and day < time.time() + 120 * 86_400:
        asked = {"start_date": time.strftime("%Y-%m-%d", time.gmtime(day)), "days": 3, "limit": 100}
        status, answer = client.call("POST", client.at("/intent/booking/search"), asked)
        if status != 200:
            raise SystemExit(f"search: {status} {answer}")
        seen = set()
        for slot in answer["slots"]:
            if slot["start_iso"] not in seen:
                seen.add(slot["start_iso"])
                found.append(slot["slot_token"])
        day += 3 * 86_400
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, type=pathlib.Path)
    arguments.add_argument("--adapter", required=True, type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=3)
    asked = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="failover-"))
    folder.chmod(0o755)
    servers = Servers(folder)
    product = None
    try:
        servers.start(0)
        wait("the first database", lambda: servers.leader() == 0)
        servers.start(1)
        wait("a synchronous standby", servers.settled)
        config = folder / "practice-sync.toml"
        config.write_text(CONFIGURATION.format(
            dir=folder, api=API, hosts=",".join(f"127.0.0.1:{port}" for port in DATABASES), subdomain=SUBDOMAIN,
            adapter=asked.adapter.resolve(), location=LOCATION))
        (folder / "keys.toml").write_text(KEYS.format(
            hash=hashlib.sha256(KEY.encode()).hexdigest(), subdomain=SUBDOMAIN))
        log = open(folder / "practice-sync.log", "w")
        product = subprocess.Popen([asked.program.resolve(), "serve", "--config", config], stderr=log)
        wait("the product", ready)
        client = Client()
        wait("the first reading", lambda: synced(client))
        lost = run(servers, client, asked.rounds)
    finally:
        if product:
            product.terminate()
            product.wait(60)
        servers.stop()
    if lost is None or lost:
        print(f"what the servers said is in {folder}")
        sys.exit(1)
    shutil.rmtree(folder)


def run(servers, client, rounds):
    offers = slots(client)
    print(f"{len(offers)} free slots")
    accepted, number = {}, 0

    def book_for(seconds, until=None):
        """Books sequentially and returns the longest time between two acknowledgements."""
        nonlocal number
        end, last, longest, refused = time.monotonic() + seconds, time.monotonic(), 0.0, 0
        while time.monotonic() < end or (until and not until()):
            key = f"failover-{number}"
            body = {"slot_token": offers[number], "idempotency_key": key,
                    "patient": {"first_name": "Rae", "last_name": f"Number{number}", "date_of_birth": "1988-08-08",
                                "phone_number": "+1 555 010 8899", "email": "rae@mail.example"}}
            try:
                status, answer = client.call("POST", client.at("/intent/booking/book"), body)
            except OSError:
                status, answer = 0, {}
            if status == 200:
                accepted[key] = answer["booking"]["booking_ref"]
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
                number += 1
            elif status in (0, 503):
                # Repeated with the same key, because the booking may have been stored.
                refused += 1
                time.sleep(0.1)
            elif status == 409:
                number += 1
            else:
                raise SystemExit(f"booking: {status} {answer}")
        return longest, refused

    longest, refused = book_for(5)
    print(f"undisturbed: {len(accepted)} bookings, the longest pause {longest:.2f} s, {refused} refused")
    for n in range(rounds):
        leader = servers.leader()
        before = len(accepted)
        servers.kill(leader)
        started = time.monotonic()
        longest, refused = book_for(5, until=lambda: servers.leader() == 1 - leader and len(accepted) > before + 20)
        print(f"round {n + 1}: without bookings for {longest:.1f} s, {refused} calls refused, "
              f"{len(accepted) - before} booked within {time.monotonic() - started:.0f} s")
        servers.start(leader)
        wait("the standby is back", servers.settled, 180)
    missing = []
    for key, reference in accepted.items():
        status, answer = client.call("GET", f"/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={reference}")
        if status != 200 or answer["booking"]["booking_ref"] != reference:
            missing.append((key, status))
    print(f"{len(accepted)} bookings acknowledged, {len(missing)} missing")
    return len(missing)


if __name__ == "__main__":
    main()
