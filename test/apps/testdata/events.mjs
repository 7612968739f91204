// A page that receives events with the browser's EventSource. The server sends the next event when
// the page has acknowledged the last one, so a proxy that holds events back stops the stream.
import { createServer } from 'node:http'

const page = `<!doctype html><title>events</title><link rel="icon" href="data:,"><pre></pre><script>
	const out = document.querySelector('pre')
	const source = new EventSource('/events')
	const take = kind => e => {
		out.textContent += kind + ' ' + e.lastEventId + ' ' + e.data + '\\n'
		if (e.data === 'end') { source.close(); document.body.className = 'done' } else fetch('/acknowledged?id=' + e.lastEventId, { method: 'POST' })
	}
	source.addEventListener('resumed', e => out.textContent += 'resumed ' + e.data + '\\n')
	source.addEventListener('message', take('message'))
	source.addEventListener('price', take('price'))
</script>`

let stream, n = 0
const write = () => {
	if (n === 60) return stream.end('id: 60\ndata: end\n\n')
	if (n % 20 === 19) { n++; stream.write('retry: 10\nid: ' + n + '\ndata: then the server ends the connection\n\n'); return }
	n++
	stream.write(n % 2 ? 'id: ' + n + '\ndata: {"n":' + n + '}\n\n' : ': a comment\nevent: price\nid: ' + n + '\ndata: first line\ndata: second line of ' + n + '\n\n')
}
const server = createServer((req, res) => {
	const url = new URL(req.url, 'http://host')
	if (url.pathname === '/events') {
		stream = res
		res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
		res.write('event: resumed\ndata: after ' + (req.headers['last-event-id'] ?? 'nothing') + '\n\n')
		return write()
	}
	if (url.pathname === '/acknowledged') {
		res.writeHead(204).end()
		if (n % 20 === 0) return stream.end() // the browser connects again
		return write()
	}
	res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(page)
})
server.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port))
