"""Driver of the openssl command for the interoperability tests: python3 driver.py send|receive PLAN.

openssl makes and reads the S/MIME layers; HTTP and the MIME around them are this script's.
"""

import base64
import email
import email.policy
import hashlib
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import uuid

CIPHERS = {"3des": "-des3", "aes128-cbc": "-aes-128-cbc", "aes192-cbc": "-aes-192-cbc", "aes256-cbc": "-aes-256-cbc",
           "aes128-gcm": "-aes-128-gcm", "aes192-gcm": "-aes-192-gcm", "aes256-gcm": "-aes-256-gcm"}
CRLF = b"\r\n"


def say(**line):
    print(json.dumps(line), flush=True)


def openssl(*args, data=b""):
    done = subprocess.run(["openssl", *args], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError("openssl %s: %s" % (args[0], done.stderr.decode(errors="replace").strip().splitlines()[-1]))
    return done.stdout


def entity(header, body):
    return b"".join(("%s: %s" % h).encode() + CRLF for h in header) + CRLF + body


class Peer:
    def __init__(self, plan):
        self.plan = plan
        self.late = {}
        self.came = threading.Condition()

    def sign(self, part, case):
        args = ["cms", "-sign", "-binary", "-md", case["sign"], "-signer", self.plan["peer_cert"],
                "-inkey", self.plan["peer_key"], "-outform", "DER"]
        if case.get("pss"):
            args += ["-keyopt", "rsa_padding_mode:pss"]
        signature = base64.encodebytes(openssl(*args, data=part)).replace(b"\n", CRLF)
        boundary = "----" + uuid.uuid4().hex
        mark = b"--" + boundary.encode()
        second = entity([("Content-Type", "application/pkcs7-signature; name=smime.p7s"),
                         ("Content-Transfer-Encoding", "base64")], signature)
        body = mark + CRLF + part + CRLF + mark + CRLF + second + CRLF + mark + b"--" + CRLF
        return [("Content-Type", 'multipart/signed; protocol="application/pkcs7-signature"; micalg=%s; boundary="%s"'
                 % (case["sign"], boundary))], body

    def encrypt(self, part, case):
        args = ["cms", "-encrypt", "-binary", CIPHERS[case["encrypt"]], "-outform", "DER"]
        if case.get("oaep"):
            args += ["-recip", self.plan["hub_cert"], "-keyopt", "rsa_padding_mode:oaep",
                     "-keyopt", "rsa_oaep_md:" + case["oaep"]]
        else:
            args += [self.plan["hub_cert"]]
        kind = "authEnveloped-data" if case["encrypt"].endswith("gcm") else "enveloped-data"
        return [("Content-Type", "application/pkcs7-mime; smime-type=%s; name=smime.p7m" % kind)], openssl(*args, data=part)

    def send(self, case):
        digest = case.get("sign") or "sha256"
        header = [("Content-Type", "application/EDIFACT"), ("Content-Disposition", 'attachment; filename="invoice.edi"')]
        body = case["payload"].encode()
        covered = entity(header, body) if case.get("sign") or case.get("encrypt") else body
        if case.get("sign"):
            header, body = self.sign(covered, case)
        if case.get("encrypt"):
            header, body = self.encrypt(entity(header, body), case)
        mic = base64.b64encode(openssl("dgst", "-" + digest, "-binary", data=covered)).decode()
        message_id = "<%s@openssl>" % uuid.uuid4()
        header += [("AS2-Version", "1.2"), ("AS2-From", self.plan["peer_name"]), ("AS2-To", self.plan["hub_name"]),
                   ("Message-ID", message_id), ("MIME-Version", "1.0"), ("Disposition-Notification-To", "openssl@example.com")]
        if case["receipt"] != "unsigned":
            header.append(("Disposition-Notification-Options", "signed-receipt-protocol=required, pkcs7-signature; "
                           "signed-receipt-micalg=required, " + digest))
        if case["receipt"] == "async":
            header.append(("Receipt-Delivery-Option", "http://127.0.0.1:%d/" % self.plan["receipt_port"]))
        status, answer, reply = post(self.plan["hub_url"] + "?case=" + urllib.parse.quote(case["id"]), header, body)
        if status // 100 != 2:
            return "failed", "HTTP %d" % status
        if case["receipt"] == "async":
            answer, reply = self.wait(message_id)
        return self.judge(answer, reply, message_id, mic, case["receipt"] != "unsigned")

    def wait(self, message_id):
        with self.came:
            if not self.came.wait_for(lambda: message_id in self.late, timeout=30):
                raise RuntimeError("no asynchronous receipt came")
            return self.late[message_id]

    def take_receipt(self, header, body):
        found = re.search(rb"(?im)^Original-Message-ID:\s*(.*?)\s*$", body)
        with self.came:
            self.late[found.group(1).decode()] = header, body
            self.came.notify_all()
        return 200, [], b""

    def judge(self, header, body, message_id, mic, signed):
        receipt = header + CRLF + body
        if signed:
            try:
                receipt = self.verify(receipt)
            except RuntimeError as e:
                return "receipt rejected", str(e)
        fields = {}
        for part in email.message_from_bytes(receipt, policy=email.policy.default).walk():
            if part.get_content_type() == "message/disposition-notification":
                for block in part.get_payload():
                    fields.update((name.lower(), value) for name, value in block.items())
        disposition = fields.get("disposition", "").split(";")[-1].strip()
        if fields.get("original-message-id") != message_id:
            return "receipt rejected", "it is for %s" % fields.get("original-message-id")
        if disposition != "processed":
            return "refused", disposition
        if fields.get("received-content-mic", "").split(",")[0] != mic:
            return "receipt rejected", "MIC %s, not %s" % (fields.get("received-content-mic"), mic)
        return "accepted", ""

    def verify(self, whole):
        """Checks a multipart/signed and returns the octets of its first part."""
        message = email.message_from_bytes(whole)
        mark = b"--" + message.get_boundary().encode()
        part = whole.split(CRLF + CRLF, 1)[1].split(mark + CRLF, 1)[1].split(CRLF + mark + CRLF, 1)[0]
        with tempfile.NamedTemporaryFile() as content:
            content.write(part)
            content.flush()
            openssl("cms", "-verify", "-binary", "-inform", "DER", "-content", content.name, "-certfile",
                    self.plan["hub_cert"], "-nointern", "-noverify", "-purpose", "any",
                    data=message.get_payload()[1].get_payload(decode=True))
        return part

    # Receiving: openssl opens the message, and there is no receipt to judge.

    def take_message(self, header, body):
        fields = email.message_from_bytes(header)
        payload = self.open(header + CRLF + body)
        say(message_id=fields["Message-ID"], sha256=hashlib.sha256(payload).hexdigest())
        return 200, [], b""

    def open(self, whole):
        message = email.message_from_bytes(whole)
        kind = message.get_content_type()
        if kind == "application/pkcs7-mime":
            body = whole.split(b"\r\n\r\n", 1)[1]
            if (message["Content-Transfer-Encoding"] or "").lower() == "base64":
                body = base64.b64decode(body)
            return self.open(openssl("cms", "-decrypt", "-binary", "-inform", "DER", "-recip", self.plan["peer_cert"],
                                     "-inkey", self.plan["peer_key"], data=body))
        if kind == "multipart/signed":
            return self.open(self.verify(whole))
        return whole.split(b"\r\n\r\n", 1)[1]


def post(url, header, body):
    target = urllib.parse.urlsplit(url)
    conn = http.client.HTTPConnection(target.hostname, target.port, timeout=30)
    conn.request("POST", target.path + "?" + target.query, body=body, headers=dict(header))
    answer = conn.getresponse()
    content = answer.read()
    fields = b"".join(("%s: %s" % h).encode("latin-1") + CRLF for h in answer.getheaders())
    conn.close()
    return answer.status, fields, content


def serve(port, take):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            header = b"".join(("%s: %s" % h).encode("latin-1") + CRLF for h in self.headers.items())
            try:
                status, fields, answer = take(header, body)
            except Exception as e:
                print(e, file=sys.stderr)
                status, fields, answer = 500, [("Content-Type", "text/plain")], str(e).encode()
            self.send_response(status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_address[1]


def main():
    role, file = sys.argv[1:]
    with open(file) as f:
        plan = json.load(f)
    os.environ["OPENSSL_CONF"] = os.devnull
    peer = Peer(plan)
    if role == "receive":
        say(listening=serve(plan["listen_port"], peer.take_message))
        sys.stdin.read()
        return
    serve(plan["receipt_port"], peer.take_receipt)
    for case in plan["cases"]:
        try:
            if case.get("compress"):
                verdict, detail = "not offered", "built without zlib"
            else:
                verdict, detail = peer.send(case)
        except Exception as e:  # the table shows it
            verdict, detail = "failed", "%s: %s" % (type(e).__name__, e)
        say(case=case["id"], verdict=verdict, detail=detail)


main()
