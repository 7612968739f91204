// A single-page application: its pages have addresses without files, and its data come from /api.
import './style.css'

const main = document.querySelector('main')
const call = async (path, options) => {
	const response = await fetch('/api' + path, options)
	return response.ok ? response.json() : { failed: response.status, problem: await response.json().catch(() => null) }
}
const json = body => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

const route = async () => {
	const [, page, id] = location.pathname.split('/')
	if (page === 'people') (await import('./people.js')).show(main, id)
	else if (page === 'notes') main.textContent = JSON.stringify(await call('/notes'))
	else main.textContent = 'home'
}
document.addEventListener('click', event => {
	if (!event.target.matches('a')) return
	event.preventDefault()
	history.pushState(null, '', event.target.href)
	route()
})
addEventListener('popstate', route)
route()

// The test acts by these.
window.app = {
	call,
	logIn: user => call('/login', json({ user })),
	write: text => call('/notes', json({ text })),
	// upload sends n bytes that are not all the same.
	upload: n => {
		const part = new Uint8Array(1 << 20).map((_, i) => i * 7 % 251)
		return call('/files', { method: 'PUT', body: new Blob(Array(n >> 20).fill(part)) })
	},
	listen: () => new Promise((done, failed) => {
		const seen = [], events = new EventSource('/api/events')
		events.onmessage = ({ data }) => {
			seen.push(data)
			if (data === '3') { events.close(); done(seen.join()) }
			else call('/next', json({ after: data })).catch(failed)
		}
	}),
	keep: name => { window[name] = 'pending'; return value => { window[name] = value } },
}
