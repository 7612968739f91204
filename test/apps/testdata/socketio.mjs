// A chat with socket.io: echoes, rooms, uploads, and an announcement of each client.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { Server } from 'socket.io'

const http = createServer()
const io = new Server(http, { maxHttpBufferSize: 32e6 })
io.on('connection', socket => {
	socket.emit('welcome', socket.conn.transport.name)
	socket.on('echo', (...args) => args.pop()(...args))
	socket.on('join', (room, done) => { socket.join(room); done() })
	socket.on('say', (room, text) => io.to(room).emit('said', text))
	socket.on('upload', (bytes, done) => done(bytes.length, createHash('sha256').update(bytes).digest('hex')))
	socket.on('download', (n, done) => done(Buffer.alloc(n, 'a text that repeats itself; ')))
	socket.on('later', (ms, done) => setTimeout(done, ms, 'later'))
	socket.on('leave', () => socket.disconnect(true))
})
http.listen(0, '127.0.0.1', () => console.log('listening ' + http.address().port))
