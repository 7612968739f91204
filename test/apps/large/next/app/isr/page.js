export const revalidate = 3600

export default function Page() {
	return <p id="page">rendered when it was built, and again after an hour</p>
}
