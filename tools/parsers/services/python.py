"""A WSGI service with parsers of Python: /django, /werkzeug, /starlette, /tornado and /email, the standard library's.

It makes a record of a form that its parser took without an error. It ends when its standard input does.
"""

import asyncio
import hashlib
import json
import os
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

parsers = {}
missing = {}


def load(make):
    try:
        parsers[make.__name__] = make()
    except ImportError as failed:
        missing[make.__name__] = str(failed)


def body(environ):
    length = environ.get("CONTENT_LENGTH")
    return environ["wsgi.input"].read(int(length)) if length else b""


@load
def django():
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIRequest

    settings.configure(DEBUG=False, ALLOWED_HOSTS=["*"])
    import django

    django.setup()

    def parse(environ):
        request = WSGIRequest(environ)
        file = request.FILES["file"]
        return request.POST["name"], file.name, file.read()

    return parse


@load
def werkzeug():
    from werkzeug.wrappers import Request

    def parse(environ):
        request = Request(environ)
        file = request.files["file"]
        return request.form["name"], file.filename, file.read()

    return parse


@load
def starlette():
    import multipart  # noqa: F401, what starlette parses with
    from starlette.datastructures import Headers
    from starlette.formparsers import MultiPartParser

    def parse(environ):
        async def run():
            async def stream():
                yield body(environ)

            headers = Headers({"content-type": environ["CONTENT_TYPE"]})
            form = await MultiPartParser(headers, stream()).parse()
            file = form["file"]
            return form["name"], file.filename, await file.read()

        return asyncio.run(run())

    return parse


@load
def tornado():
    from tornado.httputil import parse_body_arguments

    def parse(environ):
        arguments, files = {}, {}
        parse_body_arguments(environ["CONTENT_TYPE"], body(environ), arguments, files)
        file = files["file"][0]
        return arguments["name"][0].decode(), file["filename"], file["body"]

    return parse


@load
def email():
    from email import errors, message_from_bytes, policy

    def parse(environ):
        text = b"Content-Type: " + environ["CONTENT_TYPE"].encode() + b"\r\n\r\n" + body(environ)
        message = message_from_bytes(text, policy=policy.HTTP)
        for defect in message.defects:
            if isinstance(defect, errors.CloseBoundaryNotFoundDefect):
                raise defect
        parts = {p.get_param("name", header="Content-Disposition"): p for p in message.get_payload()}
        file = parts["file"]
        return parts["name"].get_content().rstrip("\n"), file.get_filename(), file.get_payload(decode=True)

    return parse


def application(environ, start_response):
    parser = environ["PATH_INFO"].split("/")[1]
    try:
        name, filename, data = parsers[parser](environ)
        record = {"parser": parser, "name": name, "filename": filename, "sum": hashlib.sha256(data).hexdigest()}
        with open(os.environ["RECORDS"], "a") as records:
            records.write(json.dumps(record) + "\n")
        start_response("201 Created", [])
        return [json.dumps({"data": {"id": 1, "name": name}}).encode()]
    except Exception as failed:
        start_response("422 Unprocessable Entity", [])
        return [repr(failed).encode()]


class Handler(WSGIRequestHandler):
    def log_message(self, *args):
        pass


server = make_server("127.0.0.1", 0, application, handler_class=Handler)
print(json.dumps({"port": server.server_port, "missing": missing}), flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
