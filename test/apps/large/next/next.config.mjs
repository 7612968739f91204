import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const parent = dirname(dirname(fileURLToPath(import.meta.url)))
export default {
	turbopack: { root: parent }, // node_modules is there
	outputFileTracingRoot: parent,
	generateBuildId: () => 'pinned',
	async headers() { return [{ source: '/isr', headers: [{ key: 'X-From-Config', value: 'yes' }] }] },
	async redirects() { return [{ source: '/old/:rest*', destination: '/isr?from=:rest*', permanent: true }] },
	async rewrites() { return [{ source: '/rewritten', destination: '/api/data' }] },
}
