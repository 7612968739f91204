'use server'

import { createHash } from 'node:crypto'
import { cookies } from 'next/headers'
import { redirect } from 'next/navigation'

export async function greet(_, form) {
	const file = form.get('file')
	const hash = file?.size ? createHash('sha256').update(Buffer.from(await file.arrayBuffer())).digest('hex') : 'no file'
	;(await cookies()).set('name', form.get('name'))
	return `hello ${form.get('name')}: ${hash}`
}

export async function leave() { redirect('/isr') }
