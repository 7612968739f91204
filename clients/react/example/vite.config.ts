import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The package as it was built, a folder up; elsewhere it is installed.
export default defineConfig({
  resolve: { alias: { '@iconedge/react': fileURLToPath(new URL('../dist/index.js', import.meta.url)) } },
});
