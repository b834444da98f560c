"""Driver of pyas2lib for the interoperability tests: python driver.py send|receive PLAN."""

import hashlib
import http.client
import http.server
import json
import re
import sys
import threading
import urllib.parse

# oscrypto 1.3.0, below pyas2lib, cannot read the version of an OpenSSL with two
# digits in it ("3.0.19").
search = re.search
re.search = lambda pattern, text, flags=0: search(
    pattern.replace(r"\d\.\d\.\d[a-z]*", r"\d+\.\d+\.\d+[a-z]*") if isinstance(pattern, str) else pattern, text, flags)

from pyas2lib import as2  # noqa: E402

re.search = search

CIPHERS = {"3des": "tripledes_192_cbc", "aes128-cbc": "aes_128_cbc",
           "aes192-cbc": "aes_192_cbc", "aes256-cbc": "aes_256_cbc"}


def say(**line):
    print(json.dumps(line), flush=True)


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Peer:
    def __init__(self, plan):
        self.plan = plan
        self.cert = read(plan["peer_cert"])
        self.hub = read(plan["hub_cert"])
        self.pem = read(plan["peer_key"]) + self.cert
        self.sent = {}      # Message-ID without brackets: message
        self.late = {}      # the same: (status, detail) of an asynchronous receipt
        self.came = threading.Condition()

    def organization(self):
        url = "http://127.0.0.1:%d/" % self.plan["receipt_port"]
        return as2.Organization(as2_name=self.plan["peer_name"], sign_key=self.pem, sign_key_pass=None,
                                decrypt_key=self.pem, decrypt_key_pass=None, mdn_url=url, domain="pyas2lib")

    def partner(self, case):
        return as2.Partner(
            as2_name=self.plan["hub_name"], verify_cert=self.hub, encrypt_cert=self.hub,
            compress=bool(case.get("compress")),
            sign=bool(case.get("sign")), digest_alg=case.get("sign") or "sha256",
            sign_alg="rsassa_pss" if case.get("pss") else "rsassa_pkcs1v15",
            encrypt=bool(case.get("encrypt")), enc_alg=CIPHERS.get(case.get("encrypt"), "aes_256_cbc"),
            mdn_mode="ASYNC" if case["receipt"] == "async" else "SYNC",
            mdn_digest_alg=None if case["receipt"] == "unsigned" else case.get("sign") or "sha256")

    # Sending.

    def offers(self, case):
        if case.get("compress") == "after":
            return "compresses before signing only"
        if case.get("encrypt") and case["encrypt"] not in CIPHERS:
            return "has no " + case["encrypt"]
        if case.get("oaep"):
            return "has OAEP but no setting of a message leads to it"
        return ""

    def send(self, case):
        message = as2.Message(self.organization(), self.partner(case))
        message.build(case["payload"].encode(), filename="invoice.edi", content_type="application/EDIFACT")
        self.sent[message.message_id] = message
        status, body, header = self.post(self.plan["hub_url"] + "?case=" + urllib.parse.quote(case["id"]), message)
        if status // 100 != 2:
            return "failed", "HTTP %d" % status
        if case["receipt"] == "async":
            return self.verdict(*self.wait(message.message_id))
        return self.verdict(*self.judge(header, body))

    def post(self, url, message):
        target = urllib.parse.urlsplit(url)
        conn = http.client.HTTPConnection(target.hostname, target.port, timeout=30)
        conn.request("POST", target.path + "?" + target.query, body=message.content, headers=message.headers)
        answer = conn.getresponse()
        body = answer.read()
        header = "".join("%s: %s\r\n" % h for h in answer.getheaders())
        conn.close()
        return answer.status, body, header

    def judge(self, header, body):
        return as2.Mdn().parse(header.encode("latin-1") + b"\r\n" + body, lambda id, _: self.sent.get(id))

    def verdict(self, status, detail):
        if status == "processed":
            return "accepted", ""
        words = "%s: %s" % (status, detail) if detail else str(status)
        if status and status.startswith("processed/") and detail != "Message Integrity check failed.":
            return "refused", words
        return "rejected" if status else "failed", words

    def wait(self, message_id):
        with self.came:
            self.came.wait_for(lambda: message_id in self.late, timeout=30)
            return self.late.get(message_id, (None, "no asynchronous receipt came"))

    def take_receipt(self, header, body):
        mdn = as2.Mdn()
        status = mdn.parse(header + b"\r\n" + body, lambda id, _: self.sent.get(id))
        with self.came:
            self.late[mdn.orig_message_id] = status
            self.came.notify_all()
        return 200, [], b""

    # Receiving.

    def take_message(self, header, body):
        message = as2.Message()
        lenient = {"receipt": "sync"}
        status, (exception, _), mdn = message.parse(
            header + b"\r\n" + body, find_org_cb=lambda _: self.organization(),
            find_partner_cb=lambda _: self.partner(lenient))
        if status == "processed":
            payload = message.payload.get_payload(decode=True)
            say(message_id="<%s>" % message.message_id, sha256=hashlib.sha256(payload).hexdigest())
        else:
            print(exception, file=sys.stderr)
        if mdn is None:
            return 200, [], b""
        if mdn.mdn_mode == "ASYNC":
            threading.Thread(target=self.post, args=(mdn.mdn_url, mdn)).start()
            return 200, [], b""
        return 200, list(mdn.headers.items()), mdn.content


def serve(port, take):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            header = "".join("%s: %s\r\n" % h for h in self.headers.items())
            status, fields, answer = take(header.encode("latin-1"), body)
            self.send_response(status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_address[1]


def main():
    role, file = sys.argv[1:]
    plan = json.loads(read(file))
    peer = Peer(plan)
    if role == "receive":
        say(listening=serve(plan["listen_port"], peer.take_message))
        sys.stdin.read()
        return
    serve(plan["receipt_port"], peer.take_receipt)
    for case in plan["cases"]:
        try:
            missing = peer.offers(case)
            verdict, detail = ("not offered", missing) if missing else peer.send(case)
        except Exception as e:  # the table shows it
            verdict, detail = "failed", "%s: %s" % (type(e).__name__, e)
        say(case=case["id"], verdict="receipt rejected" if verdict == "rejected" else verdict, detail=detail)


main()
