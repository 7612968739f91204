import { Suspense } from 'react'
import { setTimeout } from 'node:timers/promises'

export const dynamic = 'force-dynamic'

async function Part({ n }) {
	await setTimeout(n * 300)
	return <p className="part">part {n}</p>
}

export default function Page() {
	return <main><h1>streamed</h1>{[1, 2, 3].map(n => <Suspense key={n} fallback={<p>waiting for {n}</p>}><Part n={n} /></Suspense>)}</main>
}
