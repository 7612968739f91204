// Talks to the chat with each transport of socket.io. The second argument is the time in ms that the
// server is silent for.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { io } from 'socket.io-client'

const [base, silence] = process.argv.slice(2)
const show = (...values) => console.log(...values)

async function talk(name, transports, upgrade) {
	const options = { transports, upgrade, forceNew: true, reconnection: false }
	const a = io(base, options), b = io(base, options)
	for (const socket of [a, b]) socket.on('connect_error', e => { show(name, 'refused:', e.message, e.description ?? ''); process.exit(1) })
	const [first] = await Promise.all([once(a, 'welcome'), once(b, 'welcome')])
	show(name, 'welcome by', ...first)
	if (upgrade) {
		while (a.io.engine.transport.name !== 'websocket') await new Promise(done => a.io.engine.once('upgrade', done))
		show(name, 'upgraded to', a.io.engine.transport.name)
	}
	for (let i = 0; i < 20; i++) show(name, 'echo', JSON.stringify(await a.emitWithAck('echo', i, { text: 'ünïcode '.repeat(i) })))
	const bytes = Buffer.alloc(3_000_000, 'some bytes')
	show(name, 'upload', ...(await new Promise(done => a.emit('upload', bytes, (...args) => done(args)))))
	const back = await a.emitWithAck('download', 2_000_000)
	show(name, 'download', back.length, createHash('sha256').update(back).digest('hex'))
	await Promise.all([a.emitWithAck('join', 'tea'), b.emitWithAck('join', 'tea')])
	const heard = [[], []]
	const all = Promise.all([a, b].map((socket, i) => new Promise(done => socket.on('said', text => heard[i].push(text) === 50 && done()))))
	for (let i = 0; i < 50; i++) a.emit('say', 'tea', 'message ' + i)
	await all
	show(name, 'heard', JSON.stringify(heard))
	show(name, 'after a silence:', await b.emitWithAck('later', +silence))
	b.emit('leave')
	show(name, 'left:', (await once(b, 'disconnect'))[0])
	a.disconnect()
}

await talk('long polling', ['polling'], false)
await talk('WebSocket', ['websocket'], false)
await talk('both', ['polling', 'websocket'], true)
process.exit(0)
