"""A FHIR R4 server for tests: SEKMET on a free port of loopback. It prints its address as a line of JSON and
ends when its standard input closes.

TOKEN  the bearer token that requests need.

Outside the FHIR base, without a token:
GET  /faults     {"writes": n}: the number of modifying requests so far, including those of staff.
POST /workflows  {"workflow": "scheduling.book", "arguments": {...}}: staff of the hospital act; the answer has the resources.
"""
import json
import os
import sys
import tempfile
import threading

import uvicorn
from fastapi import Request
from sekmet.config import ServerAuth, Settings, SimulatorSettings
from sekmet.main import create_app
from sekmet.workflows.registry import REGISTRY, WF
from sekmet.workflows.target import LocalTarget
from starlette.concurrency import run_in_threadpool

data = tempfile.TemporaryDirectory()


class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        settings.base_url = f'http://127.0.0.1:{port}/fhir'
        print(json.dumps({'base_url': settings.base_url}), flush=True)


settings = Settings(
    data_dir=data.name,
    host='127.0.0.1',
    port=0,
    log_inbound=False,
    server_auth=ServerAuth(types=['bearer'], tokens=[os.environ['TOKEN']]),
    simulator=SimulatorSettings(enabled=False),
)
app = create_app(settings)
writes = 0


@app.middleware('http')
async def count(request: Request, answer):
    global writes
    if request.url.path.startswith('/fhir') and request.method not in ('GET', 'HEAD'):
        writes += 1
    return await answer(request)


@app.get('/faults')
def faults():
    return {'writes': writes, 'drop_reply': 0, 'drop_request': 0}


@app.post('/workflows')
async def workflows(request: Request):
    asked = await request.json()
    run = REGISTRY[asked['workflow']].fn
    hospital = WF(app.state.ctx, LocalTarget(app.state.ctx.service))
    return await run_in_threadpool(run, hospital, **asked['arguments'])


def end_with_parent():
    sys.stdin.read()
    data.cleanup()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
Server(uvicorn.Config(app, host='127.0.0.1', port=0, log_level='error')).run()
