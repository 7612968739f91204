export async function GET(request) {
	return Response.json({ query: Object.fromEntries(new URL(request.url).searchParams) }, { headers: { 'Cache-Control': 'public, s-maxage=60' } })
}

export async function POST(request) {
	const bytes = await request.arrayBuffer()
	return Response.json({ length: bytes.byteLength, type: request.headers.get('content-type') }, { status: 201 })
}
