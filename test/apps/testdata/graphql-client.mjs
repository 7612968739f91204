// Queries, mutates and subscribes, and prints each result.
import { createHash } from 'node:crypto'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'

const base = process.argv[2]
const client = createClient({ url: base.replace(/^http/, 'ws') + '/graphql', webSocketImpl: WebSocket, retryAttempts: 0, lazy: false, onNonLazyError: e => { console.log('refused:', e); process.exit(1) } })

async function all(query, most = Infinity) {
	const seen = []
	try {
		for await (const result of client.iterate({ query })) {
			seen.push(result)
			if (seen.length === most) break
		}
	} catch (e) {
		seen.push(String(e))
	}
	return seen
}

const post = async query => (await fetch(base + '/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) })).text()
console.log('over HTTP', await post('{ hello(name: "HTTP") }'), await post('mutation { add(n: 2) }'))
console.log('query', JSON.stringify(await all('{ hello(name: "WebSocket") }')))
console.log('mutation', JSON.stringify(await all('mutation { add(n: 3) }')))
console.log('subscription', JSON.stringify(await all('subscription { count(to: 500) }')))
console.log('ten at a time', JSON.stringify(await Promise.all(Array.from({ length: 10 }, (_, i) => all(`subscription { count(to: ${i * 10}) }`)))))
const [{ data: { text } }] = await all('subscription { text }')
console.log('a long message', text.length, createHash('sha256').update(text).digest('hex'))
console.log('an error', JSON.stringify(await all('subscription { broken }')))
console.log('cancelled', JSON.stringify(await all('subscription { endless }', 5)))
await client.dispose()
process.exit(0)
