'use client'

import { useActionState } from 'react'
import { greet, leave } from './action'

export default function Page() {
	const [answer, send, pending] = useActionState(greet, 'nothing yet')
	return <main>
		<form action={send}><input name="name" /><input name="file" type="file" /><button id="send">send</button></form>
		<p id="answer">{pending ? 'pending' : answer}</p>
		<form action={leave}><button id="leave">leave</button></form>
	</main>
}
