// A shop: static files, sessions, a form, JSON, streams and errors. Its first argument is the folder
// of static files.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import express from 'express'
import session from 'express-session'

const app = express()
app.set('trust proxy', 'loopback')

app.use('/static', express.static(process.argv[2], { maxAge: '1h' }))
app.use('/revalidated', express.static(process.argv[2])) // max-age=0 and an ETag
app.use('/listed', express.static(process.argv[2], { immutable: true, maxAge: '1y', acceptRanges: false, index: 'page.html', extensions: ['html'] }))

// echo answers with everything that the application learns from a request.
const own = /^(x-forwarded-.*|forwarded|via|cdn-loop|traceparent|tracestate|connection|keep-alive|transfer-encoding|content-length|te|surrogate-capability)$/
const conditions = /^(if-none-match|if-modified-since|range|if-range)$/ // a cache evaluates them itself
app.all('/echo{/*rest}', (req, res) => {
	const hash = createHash('sha256')
	let length = 0
	req.on('data', part => { hash.update(part); length += part.length })
	req.on('end', () => {
		const fields = []
		for (let i = 0; i < req.rawHeaders.length; i += 2) {
			const name = req.rawHeaders[i].toLowerCase()
			if (own.test(name) || conditions.test(name) && ['GET', 'HEAD'].includes(req.method)) continue
			fields.push(name + ': ' + req.rawHeaders[i + 1])
		}
		res.set('Cache-Control', 'no-store')
		res.type('json').end(JSON.stringify({ method: req.method, url: req.originalUrl, fields: fields.sort(), length, hash: hash.digest('hex') }))
	})
	req.on('error', () => res.destroy())
})

app.use(session({ secret: 'of a test', resave: false, saveUninitialized: false, name: 'sid' }))
app.use(express.urlencoded({ extended: true }))
app.use(express.json())

app.post('/login', (req, res) => {
	if (req.body?.password !== 'sesame') return res.status(401).set('WWW-Authenticate', 'Basic realm="shop"').send('wrong password\n')
	req.session.regenerate(() => {
		req.session.user = req.body.user
		req.session.basket = []
		res.redirect(303, req.protocol + '://' + req.get('host') + '/account')
	})
})
app.get('/account', (req, res) => {
	if (!req.session.user) return res.redirect('/login')
	res.send(`<p>${req.session.user} at ${req.hostname}, ${req.secure ? 'secure' : 'plain'}: ${JSON.stringify(req.session.basket)}</p>`)
})
app.post('/basket', (req, res) => {
	if (!req.session.user) return res.status(403).json({ error: 'no session' })
	req.session.basket.push(req.body.article)
	res.status(201).location('/basket/' + req.session.basket.length).json(req.session.basket)
})
app.post('/logout', (req, res) => req.session.destroy(() => res.clearCookie('sid').redirect('/')))
app.get('/login', (req, res) => res.send('<form method=post><input name=user><input name=password type=password></form>'))

app.get('/', (req, res) => res.set('Cache-Control', 'public, max-age=60').send('<h1>shop</h1>'))
app.get('/json', (req, res) => res.json({ q: req.query }))
app.get('/shared', (req, res) => res.set('Cache-Control', 'public, s-maxage=300, max-age=0').set('Vary', 'Accept-Language').send(`for ${req.get('accept-language')}: ${req.originalUrl}`))
app.get('/personal', (req, res) => res.set('Cache-Control', 'private, max-age=60').send('for ' + req.get('authorization')))
app.get('/cookie', (req, res) => res.cookie('seen', 'yes', { httpOnly: true }).cookie('last', String(req.query.n)).send('two cookies'))
app.get('/streamed/:parts', (req, res) => {
	res.set('Content-Type', 'text/plain')
	let n = 0
	const next = () => n < Math.min(req.params.parts, 200) ? (res.write('part ' + n++ + ' '.repeat(n % 7) + '\n'), setImmediate(next)) : res.end()
	next()
})
app.get('/coded', (req, res) => {
	const text = 'a text that compresses well. '.repeat(200)
	res.vary('Accept-Encoding').type('text').set('Cache-Control', 'public, max-age=60')
	if (req.acceptsEncodings('gzip')) return res.set('Content-Encoding', 'gzip').send(gzipSync(text))
	res.send(text)
})
app.get('/status/:code', (req, res) => res.status(+req.params.code).set('X-Code', req.params.code).end([204, 205, 304].includes(+req.params.code) ? undefined : 'status ' + req.params.code))
app.get('/moved', (req, res) => res.redirect(301, '/static/page.html?from=' + encodeURIComponent(req.originalUrl)))
app.get('/fields', (req, res) => {
	res.append('X-Several', ['one', 'two, three']).append('Link', '</a>; rel=preload').append('Link', '</b>; rel=preload')
	res.set('X-Empty', '').set('X-Latin', 'caf\xe9').set('Server-Timing', 'db;dur=1').set('Content-Security-Policy', "default-src 'self'").send('fields')
})
app.get('/download', (req, res) => res.attachment('a file – b.txt').send('downloaded'))
app.get('/throws', () => { throw Object.assign(new Error('of the application'), { status: 500, expose: true }) })
app.use((req, res) => res.status(404).type('text').send('no page ' + req.method + ' ' + req.originalUrl))
app.use((err, req, res, next) => res.status(err.status ?? 500).type('text').send('error: ' + err.message))

const server = app.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port))
// Node would close a connection after 5 s without a request, perhaps while the edge sends a POST over
// it, which can't be repeated: on a slow machine the test would see that 502.
server.keepAliveTimeout = 120_000
