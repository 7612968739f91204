// Iconify's own service over a folder of @iconify/json: node server.mjs FOLDER PORT. It takes the
// icons from the folder instead of downloading them.
import { appConfig } from '@iconify/api/lib/config/app.js';
import { DirectoryDownloader } from '@iconify/api/lib/downloaders/directory.js';
import { createIconSetsPackageImporter } from '@iconify/api/lib/importers/full/json.js';
import { initAPI } from '@iconify/api/lib/init.js';
import { loaded } from '@iconify/api/lib/data/loading.js';
import { startHTTPServer } from '@iconify/api/lib/http/index.js';

const [folder, port] = process.argv.slice(2);
Object.assign(appConfig, { host: '127.0.0.1', port: Number(port), enableVersion: true, cacheRootDir: process.env.CACHE ?? 'cache' });
startHTTPServer();
await initAPI({ importers: [createIconSetsPackageImporter(new DirectoryDownloader(folder), {})] });
loaded();
console.log('loaded');
