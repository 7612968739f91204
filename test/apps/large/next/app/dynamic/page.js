import { cookies, headers } from 'next/headers'

export default async function Page({ searchParams }) {
	const { q } = await searchParams
	return <p id="page">q is {q ?? 'nothing'}, {(await headers()).get('user-agent') ? 'from a client' : 'from nobody'}, {(await cookies()).size} cookies</p>
}
