// The API of a single-page application: sessions, notes of each person, uploads, events, errors.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import express from 'express'
import session from 'express-session'

const app = express()
app.use('/api', (req, res, next) => { res.set('X-Answered-By', 'api'); next() })
app.use(session({ secret: 'of a test', resave: false, saveUninitialized: false, name: 'sid' }))
app.use(express.json())

const notes = new Map() // by person
const own = (req, res, next) => req.session.user ? next() : res.status(401).json({ error: 'log in' })

app.post('/api/login', (req, res) => req.session.regenerate(() => {
	req.session.user = req.body.user
	res.json({ user: req.body.user })
}))
app.get('/api/notes', own, (req, res) => {
	const mine = notes.get(req.session.user) ?? []
	res.json({ user: req.session.user, notes: mine, filler: `only for ${req.session.user} `.repeat(200) }) // worth compressing
})
app.post('/api/notes', own, (req, res) => {
	notes.set(req.session.user, [...notes.get(req.session.user) ?? [], req.body.text])
	res.status(201).json({ count: notes.get(req.session.user).length })
})
app.put('/api/files', own, (req, res) => {
	const hash = createHash('sha256')
	let length = 0
	req.on('data', part => { hash.update(part); length += part.length })
	req.on('end', () => res.json({ length, hash: hash.digest('hex') }))
})

// Each event waits until the page has seen the one before.
let send = () => {}
app.get('/api/events', (req, res) => {
	res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
	send = n => res.write(`data: ${n}\n\n`)
	send(0)
})
app.post('/api/next', (req, res) => { send(Number(req.body.after) + 1); res.json({}) })
app.get('/api/public', (req, res) => res.set('Cache-Control', 'public, max-age=60').json({ time: 'any '.repeat(500) }))
app.get('/api/cookies', (req, res) => res.json({ length: (req.headers.cookie ?? '').length }))
app.get('/api/broken', (req, res) => res.status(500).type('text').send('a stack trace'))
app.post('/api/exit', (req, res) => res.json({}).on('finish', () => process.exit()))

const server = createServer({ maxHeaderSize: 64 << 10 }, app).listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port))
