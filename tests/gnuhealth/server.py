"""A GNU Health server on a free port of loopback, started like `trytond`. It prints its address as a line of JSON and ends
when its standard input closes. usage: server.py CONFIGURATION"""
import json
import os
import sys
import threading

from trytond.config import config

config.update_etc(sys.argv[1])

from trytond.pool import Pool  # noqa: E402
from trytond.wsgi import app  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402


class Quiet(WSGIRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log(self, *_):
        pass


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


Pool.start()
Pool('gnuhealth').init()
server = make_server('127.0.0.1', 0, app, threaded=True, request_handler=Quiet)
threading.Thread(target=end_with_parent, daemon=True).start()
print(json.dumps({'port': server.port}), flush=True)
server.serve_forever()
