// Logs in, fills a basket, logs out, as a browser does, and prints each response.
const base = process.argv[2]
let cookie = ''

async function send(method, path, { body, ...headers } = {}) {
	const response = await fetch(base + path, { method, body, redirect: 'manual', headers: { 'accept-encoding': 'identity', ...headers, ...(cookie && { cookie }) } })
	for (const line of response.headers.getSetCookie()) cookie = line.split(';')[0]
	const text = await response.text()
	const fields = [...response.headers].filter(([name]) => !['age', 'via', 'etag', 'cache-status', 'date', 'alt-svc', 'content-length', 'connection', 'keep-alive', 'transfer-encoding'].includes(name))
	console.log(method, path, response.status, JSON.stringify(fields).replaceAll(/sid=[^;]*/g, 'sid=…'), text.replaceAll(/plain|secure/g, '…'))
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
await send('GET', '/')
await send('GET', '/account')
await send('POST', '/login', { ...form, body: 'user=ada&password=wrong' })
await send('POST', '/login', { ...form, body: 'user=ada&password=sesame' })
await send('GET', '/account')
for (const article of ['tea', 'cups', 'ünïcode']) await send('POST', '/basket', { ...json, body: JSON.stringify({ article }) })
await send('GET', '/account')
await send('POST', '/basket', { ...json, body: '{"article":' })
for (let i = 0; i < 3; i++) await send('GET', '/static/page.html')
await send('GET', '/static/large.bin', { range: 'bytes=1000-1999' })
await send('POST', '/logout')
await send('GET', '/account')
await send('GET', '/throws')
