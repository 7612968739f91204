import Link from 'next/link'

export default function Page() {
	return <main>
		<h1>home</h1>
		<Link href="/isr">isr</Link> <Link href="/dynamic?q=1">dynamic</Link> <Link href="/actions">actions</Link> <Link href="/streamed">streamed</Link> <Link href="/picture">picture</Link>
	</main>
}
