export const metadata = { title: 'a Next.js application' }

export default function Layout({ children }) {
	return <html lang="en"><body>{children}</body></html>
}
