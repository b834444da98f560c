// Driver of libas2 for the interoperability tests: node driver.js send|receive PLAN.
'use strict'

const crypto = require('crypto')
const fs = require('fs')
const http = require('http')
const { AS2Composer, AS2Crypto, AS2Parser, request } = require('libas2')

const CIPHERS = {
  '3des': 'des-EDE3-CBC',
  'aes128-cbc': 'aes128-CBC',
  'aes192-cbc': 'aes192-CBC',
  'aes256-cbc': 'aes256-CBC',
  'aes128-gcm': 'aes128-GCM',
  'aes192-gcm': 'aes192-GCM',
  'aes256-gcm': 'aes256-GCM'
}

const plan = JSON.parse(fs.readFileSync(process.argv[3]))
const keys = {
  peerCert: fs.readFileSync(plan.peer_cert, 'utf8'),
  peerKey: fs.readFileSync(plan.peer_key, 'utf8'),
  hubCert: fs.readFileSync(plan.hub_cert, 'utf8')
}
const late = new Map() // Message-ID: the asynchronous receipt

const say = line => process.stdout.write(JSON.stringify(line) + '\n')

const agreement = c => ({
  host: {
    name: plan.peer_name,
    id: plan.peer_name,
    url: `http://127.0.0.1:${plan.receipt_port}/`,
    certificate: keys.peerCert,
    privateKey: keys.peerKey,
    sign: c.sign ? digest(c) : false,
    mdn: { async: c.receipt === 'async', signing: digest(c) }
  },
  partner: {
    name: plan.hub_name,
    id: plan.hub_name,
    url: plan.hub_url + '?case=' + encodeURIComponent(c.id),
    certificate: keys.hubCert,
    encrypt: c.encrypt ? CIPHERS[c.encrypt] : false,
    verify: true,
    mdn: { signing: digest(c) }
  }
})

const digest = c => (c.sign || 'sha256').replace('sha', 'sha-')

// words of an error: the library also rejects with strings.
const words = error => String((error && error.message) || error)

// Sending.

function lacks (c) {
  if (c.compress) return 'has no compression'
  if (c.pss) return 'has no PSS'
  if (c.oaep) return 'has OAEP with SHA-512 only, and no setting for it'
  if (c.encrypt && !CIPHERS[c.encrypt]) return 'has no ' + c.encrypt
  if (c.receipt === 'unsigned') return 'always asks for a signed receipt'
  return ''
}

async function send (c) {
  const composer = new AS2Composer({
    message: { filename: 'invoice.edi', contentType: 'application/EDIFACT', content: c.payload },
    agreement: agreement(c)
  })
  const options = await composer.toRequestOptions()
  const response = await request(options)
  if (response.statusCode >= 300) return ['failed', 'HTTP ' + response.statusCode]
  const id = composer.message.messageId()
  const receipt = c.receipt === 'async' ? await wait(id) : await response.mime()
  return judge(c, receipt, id, await mic(c, composer))
}

// mic is the digest by the library itself; it has one for signed messages only.
async function mic (c, composer) {
  if (!c.sign || c.encrypt) return undefined
  const node = await AS2Parser.parse(await composer.message.build())
  const found = await AS2Crypto.verify(node, { cert: keys.peerCert }, true)
  return found && found.digest.toString('base64')
}

async function judge (c, receipt, id, expected) {
  let disposition
  try {
    disposition = await receipt.dispositionIn({ cert: keys.hubCert })
  } catch (error) {
    return ['receipt rejected', words(error)]
  }
  const n = disposition.notification
  if (n.originalMessageId !== id) return ['receipt rejected', 'it is for ' + n.originalMessageId]
  if (!n.disposition.processed || n.disposition.description) {
    const d = n.disposition.description || {}
    return ['refused', `processed/${d.type}: ${d.text}`]
  }
  const got = n.receivedContentMic && n.receivedContentMic.mic
  if (expected && got !== expected) return ['receipt rejected', `MIC ${got}, not ${expected}`]
  return ['accepted', expected ? '' : 'the library has no content digest of its own for this packaging']
}

async function wait (id) {
  for (let i = 0; i < 100; i++) {
    if (late.has(id)) return late.get(id)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error('no asynchronous receipt came')
}

// parse hands the message on as octets: given apart, a body is read as UTF-8.
function parse (headers, body) {
  let head = ''
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return AS2Parser.parse(Buffer.concat([Buffer.from(head + '\r\n', 'latin1'), body]))
}

async function takeReceipt (headers, body) {
  const receipt = await parse(headers, body)
  const disposition = await receipt.dispositionIn()
  late.set(disposition.notification.originalMessageId, receipt)
  return { headers: {}, body: '' }
}

// Receiving.

async function takeMessage (headers, body) {
  const node = await parse(headers, body)
  const encrypted = node.smime && node.encrypted
  const inner = encrypted ? await node.decrypt({ cert: keys.peerCert, key: keys.peerKey }) : node
  const c = { sign: requested(node) }
  const a = agreement(c)
  a.host.decrypt = encrypted
  a.host.sign = digest(c)
  a.partner.verify = inner.signed
  const { contentNode, dispositionNode } = await node.dispositionOut({ agreement: a })
  if (contentNode) {
    const payload = Buffer.isBuffer(contentNode.content) ? contentNode.content : Buffer.from(contentNode.content || '')
    say({ message_id: node.messageId(), sha256: crypto.createHash('sha256').update(payload).digest('hex') })
  }
  const answer = await dispositionNode.buildObject()
  const asynchronous = node.getHeader('Receipt-Delivery-Option')
  if (asynchronous) {
    setImmediate(() => request({ url: asynchronous, headers: answer.headers, body: answer.body, method: 'POST' }).catch(console.error))
    return { headers: {}, body: '' }
  }
  return answer
}

// requested is the digest that the sender asks for.
function requested (node) {
  const options = node.getHeader('Disposition-Notification-Options') || ''
  return options.split(',').pop().trim().toLowerCase().replace('-', '') || 'sha256'
}

function serve (port, take) {
  const server = http.createServer((req, res) => {
    const chunks = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', async () => {
      try {
        const answer = await take(req.rawHeaders, Buffer.concat(chunks))
        res.writeHead(200, answer.headers)
        res.end(answer.body)
      } catch (error) {
        console.error(error)
        res.writeHead(500, { 'Content-Type': 'text/plain' })
        res.end(words(error))
      }
    })
  })
  return new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
}

async function main () {
  if (process.argv[2] === 'receive') {
    await serve(plan.listen_port, takeMessage)
    say({ listening: `http://127.0.0.1:${plan.listen_port}/` })
    process.stdin.on('end', () => process.exit(0)).resume()
    return
  }
  await serve(plan.receipt_port, takeReceipt)
  for (const c of plan.cases) {
    let verdict, detail
    try {
      detail = lacks(c)
      ;[verdict, detail] = detail ? ['not offered', detail] : await send(c)
    } catch (error) {
      console.error(error)
      ;[verdict, detail] = ['failed', words(error)]
    }
    say({ case: c.id, verdict, detail })
  }
  process.exit(0)
}

main()
